"""Random configs as calls of FlashInfer, and the kernel that FlashInfer plans for them without a GPU.

Ragged sequences: BatchPrefillWithRaggedKVCacheWrapper(backend="auto").plan. A paged cache with at most 4 queries:
BatchDecodeWithPagedKVCacheWrapper(backend="auto").plan; with more: cudnn_batch_prefill_with_kv_cache. PyTorch is real, on the CPU.
cuDNN's Python package and the loaders of kernels are stand-ins, and the call sets the compute capability.
"""
import math
import types

import torch_stand_ins

RELEASES = ("0.7.2.post1",)
CUDNNS = ("9.5.0", "9.19.0", "9.26.1", "9.26.1")
OTHER_WORDS = {}
ELSEWHERE = ()  # ids of rules for steps after the call
INSTALL = ("--no-deps",)
NEEDS_PYTORCH = True
ENVIRONMENT = {"FLASHINFER_DISABLE_VERSION_CHECK": "1", "HOME": "/tmp"}
FRONTEND = "1.32.0"
ABSENT = ("tvm_ffi", "cuda", "nccl", "einops", "ninja", "pynvml", "tabulate", "cudnn", "click", "tqdm", "requests", "triton")
DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "fp8_e4m3": "float8_e4m3fn"}
MOST_DECODE_QUERIES = 4


def packages(release):
    return [f"flashinfer-python=={release}", "packaging"]


def draw(dice, release):
    pick = dice.choice
    heads_kv = pick([1, 2, 4, 8])
    config = {"batch": pick([1, 2, 8, 32]), "heads_q": heads_kv * pick([1, 2, 4, 8, 16, 3]), "heads_kv": heads_kv,
              "dtype": pick(["bf16", "f16", "bf16", "f16", "fp8_e4m3"])}
    if config["dtype"].startswith("fp8"):
        config["o_dtype"] = "bf16"
    mask = {"padding": True}
    if pick([True, False, False]):
        lengths = pick([(1, 128), (1, 1), (128, 128), (100, 200), (300, 300)])
        config.update({"seqlen_q": lengths[0], "seqlen_kv": lengths[1], "layout": "thd"})
        config["head_dim_qk"], config["head_dim_v"] = pick([(128, 128), (128, 128), (192, 128), (256, 256), (64, 64), (192, 192), (256, 128)])
        if pick([True, False]):
            mask["causal"] = True
    else:
        config.update({"seqlen_q": pick([1, 2, 3, 4, 2, 3, 4, 16, 128]), "seqlen_kv": pick([128, 1024]), "layout": "bshd",
                       "paged": pick([8, 16, 16, 24, 64, 128, 256])})
        config["head_dim_qk"] = config["head_dim_v"] = pick([128, 128, 128, 128, 64, 256])
        if config["seqlen_q"] > 1:
            mask.update({"causal": True, "alignment": "bottom_right"})
    if pick([True] + [False] * 7) and mask.get("causal"):
        mask["window_left"] = 32
    if pick([True] + [False] * 9) and config.get("seqlen_q", 0) <= MOST_DECODE_QUERIES:
        config["softcap"] = 30
    config["mask"] = mask
    return config


def question(call):
    return {"config": call}


class Reached(Exception):
    """Raised where cuDNN would get the call."""


