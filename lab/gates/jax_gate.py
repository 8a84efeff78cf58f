"""Random calls of jax.nn.dot_product_attention, as --jax accepts them, and JAX's own answer to them without a GPU.

The call is traced and lowered for CUDA. When JAX queries the GPU's compute capability or cuDNN's version, it gets the call's values.
An accepted call ends in cuDNN's custom call.
"""
import types

RELEASES = ("0.4.31", "0.4.33", "0.4.34", "0.4.35", "0.4.36", "0.4.38", "0.5.0", "0.5.1", "0.6.0", "0.6.2", "0.7.0", "0.8.0", "0.8.1", "0.8.2",
            "0.10.0", "0.11.0", "0.11.1", "0.11.2", "0.12.0.1")
CUDNNS = ("9.1.0", "9.5.0", "9.19.0")
ENVIRONMENT = {"JAX_PLATFORMS": "cpu"}
ELSEWHERE = ()  # ids of rules for steps after the call
INSTALL = ()
NEEDS_PYTORCH = False
# JAX's messages that differ from the rule's message; the rules' notes explain why.
_NO_MASK_TYPE, _FP8_CALL = "Unsupported dtype for inputs.", "check_is_flash_attention() missing 1 required positional argument"
OTHER_WORDS = {"dtype_before_0_4_38": _NO_MASK_TYPE, "dtype": _NO_MASK_TYPE, "fp8_training": _FP8_CALL, "fp8_inference": _FP8_CALL,
               "no_paged": "no paged_attention", "paged_gradient": "Unsupported sequence length Q "}
BIAS_TYPES = ("float16", "bfloat16", "float32")


def packages(release):
    older = release.startswith(("0.4.", "0.5."))
    return [f"jax=={release}", f"jaxlib=={'.'.join(release.split('.')[:3])}", "numpy==2.0.2" if older else "numpy==2.2.6",
            "scipy==1.14.1" if older else "scipy==1.15.3"]


def question(call):
    return {"config": call} if "heads_q" in call else {"jax": call}


def draw(dice, release):
    """A call of the public function; every third call is a config that only the module below it can express."""
    return draw_config(dice) if dice.choice([True, False, False]) else draw_call(dice, release)


def draw_config(dice):
    pick = dice.choice
    kind = pick(["fp8", "fp8", "ragged", "paged", "score_mod", "dropout", "head_dims", "padding", "bias"])
    head_dim = pick([64, 80, 96, 128, 128, 128, 136, 256])
    heads = pick([2, 4, 8])
    config = {"pass": pick(["fprop", "fprop", "fprop_train", "bprop"]), "batch": pick([1, 2, 3]), "heads_q": heads,
              "heads_kv": pick([heads, heads, 2]), "seqlen_q": pick([1, 127, 128, 200, 256]), "head_dim_qk": head_dim,
              "head_dim_v": pick([64, 128, 256]) if kind == "head_dims" else head_dim, "dtype": pick(["bf16", "f16"]), "layout": "bshd"}
    config["seqlen_kv"] = pick([config["seqlen_q"], 127, 128, 256])
    mask = {"causal": True} if pick([True, False]) else {}
    if kind == "fp8":
        config["dtype"] = pick(["fp8_e4m3", "fp8_e4m3", "fp8_e5m2"])
        mask.update({"padding": True} if pick([True] + [False] * 4) else {})
    elif kind == "ragged":
        config.update({"layout": "thd", "ragged_shared": True})
        mask["padding"] = True
    elif kind == "paged":
        config["paged"] = pick([16, 64])
        mask["padding"] = True
    elif kind == "score_mod":
        config["score_mod"] = "tanh"
    elif kind == "dropout":
        config["dropout"] = 0.125
    elif kind == "padding":
        mask["padding"] = True
    elif kind == "bias":
        config["bias"] = {"shape": pick(["bhss", "1hss", "b1ss", "11ss", "b11s"]), "grad": config["pass"] == "bprop" and pick([True, False])}
    if kind not in ("fp8", "score_mod") and mask.get("causal") and pick([True, False, False]):
        mask["window_left"] = pick([0, 5])
    if mask:
        config["mask"] = mask
    return config


