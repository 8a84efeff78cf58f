#!/usr/bin/env python3
"""Compares attnprobe.torch.why with what PyTorch does, over random calls on a real GPU.

  tests/python/compare_torch_why.py [--calls N] [--first N]

For each call it compares `why` by rule, PyTorch's own choice (torch._fused_sdp_choice), and the function that autograd recorded. `why` is
also asked for the catalogue entry of this machine's GPU. Calls with a mask, with odd strides or without queries are not run. For some of
them, kernels of PyTorch 2.11 read out of bounds. Needs PyTorch and attnprobe in the same Python. Exits with 1 if there is a difference.
"""
import argparse
import collections
import itertools
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "rules"))
import compare_torch_gates as gates  # noqa: E402

import torch  # noqa: E402

import attnprobe.torch  # noqa: E402

RAN = {"Cudnn": "cudnn", "Flash": "flash", "Efficient": "efficient"}


def arguments_of(c):
    types = {"h": torch.half, "b": torch.bfloat16, "f": torch.float}

    def tensor(b, h, s, d):
        step = 2 if c["odd"] == gates.STRIDED else 1
        made = torch.randn(b, h, s, d * step, dtype=types[c["dtype"]], device="cuda")[..., ::step]
        return (made[0] if c["odd"] == gates.RANK_3 else made).requires_grad_(bool(c["grad"]))

    q, k = tensor(2, 8, c["s"], c["d"]), tensor(2, c["h"], c["k"], c["d"])
    v = tensor(1 if c["odd"] == gates.BATCH else 2, c["h"], c["k"], c["dv"])
    mask = torch.zeros(*gates.mask_shape(c), dtype=types[c["dtype"]], device="cuda") if c["mask"] else None
    if c["mask"] == 6:
        mask.requires_grad_()
    torch.use_deterministic_algorithms(c["odd"] == gates.DETERMINISTIC)
    torch.backends.cuda.enable_cudnn_sdp(c["odd"] != gates.OFF)
    return {"query": q, "key": k, "value": v, "attn_mask": mask, "dropout_p": c["p"], "is_causal": bool(c["causal"]), "enable_gqa": bool(c["gqa"])}


def what_ran(c, arguments):
    """The backend that ran; "" if autograd recorded none, or if it was not run; "raises"."""
    if c["mask"] or c["odd"] in (gates.STRIDED, gates.BATCH) or c["s"] == 0:
        return ""
    try:
        out = torch.nn.functional.scaled_dot_product_attention(**arguments)
        torch.cuda.synchronize()
    except RuntimeError:
        return "raises"
    seen, waiting = set(), [out.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        for word, backend in RAN.items():
            if word in node.name() and "Attention" in node.name():
                return backend
        waiting += [before for before, _ in node.next_functions]
    return "math" if out.grad_fn is not None else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    counts, differences, seconds = collections.Counter(), [], 0.0
    for number, c in enumerate(itertools.islice(gates.draws(options.first + options.calls), options.first, None)):
        arguments = arguments_of(c)
        begun = time.perf_counter()
        try:
            why = attnprobe.torch.why(**arguments, quick=True)
        except attnprobe.UsageError as error:
            counts["why refuses the call"] += 1
            ran = what_ran(c, arguments)
            if ran == "cudnn":
                differences.append((number, c, str(error), ran))
            continue
        seconds += time.perf_counter() - begun
        rule_says_cudnn = why.gate.takes == "yes"
        ran = what_ran(c, arguments)
        counts[f"by rule {'cudnn' if rule_says_cudnn else 'not cudnn'}, chosen {why.backend}, ran {ran or 'unseen'}"] += 1
        is_wrong = rule_says_cudnn != (why.backend == "cudnn") or (ran not in ("", "raises") and (ran == "cudnn") != (why.backend == "cudnn"))
        # If PyTorch chooses cuDNN and cuDNN refuses, the call raises.
        if ran == "raises" and why.backend == "cudnn" and why.cudnn_takes_it:
            is_wrong = True
        if is_wrong:
            differences.append((number, c, why.headline, ran))
    for text, count in counts.most_common():
        print(f"{count:6} {text}")
    for number, c, text, ran in differences[:10]:
        print(f"  different: call {number} {c}: {text}; ran {ran}")
    print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}: {options.calls} calls, "
          f"{len(differences)} differences; {1000 * seconds / options.calls:.1f} ms a call of why")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
