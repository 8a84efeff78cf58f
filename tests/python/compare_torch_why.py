#!/usr/bin/env python3
"""Compares attnprobe.torch.why's rules with what PyTorch itself says, over random calls on a GPU.

Usage: compare_torch_why.py [--calls N] [--target h200]     with ATTNPROBE_LIBRARY and ATTNPROBE_PROGRAM, where no wheel is installed

With --target no GPU is needed: tensors are on meta, PyTorch is not asked, and only the rules' answers are counted. Ends with 1 where
there is a difference.
"""

import argparse
import collections
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "app" / "python"), str(HERE.parent / "rules")]

import torch  # noqa: E402

import attnprobe  # noqa: E402
import compare_torch_gates as gates  # noqa: E402


def tensors(call, device):
    """As compare_torch_gates.py makes them, but on any device."""
    dtype = {"h": torch.float16, "b": torch.bfloat16, "f": torch.float32}[call["dtype"]]
    odd = call["odd"]

    def tensor(batch, heads, length, dim):
        shape = (batch, heads, length, dim * 2 if odd == gates.STRIDED else dim)
        made = torch.empty(*shape, dtype=dtype, device=device, requires_grad=bool(call["grad"]))
        made = made[..., ::2] if odd == gates.STRIDED else made
        return made[0] if odd == gates.RANK_3 else made

    q = tensor(2, 8, call["s"], call["d"])
    k = tensor(2, call["h"], call["k"], call["d"])
    v = tensor(3 if odd == gates.BATCH else 2, call["h"], call["k"], call["dv"])
    shape = gates.mask_shape(call)
    mask = torch.empty(*shape, dtype=dtype, device=device, requires_grad=call["mask"] == 6) if shape else None
    return q, k, v, mask


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--target", help="a GPU that is not there")
    options = parser.parse_args()
    device = "meta" if options.target else "cuda"
    counts, differences = collections.Counter(), []
    begin = time.monotonic()
    for call in gates.draws(options.calls):
        torch.use_deterministic_algorithms(call["odd"] == gates.DETERMINISTIC)
        torch.backends.cuda.enable_cudnn_sdp(call["odd"] != gates.OFF)
        q, k, v, mask = tensors(call, device)
        causal = bool(call["causal"]) and mask is None
        try:
            why = attnprobe.torch.why(q, k, v, mask, call["p"], causal, None, bool(call["gqa"]), target=options.target, quick=True)
        except attnprobe.UsageError as problem:
            counts[f"no call: {str(problem)[:60]}"] += 1
            continue
        finally:
            torch.use_deterministic_algorithms(False)
            torch.backends.cuda.enable_cudnn_sdp(True)
        counts[f"{why.backend} ({why.backend_by})"] += 1
        # By rule cuDNN is taken where the gate says yes; PyTorch says which backend it takes.
        if why.backend_by == "torch" and (why.backend == "cudnn") != (why.gate.takes == "yes"):
            differences.append((call, why.backend, why.gate.text))
    for words, count in counts.most_common():
        print(f"{count:6} {words}")
    for call, backend, text in differences[:20]:
        print(f"DIFFERENT: {call}: PyTorch takes {backend}; by rule: {text}")
    print(f"{options.calls} calls, {len(differences)} differences, {time.monotonic() - begin:.0f} s")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
