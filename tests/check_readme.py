#!/usr/bin/env python3
"""Runs every `$ attnprobe …` and `$ g++ …` line of pages' console blocks and compares what it prints with what the page says.

  tests/check_readme.py README.md build/attnprobe         one page, or several

A line "…" on the page matches any lines. Paths of cuDNN, and times and sizes on this machine, are not compared. With a cuDNN
other than the one that the page was written with, only the exit codes count. A C++ program on the page is
tests/consumer/main.cpp.
"""
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
WRITTEN_WITH = "9.19.0"


def examples(text):
    for block in re.findall(r"```console\n(.*?)```", text, re.S):
        command, expected = None, []
        for line in block.splitlines():
            if line.startswith("$ "):
                if command:
                    yield command, expected
                command, expected = line[2:], []
            else:
                expected.append(line)
        if command:
            yield command, expected


def normalised(line):
    line = re.sub(r"/\S*/(lib[a-z_]+\.so\S*)", r"\1", line)
    line = re.sub(r"\d+ ms", "N ms", line)
    return re.sub(r"\s+", " ", line).strip()


def matches(expected, actual):
    """Like a glob over lines; "…" is the star."""
    if not expected:
        return not actual
    if expected[0] == "…":
        return any(matches(expected[1:], actual[i:]) for i in range(len(actual) + 1))
    return bool(actual) and expected[0] == actual[0] and matches(expected[1:], actual[1:])


def main():
    pages, program = [pathlib.Path(page) for page in sys.argv[1:-1]], sys.argv[-1]

    @functools.cache
    def doctor():
        """Takes seconds, so it is called only if an example compiles something or prints something else."""
        return subprocess.run([program, "doctor"], capture_output=True, text=True).stdout

    def comparable(command):
        return f"cuDNN {WRITTEN_WITH}" in doctor() and ("--target" in command or not re.search(r"ok +GPU ", doctor()))

    failed = count = 0
    cache = tempfile.mkdtemp()  # not the user's home folder
    folder = tempfile.TemporaryDirectory()  # the folder where examples write; it has links to the files that they read
    place = pathlib.Path(folder.name)
    for entry in ROOT.iterdir():
        (place / entry.name).symlink_to(entry)
    for command, expected in (one for page in pages for one in examples(page.read_text())):
        if not command.startswith(("attnprobe", "g++ ")):
            continue
        count += 1
        environment = dict(os.environ, XDG_CACHE_HOME=cache)
        if not command.startswith("attnprobe"):  # the example compiles a program, which needs attnprobe's null driver and cuDNN
            libraries = [str(pathlib.Path(program).resolve().parent), *re.findall(r"(/\S+)/libcudnn\.so", doctor())[:1]]
            environment["LD_LIBRARY_PATH"] = ":".join(libraries)
        run = subprocess.run(["bash", "-c", re.sub("^attnprobe", lambda _: program, command)], cwd=place, capture_output=True, text=True,
                             env=environment)
        refused = any(line.startswith("attnprobe: error: ") for line in expected)
        if (run.returncode == 2) != refused or run.returncode == 4:
            print(f"FAILED: {command}\n  exit code {run.returncode}: {run.stderr}")
            failed += 1
            continue
        want = [n for n in map(normalised, expected) if n]
        got = [n for n in map(normalised, (run.stdout + run.stderr).replace(f"{folder}/", "/tmp/").splitlines()) if n]
        if want and not matches(want, got) and comparable(command):
            print(f"FAILED: {command}\n  the page says\n    " + "\n    ".join(want) + "\n  the program prints\n    " + "\n    ".join(got))
            failed += 1
    for page in pages:
        for source in re.findall(r"```cpp\n(.*?)```", page.read_text(), re.S):
            count += 1
            if source != (ROOT / "tests/consumer/main.cpp").read_text():
                print(f"FAILED: the program on {page.name} is not tests/consumer/main.cpp")
                failed += 1
    print(f"{count} examples, {failed} failed")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