class Gate:
    def __init__(self, release):
        torch_stand_ins.stand_in_for(*ABSENT)
        import cudnn
        import torch
        self.torch, self.cudnn, self.sm = torch, cudnn, 90
        torch.version.cuda = "13.0"
        cudnn.__version__ = FRONTEND
        cudnn.data_type = types.SimpleNamespace(**{name: name for name in ("FP8_E4M3", "FP8_E5M2", "HALF", "BFLOAT16", "FLOAT", "INT32", "INT64")})
        names = {torch.float16: "HALF", torch.bfloat16: "BFLOAT16", torch.float32: "FLOAT", torch.float8_e4m3fn: "FP8_E4M3"}
        cudnn.datatypes = types.SimpleNamespace(_torch_to_cudnn_data_type=names.get, is_torch_available=lambda: True)

        def reach(*_, **__):
            raise Reached
        cudnn.graph = reach
        empty = torch.empty
        torch.empty = lambda *given, pin_memory=False, **more: empty(*given, **more)
        import flashinfer.decode
        import flashinfer.prefill
        import sys
        self.decode, self.prefill = flashinfer.decode, flashinfer.prefill
        self.caches = []
        for name, module in list(sys.modules.items()):
            if not name.startswith("flashinfer"):
                continue
            if "get_compute_capability" in vars(module):
                module.get_compute_capability = lambda *_: divmod(self.sm, 10)
            self.caches += [value for value in list(vars(module).values()) if callable(getattr(value, "cache_clear", None))]
        flashinfer.decode.cudnn_frontend_frost_runtime_available = lambda: True
        flashinfer.decode.get_batch_prefill_module = flashinfer.prefill.get_batch_prefill_module = lambda *_: torch_stand_ins.StandIn()
        flashinfer.prefill.get_fmha_module = lambda *_: torch_stand_ins.StandIn()
        import flashinfer.cudnn.prefill
        flashinfer.cudnn.prefill.get_cudnn_attention_handle = lambda *_: None
        torch.cuda.current_stream = lambda *_: None

    def ask(self, call, sm, cudnn):
        self.sm = sm
        self.cudnn.backend_version = lambda: cudnn
        for cache in self.caches:
            cache.cache_clear()
        try:
            if "paged" not in call:
                takes = self.plan_ragged(call)
            elif call["seqlen_q"] <= MOST_DECODE_QUERIES:
                takes = self.plan_decode(call)
            else:
                takes = self.prefill_with_cudnn(call)
        except Reached:
            takes = True
        except (ValueError, RuntimeError, NotImplementedError, TypeError, AssertionError) as error:
            return {"takes": False, "words": str(error), "kind": type(error).__name__}
        return {"takes": takes, "words": "", "kind": ""}

    def workspace(self):
        return self.torch.empty(1 << 16, dtype=self.torch.uint8)

    def type_of(self, call):
        return getattr(self.torch, DTYPES[call["dtype"]])

    def plan_ragged(self, call):
        offsets = [self.torch.arange(call["batch"] + 1, dtype=self.torch.int32) * call[side] for side in ("seqlen_q", "seqlen_kv")]
        wrapper = self.prefill.BatchPrefillWithRaggedKVCacheWrapper(self.workspace(), "NHD", backend="auto")
        try:
            wrapper.plan(*offsets, call["heads_q"], call["heads_kv"], call["head_dim_qk"], head_dim_vo=call["head_dim_v"],
                         causal=call["mask"].get("causal", False), window_left=call["mask"].get("window_left", -1),
                         logits_soft_cap=call.get("softcap"), q_data_type=self.type_of(call), o_data_type=self.torch.bfloat16
                         if "o_dtype" in call else None)
        except (TypeError, AttributeError):
            if wrapper._backend not in ("fa2", "fa3"):  # the plan of these backends is a stand-in
                raise
        return wrapper._backend == "cudnn"

    def plan_decode(self, call):
        torch = self.torch
        pages = math.ceil(call["seqlen_kv"] / call["paged"])
        wrapper = self.decode.BatchDecodeWithPagedKVCacheWrapper(self.workspace(), "NHD", use_tensor_cores=True, backend="auto")
        last = torch.full((call["batch"],), call["seqlen_kv"] - (pages - 1) * call["paged"], dtype=torch.int32)
        try:
            wrapper.plan(torch.arange(call["batch"] + 1, dtype=torch.int32) * pages, torch.arange(call["batch"] * pages, dtype=torch.int32), last,
                         call["heads_q"], call["heads_kv"], call["head_dim_qk"], call["paged"], window_left=call["mask"].get("window_left", -1),
                         logits_soft_cap=call.get("softcap"), q_data_type=self.type_of(call), q_len_per_req=call["seqlen_q"],
                         o_data_type=torch.bfloat16 if "o_dtype" in call else None)
        except (TypeError, AttributeError, RuntimeError):
            pass  # plan() makes the decision first
        return wrapper._uses_cudnn

    def prefill_with_cudnn(self, call):
        torch, dtype, batch = self.torch, self.type_of(call), call["batch"]
        pages = math.ceil(call["seqlen_kv"] / call["paged"])
        q = torch.empty(batch * call["seqlen_q"], call["heads_q"], call["head_dim_qk"], dtype=dtype)
        k, v = (torch.empty(batch * pages, call["heads_kv"], call["paged"], d, dtype=dtype) for d in (call["head_dim_qk"], call["head_dim_v"]))
        lengths = [torch.full((batch, 1, 1, 1), call[side], dtype=torch.int32) for side in ("seqlen_q", "seqlen_kv")]
        offsets = torch.arange(batch + 1, dtype=torch.int32) * call["seqlen_q"] * call["heads_q"] * call["head_dim_qk"]
        scale = {name: torch.ones(1, 1, 1, 1) for name in ("q_scale", "k_scale", "v_scale")} if "o_dtype" in call else {}
        from flashinfer.cudnn import cudnn_batch_prefill_with_kv_cache
        cudnn_batch_prefill_with_kv_cache(
            q, k, v, 0.1, self.workspace(), max_token_per_sequence=call["seqlen_q"], max_sequence_kv=call["seqlen_kv"],
            actual_seq_lens_q=lengths[0], actual_seq_lens_kv=lengths[1], causal=call["mask"].get("causal", False), return_lse=False,
            block_tables=torch.arange(batch * pages, dtype=torch.int32).reshape(batch, pages), batch_offsets_q=offsets, batch_offsets_o=offsets,
            o_data_type=torch.bfloat16 if "o_dtype" in call else None, **scale)
        return False
