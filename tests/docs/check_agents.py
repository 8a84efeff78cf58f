#!/usr/bin/env python3
"""Checks that the program has every command and option that AGENTS.md, SECURITY.md and the issue templates name.

  tests/docs/check_agents.py build/attnprobe
"""

import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "AGENTS.md", ROOT / "SECURITY.md", *sorted((ROOT / ".github/ISSUE_TEMPLATE").iterdir())]


@functools.cache
def help_of(program, *command):
    return subprocess.run([program, *command, "--help"], check=True, capture_output=True, text=True).stdout


def main():
    program, wrong, count = sys.argv[1], [], 0
    fields = subprocess.run([program, "help", "fields"], check=True, capture_output=True, text=True).stdout
    for page in PAGES:
        for command in re.findall(r"`attnprobe ([^`]+)`", page.read_text()):
            count += 1
            if "(" in command and subprocess.run(f"{program} {command}", shell=True, capture_output=True).returncode:
                wrong.append(f"{page.relative_to(ROOT)}: this does not work: attnprobe {command}")
            words = command.split()
            name = [] if words[0].startswith("-") else words[:1]
            if name and subprocess.run([program, "help", *name], capture_output=True).returncode:
                wrong.append(f"{page.relative_to(ROOT)}: attnprobe has no command {name[0]}")
                continue
            for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", command):
                if not re.search(rf"{option}\b", help_of(program, *(name or ["probe"])) + fields):
                    wrong.append(f"{page.relative_to(ROOT)}: attnprobe {' '.join(name)} has no option {option}")
    print("\n".join(wrong))
    return 1 if wrong or count < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
