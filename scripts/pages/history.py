#!/usr/bin/env python3
"""Writes a page of the site: which kernels of attention each cuDNN release changed. Needs no GPU.

  scripts/docs history                    every version in attnprobe's cache from 9.12 on (attnprobe cudnn fetch --one-of-each-minor)
  scripts/docs history --cudnn 9.26,9.27  only these
  scripts/docs history --target h100      only this GPU; default: one of each compute capability of the atlas
  scripts/docs history --out DIR          keep the reports, one folder per GPU, and resume from there

First compiles the configs of the atlas for the first GPU with the newest version, and keeps one config for each kernel. Then compiles
each kept config for each GPU with each version. For one GPU with 16 versions, this takes ten minutes on two cores. Needs only Python's
standard library.
"""
import argparse
import collections
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from atlas import count, number, table

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = "h100,b200,a100,rtx5090,l40s,gb300,rtx3090,gb10,thor"
# The parts of a kernel's name: its family, configuration (knob), tile, and the rest, such as the cluster.
NAME = re.compile(r"(?P<family>.*?)_knob_(?P<knob>\d+)_(?P<tile>\d+x\d+x\d+)(_(?P<rest>.*?))?_kernel")


def compiled(cell):
    """The engine config whose plan was built; None if no plan was built."""
    return next((e for e in cell["engine_configs"] if e["plan"] and e["plan"].get("kernels")), None)


def identity(cell):
    engine = compiled(cell)
    return "+".join(kernel["identity"] for kernel in engine["plan"]["kernels"]) if engine else None


def cells_of(folder):
    with open(folder / "cells.jsonl", encoding="utf-8") as lines:
        return [cell for cell in map(json.loads, lines) if "cell" in cell]


def ask(options, configs, target, versions, out):
    command = [options.program, "matrix", str(configs), "--target", target, "--cudnn", versions, "--plans", "first", "--out", str(out)]
    if (out / "cells.jsonl").exists():
        command.append("--resume")
    code = subprocess.run(command, cwd=ROOT, stdout=sys.stderr).returncode
    if code not in (0, 1, 4, 5):
        sys.exit(f"scripts/docs history: attnprobe matrix ended with {code}")


def kept_configs(options, out):
    """A config document with one config of the atlas for each kernel."""
    ask(options, options.configs, options.target.split(",")[0], options.cudnn.split(",")[-1], out / "atlas")
    kept = {}
    for cell in cells_of(out / "atlas"):
        if identity(cell):
            kept.setdefault(identity(cell), cell["config"]["name"])
    lines = (ROOT / options.configs).read_text(encoding="utf-8").splitlines()
    document = json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))
    document = {"defaults": document.get("defaults", {}), "configs": [c for c in document["configs"] if c["name"] in set(kept.values())]}
    file = out / "configs.json"
    file.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return file


class Kernel:
    """The first choice's main kernel in one cell."""

    def __init__(self, cell):
        plan = compiled(cell)["plan"]
        kernel = max(plan["kernels"], key=lambda one: one.get("code_bytes") or 0)
        found = NAME.search(kernel["name"])
        self.identity = identity(cell)
        self.family, self.tile = (found["family"], found["tile"]) if found else (kernel["name"], "")
        self.registers, self.stack = kernel.get("registers") or 0, max(k.get("stack_bytes") or 0 for k in plan["kernels"])
        self.code = sum(k.get("code_bytes") or 0 for k in plan["kernels"])
        self.workspace = compiled(cell)["workspace_bytes"] or 0

    def text(self):
        return f"{self.tile or '?'}, {self.registers} registers, {self.stack} B of stack, {self.code / 1024:.0f} KiB of code"


class History:
    def __init__(self, folders):
        self.kernels, self.answers, self.configs = {}, {}, {}
        for target, folder in folders.items():
            for cell in cells_of(folder):
                key = target, cell["config"]["name"], cell["cudnn"]["version"]
                self.answers[key] = cell["verdict"]
                self.configs[key[1]] = cell["config"]
                if compiled(cell):
                    self.kernels[key] = Kernel(cell)
        self.targets = list(folders)
        self.versions = sorted({key[2] for key in self.answers}, key=number)

    def pairs(self, target, old, new):
        """[(config, kernel before, kernel after)] of the cells that compile with both versions."""
        for config in self.configs:
            before, after = self.kernels.get((target, config, old)), self.kernels.get((target, config, new))
            if before and after:
                yield config, before, after

    def counts(self, target, old, new):
        found = collections.Counter()
        for _, before, after in self.pairs(target, old, new):
            found["compared"] += 1
            found["new code"] += before.identity != after.identity
            found["other kernel"] += before.family != after.family
            found["other tile"] += before.family == after.family and before.tile != after.tile
            found["more stack"] += after.stack > before.stack
            found["less stack"] += after.stack < before.stack
            found["more registers"] += after.registers > before.registers
            found["fewer registers"] += after.registers < before.registers
            found["workspace"] += after.workspace != before.workspace
        for config in self.configs:
            gained, lost = (((target, config, one) in self.kernels and (target, config, other) in self.answers and (target, config, other) not in self.kernels)
                            for one, other in ((new, old), (old, new)))
            found["compiles now"] += gained
            found["no longer"] += lost
        return found


