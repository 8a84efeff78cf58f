#!/usr/bin/env python3
"""Makes the atlas: configs/matrix/atlas.json on the GPUs that it names, with the cuDNN versions on this machine.

atlas.md becomes a page of the site; atlas.html is the page of the matrix.

  scripts/docs atlas                              every version of ~/.cache/attnprobe/cudnn (attnprobe cudnn fetch --one-of-each-minor)
  scripts/docs atlas --cudnn 9.14,9.19.0,9.28     only these
  scripts/docs atlas --out DIR                    keep the matrix's reports in DIR, and resume from there
  scripts/docs atlas --docs DIR                   write to DIR instead of build/pages, where scripts/docs site looks

atlas.md covers all versions. So does atlas.html if it stays below 8 MB (22 versions: 7.3 MB). Otherwise it has ten versions, or those
of --page LIST. The ten are the oldest, the newest, the one compared with a real GPU, and those with the most changes. attnprobe's
cache keeps the answers, so no question is asked twice. Needs no GPU, 2 GB in DIR for 22 versions, and only Python's standard
library.
"""
import argparse
import collections
import csv
import datetime
import itertools
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGS = "configs/matrix/atlas.json"
# The table's version: its answers for the H200 were compared with a real one.
TESTED = "9.19"
PAGE_BYTES, PAGE_VERSIONS = 8 * 10**6, 10
# GitHub does not serve larger files well.
MOST_PAGE_BYTES = 20 * 10**6
# A config belongs to the first family with a word that its name begins with, or contains ("*-fp8-").
FAMILIES = [
    ("8-bit floats", "*-fp8- *-mxfp8-"),
    ("BERT, ModernBERT, T5", "bert- modernbert- t5-"),
    ("GPT-2, Falcon, BLOOM, MPT", "gpt2- falcon bloom- mpt-"),
    ("Llama", "llama-"),
    ("Mistral, Mixtral, StarCoder2", "mistral- mixtral- starcoder2-"),
    ("Phi, OLMo, Command R", "phi- olmo- command-r"),
    ("SigLIP, CLIP, ViT, DINO, SAM, and the vision of Gemma and Qwen",
     "siglip- clip- vit- dinov2- dinov3- sam- gemma-3-vision- qwen2-vl-vision-"),
    ("Gemma", "gemma-"),
    ("Qwen", "qwen"),
    ("MLA: DeepSeek, Kimi, GLM", "deepseek- kimi- glm-4.7-flash- glm-5-"),
    ("Sinks: GPT-OSS, MiMo", "gpt-oss- mimo-"),
    ("GLM-4.5, MiniMax, Jamba, Nemotron, Evo 2", "glm-4.5- minimax- jamba- nemotron- evo2-"),
    ("Whisper", "whisper-"),
    ("Stable Diffusion, Flux, DiT", "sd-1.5- sdxl- sd3 flux. dit-"),
    ("Video: Wan, HunyuanVideo, CogVideoX", "wan- hunyuanvideo- cogvideox-"),
    ("Proteins: AlphaFold, OpenFold, Boltz, ESM", "alphafold- openfold- boltz- esm-"),
    ("Others", "*"),
]


def number(version):
    return tuple(int(part) for part in version.split("."))


def family(config):
    for title, words in FAMILIES:
        for word in words.split():
            if word[1:] in config if word[0] == "*" else config.startswith(word):
                return title


def count(n, thing):
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def table(head, rows, right=()):
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('--:' if i in right else '---' for i in range(len(head)))} |"
    for row in rows:
        # A reason may be a C++ condition with an "or".
        yield f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


