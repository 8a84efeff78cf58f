"""Checks that the text of the repository is plain English: words to avoid, and the length of sentences.

  scripts/check english             checks the files that english.json lists; exit code 1 if there is a finding
  scripts/check english --count     and counts the findings in the files that are not checked yet
  scripts/check english PATH…       prints every finding in these files and folders

It reads Markdown, comments, strings of C++ sources and the text members of JSON data. The file english.json has the
words, the limits, the checked files and the exceptions with their reasons.
"""
import argparse
import collections
import fnmatch
import json
import pathlib
import re
import sys

import english_text

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = (".ci", ".github", "app", "catalog", "cmake", "configs", "docs", "lab", "lib", "scripts", "tests")
RULES = pathlib.Path(__file__).with_name("english.json")


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


class Checker:
    def __init__(self, rules):
        self.rules = rules
        self.words = [(re.compile(word["pattern"], re.I if word["pattern"] == word["pattern"].lower() else 0), word["instead"]) for word in rules["words"]]
        for one in rules["exceptions"]:
            if len(one.get("reason", "").split()) < 3:
                sys.exit(f"{RULES.name}: the exception for {one['text']!r} gives no reason")
        self.exceptions = [(one["files"], re.compile(one["text"])) for one in rules["exceptions"]]

    def findings(self, name, text):
        """[(kind, line, problem)] of a file; the reader depends on the file's suffix."""
        found = []
        for kind, line, block in english_text.blocks(name, text):
            if len(block) < 3:
                continue
            for sentence in english_text.sentences(block):
                if any(matches(name, files) and pattern.search(sentence) for files, pattern in self.exceptions):
                    continue
                count = len(re.findall(r"[^\W_][\w'’./+-]*", sentence))
                if count > self.rules["longest"][kind]:
                    found.append((kind, line, f"{count} words, at most {self.rules['longest'][kind]}: {shortened(sentence)}"))
                for pattern, instead in self.words:
                    hit = pattern.search(sentence)
                    if hit:
                        found.append((kind, line, f"\"{hit[0].strip()}\" → {instead}: {shortened(sentence, hit.start())}"))
        return found

    def is_checked(self, kind, name):
        return matches(name, self.rules["checked"][kind])


def shortened(sentence, at=0):
    start = max(0, min(at - 30, len(sentence) - 90))
    return ("…" if start else "") + sentence[start:start + 90] + ("…" if len(sentence) > start + 90 else "")


def files(names):
    """Paths of the files to read; without names, all files."""
    places = [pathlib.Path(name).resolve() for name in names] or [*(path for path in ROOT.iterdir() if path.is_file()), *(ROOT / folder for folder in FOLDERS)]
    for place in places:
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            name = str(path.relative_to(ROOT))
            if path.is_file() and "__pycache__" not in path.parts and not matches(name, NOT_READ):
                yield name, path


# Texts of other authors, and generated files.
NOT_READ = ("tests/fixtures/*", "tests/fuzz/*", "LICENSE", "*.xz", "*.gz", "*.png", "app/python/attnprobe/_records.py")


def main():
    parser = argparse.ArgumentParser(prog="scripts/check english", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", metavar="PATH")
    parser.add_argument("--count", action="store_true")
    options = parser.parse_args()
    checker = Checker(json.loads(RULES.read_text()))
    wrong, later = [], collections.defaultdict(collections.Counter)
    for name, path in files(options.paths):
        for kind, line, what in checker.findings(name, path.read_text(errors="replace")):
            if options.paths or checker.is_checked(kind, name):
                wrong.append(f"{name}:{line}: {what}")
            else:
                later[kind][name] += 1
    print(*wrong, sep="\n", end="\n" if wrong else "")
    if options.count:
        for kind in sorted(later):
            print(f"not checked yet: {kind}, {sum(later[kind].values()):,} findings in {len(later[kind])} files, most in "
                  + ", ".join(f"{name} ({count})" for name, count in later[kind].most_common(3)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