def overview(history):
    """A table with a row for each release and a column for each GPU: the number of cells with new code."""
    rows = []
    for old, new in itertools.pairwise(history.versions):
        row = [f"{old} → {new}"]
        for target in history.targets:
            found = history.counts(target, old, new)
            row.append(f"{found['new code']} of {found['compared']}" if found["compared"] else "–")
        rows.append(row)
    yield from table(["release", *history.targets], rows, range(1, 1 + len(history.targets)))


def of_target(history, target):
    kinds = ["new code", "other kernel", "other tile", "more registers", "fewer registers", "more stack", "less stack", "workspace", "compiles now", "no longer"]
    yield from (f"## {target}", "")
    rows = []
    for old, new in itertools.pairwise(history.versions):
        found = history.counts(target, old, new)
        if found["compared"]:
            rows.append([f"{old} → {new}", found["compared"], *(found[kind] or "" for kind in kinds)])
    yield from table(["release", "compared", *kinds], rows, range(1, 2 + len(kinds)))
    largest = largest_changes(history, target)
    if largest:
        yield from ("The largest changes of tile, registers or stack:", "")
        yield from table(["config", "release", "before", "after"],
                         [[config, f"{old} → {new}", a.text(), b.text()] for _, config, old, new, a, b in largest[:12]])


def largest_changes(history, target):
    """The largest changes: first another kernel or tile, then by registers and stack. Configs with the same change share a row."""
    found = {}
    for old, new in itertools.pairwise(history.versions):
        for config, a, b in history.pairs(target, old, new):
            size = 1000 * (a.family != b.family) + 500 * (a.tile != b.tile) + abs(a.stack - b.stack) + abs(a.registers - b.registers)
            if size:
                found.setdefault((old, new, a.text(), b.text()), (size, config, old, new, a, b))
    return sorted(found.values(), key=lambda row: (-row[0], row[1]))


def markdown(history):
    total = sum(history.counts(t, old, new)["compared"] for t in history.targets for old, new in itertools.pairwise(history.versions))
    changed = sum(history.counts(t, old, new)["new code"] for t in history.targets for old, new in itertools.pairwise(history.versions))
    yield from [
        "# What each cuDNN release changed", "",
        f"**From one release to the next, {changed:,} of {total:,} kernels of attention are new code.** cuDNN has no public history; this one is made by "
        f"compiling {count(len(history.configs), 'config')} for {count(len(history.targets), 'simulated GPU')} with {count(len(history.versions), 'release')}. No GPU was used.", "",
        "A cell is the kernel of the first choice: the plan that a program gets. New code: its instructions or constants differ; names do not count. "
        "Other kernel: a kernel of another kind. Other tile: the same kind with another tile of queries, keys and head dimension. "
        "A change of stack or registers says little about time ([measured](../docs/results/plans.md#register-spills-do-not-predict-time)).", "",
        "`attnprobe diff OLD NEW` shows the same for your own configs.", "", "## New code by release", ""]
    yield from overview(history)
    for target in history.targets:
        yield from of_target(history, target)
    yield from ["## Configs", "", "Of the atlas's configs with the same kernel, one is compiled:", ""]
    yield ", ".join(f"`{name}`" for name in history.configs) + "."


def main():
    parser = argparse.ArgumentParser(prog="scripts/docs history", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cudnn", default=",".join(f"9.{minor}" for minor in range(12, 28)), help="versions, comma list (default: 9.12 to 9.27)")
    parser.add_argument("--target", default=TARGETS, help="GPUs, comma list (default: %(default)s)")
    parser.add_argument("--configs", metavar="FILE", default="configs/matrix/atlas.json", help="default: %(default)s")
    parser.add_argument("--program", default=str(ROOT / "build" / "attnprobe"))
    parser.add_argument("--out", metavar="DIR", type=pathlib.Path, help="folder for the reports; default: a temporary one")
    parser.add_argument("--docs", metavar="DIR", type=pathlib.Path, default=ROOT / "build/pages")
    options = parser.parse_args()
    options.program = shutil.which(options.program) or sys.exit(
        f"scripts/docs history: {options.program} not found; cmake --build build makes it")
    with tempfile.TemporaryDirectory(prefix="history-") as temporary:
        out = (options.out or pathlib.Path(temporary)).resolve()
        out.mkdir(parents=True, exist_ok=True)
        configs = kept_configs(options, out)
        folders = {target: out / target for target in options.target.split(",")}
        for target, folder in folders.items():
            ask(options, configs, target, options.cudnn, folder)
        options.docs.mkdir(parents=True, exist_ok=True)
        (options.docs / "history.md").write_text("\n".join(markdown(History(folders))) + "\n", encoding="utf-8")
    print(f"{options.docs / 'history.md'}: {(options.docs / 'history.md').stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
