"""Why PyTorch does not use cuDNN for a call of scaled_dot_product_attention."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, List, Optional, Tuple

from . import _why
from ._configs import PathLike, TargetLike
from ._errors import UsageError
from ._why import Why

_BACKENDS = {0: "math", 1: "flash", 2: "efficient", 3: "cudnn", 4: "overrideable"}
_CUDNN = 3
#: of each SDPBackend, cuDNN's first: torch.backends.cuda.…()
_SWITCHES = {
    "CUDNN_ATTENTION": "cudnn_sdp_enabled",
    "FLASH_ATTENTION": "flash_sdp_enabled",
    "EFFICIENT_ATTENTION": "mem_efficient_sdp_enabled",
    "MATH": "math_sdp_enabled",
}


def why(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
    *,
    target: Optional[TargetLike] = None,
    cudnn: Optional[PathLike] = None,
    plans: str = "none",
    quick: bool = False,
) -> Why:
    """The backend that PyTorch uses for these tensors, why it is not cuDNN, cuDNN's answer, and what to change.

    The arguments are those of ``torch.nn.functional.scaled_dot_product_attention``; nothing is computed. Tensors on the CPU or on
    ``meta``, including jagged nested ones, are treated as tensors on ``target``. For tensors on a GPU, the question is about that GPU,
    and PyTorch itself names its backend, unless ``target`` is another GPU. The settings of the process apply: ``sdpa_kernel``,
    ``enable_cudnn_sdp``, ``use_deterministic_algorithms``, ``no_grad``.

    target: one GPU.

    cudnn: as for ``attnprobe.probe``; by default the cuDNN that this process has loaded.

    plans: "first" compiles cuDNN's first choice; by default only the support check answers.

    quick: if cuDNN refuses, does not search for fixes (the search takes a second).
    """
    torch = _module()
    call = describe(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    is_there = target is None and _device_type(query) == "cuda"
    if target is None:
        if not is_there:
            raise UsageError(f'target: query is on {_device(query)}, so name the GPU, for example target="h100"')
        target = f"device:{query.device.index or 0}"
    # The tensors count as tensors on the target.
    for name in ("query", "key", "value", "attn_mask"):
        if call.get(name) is not None:
            call[name].pop("device")
    report = _why.asked("torch", call, target, cudnn, plans, quick)
    gate = _why.gate_of(report, "torch")
    backend, by = _backend_by_rule(gate.takes, [refusal.status for refusal in gate.refusals]), "rule"
    if is_there:
        chosen = _chosen(torch, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        if chosen is not None:
            backend, by = chosen, "torch"
    return Why(
        backend=backend,
        backend_by=by,
        gate=gate,
        target=_why.one_target(report),
        report=report,
        call=call,
        reasons=_why.reasons_of(gate, report),
        changes=_why.changes_of(gate, report),
        notes=_notes(gate.notes, by, is_there, backend, gate.takes),
    )


def describe(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
) -> Dict[str, Any]:
    """The call for ``attnprobe --torch`` and ``attnprobe.probe(torch=…)`` (docs/from-frameworks.md)."""
    torch = _module()
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not isinstance(tensor, torch.Tensor):
            raise UsageError(f"{name}: a {type(tensor).__name__}; allowed: a torch.Tensor")
    if attn_mask is not None and not isinstance(attn_mask, torch.Tensor):
        raise UsageError(f"attn_mask: a {type(attn_mask).__name__}; allowed: a torch.Tensor or None")
    call: Dict[str, Any] = {
        "torch": str(torch.__version__),
        "dropout_p": float(dropout_p),
        "is_causal": bool(is_causal),
        "scale": None if scale is None else float(scale),
        "enable_gqa": bool(enable_gqa),
        "grad_enabled": torch.is_grad_enabled(),
        # With warn_only PyTorch's gate accepts it.
        "deterministic": torch.are_deterministic_algorithms_enabled()
        and not torch.is_deterministic_algorithms_warn_only_enabled(),
        **{name: _is_enabled(torch, name, True) for name in _SWITCHES.values()},
        "attn_mask": None if attn_mask is None else _dense(attn_mask),
    }
    if _puts_cudnn_first(torch):
        enabled = [word for word, name in _SWITCHES.items() if call[name]]
        call.update(backend=enabled, set_priority=True)
    if any(tensor.is_nested for tensor in (query, key, value)):
        call.update(_nested(query, key, value))
    else:
        call.update(query=_dense(query), key=_dense(key), value=_dense(value))
    return call


def _module() -> Any:
    module = sys.modules.get("torch")
    if module is None:
        try:
            import torch as module
        except ImportError as problem:
            raise UsageError(f"attnprobe.torch needs PyTorch, which cannot be imported: {problem}") from problem
    return module


def _device_type(tensor: Any) -> str:
    return str(tensor.device.type)


def _device(tensor: Any) -> str:
    return "the CPU" if _device_type(tensor) == "cpu" else f'"{tensor.device}"'


def _dense(tensor: Any) -> Dict[str, Any]:
    return {
        "shape": [int(extent) for extent in tensor.shape],
        "strides": [int(stride) for stride in tensor.stride()],
        "dtype": str(tensor.dtype),
        "device": str(tensor.device),
        "requires_grad": bool(tensor.requires_grad),
    }


def _nested(query: Any, key: Any, value: Any) -> Dict[str, Any]:
    """The shapes of nested tensors with their longest length, and the list of lengths, which all tensors share."""
    tensors: Dict[str, Any] = {}
    lengths: Optional[List[int]] = None
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not tensor.is_nested:
            raise UsageError(f"{name}: is not nested, but others are; allowed: all three, or none")
        parts = tensor.unbind()
        if not parts or any(part.dim() != 3 for part in parts):
            raise UsageError(f"{name}: a nested tensor whose parts are not (heads, length, head dimension)")
        own = [int(part.shape[1]) for part in parts]
        if lengths is not None and own != lengths:
            raise UsageError(
                f"{name}: nested lengths {_few(own)}, and those of query are {_few(lengths)}; allowed: the same, since the "
                "description of a call (docs/from-frameworks.md) has one list"
            )
        lengths = own
        tensors[name] = {
            "shape": [len(own), int(parts[0].shape[0]), max(own), int(parts[0].shape[2])],
            "dtype": str(tensor.dtype),
            "device": str(tensor.device),
            "requires_grad": bool(tensor.requires_grad),
        }
    return {**tensors, "nested_lengths": lengths}


def _few(lengths: List[int]) -> str:
    return str(lengths) if len(lengths) <= 8 else f"{lengths[:8]}…"


def _is_enabled(torch: Any, name: str, otherwise: bool) -> bool:
    enabled = getattr(torch.backends.cuda, name, None)
    return bool(enabled()) if enabled is not None else otherwise


def _puts_cudnn_first(torch: Any) -> bool:
    """Whether PyTorch's order of backends, as sdpa_kernel(…, set_priority=True) sets it, begins with cuDNN."""
    if not _is_enabled(torch, "cudnn_sdp_enabled", False):
        return False
    order = getattr(torch._C, "_get_sdp_priority_order", None)
    return order is not None and list(order())[:1] == [_CUDNN]


