"""Random calls of Transformer Engine's attention for PyTorch, and its own choice of a backend without a GPU.

Configs become calls of DotProductAttention on PyTorch's fake CUDA tensors. Values that a config cannot express (fp8, K/V caches,
context parallelism, …) are passed to get_attention_backend as AttentionParams. Transformer Engine's binaries are stand-ins: the C++
call behind the gate accepts everything; compare-transformer-engine-table compares its refusals.
"""
import contextlib
import json
import logging
import os
import pathlib
import sys
import types

import torch_stand_ins
from transformer_engine_calls import random_call

# Before 2.6 the package itself loads the binaries.
RELEASES = ("2.6.0", "2.7.0", "2.8.0", "2.9.0", "2.10.0", "2.11.0", "2.12.0", "2.13.0", "2.14.0", "2.15.0", "2.16.0",
            "2.17.0", "2.18.0", "2.19.0", "2.20.2")
CUDNNS = ("9.5.0", "9.19.0", "9.26.1")
OTHER_WORDS = {}
ELSEWHERE = ("table_", "backward_refused")  # ids of rules for the C++ call
INSTALL = ("--no-deps",)
NEEDS_PYTORCH = True
ENVIRONMENT = {"PYTHONOPTIMIZE": "1"}  # some modules assert that the binaries have certain enumerators
ABSENT = ("transformer_engine_torch", "flash_attn", "flash_attn_3", "flash_attn_interface", "onnxscript", "onnx", "triton", "nvdlfw_inspect")
RULES = pathlib.Path(__file__).resolve().parents[2] / "lib/rules/frameworks/transformer-engine.json"
# For an argument of DotProductAttention: the first release with it, the gate's key, and the usual value.
ARGUMENTS = (((2, 8), "softmax_type", "vanilla"), ((2, 9), "return_max_logit", False), ((2, 17), "score_mod", None), ((2, 20), "softcap", False))
LOGGER = "DotProductAttention"


def packages(release):
    return [f"transformer_engine=={release}", "packaging", "pydantic", "pydantic_core", "annotated_types", "typing_inspection", "einops"]


def draw(dice, release):
    if dice.choice([True, False]):
        call = random_call(dice, json.loads(RULES.read_text())["base"])
        for since, key, usual in ARGUMENTS:
            if tuple(map(int, release.split("."))) < since:
                call[key] = usual
        return {"keys": call}
    pick = dice.choice
    heads, head_dim = pick([8, 16]), pick([64, 96, 128, 128, 192, 256])
    config = {"pass": pick(["fprop", "fprop_train", "bprop"]), "batch": pick([1, 2, 4]), "heads_q": heads, "heads_kv": pick([heads, heads, 2]),
              "seqlen_q": pick([1, 128, 512, 1000]), "head_dim_qk": head_dim, "head_dim_v": pick([head_dim] * 5 + [64]),
              "dtype": pick(["bf16", "f16"] * 6 + ["f32"]), "layout": pick(["bshd", "sbhd", "thd"])}
    config["seqlen_kv"] = pick([config["seqlen_q"], config["seqlen_q"], 512, 2048])
    mask = {"causal": True} if pick([True, False]) else {}
    if mask and pick([True, False, False]):
        mask["alignment"] = "bottom_right"
    if config["layout"] == "thd" or pick([True, False, False, False]):
        mask["padding"] = True
    if pick([True] + [False] * 4):
        mask["window_left"] = 64
    if mask:
        config["mask"] = mask
    if config["layout"] != "thd" and pick([True, False, False, False]):
        config["bias"] = {"shape": pick(["bhss", "1hss", "b1ss", "11ss"]), "grad": config["pass"] == "bprop" and pick([True, False])}
    for name, value in (("dropout", 0.125), ("sink", True), ("softcap", 30), ("deterministic", True)):
        if pick([True] + [False] * 8) and not (name == "deterministic" and config["pass"] != "bprop"):
            config[name] = value
    return {"config": config}


