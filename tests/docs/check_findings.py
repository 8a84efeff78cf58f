#!/usr/bin/env python3
"""docs/findings.md has every statement of scripts/pages/findings_claims.py, and attnprobe accepts its commands. Some of its statements are
checked with the cuDNN of the tests.

  tests/docs/check_findings.py build/attnprobe
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the scripts
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/pages"))
from findings_claims import CLAIMS

EVERY_NTH = 9  # of the commands: each takes a process
# A field with two values, the other options, the GPU, the answers, and words of the reason for the refusal.
HOLDS = [
    ("head_dim=264,260", "--heads 4 --seqlen 512", "a100", ["yes", "no"], "not a multiple of 8"),
    ("head_dim=128,256", "--pass bprop --heads 4 --seqlen 512", "b200", ["yes", "no"], "not less than equal to 128"),
    ("head_dim=64,72", "--pattern mha --mask padding --heads 4 --seqlen 256", "h100", ["yes", "no"], "64"),
    ("seqlen=512,513", "--pattern mha --mask padding --heads 4 --head-dim 64", "a100", ["yes", "no"], "512"),
    ("softcap=30,50", "--pass bprop --heads 4 --seqlen 512 --head-dim 64", "a100", ["no", "no"], "Backward activations are not supported"),
]


def run(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True)


def main():
    program, failed = sys.argv[1], []
    page = (ROOT / "docs/findings.md").read_text()
    parts = set(re.findall(r"^## (.*)$", page, re.M))
    for claim in CLAIMS:
        if claim["part"] not in parts or f"### {claim['says']}\n" not in page:
            failed.append(f"docs/findings.md lacks \"{claim['says']}\": scripts/docs findings writes it anew")
    commands = sorted(set(re.findall(r"`attnprobe (.*?)`", page)))
    for command in commands[::EVERY_NTH]:
        # The command line is parsed before cuDNN is searched: 3 means a missing cuDNN, 2 a wrong command line.
        words = shlex.split(command)
        if "--cudnn" in words:
            words[words.index("--cudnn") + 1] = "/no/cudnn"
            done = run(program, *words)
            if done.returncode != 3:
                failed.append(f"attnprobe {command}: exit code {done.returncode}: {done.stderr.strip()}")
    for axis, options, target, answers, reason in HOLDS:
        done = run(program, "limits", axis, *options.split(), "--target", target, "--format", "json", "--no-cache")
        if done.returncode != 0:
            failed.append(f"limits {axis} {options}: exit code {done.returncode}: {done.stderr.strip()}")
            continue
        row = json.loads(done.stdout)["rows"][0]
        if row["cudnn"] != "9.19.0":
            print(f"SKIPPED: the cuDNN here is {row['cudnn']}, not 9.19.0")
            break
        if [point["answer"] for point in row["values"]] != answers:
            failed.append(f"limits {axis} {options} on {target}: {row['values']}")
        if not all(reason in point["reason"] for point in row["values"] if point["answer"] == "no"):
            failed.append(f"limits {axis} {options} on {target}: the reason is not {reason}: {row['values']}")
    for line in failed:
        print(f"FAILED: {line}")
    print(f"{len(CLAIMS)} statements, {len(commands[::EVERY_NTH])} of {len(commands)} commands, {len(HOLDS)} asked; {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
