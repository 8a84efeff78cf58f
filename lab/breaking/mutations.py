"""Gives attnprobe damaged files of every kind that it reads. Each run must end in time, with a documented exit code and an error
that names the file."""
import copy
import gzip
import json
import lzma
import pathlib
import random
import re
import shutil

from . import common

NOWHERE = "/no-such-cudnn"
# Errors without a file: those after an accepted mutant, and missing cells in a merge.
OF_NO_FILE = [NOWHERE, "no-such-gpu", "cells are missing"]
FIXTURES = common.ROOT / "tests/fixtures"
CONFIGS = common.ROOT / "configs"
# Numbers that no field accepts, texts that JSON must escape, other types, empty values.
ODD_VALUES = [0, -1, 1, 2**31, 2**53, 2**63 - 1, -2**63, "@1e999@", "@-1e999@", "@" + "9" * 400 + "@", 0.5, "", "\0", "\x1b]0;x\x07", "\u202e",
              "x" * 10_000, None, True, [], {}, [[]], [None] * 100, {"": {}}, {"name": 1}]


# ---- mutations: each gets a random number generator, a good file and another good file of the same kind
# ---------------------------

def flips(dice, data, _):
    data = bytearray(data)
    for _ in range(dice.choice([1, 1, 2, 4, 16])):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(data)


def cut(dice, data, _):
    if dice.random() < 0.5:
        return data[:dice.randrange(len(data))]
    begin = dice.randrange(len(data))
    return data[:begin] + data[begin + dice.randrange(1, 200):]


def zeros(dice, data, _):
    at = dice.randrange(len(data) + 1)
    return data[:at] + b"\0" * dice.choice([1, 2, 64, 5000]) + data[at + dice.randrange(2):]


def duplicated(dice, data, _):
    begin = dice.randrange(len(data))
    piece = data[begin:begin + dice.choice([1, 16, 300, len(data)])]
    return data[:begin] + piece * dice.choice([2, 3, 20]) + data[begin:]


def spliced(dice, data, other):
    return data[:dice.randrange(len(data) + 1)] + other[dice.randrange(len(other) + 1):]


def nested(dice, data, _):
    at = dice.randrange(len(data) + 1)
    depth = dice.choice([10, 200, 257, 5000, 100_000])
    piece = dice.choice([b"[", b'{"a":', b"(", b'[{"config_files":', b"<"]) * depth
    return data[:at] + piece + dice.choice([b"", b"]" * depth, b"}" * depth]) + data[at:]


def huge_numbers(dice, data, _):
    digits = [i for i in range(len(data)) if data[i:i + 1].isdigit()]
    if not digits:
        return flips(dice, data, data)
    at = dice.choice(digits)
    number = dice.choice([b"99999999999999999999", b"9223372036854775807", b"-1", b"1e308", b"1e999", b"0", b"4294967296", b"9" * 5000])
    return data[:at] + number + data[at + 1:]


def lines_in_disorder(dice, data, _):
    lines = data.split(b"\n")
    for _ in range(dice.choice([1, 3, 10])):
        i, j = dice.randrange(len(lines)), dice.randrange(len(lines))
        lines[i] = lines[j] if dice.random() < 0.5 else b"".join([lines[i][:dice.randrange(len(lines[i]) + 1)], lines[j]])
    return b"\n".join(lines)


def places(node, path=()):
    yield path
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def without_comments(data):
    return b"\n".join(line for line in data.split(b"\n") if not line.lstrip().startswith(b"//"))


def swapped_types(dice, data, other):
    """Changes a value of a JSON document or JSON line, or removes or renames a member."""
    lines = data.split(b"\n")
    try:
        at, document = None, json.loads(without_comments(data))
    except ValueError:
        at = dice.randrange(len(lines))
        try:
            document = json.loads(lines[at])
        except ValueError:
            return huge_numbers(dice, data, other)
    document = copy.deepcopy(document)
    for _ in range(dice.choice([1, 1, 1, 3])):
        path = dice.choice(list(places(document)))
        if not path:
            continue
        node = document
        for key in path[:-1]:
            node = node[key]
        if dice.random() < 0.15:
            del node[path[-1]]
        elif isinstance(node, dict) and dice.random() < 0.15:
            node[dice.choice(["name", "x" * 5000, "\0", *map(str, node)])] = node.pop(path[-1])
        else:
            node[path[-1]] = copy.deepcopy(dice.choice(ODD_VALUES))
    text = json.dumps(document).replace('"@', "").replace('@"', "").encode()
    if at is None:
        return text
    lines[at] = text
    return b"\n".join(lines)


MUTATIONS = [flips, cut, zeros, duplicated, spliced, nested, huge_numbers, lines_in_disorder, swapped_types, swapped_types]


# ---- kinds of input: good files, and fast commands that read them ------------------------------------------------------------

def unpacked(path):
    return lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()


def logs():
    return [unpacked(path) for path in sorted((FIXTURES / "logs").glob("cudnn-*.log.xz"))] + \
        [path.read_bytes() for path in sorted(FIXTURES.glob("*.txt")) if not path.name.startswith("te-")]