def draw_call(dice, release):
    pick = dice.choice
    batch, heads, head_dim = pick([1, 2, 3]), pick([1, 2, 4, 8]), pick([64, 72, 80, 96, 100, 128, 128, 136, 192, 256, 264])
    heads_kv = pick([heads] * 4 + [1, 2])
    queries, keys = pick([1, 2, 64, 127, 128, 200, 255, 256]), pick([1, 2, 64, 127, 128, 200, 255, 256])
    if pick([True, False]):
        keys = queries
    dtype = pick(["bfloat16", "float16"] * 10 + ["float32"])
    has_batch = pick([True] * 7 + [False]) or release == "0.4.31"  # which accepts only four dimensions
    if not has_batch:
        batch = 1

    def tensor(*shape):
        return {"shape": list(shape) if has_batch else list(shape[1:]), "dtype": dtype}

    call = {"query": tensor(batch, queries, heads, head_dim), "key": tensor(batch, keys, heads_kv, head_dim),
            "value": tensor(batch, keys, heads_kv, pick([head_dim] * 40 + [64])), "implementation": "cudnn"}
    for name in ("bias", "mask"):
        if pick([True, False, False]):
            shape = [pick([batch, batch, 1]), pick([heads, heads, 1]), pick([queries] * 8 + [1]), pick([keys] * 12 + [1])]
            call[name] = {"shape": shape[pick([0, 0, 0, 1]):], "dtype": "bool" if name == "mask" else pick([dtype] * 6 + list(BIAS_TYPES))}
    if pick([True, False]):
        call["is_causal"] = True
    for name in ("query_seq_lengths", "key_value_seq_lengths"):
        if pick([True, False, False, False]):
            call[name] = True
    if pick([True, False, False]):
        call["local_window_size"] = pick([5, [5, 0], [5, 0], [0, 0], [7, 3], 0])
    kind = pick(["", "", "grad", "bias", "query"])
    if kind == "grad":
        call["grad"] = True
    elif kind:
        call[kind if kind in call else "query"]["requires_grad"] = True
    if release < "0.4.35" and call.get("bias", {}).get("requires_grad"):  # in these releases, some of these gradients are zero without a call
        call["query"]["requires_grad"] = True
    return call


def as_call(config):
    """The call of jax.nn for a config."""
    dtype, mask, trains = {"f16": "float16", "bf16": "bfloat16"}[config["dtype"]], config.get("mask", {}), config["pass"] != "fprop"
    shapes = [(config["batch"], config[f"seqlen_{side}"], config[f"heads_{side}"], config["head_dim_qk"]) for side in ("q", "kv", "kv")]
    call = {name: {"shape": shape, "dtype": dtype} for name, shape in zip(("query", "key", "value"), shapes)}
    call.update({"implementation": "cudnn", "grad": trains, "is_causal": mask.get("causal", False)})
    if mask.get("padding"):
        call.update({"query_seq_lengths": True, "key_value_seq_lengths": True})
    if "window_left" in mask:
        call["local_window_size"] = [mask["window_left"], 0]
    if "bias" in config:
        whole = (config["batch"], config["heads_q"], config["seqlen_q"], config["seqlen_kv"])
        call["bias"] = {"shape": [1 if letter == "1" else extent for letter, extent in zip(config["bias"]["shape"], whole)],
                        "dtype": dtype, "requires_grad": config["bias"]["grad"]}
    return call


