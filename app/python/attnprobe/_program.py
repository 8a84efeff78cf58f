"""The `attnprobe` command of a Python environment: becomes the program that lies in this package."""

import os
import sys


def path() -> str:
    """Where the program lies; the null driver lies beside it, which is how it finds it."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "_bin", "attnprobe")


def main() -> None:
    program = path()
    try:
        os.execv(program, ["attnprobe", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"attnprobe: {program} does not start: {error.strerror}; reinstall it: pip install --force-reinstall attnprobe")