def packed():
    small = min(logs(), key=len)
    return [gzip.compress(small, mtime=0), lzma.compress(small), gzip.compress((CONFIGS / "bert.json").read_bytes(), mtime=0),
            (FIXTURES / "frontend-graphs.jsonl.xz").read_bytes()]


def matrix_documents():
    documents = []
    for name in ("bert", "gpt2", "t5"):
        configs = json.loads(without_comments((CONFIGS / f"{name}.json").read_bytes()))
        document = configs if isinstance(configs, dict) and "configs" in configs else {"configs": configs if isinstance(configs, list) else [configs]}
        documents.append(json.dumps({**document, "targets": ["l40s", "t4"], "cudnn": ["9.19"], "config_files": []}).encode())
    return documents


def read(*patterns):
    return [path.read_bytes() for pattern in patterns for path in sorted(common.ROOT.glob(pattern))]


def pasted_texts():
    texts = json.loads((FIXTURES / "texts/texts.json").read_bytes())["texts"]
    return [text["text"].encode() for text in texts] + [path.read_bytes() for path in sorted(FIXTURES.glob("*.txt"))]


def programs():
    tests = (common.ROOT / "tests/frameworks/python_source_test.cpp").read_text()
    lines = re.findall(r"(?:torch|jax) '(scaled_dot_product_attention\(.*?\))'", (common.ROOT / "docs/from-frameworks.md").read_text())
    return [text.encode() for text in re.findall(r'R"\((.*?)\)"', tests, re.S) + lines]


def requests():
    calls = re.findall(r'\{"jsonrpc".*\}', (common.ROOT / "docs/api.md").read_text())
    some = [{"jsonrpc": "2.0", "id": i, "method": method, "params": params} for i, (method, params) in enumerate([
        ("probe", {"config": {"heads": 12, "seqlen": 512, "head_dim": 64}, "target": ["l40s", "h100"], "cudnn": NOWHERE, "mode": "A,B", "jobs": 2}),
        ("suggest", {"torch": {"query": {"shape": [2, 8, 512, 96]}, "key": [2, 8, 512, 96], "value": [2, 8, 512, 96], "dtype": "half"},
                     "target": "no-such-gpu", "keep": "dtype", "most": 3}),
        ("limits", {"field": "head_dim=8:64:8", "vary": "pass", "config": {"heads": 4, "seqlen": 64}, "cudnn": NOWHERE}),
        ("bugs", {"cudnn": "9.10.2", "framework": "torch==2.11"}), ("explain", {"text": "cuDNN dropout probability resolution"}),
        ("schema", {"of": "config"}), ("cancel", {"id": 1}), ("version", None)])]
    return [json.dumps(some).encode(), "\n".join([*calls, *map(json.dumps, some)]).encode(), json.dumps(some[0]).encode()]


def lock_files():
    lines = ["# attnprobe baseline 1: config gpu cudnn answer first-engine why", "# asked with: --framework torch==2.11"]
    for config in ("bert", '"a b"', "gpt2_medium"):
        lines += [f"{config} l40s 9.19.0 yes 10", f"{config} t4 9.19.0 no - gpu", f"{config} h100 9.20.0 but 9 framework+known_bug"]
    return ["\n".join(lines).encode() + b"\n"]


METADATA = b"""Metadata-Version: 2.4
Name: torch
Version: 2.11.0
Requires-Dist: filelock
Requires-Dist: nvidia-cudnn-cu12==9.10.2.21; platform_system == "Linux"
Requires-Dist: nvidia-cudnn-frontend[cutedsl] (<2,>=1.9) ; extra == 'x'

PyTorch
"""
RECORD = b"""nvidia/cudnn/lib/libcudnn.so.9,sha256=abc,125136
nvidia/cudnn/lib/libcudnn_graph.so.9,sha256=def,
"nvidia/cudnn/lib/a,b",sha256=def,5
nvidia_cudnn_cu12-9.10.2.21.dist-info/RECORD,,
"""


class Kind:
    """`sample` gives good files; each command reads a mutant, {}, or gets it on standard input, "<"; it may write below {out};
    {good} are good reports. A mutant that is `within` a folder has that name there; the folder is {}."""

    def __init__(self, ending, sample, *commands, within=""):
        self.ending, self.sample, self.commands, self.within = ending, sample, [command.split() for command in commands], within


