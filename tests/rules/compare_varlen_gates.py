#!/usr/bin/env python3
"""Compares lib/rules/frameworks/torch-varlen.json with PyTorch's own selection, over random calls.

Usage: compare_varlen_gates.py RELEASE=FILE… [--calls N]       2.15.0=varlen.py, torch/nn/attention/varlen.py of that wheel

The deciding functions are extracted from the file and run with stand-ins: no PyTorch, no GPU. In 2.15 every reason must be
the message of a rule that holds. Exits with 1 if there is a difference.
"""

import pathlib
import random
import re
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_framework_files as files  # noqa: E402

STATE = {}


def function_text(source, name):
    lines = source.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("def %s(" % name))
    last = first + 1
    while last < len(lines) and (not lines[last].strip() or lines[last][0] in " \t)#"):
        last += 1
    return "\n".join(lines[first:last])


class Tensor:
    def __init__(self, shape, dtype, on_cuda=True, requires_grad=False):
        self.shape, self.dtype, self.is_cuda, self.requires_grad = shape, dtype, on_cuda, requires_grad
        self.device = types.SimpleNamespace(index=0)

    def size(self, axis):
        return self.shape[axis]


def decode_disabled(_):
    version = STATE["cudnn"]
    return STATE["sm"] // 10 in (10, 11) and 91900 <= version <= 92500 and not 92401 <= version <= 92499


def functions_of(file):
    source = pathlib.Path(file).read_text()
    room = {"lru_cache": lambda **_: lambda function: function, "_cudnn_decode_disabled": decode_disabled}
    room["torch"] = types.SimpleNamespace(
        Tensor=Tensor, float16="f16", bfloat16="bf16", version=types.SimpleNamespace(hip=None), is_grad_enabled=lambda: True,
        backends=types.SimpleNamespace(cudnn=types.SimpleNamespace(version=lambda: STATE["cudnn"])),
        cuda=types.SimpleNamespace(get_device_capability=lambda _: divmod(STATE["sm"], 10)))
    for name in re.findall(r"^_CUDNN_SM100\w+ = frozenset\((?:.|\n)*?\)\n(?=\S|\n)", source, re.M):
        exec(name, room)
    for name in ("_cudnn_version_and_major_capability", "_should_use_cudnn", "_cudnn_version", "_can_use_cudnn",
                 "_cudnn_supports_head_dims", "_cudnn_rejection_reasons"):
        if "def %s(" % name in source:
            exec("from __future__ import annotations\n" + function_text(source, name), room)
    return room


def random_problem(base, pick):
    p = dict(base)
    p["sm"] = pick([80, 89, 90, 90, 90, 100, 100, 103, 120])
    p["cudnn"] = pick([91000, 91800, 91900, 92200, 92300, 92400, 92401, 92500] + [92600] * 9)
    p["dtype"], p["seqlen_q"] = pick(["f16", "bf16"] * 10 + ["f32"]), pick([1, 128, 129, 1024, 2048])
    p["head_dim_qk"], p["head_dim_v"] = pick([(64, 64), (128, 128)] * 4 + [(100, 100), (192, 128), (192, 192), (256, 128),
                                                                          (256, 256), (136, 64)])
    p["on_cuda"], p["requires_grad"] = pick([True] * 40 + [False]), pick([True, False])
    p["heads_kv"] = p["heads_v"] = pick([8, 8, 2])
    p["gqa"] = p["heads_kv"] != 8
    p["enable_gqa"] = p["gqa"] or pick([True, False, False])
    p["window"] = pick([[-1, -1]] * 6 + [[-1, 0]] * 6 + [[127, 0], [127, 127], [-1, 5]])
    p["window_left"], p["window_right"] = (None if side < 0 else side for side in p["window"])
    p["causal"] = p["window"][1] == 0
    p["seqused_k"], p["same_cu_seq"] = pick([False, False, True]), pick([True, True, True, False])
    p["num_splits"], p["page_size"] = pick([False] * 25 + [True]), pick([None] * 8 + [64, 48])
    p["page_size_power_of_two"], p["paged"] = p["page_size"] != 48, p["page_size"] is not None
    return p


def reasons(room, p):
    """PyTorch's reasons as a list; PyTorch 2.14 gives none."""
    STATE.update(p)
    q = Tensor((100, 8, p["head_dim_qk"]), p["dtype"], p["on_cuda"], p["requires_grad"])
    k = Tensor((10, p["page_size"], p["heads_kv"], 1) if p["paged"] else (100, p["heads_kv"], 1), p["dtype"])
    v = Tensor((100, 8, p["head_dim_v"]), p["dtype"])
    lengths = object()
    rest = [object() if p["seqused_k"] else None, object() if p["paged"] else None, 2 if p["num_splits"] else None]
    if "_can_use_cudnn" in room:
        return [] if room["_can_use_cudnn"](q, k, v, p["seqlen_q"], p["window"], p["enable_gqa"], *rest) else [""]
    other = lengths if p["same_cu_seq"] else object()
    return room["_cudnn_rejection_reasons"](q, k, v, lengths, other, p["seqlen_q"], p["window"], *rest)


def compare(release, file, calls):
    data = files.json.loads((files.FOLDER / "torch-varlen.json").read_text())
    base = {name: None for name in [*files.flat_keys(), *data["keys"], *data["needs_keys"]]}
    base.update(data["base"])
    room, pick, differences, refused = functions_of(file), random.Random(16).choice, 0, 0
    for _ in range(calls):
        p = random_problem(base, pick)
        said = reasons(room, p)
        rules = [r for r in data["rules"] if files.in_force(r, files.version(release)) and files.holds(r["when"], p)]
        words = [re.sub(r"\{(\w+)\}", lambda m: str(p[m.group(1)]), r["message"]) for r in rules]
        refused += bool(said)
        # Without CUDA, PyTorch knows no cuDNN version, so its reasons about versions are ignored.
        in_words = p["on_cuda"] and "_can_use_cudnn" not in room
        if bool(said) != bool(rules) or (in_words and sorted(said) != sorted(words)):
            differences += 1
            if differences <= 5:
                print("  PyTorch: %s\n  rules: %s" % (said, [r["id"] for r in rules]))
    print("PyTorch %s, varlen_attn: %d calls, %d refused, %d differences" % (release, calls, refused, differences))
    return differences


def main():
    arguments, calls = sys.argv[1:], 10000
    if "--calls" in arguments:
        at = arguments.index("--calls")
        calls = int(arguments[at + 1])
        del arguments[at:at + 2]
    return 1 if sum(compare(*one.split("=", 1), calls) for one in arguments) else 0


if __name__ == "__main__":
    sys.exit(main())
