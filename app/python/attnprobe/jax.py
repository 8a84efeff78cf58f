"""Why JAX does not use cuDNN for a call of jax.nn.dot_product_attention."""

from __future__ import annotations

import sys
from importlib import metadata
from typing import Any, Dict, Optional, Sequence, Tuple, Union

from . import _why
from ._configs import PathLike, TargetLike
from ._errors import UsageError
from ._why import Why


def why(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: Optional[float] = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: Union[None, int, Sequence[int]] = None,
    implementation: Optional[str] = None,
    grad: bool = False,
    target: Optional[TargetLike] = None,
    cudnn: Optional[PathLike] = None,
    plans: str = "none",
    quick: bool = False,
) -> Why:
    """The backend that JAX uses for these arrays, why it is not cuDNN, cuDNN's answer, and what to change.

    The arguments are those of ``jax.nn.dot_product_attention``; arrays, ``jax.ShapeDtypeStruct`` and tracers are accepted, and JAX is
    not imported. ``grad`` says whether the call is differentiated, which the call itself does not show.

    target: one GPU; by default the GPU of the arrays. cudnn, plans, quick: as for ``attnprobe.torch.why``.
    """
    call = describe(query, key, value, bias, mask, scale=scale, is_causal=is_causal, query_seq_lengths=query_seq_lengths,
                    key_value_seq_lengths=key_value_seq_lengths, local_window_size=local_window_size,
                    implementation=implementation, grad=grad)
    if target is None:
        target = _gpu_of(query)
        if target is None:
            raise UsageError('target: query is not on a GPU; name a target, such as target="h100"')
    report = _why.asked("jax", call, target, cudnn, plans, quick)
    gate = _why.gate_of(report, "jax")
    return Why(
        backend=_backend(gate.takes, implementation),
        backend_by="rule",
        gate=gate,
        target=_why.one_target(report),
        report=report,
        call=call,
        reasons=_why.reasons_of(gate, report),
        changes=_why.changes_of(gate, report),
        notes=gate.notes,
    )


def describe(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: Optional[float] = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: Union[None, int, Sequence[int]] = None,
    implementation: Optional[str] = None,
    grad: bool = False,
) -> Dict[str, Any]:
    """The call for ``attnprobe --jax`` and ``attnprobe.probe(jax=…)`` (docs/from-frameworks.md)."""
    call: Dict[str, Any] = {
        "query": _array(query, "query"),
        "key": _array(key, "key"),
        "value": _array(value, "value"),
        "bias": None if bias is None else _array(bias, "bias"),
        "mask": None if mask is None else _array(mask, "mask"),
        "scale": None if scale is None else float(scale),
        "is_causal": bool(is_causal),
        "query_seq_lengths": query_seq_lengths is not None,
        "key_value_seq_lengths": key_value_seq_lengths is not None,
        "local_window_size": _window(local_window_size),
        "implementation": implementation,
        "grad": bool(grad),
    }
    release = _release()
    if release is not None:
        call["jax"] = release
    return call


def _release() -> Optional[str]:
    """The imported release, otherwise the installed one; for None, attnprobe uses the newest known release."""
    module = sys.modules.get("jax")
    if module is not None:
        return str(getattr(module, "__version__", "")) or None
    try:
        return metadata.version("jax")
    except metadata.PackageNotFoundError:
        return None


def _array(array: Any, name: str) -> Dict[str, Any]:
    shape, dtype = getattr(array, "shape", None), getattr(array, "dtype", None)
    if shape is None or dtype is None:
        raise UsageError(f"{name}: a {type(array).__name__}; allowed: an array, or anything with shape and dtype")
    return {"shape": [int(extent) for extent in shape], "dtype": str(getattr(dtype, "name", dtype))}


def _window(window: Union[None, int, Sequence[int]]) -> Union[None, int, Tuple[int, ...]]:
    return window if window is None or isinstance(window, int) else tuple(int(side) for side in window)


def _gpu_of(array: Any) -> Optional[str]:
    """The GPU that a concrete array is on; None for tracers, descriptions and the CPU."""
    devices = getattr(array, "devices", None)
    if not callable(devices):
        return None
    try:
        gpus = [device for device in devices() if device.platform in ("gpu", "cuda")]
    except Exception:  # a tracer has no devices, so JAX raises its own exceptions
        return None
    return f"device:{gpus[0].local_hardware_id}" if gpus else None


def _backend(takes: str, implementation: Optional[str]) -> str:
    if takes == "yes":
        return "cudnn"
    # With cuDNN named, JAX raises if its gate refuses; by default it never uses cuDNN.
    return "none" if implementation == "cudnn" else "xla"