DRAW = f"--cudnn {NOWHERE} --dump-graph json"
KINDS = {
    "config": Kind(".json", lambda: read("configs/*.json", "tests/fixtures/provoking-configs.json"),
                   f"matrix {{}} --target l40s --no-cache --cudnn {NOWHERE} --out {{out}}", "--config {} " + DRAW),
    "matrix": Kind(".json", matrix_documents, f"matrix {{}} --no-cache --cudnn {NOWHERE} --out {{out}}"),
    "log": Kind(".log", logs, "replay --list {}", "explain {}", "explain --format json {}", "replay --to-config {}"),
    "frontend": Kind(".jsonl", lambda: [unpacked(FIXTURES / "frontend-graphs.jsonl.xz")], "replay --list {}", "replay --to-config {}"),
    "cells": Kind(".jsonl", None, "diff {} {}", "diff {good}/report.json {}", "merge {} --out {out} --overwrite",
                  "merge {good}/cells.jsonl {} --out {out} --overwrite --allow-missing"),
    "report": Kind(".json", None, "diff {} {}", "diff {good}/report.json {}",
                   "merge {} --out {out} --overwrite --allow-missing"),
    "target": Kind(".json", lambda: read("configs/targets/*.json"), "targets show {}",
                   f"matrix configs/bert.json --target {{}} --no-cache --cudnn {NOWHERE} --out {{out}}"),
    "graph": Kind(".json", lambda: read("tests/fixtures/graph-*.json", "tests/fixtures/logs/*.graph.json"), "replay --list {}",
                  "replay --to-config {}", "replay --dump-graph dot {}"),
    "te": Kind(".json", lambda: read("tests/fixtures/te-calls.json", "tests/fixtures/te-pytorch-log.txt"), "--te {} --target no-such-gpu",
               f"--te {{}} --target l40s {DRAW}"),
    "cache": Kind(".sqlite", None, "cache stats --cache {}",
                  f"matrix configs/gpt2.json --target l40s --cache {{}} --cudnn {NOWHERE} --out {{out}}", "cache clear --cache {}"),
    "text": Kind(".txt", pasted_texts, "explain {}", "explain --format json {}", "explain - <"),
    "program": Kind(".py", programs, "explain {}", "--torch {} --target no-such-gpu", "--jax {} --target no-such-gpu"),
    "requests": Kind(".jsonl", requests, "serve --stdio <"),
    "lock": Kind(".lock", lock_files, f"matrix configs/gpt2.json --target l40s,t4 --no-cache --baseline {{}} --cudnn {NOWHERE} --out {{out}}"),
    "metadata": Kind("", lambda: [METADATA], "doctor --python {}", within="torch-2.11.0.dist-info/METADATA"),
    "record": Kind("", lambda: [RECORD], "doctor --python {}", within="nvidia_cudnn_cu12-9.10.2.21.dist-info/RECORD"),
    "packed": Kind(".bin", packed, "replay --list {}", "explain {}", "matrix {} --target no-such-gpu --no-cache --out {out}"),
}


def good_files(settings, folder, kinds):
    """{kind: [bytes]}; cells, reports and the cache come from a matrix run for this purpose."""
    common.undisturbed(settings, ["matrix", "configs/gpt2.json", "--target", "l40s,t4"], folder / "good", "--cache", folder / "good.sqlite")
    made = {"cells": "good/cells.jsonl", "report": "good/report.json", "cache": "good.sqlite"}
    return {name: [(folder / made[name]).read_bytes()] if name in made else [file for file in KINDS[name].sample() if file] for name in kinds}


def run(settings, options, folder):
    folder = pathlib.Path(folder)
    kinds = options.kinds.split(",")
    good = good_files(settings, folder, kinds)
    counts = dict.fromkeys(kinds, 0)
    codes, slowest = {}, (0.0, "")
    for number in settings.numbers(options.mutants):
        dice = random.Random(f"{settings.seed}/{number}")
        name = dice.choice(kinds)
        kind = KINDS[name]
        mutation = dice.choice(MUTATIONS)
        data = mutation(dice, dice.choice(good[name]), dice.choice(good[name]))
        if dice.random() < 0.1:
            data = dice.choice(MUTATIONS)(dice, data or b"\n", dice.choice(good[name]))
        given, out = folder / f"mutant-{number}{kind.ending}", folder / "out"
        file = given / kind.within
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        command = dice.choice(kind.commands)
        arguments = [word.format(given, good=folder / "good", out=out) for word in command if word != "<"]
        ended = settings.run(arguments, stdin=file if "<" in command else None)
        wrong = common.complaint(ended, [given.name, *OF_NO_FILE], is_text=not {"json", "dot", "show"} & {*command},
                                 tells=command[0] == "doctor")
        if wrong:
            settings.finding(number, f"{name}, {mutation.__name__}: {wrong}", arguments,
                             [(file.name, data), ("stdout", ended.out), ("stderr", ended.errors)])
        counts[name] += 1
        codes[ended.code] = codes.get(ended.code, 0) + 1
        slowest = max(slowest, (ended.seconds, f"number {number}, {name}, {mutation.__name__}"))
        file.unlink()
        for made in (given, out):
            shutil.rmtree(made, ignore_errors=True)
    return {**{f"of {name}": count for name, count in counts.items()}, **{f"code {code}": count for code, count in codes.items()},
            "slowest": slowest}


def summary(counts):
    each = {name[3:]: count for name, count in counts.items() if name.startswith("of ")}
    return f"{sum(each.values())} mutants ({', '.join(f'{name} {count}' for name, count in each.items())}); {common.ends(counts)}; " \
           f"the slowest took {counts['slowest'][0]:.1f} s ({counts['slowest'][1]})"
