"""Runs masks and biases of every type, shape and stride through cuDNN.
Compares the results with a reference in f64 and with attnprobe's answer to the same call.

For lab/compare-pytorch --masks. A call gives a right result, a wrong result without an error, or an exception; attnprobe's answer to
--torch or --jax must predict which.
"""
import collections
import concurrent.futures
import json
import subprocess

B, H, S, D = 2, 4, 128, 64
MOST_ERROR = 0.02  # for outputs that are averages of normal numbers, computed in 16 bits
FORMS = ("2d", "one", "batch", "full", "expanded", "transposed", "sliced")


def verdict_of(answer):
    """The outcome of the call according to attnprobe's report."""
    takes = [gate["takes"] for result in answer["results"] for gate in result["frameworks"]]
    statuses = [refusal["status"] for result in answer["results"] for gate in result["frameworks"] for refusal in gate["refusals"]]
    if "wrong" in takes:
        return "wrong"
    if "refused" in takes:
        return "raises" if "exception" in statuses else "falls back"
    if any(result["usable"] == "no" for result in answer["results"]):
        return "raises"
    return "wrong" if any(doubt["kind"] == "known_bug" for result in answer["results"] for doubt in result["but"]) else "right"


def ask(program, option, call, cudnn):
    command = [program, option, json.dumps(call), "--target", "device:0", "--plans", "none", "--quick", "--format", "json",
               *(["--cudnn", cudnn] if cudnn else [])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if not done.stdout.strip():
        return "raises: " + (done.stderr.strip().splitlines() or ["?"])[0]
    return verdict_of(json.loads(done.stdout))


def judged(error):
    return "right" if error < MOST_ERROR else "wrong"


def torch_mask(torch, dtype, form):
    """A mask that leaves each query at least one key, with numbers or booleans."""
    shape = {"2d": (S, S), "one": (1, 1, S, S), "batch": (B, 1, S, S), "expanded": (B, 1, 1, S), "sliced": (B, H, S, 2 * S)}.get(form, (B, H, S, S))
    if dtype == torch.bool:
        mask = torch.rand(shape, device="cuda") < 0.7
        mask[..., 0] = True
        if form == "transposed":
            mask[..., 0, :] = True
    else:
        mask = (2 * torch.randn(shape, device="cuda")).to(dtype)
    return {"expanded": lambda m: m.expand(B, H, S, S), "transposed": lambda m: m.transpose(-1, -2), "sliced": lambda m: m[..., :S]}.get(form, lambda m: m)(mask)


def torch_cases(torch):
    for q_dtype in (torch.float16, torch.bfloat16):
        for dtype in (torch.bool, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32):
            for form in FORMS:
                for trains in (False, True):
                    yield q_dtype, dtype, form, trains


def run_torch(torch, q_dtype, dtype, form, trains):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = (torch.randn(B, H, S, D, device="cuda", dtype=q_dtype, requires_grad=trains) for _ in range(3))
    mask = torch_mask(torch, dtype, form)
    wide = [x.detach().double().requires_grad_(trains) for x in (q, k, v)]
    scores = wide[0] @ wide[1].transpose(-1, -2) / D**0.5
    scores = scores.masked_fill(~mask, float("-inf")) if dtype == torch.bool else scores + mask.double()
    expected = scores.softmax(-1) @ wide[2]
    try:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        pairs = [(out, expected)]
        if trains:
            gradient = torch.randn_like(out)
            pairs += zip(torch.autograd.grad(out, (q, k, v), gradient), torch.autograd.grad(expected, wide, gradient.double()))
        happened = judged(max(float((a.double() - b).abs().nan_to_num(1e9).max() / b.abs().max().clamp(min=1)) for a, b in pairs))
    except RuntimeError:
        happened = "raises"
    tensor = lambda t: {"shape": list(t.shape), "strides": list(t.stride()), "dtype": str(t.dtype), "requires_grad": t.requires_grad}
    call = {"torch": torch.__version__, "query": tensor(q), "key": tensor(k), "value": tensor(v), "attn_mask": tensor(mask), "backend": "CUDNN_ATTENTION"}
    return happened, call


def jax_cases():
    for q_dtype in ("float16", "bfloat16"):
        for bias in (None, "float16", "bfloat16", "float32"):
            for mask in (False, True):
                for shape in ((1, 1, S, S), (B, H, S, S), (1, H, S, S)):
                    for trains in (False, True):
                        if bias or mask:
                            yield q_dtype, bias, mask, shape, trains


def run_jax(q_dtype, bias_type, has_mask, shape, trains):
    import jax
    import jax.numpy as jnp
    import numpy

    draw = numpy.random.default_rng(0)
    q, k, v = (jnp.asarray(draw.standard_normal((B, S, H, D)), q_dtype) for _ in range(3))
    bias = None if bias_type is None else jnp.asarray(2 * draw.standard_normal(shape), bias_type)
    mask = None
    if has_mask:
        kept = draw.random(shape) < 0.7
        kept[..., 0] = True
        mask = jnp.asarray(kept)
    wide = [numpy.asarray(x.astype("float32"), numpy.float64).transpose(0, 2, 1, 3) for x in (q, k, v)]
    scores = wide[0] @ wide[1].transpose(0, 1, 3, 2) / D**0.5
    if bias is not None:
        scores = scores + numpy.asarray(bias.astype("float32"), numpy.float64)
    if mask is not None:
        scores = numpy.where(kept, scores, -numpy.inf)
    weights = numpy.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    expected = (weights @ wide[2]).transpose(0, 2, 1, 3)
    attention = lambda q, k, v, bias: jax.nn.dot_product_attention(q, k, v, bias=bias, mask=mask, implementation="cudnn")
    try:
        pairs = [(attention(q, k, v, bias), expected)]
        if trains:
            gradient = jnp.asarray(draw.standard_normal((B, S, H, D)), q_dtype)
            d_o = numpy.asarray(gradient.astype("float32"), numpy.float64).transpose(0, 2, 1, 3)
            found = jax.vjp(attention, q, k, v, bias)[1](gradient)
            pairs.append((found[2], (weights.transpose(0, 1, 3, 2) @ d_o).transpose(0, 2, 1, 3)))
            if bias is not None:
                d_p = d_o @ wide[2].transpose(0, 1, 3, 2)
                d_bias = weights * (d_p - (d_p * weights).sum(-1, keepdims=True))
                shared = tuple(i for i in range(4) if shape[i] == 1 and d_bias.shape[i] > 1)
                pairs.append((found[3], d_bias.sum(shared, keepdims=True)))
        error = max(float(numpy.nan_to_num(numpy.abs(numpy.asarray(a.astype("float32"), numpy.float64) - b), nan=1e9).max()
                          / numpy.abs(b).max()) for a, b in pairs)
        happened = judged(error)
    except Exception as problem:  # JAX raises ValueError, NotImplementedError, XlaRuntimeError, …
        happened = "raises"
        del problem
    call = {"jax": jax.__version__, "query": [B, S, H, D], "key": [B, S, H, D], "value": [B, S, H, D], "dtype": q_dtype, "grad": trains,
            "implementation": "cudnn"}
    if bias is not None:
        call["bias"] = {"shape": list(shape), "dtype": bias_type}
    if mask is not None:
        call["mask"] = list(shape)
    return happened, call


def compare(program, cudnn, with_jax):
    """Prints each case in which the two differ, and the counts. Returns the number of differences."""
    import torch

    torch.manual_seed(0)
    asked = []
    # The attnprobe processes start while the GPU runs the next calls, because starting takes most of their time.
    with concurrent.futures.ThreadPoolExecutor(8) as asker:

        def add(name, option, happened, call):
            loaded = [line.split()[-1] for line in open("/proc/self/maps") if "/libcudnn.so." in line]
            asked.append((name, option, happened, call, asker.submit(ask, program, option, call, cudnn or min(loaded, default=""))))

        for case in torch_cases(torch):
            add(f"PyTorch, Q {str(case[0])[6:]}, mask {str(case[1])[6:]}", "--torch", *run_torch(torch, *case))
        if with_jax:
            for case in jax_cases():
                add(f"JAX, Q {case[0]}, bias {case[1]}{', mask' if case[2] else ''}", "--jax", *run_jax(*case))
    counts, differences = collections.Counter(), []
    for name, option, happened, call, answer in asked:
        counts[name, happened, answer.result()] += 1
        if answer.result() != happened:
            differences.append(f"{option} '{json.dumps(call)}': {happened}, attnprobe answers {answer.result()}")
    for (name, happened, told), count in counts.items():
        print(f"{name}: {count} {happened}, attnprobe: {told}")
    print(*differences, f"{sum(counts.values())} calls, {len(differences)} differences", sep="\n")
    return len(differences)
