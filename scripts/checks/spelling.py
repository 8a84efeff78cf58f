#!/usr/bin/env python3
"""Checks the spelling of all files with codespell, and the prose of the pages with proselint. scripts/setup --checks installs both.

  scripts/check spelling    prints what they find; exit code 1 if they find anything, 77 if they are not installed

Files with texts of other programs are not read, because those keep their own spelling.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / ".deps/prose"
# Texts of other programs, and files that are not text.
NOT_READ = ("tests/fixtures/", "tests/fuzz/", "catalog/", "lib/rules/frameworks/", "LICENSE")
NOT_TEXT = (".xz", ".gz", ".png", ".svg")
# Names, parts of regular expressions, and misspellings in tests of misspelled options.
WORDS = ("assertin", "defautl", "freez", "jupyter", "mata", "matc", "modle", "nmae", "ontext", "overrideable", "shoud", "showin", "swich", "te", "thead", "thirdparty", "tru",
         "uery", "wan", "debians")
# Straight quotes are right in code. A title may repeat the first word. "9.14 to 9.28" and "b4" are not dates or chat. english.json has the
# words to avoid.
PROSE_OFF = ("dates_times", "industrial_language", "lexical_illusions", "typography", "weasel_words")


def python(*arguments):
    """The findings of a module, in lines."""
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(PROGRAMS)}, capture_output=True, text=True)
    if not done.stdout and done.returncode:
        sys.exit(f"scripts/check spelling: {arguments[0]} failed: {done.stderr.strip()[-500:]}")
    return [line.replace(f"{ROOT}/", "") for line in done.stdout.splitlines() if line.strip()]


def main():
    if not PROGRAMS.is_dir():
        print("scripts/check spelling: codespell and proselint are missing; scripts/setup --checks installs them", file=sys.stderr)
        sys.exit(77)
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    files = [name for name in names if not name.startswith(NOT_READ) and not name.endswith(NOT_TEXT) and (ROOT / name).is_file()]
    found = python("codespell_lib", "--builtin", "clear,rare", "--ignore-words-list", ",".join(WORDS), *files)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as config:
        json.dump({"checks": {name: False for name in PROSE_OFF}}, config)
        config.flush()
        found += python("proselint", "check", "--config", config.name, *(name for name in files if name.endswith(".md")))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