def question(call):
    return {"config": call["config"]} if "config" in call else None


def keys(call):
    return call["keys"]


class Reached(Exception):
    """Raised when the gate has answered."""


class Reasons(logging.Handler):
    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


class Recipe:
    def __init__(self, call):
        self.kind, self.fp8_format = call["fp8_recipe"], None
        self.fp8_dpa, self.fp8_mha = True, call["fp8_mha"]

    def __getattr__(self, name):
        kinds = {"delayed": "delayed", "float8_current_scaling": "current", "mxfp8": "mxfp8", "float8_block_scaling": "block", "nvfp4": "nvfp4"}
        if name not in kinds:
            raise AttributeError(name)
        return lambda: self.kind == kinds[name]


def layout_of(call):
    tokens = {"bshd": "bs", "sbhd": "sb", "thd": "t"}[call["qkv_format"]]
    parts = {"3hd": ["3hd"], "h3d": ["h3d"], "hd_2hd": ["hd", "2hd"], "hd_h2d": ["hd", "h2d"], "hd_hd_hd": ["hd", "hd", "hd"]}
    return "_".join(tokens + part for part in parts[call["qkv_layout_group"]])


def word_of(shape, call):
    """DotProductAttention's name for a bias of this shape, until 2.18: the first name that fits."""
    if shape is None:
        return None
    for batch, heads, word in ((call["batch"], call["heads_q"], "bhss"), (1, call["heads_q"], "1hss"), (call["batch"], 1, "b1ss")):
        if shape[:2] == (batch, heads):
            return word
    return "111s" if shape[2] == 1 else "11ss"


def parameters(call, torch, gate):
    """A call's keys as AttentionParams' fields. The bias's shape is a word until 2.18, and four sizes after that."""
    fp8 = call["fp8_recipe"] is not None
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "fp8_e4m3": torch.float8_e4m3fn}[call["dtype"]]
    window = None
    if call["window_left"] is not None or call["window_right"] is not None:
        window = tuple(-1 if call[side] is None else call[side] for side in ("window_left", "window_right"))
    batch, heads, rows, columns = call["batch"], call["heads_q"], call["seqlen_q"], call["seqlen_kv"]
    shapes = {"bhss": (batch, heads, rows, columns), "1hss": (1, heads, rows, columns), "b1ss": (batch, 1, rows, columns),
              "11ss": (1, 1, rows, columns), "111s": (1, 1, 1, columns)}
    is_word = "Tuple" not in str(gate.AttentionParams.__annotations__["core_attention_bias_shape"])
    shape = shapes.get(call["bias_shape"])
    return {
        "qkv_type": torch.Tensor, "qkv_dtype": dtype, "qkv_layout": layout_of(call), "batch_size": batch, "num_heads": heads,
        "num_gqa_groups": call["heads_kv"], "max_seqlen_q": rows, "max_seqlen_kv": columns, "head_dim_qk": call["head_dim_qk"],
        "head_dim_v": call["head_dim_v"], "attn_mask_type": call["attn_mask_type"], "window_size": window,
        "bottom_right_diagonal": call["bottom_right"], "softcap": 30.0 if call["softcap"] else 0.0, "alibi_slopes_shape": None,
        "core_attention_bias_type": call["bias_type"], "core_attention_bias_shape": word_of(shape, call) if is_word else shape,
        "core_attention_bias_requires_grad": call["bias_requires_grad"], "pad_between_seqs": call["pad_between_seqs"],
        "attention_dropout": 0.1 if call["dropout"] else 0.0, "context_parallel": call["context_parallel"],
        "cp_comm_type": call["cp_comm_type"] or "p2p", "cp_size": 2 if call["context_parallel"] else 1, "cp_size_a2a": 2,
        "deterministic": call["deterministic"], "is_training": call["is_training"], "fp8": fp8, "fp8_meta": {"recipe": Recipe(call)},
        "inference_params": types.SimpleNamespace(is_paged=False) if call["kv_cache"] else None, "softmax_type": call["softmax_type"],
        "return_max_logit": call["return_max_logit"], "cuda_graph": False, "num_splits": call["num_splits"],
        "has_score_mod": bool(call["score_mod"]), "fp8_output": False, "checkpoint_core_attention": False,
    }


