"""Random calls of Diffusers' dispatch_attention_fn with the backend _native_cudnn, and Diffusers' own answer to them without a GPU.

Tensors are PyTorch's fake ones on a CUDA device. A call is accepted if it reaches PyTorch's scaled_dot_product_attention with cuDNN
as the only backend, or PyTorch's cuDNN operator. PyTorch's own gate then decides.
"""
import types

RELEASES = ("0.35.0", "0.36.0", "0.37.1", "0.38.0", "0.39.0", "0.40.0", "0.41.0", "0.42.1")
CUDNNS = ("9.1.0", "9.5.0", "9.19.0")
OTHER_WORDS = {}
ELSEWHERE = ()  # ids of rules for steps after the call
INSTALL = ()
NEEDS_PYTORCH = True
ENVIRONMENT = {}
DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32"}


def packages(release):
    return [f"diffusers=={release}", "huggingface_hub", "safetensors", "requests", "regex", "importlib_metadata", "pillow", "packaging", "tqdm"]


def draw(dice, release):
    pick = dice.choice
    heads, head_dim = pick([4, 8]), pick([64, 72, 100, 128, 256])
    config = {"pass": pick(["fprop", "fprop", "bprop"]), "batch": pick([1, 2]), "heads_q": heads, "heads_kv": pick([heads, heads, heads, 2]),
              "seqlen_q": pick([1, 127, 256]), "seqlen_kv": pick([1, 127, 256]), "head_dim_qk": head_dim, "head_dim_v": pick([head_dim] * 4 + [64]),
              "dtype": pick(["bf16", "f16", "bf16", "f16", "f32"]), "layout": "bhsd"}
    if pick([True, False]):
        config["mask"] = "causal"
    if pick([True, False, False]):
        config["bias"] = {"shape": pick(["bhss", "1hss", "b11s", "11ss", "bhs1"])}
    if pick([True, False, False]):
        config["dropout"] = 0.125
    call = {"config": config}
    if pick([True, False]):  # properties that a config cannot express
        call["keys"] = {"checks": pick([True, True, False]), "context_parallel": release != "0.35.0" and pick([True, False, False]),
                        "one_dtype": pick([True] * 7 + [False]), "one_length_kv": pick([True] * 7 + [False]),
                        "one_head_dim_qk": pick([True] * 7 + [False])}
    return call


def question(call):
    return None if "keys" in call else {"config": call["config"]}


def keys(call):
    """The gate's keys for a call that a config cannot express."""
    config = call["config"]
    columns = None if "bias" not in config else 1 if config["bias"]["shape"][3] == "1" else config["seqlen_kv"]
    return {**{name: config[name] for name in ("dtype", "heads_q", "heads_kv", "seqlen_q", "seqlen_kv")}, "mask_columns": columns,
            "enable_gqa": config["heads_q"] != config["heads_kv"], "causal": config.get("mask") == "causal", **call["keys"]}


class Gate:
    def __init__(self, release):
        import torch
        from torch._subclasses import FakeTensorMode
        import diffusers
        import diffusers.models.attention_dispatch as dispatch
        assert diffusers.__version__ == release
        self.torch, self.dispatch, self.fakes, self.got = torch, dispatch, FakeTensorMode, []
        torch.nn.functional.scaled_dot_product_attention = self.attention
        dispatch.TemplatedUlyssesAttention = types.SimpleNamespace(apply=self.operator)  # communicates, then calls the operator

    def attention(self, query, **_):
        cuda = self.torch.backends.cuda
        self.got.append(cuda.cudnn_sdp_enabled() and not cuda.flash_sdp_enabled() and not cuda.math_sdp_enabled())
        return query

    def operator(self, query, *_, **__):
        self.got.append(True)
        return query

    def ask(self, call, sm, cudnn):
        config, more = call["config"], call.get("keys", {})
        torch, dtype = self.torch, getattr(self.torch, DTYPES[config["dtype"]])
        self.got.clear()
        self.dispatch._AttentionBackendRegistry._checks_enabled = more.get("checks", False)
        trains = config["pass"] != "fprop"
        other = lambda key: 0 if more.get(key, True) else 8  # noqa: E731
        with self.fakes():
            def tensor(length, heads, head_dim, of=dtype):
                return torch.empty(config["batch"], length, heads, head_dim, device="cuda:0", dtype=of, requires_grad=trains)
            q = tensor(config["seqlen_q"], config["heads_q"], config["head_dim_qk"])
            k = tensor(config["seqlen_kv"], config["heads_kv"], config["head_dim_qk"] + other("one_head_dim_qk"),
                       dtype if more.get("one_dtype", True) else torch.float64)
            v = tensor(config["seqlen_kv"] + other("one_length_kv"), config["heads_kv"], config["head_dim_v"])
            given = {"is_causal": config.get("mask") == "causal", "dropout_p": config.get("dropout", 0.0),
                     "enable_gqa": config["heads_q"] != config["heads_kv"]}
            if "bias" in config:
                whole = (config["batch"], config["heads_q"], config["seqlen_q"], config["seqlen_kv"])
                shape = [1 if letter == "1" else extent for letter, extent in zip(config["bias"]["shape"], whole)]
                given["attn_mask"] = torch.empty(shape, device="cuda:0", dtype=dtype)
            if more.get("context_parallel"):
                degrees = types.SimpleNamespace(ring_degree=1, ulysses_degree=2, ulysses_anything=False, ring_anything=False, _world_size=2)
                given["parallel_config"] = types.SimpleNamespace(context_parallel_config=degrees)
            try:
                self.dispatch.dispatch_attention_fn(q, k, v, backend="_native_cudnn", **given)
            except (ValueError, RuntimeError, NotImplementedError, AttributeError) as error:
                if not self.got:
                    return {"takes": False, "words": str(error), "kind": type(error).__name__}
        return {"takes": bool(self.got) and self.got[0], "words": "", "kind": ""}
