"""The `attnprobe` command of a Python environment: executes the program in this package."""

import os
import sys


def path() -> str:
    """The path of the program, which finds the null driver next to it."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "_bin", "attnprobe")


def main() -> None:
    program = path()
    try:
        os.execv(program, ["attnprobe", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"attnprobe: {program} does not start: {error.strerror}; reinstall it: pip install --force-reinstall attnprobe")
