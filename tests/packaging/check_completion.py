#!/usr/bin/env python3
"""Checks what Tab offers in bash, zsh and fish: tests/packaging/check_completion.py build/attnprobe"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "scripts/packaging"
# A line, a word that must be offered, the beginning of its description (if the shell shows one), and a word that must not be.
LINES = (
    ("attnprobe ma", "matrix", "Ask about configs on many GPUs", "merge"),
    ("attnprobe matrix d", "diff", "", "doctor"),
    ("attnprobe matrix --sh", "--shard", "i/n", "--heads"),
    ("attnprobe --plan", "--plans", "none", "--shard"),
    ("attnprobe probe --qui", "--quick", "--sweep", "--quick{false}"),
    ("attnprobe cudnn f", "fetch", "download releases", "remove"),
    ("attnprobe cudnn fetch --one", "--one-of-each-minor", "fetch the newest release", "--shard"),
    ("attnprobe --target h1", "h100", "", "a100"),
    ("attnprobe -t a100,h2", "a100,h200", "", "h200"),
    ("attnprobe suggest --dtype bf", "bf16", "", "f16"),
    ("attnprobe --framework torch==2.1", "torch==2.11.0", "", "jax"),
    ("attnprobe --cudnn 9.1", "9.14.0", "", "9.20.0"),
    ("attnprobe limits head_dim_", "head_dim_v", "", "heads"),
    ("attnprobe help fie", "fields", "the fields", "limits"),
)
BASH = """source {script}; COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _attnprobe; printf '%s\\n' "${{COMPREPLY[@]}}" """
# Without a terminal, zsh completes nothing. _describe receives the offered words; this replacement prints them.
ZSH = """compdef() {{}}; source {script}
_describe() {{ [[ $1 == -o ]] && shift; local name=$2; print -rl -- ${{(M)${{(P)name}}:#$PREFIX*}}; }}
_files() {{}}
words=({line}); CURRENT=$#words; PREFIX=$words[-1]; _attnprobe"""
FISH = "source {script}; complete -C '{line}'"
SHELLS = (("bash", ["--norc", "-c"], BASH, False), ("zsh", ["-f", "-c"], ZSH, True), ("fish", ["--no-config", "-c"], FISH, True))


def main():
    failed, skipped = 0, []
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "attnprobe").symlink_to(pathlib.Path(sys.argv[1]).resolve())
        environment = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8"}
        for shell, options, script, has_descriptions in SHELLS:
            written = subprocess.run([sys.argv[1], "completion", shell], capture_output=True, text=True, check=True).stdout
            if written != (PACKAGING / f"attnprobe.{shell}").read_text():
                print(f"FAILED: the packaged completion of {shell} is not what attnprobe completion {shell} writes")
                failed += 1
            if not shutil.which(shell):
                skipped.append(shell)
                continue
            for line, wanted, description, unwanted in LINES:
                text = script.format(script=PACKAGING / f"attnprobe.{shell}", line=line)
                run = subprocess.run([shell, *options, text], capture_output=True, text=True, env=environment)
                offered = [one.replace("\t", ":") for one in run.stdout.splitlines()]
                right = any(one.startswith(f"{wanted}:{description}") if has_descriptions and description else one.rstrip(":") == wanted for one in offered)
                if not right or run.stderr or any(one.split(":")[0] == unwanted for one in offered):
                    print(f'FAILED: {shell}: "{line}" offers {offered} {run.stderr}')
                    failed += 1
    print(f"{failed} failed" if failed else "all good")
    if skipped and not failed:
        print(f"SKIPPED: {', '.join(skipped)} is not installed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
