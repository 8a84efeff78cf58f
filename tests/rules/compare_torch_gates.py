#!/usr/bin/env python3
"""Compares lib/rules/frameworks/torch.json with torch.backends.cuda.can_use_cudnn_attention over random calls.

Usage: compare_torch_gates.py [--calls N] [--ask FILE]          on a machine with a GPU and PyTorch; FILE keeps its answers
       compare_torch_gates.py --answers FILE TORCH CUDNN SM     anywhere: 2.11.0 91900 90

Exits with 1 if there is a difference. Measured: docs/results/README.md.
"""

import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_framework_files as files  # noqa: E402

CALLS = 20000
# The unusual property of a call. In order: none, use_deterministic_algorithms, cuDNN disabled, a last stride of 2 in Q, K and
# V, another batch in V, three dimensions.
PLAIN, DETERMINISTIC, OFF, STRIDED, BATCH, RANK_3 = range(6)


def draws(calls):
    """Yields the calls, which are the same on every machine."""
    pick = random.Random(16).choice
    for _ in range(calls):
        c = {"dtype": pick("hhhhbbbbf"), "d": pick([64, 96, 100, 128, 128, 136, 192, 256, 264])}
        c["dv"] = pick([c["d"], c["d"], c["d"], c["d"], 128, 256])
        c["s"], c["k"] = pick([1, 2, 128, 1088, 0] + [1024] * 9), pick([1, 2, 128, 1088] + [1024] * 7)
        c["h"] = pick([8] * 6 + [2, 2, 1, 3])
        c["gqa"], c["p"], c["causal"] = pick([0, 1]), pick([0, 0, 0, .1, .125, .5]), pick([0, 0, 1])
        c["mask"], c["odd"], c["grad"] = pick([0] * 12 + [1, 2, 3, 4, 5, 6, 7]), pick([0] * 25 + [1, 2, 3, 4, 5]), pick([0, 1])
        yield c


def mask_shape(c):
    s, k = c["s"], c["k"]
    return {0: None, 1: (s, k), 2: (2, 8, s, k), 3: (1, 1, 1, k), 4: (2, s, k), 5: (1, 1, s + 1, k), 6: (1, 1, s, k),
            7: (2, 1, s, 1)}[c["mask"]]


def problem_of(c, base, cudnn, sm):
    p = dict(base, cudnn=cudnn, sm=sm, cuda_major=13, batch=2, heads_q=8, heads_kv=c["h"], heads_v=c["h"], gqa=c["h"] != 8)
    p.update(dtype={"h": "f16", "b": "bf16", "f": "f32"}[c["dtype"]], head_dim_qk=c["d"], head_dim_v=c["dv"])
    p.update(seqlen_q=c["s"], seqlen_kv=c["k"], enable_gqa=bool(c["gqa"]), causal=bool(c["causal"]))
    p.update(requires_grad=bool(c["grad"]), query_requires_grad=bool(c["grad"]), dropout=c["p"] > 0)
    p.update(dropout_probability=c["p"] or None, deterministic_algorithms=c["odd"] == DETERMINISTIC)
    p.update(cudnn_sdp_enabled=c["odd"] != OFF, contiguous_head_dim=c["odd"] != STRIDED, one_batch=c["odd"] != BATCH)
    p.update(tensor_rank=3 if c["odd"] == RANK_3 else 4, bias=c["mask"] > 0, mask_requires_grad=c["mask"] == 6)
    shape = mask_shape(c)
    if shape:
        p.update(mask_rank=len(shape), mask_rows=shape[-2], mask_columns=shape[-1], mask_last_stride=1)
        if len(shape) == 4:
            p.update(mask_batch=shape[0], mask_heads=shape[1])
    return p


def ask(calls):
    """PyTorch's own answers: a text of 0 and 1."""
    import torch
    from torch.backends.cuda import SDPAParams, can_use_cudnn_attention

    types, answers = {"h": torch.half, "b": torch.bfloat16, "f": torch.float}, []
    for c in draws(calls):
        def tensor(b, h, s, d):
            step = 2 if c["odd"] == STRIDED else 1
            made = torch.empty(b, h, s, d * step, dtype=types[c["dtype"]], device="cuda")[..., ::step]
            return (made[0] if c["odd"] == RANK_3 else made).requires_grad_(bool(c["grad"]))
        q, k = tensor(2, 8, c["s"], c["d"]), tensor(2, c["h"], c["k"], c["d"])
        v = tensor(1 if c["odd"] == BATCH else 2, c["h"], c["k"], c["dv"])
        mask = torch.empty(*mask_shape(c), dtype=types[c["dtype"]], device="cuda") if c["mask"] else None
        if c["mask"] == 6:
            mask.requires_grad_()
        torch.use_deterministic_algorithms(c["odd"] == DETERMINISTIC)
        torch.backends.cuda.enable_cudnn_sdp(c["odd"] != OFF)
        params = SDPAParams(q, k, v, mask, c["p"], bool(c["causal"]), bool(c["gqa"]))
        answers.append(str(int(can_use_cudnn_attention(params, False))))
    major, minor = torch.cuda.get_device_capability()
    release = torch.__version__.split("+")[0]
    return "".join(answers), release, torch.backends.cudnn.version(), major * 10 + minor


def compare(answers, release, cudnn, sm):
    data = files.json.loads((files.FOLDER / "torch.json").read_text())
    base = {name: None for name in [*files.flat_keys(), *data["keys"], *data["needs_keys"]]}
    base.update(data["base"])
    rules, hits, differences = files.in_order(data, files.version(release)), {}, 0
    for c, taken in zip(draws(len(answers)), answers):
        p = problem_of(c, base, cudnn, sm)
        rule = next((r for r in rules if files.holds(r["when"], p)), None)
        hits[rule["id"] if rule else "taken"] = hits.get(rule["id"] if rule else "taken", 0) + 1
        if (taken == "1") == bool(rule):
            differences += 1
            if differences <= 5:
                print("  PyTorch %s, rule %s: %s" % ("takes" if taken == "1" else "refuses", rule and rule["id"], c))
    print("PyTorch %s, cuDNN %d, sm_%d: %d calls, %d taken, %d differences" % (
        release, cudnn, sm, len(answers), answers.count("1"), differences))
    print("  " + ", ".join("%s %d" % one for one in sorted(hits.items(), key=lambda one: -one[1])))
    return differences


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--answers"]:
        file, release, cudnn, sm = arguments[1:5]
        return 1 if compare(pathlib.Path(file).read_text().strip(), release, int(cudnn), int(sm)) else 0
    calls = int(arguments[arguments.index("--calls") + 1]) if "--calls" in arguments else CALLS
    answers, release, cudnn, sm = ask(calls)
    if "--ask" in arguments:
        pathlib.Path(arguments[arguments.index("--ask") + 1]).write_text(answers)
    return 1 if compare(answers, release, cudnn, sm) else 0


if __name__ == "__main__":
    sys.exit(main())