class Gate:
    """The installed JAX, with stand-ins for the GPU and cuDNN."""

    def __init__(self, release):
        import jax
        import jax.numpy
        from jax._src.cudnn import fused_attention_stablehlo as beneath
        self.jax, self.device = jax, types.SimpleNamespace(compute_capability="9.0")
        self.cudnn = 0
        beneath.check_cudnn_version = lambda: self.cudnn
        beneath.xla_bridge = types.SimpleNamespace(
            get_backend=lambda *_: types.SimpleNamespace(platform_version="cuda 13000"), local_devices=lambda *_, **__: [self.device])
        jax.local_devices = lambda *_, **__: [self.device]  # for releases before 0.5

    def ask(self, call, sm, cudnn):
        """Whether cuDNN gets the call, and the words of the refusal."""
        self.device.compute_capability, self.cudnn = f"{sm // 10}.{sm % 10}", cudnn
        try:
            text = self.lower_config(call) if "heads_q" in call else self.lower(call)
        except (ValueError, NotImplementedError, RuntimeError, TypeError, AssertionError) as error:
            return {"takes": False, "words": f"{error}", "kind": type(error).__name__}
        return {"takes": "cudnn$fmha" in text, "words": "", "kind": ""}

    def lower(self, call):
        jax, jnp = self.jax, self.jax.numpy
        tensors = {name: jax.ShapeDtypeStruct(tuple(call[name]["shape"]), call[name]["dtype"])
                   for name in ("query", "key", "value", "bias", "mask") if name in call}
        trained = [name for name in tensors if call[name].get("requires_grad") or (call.get("grad") and name in ("query", "key", "value"))]
        given = {name: call[name] for name in ("is_causal", "implementation") if name in call}
        window = call.get("local_window_size")
        if window is not None:
            given["local_window_size"] = tuple(window) if isinstance(window, list) else window
        batch = call["query"]["shape"][0] if len(call["query"]["shape"]) == 4 else 1
        lengths = {name: jax.ShapeDtypeStruct((batch,), "int32")
                   for name, of in (("query_seq_lengths", "query"), ("key_value_seq_lengths", "key")) if call.get(name)}

        def attention(moving, fixed, lengths):
            return jax.nn.dot_product_attention(**moving, **fixed, **lengths, **given)

        def whole(moving, fixed, lengths):
            if not moving:
                return attention(moving, fixed, lengths)
            return jax.grad(lambda m: jnp.sum(attention(m, fixed, lengths).astype("float32")))(moving)

        moving = {name: tensors[name] for name in trained}
        fixed = {name: one for name, one in tensors.items() if name not in trained}
        jitted = jax.jit(whole)
        if hasattr(jitted, "trace"):
            return jitted.trace(moving, fixed, lengths).lower(lowering_platforms=("cuda",)).as_text()
        return jitted.lower(moving, fixed, lengths, _experimental_lowering_platform="cuda").as_text()

    def lower_config(self, config):
        """Calls JAX for a config like a program: with jax.nn if it has the arguments, otherwise with the module below."""
        if not any(config.get(name) for name in ("paged", "dropout", "score_mod")) and config["layout"] != "thd" \
                and not config["dtype"].startswith("fp8") and config["head_dim_qk"] == config["head_dim_v"]:
            return self.lower(as_call(config))
        jax = self.jax
        from jax._src.cudnn import fused_attention_stablehlo as beneath
        mask, batch, queries, keys = config.get("mask", {}), config["batch"], config["seqlen_q"], config["seqlen_kv"]
        ragged, paged = config["layout"] == "thd", config.get("paged")
        type_name = {"f16": "float16", "bf16": "bfloat16", "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2"}[config["dtype"]]
        fp8 = type_name.startswith("float8")

        def array(*shape, dtype=type_name):
            return jax.ShapeDtypeStruct(shape, dtype)

        kinds = beneath.MaskType
        given = {"scale": 0.125, "mask_type": (kinds.PADDING_CAUSAL if mask.get("causal") else kinds.PADDING) if mask.get("padding")
                 else kinds.CAUSAL if mask.get("causal") else kinds.NO_MASK}
        if "window_left" in mask:
            given["sliding_window_length"] = mask["window_left"] + 1
        fixed = {}
        rows, blocks, function = batch, None, beneath.dot_product_attention
        if ragged:  # all sequences in one row
            rows, queries, keys = 1, batch * queries + batch * queries % 2, batch * keys + batch * keys % 2
            fixed = {name: array(1, batch + last, dtype="int32")
                     for name, last in (("q_seqlen", 0), ("kv_seqlen", 0), ("q_offsets", 1), ("kv_offsets", 1))}
        elif mask.get("padding"):
            fixed = {name: array(batch, dtype="int32") for name in ("q_seqlen", "kv_seqlen")}
        if paged:
            blocks = -(-keys // paged)
            fixed.update({name: array(batch, 1, blocks, 1, dtype="int32") for name in ("page_table_k", "page_table_v")})
            function = getattr(beneath, "paged_attention", None)
            if function is None:
                raise TypeError("no paged_attention")
        q = array(rows, queries, config["heads_q"], config["head_dim_qk"])
        k, v = (array(batch * blocks, paged, config["heads_kv"], d) if paged else array(rows, keys, config["heads_kv"], d)
                for d in (config["head_dim_qk"], config["head_dim_v"]))
        if "dropout" in config:
            given["dropout_rate"] = config["dropout"]
        if "score_mod" in config:
            given["score_mod"] = lambda score: jax.numpy.tanh(score)
        if fp8:
            given["use_fp8"] = True
            fixed["fp8_params"] = {name: array(1, 1, 1, 1, dtype="float32") for name in beneath.fp8_params_keys} \
                if hasattr(beneath, "fp8_params_keys") else None
        moving = {"query": q, "key": k, "value": v}

        def attention(moving, fixed):
            out = function(**moving, **fixed, **given)
            return out[0] if isinstance(out, (tuple, list)) else out

        def whole(moving, fixed):
            if config["pass"] == "fprop":
                return attention(moving, fixed)
            out, pullback = jax.vjp(lambda m: attention(m, fixed), moving)
            return pullback(jax.numpy.ones(out.shape, out.dtype))

        jitted = jax.jit(whole)
        if hasattr(jitted, "trace"):
            return jitted.trace(moving, fixed).lower(lowering_platforms=("cuda",)).as_text()
        return jitted.lower(moving, fixed, _experimental_lowering_platform="cuda").as_text()