def _backend_by_rule(takes: str, statuses: List[str]) -> str:
    if takes in ("yes", "wrong"):
        return "cudnn"
    return "none" if "exception" in statuses[:1] else "other"


def _chosen(torch: Any, query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float, is_causal: bool,
            scale: Optional[float], enable_gqa: bool) -> Optional[str]:
    """PyTorch's own answer; None if this release has none."""
    choice = getattr(torch, "_fused_sdp_choice", None)
    if choice is None:
        return None
    try:
        number = choice(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    except (TypeError, RuntimeError):  # a release without enable_gqa, or a call that no backend supports
        return None
    return _BACKENDS.get(int(number), "none")


def _notes(notes: Tuple[str, ...], by: str, is_there: bool, backend: str, takes: str) -> Tuple[str, ...]:
    added = []
    if by == "torch" and (backend == "cudnn") != (takes in ("yes", "wrong")):
        added.append("PyTorch contradicts attnprobe's rules for it. PyTorch is right; please report this")
    if is_there and by == "rule":
        added.append("this PyTorch did not report its backend")
    if by == "rule" and os.environ.get("TORCH_CUDNN_SDPA_DEPRIORITIZED") == "1":
        added.append("TORCH_CUDNN_SDPA_DEPRIORITIZED=1 is set: PyTorch tries cuDNN last, only if you select it")
    return (*notes, *added)
