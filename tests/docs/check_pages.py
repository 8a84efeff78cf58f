#!/usr/bin/env python3
"""scripts/docs findings, atlas and history write their pages, here for one statement and a few configs. attnprobe accepts the
commands of the statements, and some statements are checked with the cuDNN of the tests. The README's picture of a terminal has
today's answer.

  tests/docs/check_pages.py build/attnprobe
"""
import html
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # no __pycache__ next to the scripts
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/pages"))
import pictures
from findings import command_of
from findings_claims import CLAIMS, HIGHLIGHTS

EVERY_NTH = 9  # commands to try; each is a process
# A field with two values, the other options, the GPU, the two answers, and words of the refusal's reason.
HOLDS = [
    ("head_dim=264,260", "--heads 4 --seqlen 512", "a100", ["yes", "no"], "not a multiple of 8"),
    ("head_dim=128,256", "--pass bprop --heads 4 --seqlen 512", "b200", ["yes", "no"], "not less than equal to 128"),
    ("head_dim=64,72", "--pattern mha --mask padding --heads 4 --seqlen 256", "h100", ["yes", "no"], "64"),
    ("seqlen=512,513", "--pattern mha --mask padding --heads 4 --head-dim 64", "a100", ["yes", "no"], "512"),
    ("softcap=30,50", "--pass bprop --heads 4 --seqlen 512 --head-dim 64", "a100", ["no", "no"], "Backward activations are not supported"),
]
WRITTEN = "bprop: softcap, on every GPU"


def run(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True)


def wrong_pages(program):
    """The faults of the three pages, one line each."""
    with tempfile.TemporaryDirectory() as folder:
        findings, atlas, history = (pathlib.Path(folder) / f"{name}.md" for name in ("findings", "atlas", "history"))
        run(sys.executable, ROOT / "scripts/docs", "findings", "--program", program, "--cudnn", "9.19.0", "--only", WRITTEN, "--out", folder, "-o", findings)
        run(sys.executable, ROOT / "scripts/docs", "atlas", "--program", program, "--cudnn", "9.19.0", "--configs", "configs/gemma-7b.json", "--docs", folder)
        run(sys.executable, ROOT / "scripts/docs", "history", "--program", program, "--cudnn", "9.19.0", "--target", "h100", "--configs",
            "configs/gemma-7b.json", "--docs", folder)
        for page, wanted in ((findings, (f"### {WRITTEN}\n", "| a100, rtx5090 | 9.19.0 |", "Backward activations are not supported")),
                             (atlas, ("10 cells: 10 yes, 0 but, 0 no.", "| gemma-7b-decode | ")),
                             (history, ("compiling 2 configs for 1 simulated GPU with 1 release.", "`gemma-7b-prefill`, `gemma-7b-decode`."))):
            text = page.read_text() if page.exists() else ""
            yield from (f"{page.name} lacks {one}" for one in wanted if one not in text)


def wrong_picture(program):
    """Lines of the terminal's answer that its picture lacks. The page's picture is not read."""
    drawn = html.unescape("".join(re.findall(r"<text [^>]*>([^<]*)</text>", (pictures.FOLDER / "terminal.svg").read_text())))
    drawn = "".join(drawn.split())
    for line in re.sub(r"\x1b\[[0-9;]*[mK]", "", pictures.terminal_text(pictures.ANSWER, program)).splitlines():
        if "".join(line.split()) not in drawn:
            yield f"docs/pictures/terminal.svg lacks {line!r}: scripts/docs pictures draws it again"


def main():
    program, failed, skipped = sys.argv[1], [], False
    failed += [f"HIGHLIGHTS: no statement says {says}" for _, _, says, _, _ in HIGHLIGHTS if says not in [claim["says"] for claim in CLAIMS]]
    commands = [command_of(claim, claim["targets"], "/no/cudnn") for claim in CLAIMS][::EVERY_NTH]
    for command in commands:
        # attnprobe parses the command line before it searches cuDNN: 3 means a missing cuDNN, 2 a wrong command line.
        done = run(program, *shlex.split(command)[1:])
        if done.returncode != 3:
            failed.append(f"{command}: exit code {done.returncode}: {done.stderr.strip()}")
    for axis, options, target, answers, reason in HOLDS:
        done = run(program, "limits", axis, *options.split(), "--target", target, "--format", "json", "--no-cache")
        if done.returncode != 0:
            failed.append(f"limits {axis} {options}: exit code {done.returncode}: {done.stderr.strip()}")
            continue
        row = json.loads(done.stdout)["rows"][0]
        if row["cudnn"] != "9.19.0":
            print(f"SKIPPED: the cuDNN here is {row['cudnn']}, not 9.19.0")
            skipped = True
            break
        if [point["answer"] for point in row["values"]] != answers:
            failed.append(f"limits {axis} {options} on {target}: {row['values']}")
        if not all(reason in point["reason"] for point in row["values"] if point["answer"] == "no"):
            failed.append(f"limits {axis} {options} on {target}: the reason is not {reason}: {row['values']}")
    if not skipped:
        failed += [*wrong_pages(program), *wrong_picture(program)]
    for line in failed:
        print(f"FAILED: {line}")
    print(f"{len(CLAIMS)} statements, {len(commands)} commands, {len(HOLDS)} asked; {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
