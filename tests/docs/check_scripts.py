#!/usr/bin/env python3
"""Checks that every script that a file names exists, and that every script is described. scripts/ has only programs
that each change needs.

lib/ and app/ include only those headers of NVIDIA that a plain `scripts/setup` installs. The test machines have all of
CUDA, so a build there would not notice others.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_PROGRAMS = 15
FOLDERS = [".ci", ".github", "app", "catalog", "cmake", "configs", "docs", "lab", "lib", "scripts", "tests"]
# These name paths in other projects' repositories.
OF_OTHERS = ("tests/fixtures/", "tests/replay/", "configs/matrix/atlas.json", "docs/atlas")
# The headers of nvidia-cuda-runtime and the small cuDNN package.
INSTALLED_HEADERS = {"cuda.h", "cudnn_graph.h"}
NVIDIA_HEADER = re.compile(r"^#include <((?:cu|nv)\w*\.h)>", re.M)
NAMED = re.compile(r"(?<![\w./-])(?:\.\./)*((?:scripts|lab)/[\w.-]+(?:/[\w.-]+)*)")


def texts():
    paths = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        paths += [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    for path in paths:
        name = str(path.relative_to(ROOT))
        if not name.startswith(OF_OTHERS) and path.suffix not in (".xz", ".gz", ".png", ".html"):
            yield name, path.read_text(errors="replace")


def programs(folder):
    return sorted(path.name for path in (ROOT / folder).iterdir() if path.is_file() and path.stat().st_mode & 0o111)


def main():
    wrong = []
    for name, text in texts():
        for number, line in enumerate(text.splitlines(), 1):
            for found in NAMED.finditer(line):
                script = found[1].rstrip(".")
                if not (ROOT / script).exists() and not (ROOT / pathlib.Path(name).parent / script).exists():
                    wrong.append(f"{name}:{number}: {script} does not exist")
        if name.startswith(("lib/", "app/")):
            wrong += [f"{name}: scripts/setup does not install {header}" for header in NVIDIA_HEADER.findall(text) if header not in INSTALLED_HEADERS]
    for folder, page in (("scripts", "CONTRIBUTING.md"), ("lab", "lab/README.md")):
        about = (ROOT / page).read_text()
        wrong += [f"{page} lacks {folder}/{name}" for name in programs(folder) if not re.search(rf"`{name}[` ]", about)]
    if len(programs("scripts")) > MOST_PROGRAMS:
        wrong.append(f"scripts/ has {len(programs('scripts'))} programs; at most {MOST_PROGRAMS}: a study's belongs to lab/")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
