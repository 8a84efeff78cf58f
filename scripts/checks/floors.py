#!/usr/bin/env python3
"""Checks the layers of lib/: a module includes only itself and modules of lower layers.

  scripts/check floors          prints violations of the rules; exit code 1 if there are any
  scripts/check floors --draw   prints the modules, the modules that each uses, and its share of lib's lines

The check reads the modules and their layers from the table of docs/architecture.md ("| `module/` | layer | purpose |"), so page and
check cannot differ. It also checks that every include names a file, and that includes have no cycle. Two modules must not have files
with the same stem, and no module may have more than 15 % of lib's lines. The folders of tests/ must mirror those of lib.
Only Python's standard library is needed; nothing is configured or built.
"""
import argparse
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIB = ROOT / "lib"
SOURCES = {".hpp", ".h", ".cpp", ".c", ".cu"}
MOST_OF_LIB = 0.15
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
ROW = re.compile(r"^\| `(\w+)/` \| (\d+) \|", re.MULTILINE)


def room_of(file):
    """The module of a file of lib; "" for the umbrella header, which belongs to no module."""
    parts = file.relative_to(LIB).parts
    return parts[0] if len(parts) > 1 else ""


def read_floors(problems):
    floors = {room: int(floor) for room, floor in ROW.findall((ROOT / "docs/architecture.md").read_text())}
    folders = {folder.name for folder in LIB.iterdir() if folder.is_dir()}
    for room in sorted(folders - floors.keys()):
        problems.append(f"lib/{room} has no layer in docs/architecture.md")
    for room in sorted(floors.keys() - folders):
        problems.append(f"docs/architecture.md gives a layer to lib/{room}, which does not exist")
    return floors


def included(file, problems):
    """The files of lib that a file includes, relative to its own folder or to lib."""
    for name in INCLUDE.findall(file.read_text()):
        for folder in (file.parent, LIB):
            target = (folder / name).resolve()
            if target.is_file():
                if target.is_relative_to(LIB):
                    yield target
                break
        else:
            problems.append(f"{file.relative_to(ROOT)} includes \"{name}\", which is not in the source tree")


def find_circle(graph):
    """The files of an include cycle, in order; [] if there is none."""
    state, path = {}, []

    def visit(file):
        state[file] = "open"
        path.append(file)
        for other in graph[file]:
            if state.get(other) == "open":
                return path[path.index(other):] + [other]
            if other not in state and (circle := visit(other)):
                return circle
        path.pop()
        state[file] = "done"
        return []

    for file in graph:
        if file not in state and (circle := visit(file)):
            return circle
    return []


def check_includes(files, floors, problems):
    graph = {file: sorted(set(included(file, problems))) for file in files}
    for file, others in graph.items():
        room = room_of(file)
        for other in others:
            used = room_of(other)
            if room in ("", used) or used not in floors or room not in floors:
                continue
            if used == "" or floors[used] >= floors[room]:
                problems.append(f"{file.relative_to(ROOT)} (layer {floors[room]}) includes {other.relative_to(LIB)} (layer {floors[used]})")
    if circle := find_circle(graph):
        problems.append("files include each other: " + " -> ".join(str(file.relative_to(LIB)) for file in circle))
    return graph


def check_stems(files, problems):
    folders = collections.defaultdict(set)
    for file in files:
        folders[file.stem].add(file.parent.relative_to(LIB))
    for stem, places in sorted(folders.items()):
        if len(places) > 1:
            problems.append(f"\"{stem}\" is a file in several modules: {', '.join(sorted(map(str, places)))}")


def count_lines(files):
    lines = collections.Counter()
    for file in files:
        lines[room_of(file)] += len(file.read_text().splitlines())
    return lines


def check_shares(lines, problems):
    for room, count in lines.items():
        share = count / lines.total()
        if share > MOST_OF_LIB:
            problems.append(f"lib/{room} contains {share:.1%} of lib's lines, more than {MOST_OF_LIB:.0%}")


def check_tests(problems):
    """Checks the folders of tests: tests/a/b/x_test.cpp tests lib/a/b, or app."""
    for test in sorted((ROOT / "tests").rglob("*_test.cpp")):
        folder = test.parent.relative_to(ROOT / "tests")
        if not (LIB / folder).is_dir() and folder != pathlib.Path("app"):
            problems.append(f"{test.relative_to(ROOT)} mirrors no folder of lib")


def draw(graph, floors, lines):
    uses = collections.defaultdict(set)
    for file, others in graph.items():
        uses[room_of(file)].update(map(room_of, others))
    for room in sorted(floors, key=lambda room: (floors[room], room)):
        others = sorted(uses[room] - {room, ""}, key=lambda other: (floors[other], other))
        print(f"{floors[room]:>3}  {room:<12} {lines[room] / lines.total():>6.1%}  {' '.join(others)}")


def main():
    parser = argparse.ArgumentParser(prog="scripts/check floors", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true", help="print the modules and what each uses")
    options = parser.parse_args()
    problems = []
    floors = read_floors(problems)
    files = sorted(file for file in LIB.rglob("*") if file.suffix in SOURCES)
    graph = check_includes(files, floors, problems)
    lines = count_lines(files)
    check_stems(files, problems)
    check_shares(lines, problems)
    check_tests(problems)
    if options.draw:
        draw(graph, floors, lines)
    for problem in problems:
        print(f"scripts/check floors: {problem}", file=sys.stderr)
    return 1 if problems else 0


sys.exit(main())