def import_release(release):
    """DotProductAttention's module and the gate's, with stand-ins for Transformer Engine's binaries."""
    torch_stand_ins.stand_in_for(*ABSENT)
    folder = next(path for path in map(pathlib.Path, sys.path) if (path / "transformer_engine").is_dir()) / "transformer_engine"
    whole, common = types.ModuleType("transformer_engine"), torch_stand_ins.StandInModule("transformer_engine.common")
    whole.__path__, whole.__version__, whole.common = [str(folder)], release, common
    common.__path__ = [str(folder / "common")]
    common.get_te_path = lambda: folder.parent
    sys.modules.update({"transformer_engine": whole, "transformer_engine.common": common})
    import transformer_engine_torch as binaries
    import triton
    triton.__version__ = "3.4.0"
    import transformer_engine.pytorch.attention.dot_product_attention.dot_product_attention as layer
    import transformer_engine.pytorch.attention.dot_product_attention.utils as gate
    return layer, gate, binaries


class Gate:
    def __init__(self, release):
        import torch
        import torch._subclasses.fake_tensor as fake_tensor
        self.torch, self.fakes, self.sm, self.cudnn = torch, fake_tensor.FakeTensorMode, 90, 91900
        fake_tensor.init_gpu_context = lambda *_: None
        torch.cuda.current_device = lambda: 0
        torch.cuda.is_available = lambda: True
        torch.cuda.get_device_capability = lambda *_: divmod(self.sm, 10)
        torch.cuda.get_device_properties = lambda *_: types.SimpleNamespace(major=self.sm // 10, minor=self.sm % 10, multi_processor_count=132)
        torch.cuda.device = lambda *_: contextlib.nullcontext()
        torch.cuda.nvtx = types.SimpleNamespace(range_push=lambda *_: 0, range_pop=lambda *_: 0,
                                                range=lambda *_: contextlib.nullcontext())
        torch.version.cuda = "13.0"
        self.layer, self.gate, binaries = import_release(release)
        for module in (self.layer, self.gate):
            module.get_device_compute_capability = lambda: divmod(self.sm, 10)
            module.get_cudnn_version = lambda: (self.cudnn // 10000, self.cudnn // 100 % 100, self.cudnn % 100)
            if hasattr(module, "is_in_onnx_export_mode"):
                module.is_in_onnx_export_mode = lambda: False
        import transformer_engine.pytorch.attention.dot_product_attention.context_parallel as context_parallel
        context_parallel.cp_per_step_configs = lambda *_, **__: [None]
        source = pathlib.Path(self.gate.__file__).read_text()
        gives_message = "fused_attention_backend, reject_message = " in source  # from the C++ call, since 2.20
        gives_number = hasattr(self.gate, "_get_fused_attn_backend")            # since 2.19
        self.fp8 = False

        def answered(*_, **__):
            backends, name = self.gate.FusedAttnBackend, "FP8" if self.fp8 else "F16_arbitrary_seqlen"
            backend = backends[name] if isinstance(backends, dict) else getattr(backends, name)
            backend = backend.value if gives_number else backend
            return (backend, "") if gives_message else backend
        self.gate._get_fused_attn_backend = binaries.get_fused_attn_backend = self.gate.tex.get_fused_attn_backend = answered
        self.reasons = Reasons()
        logger = logging.getLogger(LOGGER)
        logger.handlers[:], logger.propagate = [self.reasons], False
        logger.setLevel(logging.DEBUG)
        self.gate.AttentionLogging._log_level = logging.DEBUG
        self.gate.AttentionLogging.setup_logging = lambda *_: None
        self.choose = self.gate.get_attention_backend

    def ask(self, call, sm, cudnn):
        more = call.get("keys", {})
        self.sm, self.cudnn = more.get("sm", sm), more.get("cudnn", cudnn)
        self.fp8 = more.get("fp8_recipe") is not None
        os.environ["NVTE_FUSED_ATTN"] = str(int(more.get("fused_enabled", True)))
        self.reasons.texts.clear()
        if "config" in call:
            try:
                answer = self.call_layer(call["config"])
            except (TypeError, ValueError) as error:
                return {"takes": False, "words": str(error), "kind": type(error).__name__}
        else:
            fields = self.gate.AttentionParams.__dataclass_fields__
            given = parameters(more, self.torch, self.gate)
            answer = self.choose(self.gate.AttentionParams(**{name: value for name, value in given.items() if name in fields}))
        available = next(part for part in answer if isinstance(part, list))
        texts = [text for text in self.reasons.texts if text.startswith(("Disabling FusedAttention", "Disabling all backends"))]
        return {"takes": bool(available[1]), "words": texts[0] if texts else "", "kind": ""}

    def call_layer(self, config):
        torch, got = self.torch, []

        def choose(params):
            params.qkv_type = torch.Tensor
            got.append(self.choose(params))
            raise Reached
        self.gate.get_attention_backend = self.layer.get_attention_backend = choose
        os.environ["NVTE_ALLOW_NONDETERMINISTIC_ALGO"] = str(int(not config.get("deterministic", False)))
        mask, layout, batch = config.get("mask", {}), config["layout"], config["batch"]
        name = "_".join(word for word, there in (("padding", mask.get("padding")), ("causal", mask.get("causal")),
                                                 ("bottom_right", mask.get("alignment"))) if there) or "no_mask"
        options = {"num_gqa_groups": config["heads_kv"], "attn_mask_type": name, "attention_dropout": config.get("dropout", 0.0),
                   "qkv_format": layout}
        if "window_left" in mask:
            options["window_size"] = (mask["window_left"], 0 if mask.get("causal") else -1)
        if config.get("sink"):
            options["softmax_type"] = "learnable"
        dtype = getattr(torch, {"f16": "float16", "bf16": "bfloat16", "f32": "float32"}[config["dtype"]])
        with self.fakes():
            module = self.layer.DotProductAttention(config["heads_q"], (config["head_dim_qk"], config["head_dim_v"]), **options)
            module.train(config["pass"] != "fprop")

            def tensor(length, heads, head_dim):
                sizes = {"bshd": (batch, length), "sbhd": (length, batch), "thd": (batch * length,)}[layout]
                return torch.empty(*sizes, heads, head_dim, dtype=dtype, device="cuda:0")
            given = {"max_seqlen_q": config["seqlen_q"], "max_seqlen_kv": config["seqlen_kv"]}
            if mask.get("padding"):
                given.update({key: torch.empty(batch + 1, dtype=torch.int32, device="cuda:0") for key in ("cu_seqlens_q", "cu_seqlens_kv")})
            if "bias" in config:
                whole = (batch, config["heads_q"], config["seqlen_q"], config["seqlen_kv"])
                bias = torch.empty([1 if letter == "1" else extent for letter, extent in zip(config["bias"]["shape"], whole)], dtype=dtype,
                                   device="cuda:0")
                given.update({"core_attention_bias_type": "post_scale_bias", "core_attention_bias": bias.requires_grad_(config["bias"]["grad"])})
            if config.get("softcap"):
                given["softcap"] = float(config["softcap"])
            try:
                module(tensor(config["seqlen_q"], config["heads_q"], config["head_dim_qk"]),
                       tensor(config["seqlen_kv"], config["heads_kv"], config["head_dim_qk"]),
                       tensor(config["seqlen_kv"], config["heads_kv"], config["head_dim_v"]), **given)
            except Reached:
                return got[0]
        raise RuntimeError("the gate was not asked")
