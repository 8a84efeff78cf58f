"""JAX's attention for lab/compare-attention: jax.nn.dot_product_attention through cuDNN and through XLA, on PyTorch's tensors.

JAX has no events on its stream, so calls are timed in a loop on the GPU, each after a flush of the L2. The time of the same loop
without the call is subtracted.
"""
import functools
import os
import statistics
import time

IMPLEMENTATIONS = ("cudnn", "xla")
LOOPS = 20


def candidates(torch):
    """Name -> function of (q, k, v, causal, gradient), tensors as (batch, heads, length, head dimension). `gradient` may be None.
    It returns the output (dQ with a gradient) as PyTorch's tensor, and a function that times a number of samples. Empty without JAX, or
    if JAX sees no GPU."""
    # Both libraries share the memory of one GPU.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import jax

        if jax.default_backend() != "gpu":
            return {}
    except (ImportError, RuntimeError):
        return {}
    return {f"JAX {name}": functools.partial(prepare, jax, torch, name) for name in IMPLEMENTATIONS}


def prepare(jax, torch, implementation, q, k, v, causal, gradient):
    # jax.nn's order is batch, length, heads, head dimension.
    arrays = [jax.dlpack.from_dlpack(x.detach().transpose(1, 2).contiguous()) for x in (q, k, v)]
    attention = functools.partial(jax.nn.dot_product_attention, is_causal=causal, implementation=implementation)
    if gradient is None:
        result = jax.jit(attention)(*arrays)
        start, step_of = arrays[0], lambda k, v: lambda q: attention(q, k, v)
        fixed = arrays[1:]
    else:
        start = jax.dlpack.from_dlpack(gradient.transpose(1, 2).contiguous())
        result = jax.jit(lambda q, k, v, g: jax.vjp(attention, q, k, v)[1](g))(*arrays, start)[0]
        step_of, fixed = (lambda q, k, v: jax.vjp(attention, q, k, v)[1]), arrays
    flush = jax.numpy.zeros(2 * torch.cuda.get_device_properties(0).L2_cache_size // 4, jax.numpy.int32)

    def loop(with_call, start, flush, *fixed):
        call = step_of(*fixed)

        def step(_, state):
            given, _, flush = state
            # Without the barrier XLA would compute the call only once.
            given, flush = jax.lax.optimization_barrier((given, flush + 1))
            return given, (call(given) if with_call else state[1]), flush
        empty = jax.tree.map(lambda x: jax.numpy.zeros(x.shape, x.dtype), jax.eval_shape(call, start))
        return jax.lax.fori_loop(0, LOOPS, step, (start, empty, flush))[1:]

    loops = [jax.jit(functools.partial(loop, with_call)) for with_call in (True, False)]

    def seconds(run):
        begun = time.perf_counter()
        jax.block_until_ready(run(start, flush, *fixed))
        return time.perf_counter() - begun

    def measure(samples):
        for run in loops:
            seconds(run)
        times = [1e3 * (seconds(loops[0]) - seconds(loops[1])) / LOOPS for _ in range(samples)]
        return {"ms": statistics.median(times), "min_ms": min(times), "max_ms": max(times), "samples": samples}

    return torch.from_dlpack(result).transpose(1, 2), measure