class Matrix:
    """The report of a matrix: configs × GPUs × cuDNN versions, in the matrix's order, with the oldest version first."""

    def __init__(self, folder):
        with open(folder / "report.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.cells = {(r["config"], r["target"], r["cudnn"]): r for r in rows}
        self.configs, self.gpus = (list(dict.fromkeys(r[k] for r in rows)) for k in ("config", "target"))
        self.versions = sorted({r["cudnn"] for r in rows}, key=number)
        self.summaries = {r["config"]: r["summary"] for r in rows}
        self.sm = {r["target"]: r["sm"] for r in rows}
        self._read_notes(folder / "cells.jsonl")
        self.groups = self._groups()
        self.dead = [g for g in self.gpus if not any(self.supported(c, g, v) for c in self.configs for v in self.versions)]

    def _read_notes(self, file):
        """Facts about supported cells that have no column in the CSV: cudnn-frontend's refusal, known bugs, and unmet requirements."""
        self.refusal, self.bugs, self.lacks, self.frontend = {}, {}, {}, "cudnn-frontend"
        with open(file, encoding="utf-8") as lines:
            next(lines)
            for line in lines:
                cell = json.loads(line)
                key = cell["config"]["name"], cell["target"]["id"], cell["cudnn"]["version"]
                if cell["verdict"] == "supported":
                    if (cell["frontend"] or {}).get("refuses"):
                        self.refusal[key] = cell["frontend"]["message"]
                        self.frontend = f"cudnn-frontend {cell['frontend']['version'].removesuffix('.0')}"
                    if cell["warnings"]:
                        self.bugs[key] = [(w["what"], w["advice"], w["source"]["text"], w["source"]["url"]) for w in cell["warnings"]]
                    if lacking := [b["text"] for b in cell["but"] if b["kind"] == "requirement"]:
                        self.lacks[key] = lacking

    def marks(self, config, group, version):
        keys = [(config, gpu, version) for gpu in group]
        return "".join(mark for mark, noted in (("ᶠ", self.refusal), ("ʳ", self.lacks), ("⚠", self.bugs)) if any(k in noted for k in keys))

    def cell(self, config, gpu, version):
        return self.cells[config, gpu, version]

    def supported(self, config, gpu, version):
        return self.cell(config, gpu, version)["verdict"] == "supported"

    def answers(self, version=None):
        """The number of cells with yes, but, no and "" (no answer), for one version or for all."""
        return collections.Counter(r["usable"] for r in self.cells.values() if version in (None, r["cudnn"]))

    def _groups(self):
        """Groups of GPUs with the same answer and the same number of engine configs for every config and version."""
        groups = collections.defaultdict(list)
        for gpu in self.gpus:
            key = tuple((self.cell(c, gpu, v)["verdict"], self.cell(c, gpu, v)["viable"]) for v in self.versions for c in self.configs)
            groups[key].append(gpu)
        return list(groups.values())

    def names(self, gpus):
        """A short list of GPUs that names whole groups by their heading."""
        missing = [g for g in self.gpus if g not in gpus]
        if len(gpus) > 1 and missing in ([], self.dead):
            return "all" + (f" but {', '.join(missing)}" if missing else "")
        return ", ".join(heading(g) if set(g) <= set(gpus) else ", ".join(x for x in g if x in gpus)
                         for g in self.groups if set(g) & set(gpus))

    def tested(self):
        """The oldest 9.19 of the matrix (the H200 ran 9.19.0), or the newest version."""
        return next((v for v in self.versions if v.startswith(TESTED + ".")), self.versions[-1])

    def changes(self, old, new):
        """(gained, lost) cells."""
        pairs = [(self.supported(c, g, old), self.supported(c, g, new)) for c in self.configs for g in self.gpus]
        return pairs.count((False, True)), pairs.count((True, False))


def heading(group):
    """The heading of a column: the GPUs, or one GPU and the number of others."""
    known = [g for g in ("a100", "l40s", "h200", "b200", "rtx5090") if g in group] or group
    return ", ".join(group) if len(group) <= 2 else f"{known[0]} +{len(group) - 1}"


def page_versions(matrix):
    """At most ten versions; prefers those with changed verdicts, to limit the size of the page."""
    kept = {matrix.versions[0], matrix.tested(), matrix.versions[-1]}
    changed = {new: sum(matrix.changes(old, new)) for old, new in itertools.pairwise(matrix.versions)}
    for version in sorted(changed, key=lambda v: (-changed[v], number(v))):
        if len(kept) == PAGE_VERSIONS:
            break
        kept.add(version)
    return [v for v in matrix.versions if v in kept]


def versions_table(matrix):
    def row(old, version):
        gained, lost = matrix.changes(old, version) if old else ("", "")
        said = matrix.answers(version)
        everywhere = sum(all(matrix.supported(c, g, version) for g in matrix.gpus if g not in matrix.dead) for c in matrix.configs)
        nowhere = sum(not any(matrix.supported(c, g, version) for g in matrix.gpus) for c in matrix.configs)
        others = sum(said.values()) - said["yes"] - said["but"] - said["no"]
        return [version, said["yes"], said["but"], said["no"], others, gained, lost, everywhere, nowhere]
    rows = [row(old, new) for old, new in zip([None, *matrix.versions], matrix.versions)]
    head = ["cuDNN", "yes", "but", "no", "open", "newly supported", "dropped", "configs supported on every GPU", "on none"]
    if not any(r[4] for r in rows):
        head, rows = head[:4] + head[5:], [r[:4] + r[5:] for r in rows]
    return table(head, rows, range(1, 10))


def families_of(matrix):
    found = collections.defaultdict(list)
    for config in matrix.configs:
        found[family(config)].append(config)
    # In the matrix's order, with 8-bit floats last.
    order = sorted(found, key=lambda title: (title == FAMILIES[0][0], matrix.configs.index(found[title][0])))
    return {title: found[title] for title in order}


def families_table(matrix, version):
    rows = []
    for title, configs in families_of(matrix).items():
        row = [title, len(configs)]
        for group in matrix.groups:
            n = sum(matrix.supported(c, group[0], version) for c in configs)
            row.append({0: "–", len(configs): "all"}.get(n, n))
        rows.append(row)
    return table(["models", "configs", *map(heading, matrix.groups)], rows, range(1, 2 + len(matrix.groups)))


def neither_table(matrix):
    """Answers that are not a verdict on support."""
    rows = collections.defaultdict(lambda: ([], []))
    for (config, gpu, version), cell in matrix.cells.items():
        if cell["verdict"] not in ("supported", "unsupported"):
            gpus, versions = rows[config, cell["verdict"], cell["reason"]]
            gpus += [gpu] * (gpu not in gpus)
            versions += [version] * (version not in versions)
    return [[c, matrix.names(gpus), ", ".join(sorted(versions, key=number)), verdict, reason]
            for (c, verdict, reason), (gpus, versions) in rows.items()]


def stands_out(matrix, version):
    """Unexpected facts that the answers show."""
    living = [g for g in matrix.gpus if g not in matrix.dead]
    if matrix.dead:
        yield f"No version supports any of the configs on {', '.join(matrix.dead)}."
    nowhere = [c for c in matrix.configs if not any(matrix.supported(c, g, v) for g in living for v in matrix.versions)]
    if nowhere:
        yield f"Supported on no GPU by any version here: {', '.join(nowhere)}."
    not_yet = [c for c in matrix.configs if c not in nowhere and not any(matrix.supported(c, g, version) for g in living)]
    if not_yet:
        yield f"Supported on no GPU by {version}, but by another version: {', '.join(not_yet)}."
    refused = [c for c in matrix.configs if not all(matrix.supported(c, g, version) for g in living)]
    kinds = collections.Counter("in 8-bit floats" if family(c) == FAMILIES[0][0] else
                                "a backward pass" if matrix.cell(c, living[0], version)["pass"] == "bprop" else "a forward pass in 16 bits"
                                for c in refused)
    yield (f"With {version}, {count(len(refused), 'config')} of {len(matrix.configs)} are refused on some GPU"
           f"{' other than ' + ', '.join(matrix.dead) if matrix.dead else ''}"
           f"{': ' if kinds else ''}{', '.join(f'{n} {k}' for k, n in kinds.most_common())}.")
    by_frontend, by_bugs = ([c for c in matrix.configs if any((c, g, version) in notes for g in living)] for notes in (matrix.refusal, matrix.bugs))
    yield (f"cudnn-frontend refuses {count(len(by_frontend), 'config')} by rules of its own on GPUs where cuDNN {version} supports them (ᶠ), and known "
           f"bugs concern {len(by_bugs)} (⚠).")
    # GPUs of the same major compute capability with different answers.
    found = collections.defaultdict(list)
    for a, b in itertools.permutations(matrix.groups, 2):
        for major in sorted({int(matrix.sm[g]) // 10 for g in a} & {int(matrix.sm[g]) // 10 for g in b}):
            x, y = (tuple(g for g in group if int(matrix.sm[g]) // 10 == major) for group in (a, b))
            configs = tuple(c for c in matrix.configs if matrix.supported(c, x[0], version) and not matrix.supported(c, y[0], version))
            if configs:
                found[y, configs] += x
    for (y, configs), x in found.items():
        yield (f"With {version}, {matrix.names(y)} {'lacks' if len(y) == 1 else 'lack'} what {matrix.names(x)}, of the same generation, "
               f"{'has' if len(x) == 1 else 'have'}: {', '.join(configs)}.")


def answers_tables(matrix, version):
    groups = [g for g in matrix.groups if g[0] not in matrix.dead]
    for title, configs in families_of(matrix).items():
        yield from (f"### {title}", "")
        yield from table(["config", "what it asks for", *map(heading, groups)],
                         [[c, matrix.summaries[c], *(viable(matrix.cell(c, g[0], version)) + matrix.marks(c, g, version) for g in groups)]
                          for c in configs], range(2, 2 + len(groups)))


def viable(cell):
    return {"supported": cell["viable"], "unsupported": "–"}.get(cell["verdict"], cell["verdict"])


def short(reason):
    """cuDNN's sentence without the C++ condition at its end."""
    return reason.split(" at: ")[0].strip()


def refusals_table(matrix, version):
    rows = collections.defaultdict(list)
    for config in matrix.configs:
        for gpu in matrix.gpus:
            cell = matrix.cell(config, gpu, version)
            if gpu not in matrix.dead and cell["verdict"] != "supported":
                rows[config, cell["category"] or cell["verdict"], short(cell["reason"])].append(gpu)
    return table(["config", "GPUs", "category", "cuDNN's message"],
                 [[c, matrix.names(gpus), category, words] for (c, category, words), gpus in rows.items()])


def notes_tables(matrix, version):
    """Tables of obstacles to supported configs: cudnn-frontend's refusals, known bugs and requirements."""
    refused, bugs = collections.defaultdict(list), collections.defaultdict(lambda: collections.defaultdict(list))
    for config, gpu in itertools.product(matrix.configs, matrix.gpus):
        if words := matrix.refusal.get((config, gpu, version)):
            refused[config, words].append(gpu)
        for bug in matrix.bugs.get((config, gpu, version), ()):
            bugs[bug][config].append(gpu)
    yield from [f"ᶠ {matrix.frontend} refuses these before it asks cuDNN, so a program that builds its graph with it cannot use them:", ""]
    merged = collections.defaultdict(list)
    for (config, words), gpus in refused.items():
        merged[tuple(gpus), words].append(config)
    yield from table(["configs", "GPUs", "its message"], [[", ".join(configs), matrix.names(gpus), words] for (gpus, words), configs in merged.items()])
    lacking = collections.defaultdict(list)
    for config, gpu in itertools.product(matrix.configs, matrix.gpus):
        for words in matrix.lacks.get((config, gpu, version), ()):
            lacking[config, words].append(gpu)
    if lacking:
        yield from ["ʳ By rule these need another version or GPU, though cuDNN accepts them:", ""]
        merged = collections.defaultdict(list)
        for (config, words), gpus in lacking.items():
            merged[tuple(gpus), words].append(config)
        yield from table(["configs", "GPUs", "what is missing"], [[", ".join(configs), matrix.names(gpus), words] for (gpus, words), configs in merged.items()])
    yield from ["⚠ Known bugs that concern supported configs:", ""]
    rows = []
    for (what, advice, source, url), configs in bugs.items():
        gpus = [g for g in matrix.gpus if any(g in found for found in configs.values())]
        link = f"[{source}]({url})" if url.startswith("http") else f"{source}: `{url}`"
        rows.append([f"{what} ({link})", advice, matrix.names(gpus), ", ".join(configs)])
    yield from table(["bug", "what to do", "GPUs", "configs"], rows)


def first_table(matrix):
    oldest, groups, rows = matrix.versions[0], [g for g in matrix.groups if g[0] not in matrix.dead], []
    for config in matrix.configs:
        first = [next((v for v in matrix.versions if matrix.supported(config, g[0], v)), "–") for g in groups]
        if any(v != oldest for v in first):
            rows.append([config, *("" if v == oldest else v + matrix.marks(config, g, v)[:1].replace("⚠", "") for v, g in zip(first, groups))])
    return table(["config", *map(heading, groups)], rows)


def dropped_table(matrix):
    """Lists the cells that a version refuses but the previous version supported."""
    rows = collections.defaultdict(list)
    for config, gpu in itertools.product(matrix.configs, matrix.gpus):
        for i, (old, new) in enumerate(itertools.pairwise(matrix.versions), 1):
            if matrix.supported(config, gpu, old) and not matrix.supported(config, gpu, new):
                back = next((v for v in matrix.versions[i:] if matrix.supported(config, gpu, v)), "–")
                cell = matrix.cell(config, gpu, new)
                rows[config, old, new, back, cell["category"] or cell["verdict"], short(cell["reason"])].append(gpu)
    return [[c, matrix.names(gpus), *rest] for (c, *rest), gpus in rows.items()]


def markdown(matrix, about):
    version, cells = matrix.tested(), len(matrix.cells)
    said = matrix.answers()
    yield from [
        "# The atlas: the attention of today's models", "",
        f"Which fused-attention graphs of {count(len(matrix.configs), 'real problem')} does cuDNN support, on which of {count(len(matrix.gpus), 'GPU')}, since which "
        f"version? Every config, with the source of its numbers, is in [{about['configs']}](../{about['configs']}). "
        "`scripts/docs atlas` also writes `atlas.html`, a page with every cell's engines, reasons and command, "
        + ("with every version." if about["page"] == matrix.versions else f"with cuDNN {', '.join(about['page'])}."), "",
        f"Made on {about['date']} by `scripts/docs atlas` with {about['tool']} and cuDNN {', '.join(matrix.versions)}:", "",
        "```", about["command"], "```", "",
        "The GPUs are simulated, and cuDNN ran only its support check: nothing was compiled or run. On H100 and H200 simulated answers were those of the "
        "real GPU ([results](../docs/results/README.md#real-and-simulated-gpus)). [The guide](../docs/guide.md#read-the-answer) explains *yes*, *but* and "
        "*no*; *supported* means yes or but.", "",
        "## In short", "",
        f"{cells:,} cells: {said['yes']:,} yes, {said['but']:,} but, {said['no']:,} no"
        + (f", {open_cells:,} neither" if (open_cells := cells - said["yes"] - said["but"] - said["no"]) else "") + ".", ""]
    yield from (f"- {sentence}" for sentence in stands_out(matrix, version))
    yield from ["", "GPUs with the same answer to everything share a column:", ""]
    capability = {gpu: f"{sm[:-1]}.{sm[-1]}" for gpu, sm in matrix.sm.items()}
    yield from table(["column", "GPUs", "compute capability"],
                     [[heading(g), ", ".join(g), ", ".join(dict.fromkeys(capability[x] for x in g))] for g in matrix.groups])
    yield from [f"Configs that are supported with cuDNN {version}:", ""]
    yield from families_table(matrix, version)
    yield from [f"Cells by version, of {len(matrix.configs) * len(matrix.gpus):,}; new and dropped against the row above"
                + (f"; every GPU is every one but {', '.join(matrix.dead)}:" if matrix.dead else ":"), ""]
    yield from versions_table(matrix)
    if neither := neither_table(matrix):
        yield from ["Neither supported nor not:", ""]
        yield from table(["config", "GPUs", "cuDNN", "verdict", "what happened"], neither)
    yield from [f"## cuDNN {version}", "",
                "A number counts the proposed engine configs that pass cuDNN's support check. With –, none passes (`attnprobe --config` also asks all other "
                f"engines, and sometimes finds one). With ᶠ, {matrix.frontend} refuses it by a rule of its own. With ʳ, a requirement on versions or GPUs is not met. "
                "With ⚠, it meets a known bug, on at least one of these GPUs. All are listed below.", ""]
    yield from answers_tables(matrix, version)
    yield from [f"## Supported by cuDNN {version}, but", ""]
    yield from notes_tables(matrix, version)
    yield from [f"## Refused by cuDNN {version}, and why", "",
                "The reason of the engine that got furthest in its support check." + (f" Without {', '.join(matrix.dead)}." if matrix.dead else "")
                + " [Why cuDNN says no](reasons.md) explains each reason.", ""]
    yield from refusals_table(matrix, version)
    yield from ["## The first cuDNN that supports it", "",
                f"Configs that {matrix.versions[0]}, the oldest here, does not support everywhere. Empty: since {matrix.versions[0]} or before; "
                f"–: no version here; ᶠ: {matrix.frontend} refuses it in that version too.", ""]
    yield from first_table(matrix)
    dropped = dropped_table(matrix)
    yield from ["## What newer versions dropped", ""]
    yield from (table(["config", "GPUs", "supported by", "not by", "again by", "category", "cuDNN's message"], dropped) if dropped else
                ["Nothing: each version supports whatever an older one supports.", ""])


def ask(options, versions, folder):
    """Runs one matrix into a folder; returns the command as a reader would type it."""
    command = ["matrix", options.configs, "--cudnn", versions]
    more = ["--title", "The atlas: the attention of today's models", "--out", str(folder)]
    if options.cache:
        more += ["--cache", options.cache]
    if (folder / "cells.jsonl").exists():
        more.append("--resume")
    code = subprocess.run([options.program, *command, *more], cwd=ROOT, stdout=sys.stderr).returncode
    # With 1, 4 and 5 there are answers; with 2 and 3, or after a signal, there are none.
    if code not in (0, 1, 4, 5):
        sys.exit(f"scripts/docs atlas: attnprobe matrix ended with {code}")
    return f"attnprobe {' '.join(command)}"


def main():
    parser = argparse.ArgumentParser(prog="scripts/docs atlas", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cudnn", default="all", help="versions, comma list; default: all on this machine that can simulate")
    parser.add_argument("--configs", metavar="FILE", default=CONFIGS, help="default: %(default)s")
    parser.add_argument("--page", metavar="LIST", help="those of the versions that the page shows")
    parser.add_argument("--program", default=str(ROOT / "build" / "attnprobe"))
    parser.add_argument("--out", metavar="DIR", type=pathlib.Path, help="folder for the matrix's reports; default: a temporary one")
    parser.add_argument("--docs", metavar="DIR", type=pathlib.Path, default=ROOT / "build/pages")
    parser.add_argument("--cache", metavar="FILE", help="file with attnprobe's cached answers; default: attnprobe's own cache")
    options = parser.parse_args()
    options.program = shutil.which(options.program) or sys.exit(
        f"scripts/docs atlas: no program {options.program}; cmake --build build makes it")

    with tempfile.TemporaryDirectory(prefix="atlas-") as temporary:
        out = (options.out or pathlib.Path(temporary)).resolve()
        command = ask(options, options.cudnn, out / "all")
        matrix = Matrix(out / "all")
        html, page = out / "all" / "index.html", matrix.versions
        if options.page or html.stat().st_size > PAGE_BYTES:
            ask(options, options.page or ",".join(page_versions(matrix)), out / "page")
            html, page = out / "page" / "index.html", Matrix(out / "page").versions
        if html.stat().st_size > MOST_PAGE_BYTES:
            sys.exit(f"scripts/docs atlas: {html} has {html.stat().st_size:,} bytes, more than {MOST_PAGE_BYTES:,}; choose fewer versions with --page")
        about = {"command": command, "configs": options.configs, "page": page, "date": datetime.date.today().isoformat(),
                 "tool": subprocess.run([options.program, "--version"], capture_output=True, text=True, check=True).stdout.strip()}
        options.docs.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(html, options.docs / "atlas.html")
        (options.docs / "atlas.md").write_text("\n".join(markdown(matrix, about)), encoding="utf-8")
    for name in ("atlas.md", "atlas.html"):
        print(f"{options.docs / name}: {(options.docs / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
