"""Random calls of Transformer Engine's attention, in the keys of lib/rules/frameworks/transformer-engine.json."""

VERSIONS = (8900, 8902, 8903, 8905, 8906, 8907, 90000, 90100, 90200, 90201, 90300, 90500, 90600, 90700, 90701, 90900, 91000, 91001, 91002,
            91100, 91200, 91300, 91301, 91400, 91401, 91500, 91501, 91700, 91800, 91801, 91900, 92000, 92100, 92300, 92500, 92600)
MOST_32_BIT = 2**31 - 1


def random_call(dice, base):
    """A mostly plain call, so that each refusal is often the only one; a third of all values differ from the base."""
    def seldom(usual, *others, chance=0.12):
        return dice.choice(others) if dice.random() < chance else usual

    call = dict(base)
    call.update(
        sm=dice.choice([75, 80, 86, 89, 90, 90, 100, 100, 103, 110, 120, 121]),
        cudnn=dice.choice([90800, 91000, 91399, 91400, 91700, 91800, 91801, 91900, 92000, 92100, 92300, 92301, 92400, 92600]),
        batch=dice.choice([1, 2, 8]), is_training=dice.random() < 0.6, fused_enabled=dice.random() > 0.02,
        dtype=seldom("bf16", "f16", "f32", "fp8_e4m3", chance=0.4), qkv_format=seldom("bshd", "sbhd", "thd", chance=0.4),
        qkv_layout_group=seldom("hd_hd_hd", "3hd", "h3d", "hd_2hd", "hd_h2d", chance=0.2), num_splits=seldom(1, 2, 8, chance=0.04),
        softcap=dice.random() < 0.05, return_max_logit=dice.random() < 0.05, deterministic=dice.random() < 0.3,
        context_parallel=dice.random() < 0.15, dropout=dice.random() < 0.15, softmax_type=seldom("vanilla", "off-by-one", "learnable"),
        attn_mask_type=seldom("no_mask", "padding", "causal", "padding_causal", "causal_bottom_right",
                              "padding_causal_bottom_right", "arbitrary", chance=0.6),
        bias_requires_grad=dice.random() < 0.3)
    call["heads_q"] = dice.choice([1, 3, 8, 16, 32])
    call["heads_kv"] = dice.choice([h for h in (1, 2, 3, 8, 16, 32) if call["heads_q"] % h == 0])
    call["heads_v"] = call["heads_kv"]
    call["seqlen_kv"] = dice.choice([64, 512, 4096, 16384])
    call["seqlen_q"] = call["seqlen_kv"] if dice.random() < 0.7 else dice.choice([1, 128, 4096, 16384])
    call["head_dim_qk"] = dice.choice([64, 96, 128, 132, 192, 256])
    call["head_dim_v"] = call["head_dim_qk"] if dice.random() < 0.8 else 128
    is_packed = call["qkv_layout_group"] in ("3hd", "h3d")
    if is_packed:  # the parts of one tensor share length, number of heads and head dimension
        call.update(seqlen_q=call["seqlen_kv"], heads_kv=call["heads_q"], heads_v=call["heads_q"])
    fp8 = dice.random() < (0.9 if call["dtype"] == "fp8_e4m3" else 0.15)
    call["fp8_recipe"] = dice.choice(["delayed", "current", "mxfp8", "block", "nvfp4"]) if fp8 else None
    call["fp8_mha"] = fp8 and dice.random() < 0.3
    call["kv_cache"] = not call["is_training"] and not is_packed and call["qkv_layout_group"] == "hd_hd_hd" and dice.random() < 0.3
    call["pad_between_seqs"] = call["qkv_format"] == "thd" and dice.random() < 0.3
    call["cp_comm_type"] = dice.choice(["p2p", "all_gather", "a2a", "a2a+p2p"]) if call["context_parallel"] else None
    over_heads = call["cp_comm_type"] in ("a2a", "a2a+p2p")
    call["cp_divides"] = not (over_heads and (call["heads_q"] % 2 or call["heads_kv"] % 2))
    call["bottom_right"] = "bottom_right" in call["attn_mask_type"]
    call["causal"] = "causal" in call["attn_mask_type"]
    call["bias_type"] = seldom("no_bias", "pre_scale_bias", "post_scale_bias", "post_scale_bias", "alibi", chance=0.25)
    call["bias_shape"] = dice.choice(["bhss", "1hss", "b1ss", "11ss", "111s"]) if call["bias_type"] == "post_scale_bias" else None
    if call["bias_shape"] == "111s" and call["seqlen_q"] == 1:
        call["bias_shape"] = "11ss"
    call["bias"], call["alibi"] = call["bias_type"] == "post_scale_bias", call["bias_type"] == "alibi"
    call["bias_requires_grad"] = call["bias"] and call["is_training"] and call["bias_requires_grad"]
    call["window_left"] = call["window_right"] = None
    if call["causal"]:
        call["window_right"] = 0
        if dice.random() < 0.2:
            call["window_left"] = 128
    elif call["attn_mask_type"] != "arbitrary" and dice.random() < 0.15:
        call["window_left"], call["window_right"] = 128, dice.choice([0, 64])
    call["score_mod"] = "softcap" if dice.random() < 0.04 else None
    call["scores"] = call["batch"] * call["heads_q"] * call["seqlen_q"] * call["seqlen_kv"]
    call["plain_call"] = call["dtype"] in ("f16", "bf16") and not fp8 and not call["kv_cache"] and not call["context_parallel"] and \
        call["qkv_format"] != "thd" and call["attn_mask_type"] == "no_mask" and call["window_left"] is None and \
        call["bias_type"] == "no_bias" and call["softmax_type"] == "vanilla" and not call["dropout"] and \
        not call["return_max_logit"] and call["num_splits"] == 1
    return call


def has_64_bit_offsets(call):
    """Whether a ragged offset of Q, K, V or O exceeds 32 bits, computed from the longest sequences as in get_ragged_offset_dtype."""
    q = call["heads_q"] * call["head_dim_qk"] * call["seqlen_q"]
    k = call["heads_kv"] * call["head_dim_qk"] * call["seqlen_kv"]
    v = call["heads_kv"] * call["head_dim_v"] * call["seqlen_kv"]
    if call["qkv_layout_group"] in ("3hd", "h3d"):
        k = v = q = 3 * q
    if call["qkv_layout_group"] in ("hd_2hd", "hd_h2d"):
        k = v = 2 * k
    return call["qkv_format"] == "thd" and not call["kv_cache"] and max(q, k, v) > MOST_32_BIT


def completed(call):
    """The call with the keys that are derived from others."""
    call = dict(call)
    fp8 = call["fp8_recipe"] is not None
    mask = call["attn_mask_type"]
    if fp8 or call["dtype"] == "fp8_e4m3":
        call["dtype"] = "fp8_e4m3" if fp8 else "bf16"
    call.update(o_dtype=call["dtype"], fp8_scaling=call["fp8_recipe"])
    call.update(heads_v=call["heads_kv"], gqa=call["heads_q"] != call["heads_kv"], decode=call["seqlen_q"] == 1, fp8=fp8,
                ragged=call["qkv_format"] == "thd", causal="causal" in mask, padding="padding" in mask,
                bottom_right="bottom_right" in mask, bias=call["bias_type"] == "post_scale_bias", alibi=call["bias_type"] == "alibi",
                sink=call["softmax_type"] != "vanilla", max_logit=call["return_max_logit"],
                scores=call["batch"] * call["heads_q"] * call["seqlen_q"] * call["seqlen_kv"], wide_offsets=has_64_bit_offsets(call))
    call["plain_call"] = not fp8 and not call["kv_cache"] and not call["context_parallel"] and not call["ragged"] and \
        mask == "no_mask" and call["window_left"] is None and call["window_right"] is None and call["bias_type"] == "no_bias" and \
        not call["sink"] and not call["dropout"] and not call["return_max_logit"] and not call["cuda_graph"] and call["num_splits"] == 1
    return call


def random_table_call(dice, base):
    """A random call with the C++ table's other conditions: old cuDNN versions, odd lengths, paged caches, CUDA graphs."""
    call = random_call(dice, base)
    call["cudnn"] = dice.choice(VERSIONS if dice.random() < 0.6 else VERSIONS[-12:])
    call["sm"] = dice.choice([80, 86, 89, 90, 90, 90, 100, 100, 103, 110, 120])
    if call["attn_mask_type"] == "arbitrary":
        call["attn_mask_type"] = "padding"
    call["dtype"] = dice.choice(["f16", "bf16"])
    if call["fp8_recipe"] in ("block", "nvfp4"):
        call["fp8_recipe"] = "delayed"  # the gate refuses it in any case
    is_small = dice.random() < 0.3
    lengths = [64, 128, 512] if is_small else [1, 64, 72, 128, 200, 512, 1024, 2048, 4096]
    if dice.random() < 0.03:
        lengths = [65536, 262144, 1048576]
    call["seqlen_kv"] = dice.choice(lengths)
    call["seqlen_q"] = call["seqlen_kv"] if dice.random() < 0.7 else dice.choice(lengths)
    if call["seqlen_q"] == 1 and call["bias_shape"] == "111s":
        call["bias_shape"] = "11ss"
    dims = [64] if is_small else [64, 64, 128, 128, 128, 96, 72, 100, 192, 256, 512]
    call["head_dim_qk"] = dice.choice(dims)
    call["head_dim_v"] = call["head_dim_qk"] if dice.random() < 0.75 else dice.choice([64, 128, 128, 192])
    if is_small and dice.random() < 0.7:
        call["heads_kv"] = call["heads_q"]
    if call["qkv_layout_group"] in ("3hd", "h3d"):
        call.update(seqlen_q=call["seqlen_kv"], head_dim_v=call["head_dim_qk"])
    call["window_left"] = call["window_right"] = None
    if "causal" in call["attn_mask_type"]:
        call["window_right"] = 0 if dice.random() < 0.9 else None
        call["window_left"] = 128 if dice.random() < 0.2 else None
    elif dice.random() < 0.2:
        call["window_left"], call["window_right"] = dice.choice([(None, 0), (128, 0), (128, 64), (128, None), (None, 64)])
    call["paged"] = call["kv_cache"] and dice.random() < 0.6
    call["cuda_graph"] = dice.random() < 0.2
    if dice.random() < 0.06:
        call.update(corner(dice, call))
    return completed(call)


def corner(dice, call):
    """Combinations of values that are rarely drawn by chance: offsets beyond 32 bits, windows with cuDNN 9.14.0, the backend for 512
    tokens."""
    plain = {"fp8_recipe": None, "dtype": "bf16", "kv_cache": False, "paged": False, "qkv_layout_group": "hd_hd_hd",
             "heads_kv": call["heads_q"], "bias_type": "no_bias", "bias_shape": None, "window_left": None,
             "window_right": None, "softmax_type": "vanilla"}
    which = dice.choice(["offsets", "window", "512", "512"])
    if which == "offsets":
        length = dice.choice([524288, 1048576, 4194304])
        return plain | {"qkv_format": "thd", "attn_mask_type": "padding", "sm": 90, "cudnn": dice.choice([90100, 90200, 90300, 90500]),
                        "seqlen_q": length, "seqlen_kv": length, "head_dim_qk": 128, "head_dim_v": 128}
    if which == "window":
        return plain | {"cudnn": 91400, "seqlen_q": 1024, "seqlen_kv": dice.choice([1024, 2048]), "window_left": 128, "window_right": 0,
                        "head_dim_qk": 64, "head_dim_v": 64, "attn_mask_type": dice.choice(["no_mask", "padding_causal", "causal"])}
    length = dice.choice([64, 128, 512, 576])
    bias = dice.choice(["no_bias", "no_bias", "post_scale_bias"])
    return plain | {"sm": dice.choice([80, 90]), "cudnn": dice.choice(VERSIONS[:19]), "qkv_format": dice.choice(["bshd", "sbhd"]),
                    "qkv_layout_group": dice.choice(["3hd", "hd_2hd", "hd_hd_hd", "h3d"]), "seqlen_q": length, "seqlen_kv": length,
                    "head_dim_qk": 64, "head_dim_v": 64, "bias_type": bias, "bias_shape": "1hss" if bias != "no_bias" else None,
                    "attn_mask_type": dice.choice(["no_mask", "padding", "causal", "padding_causal"])}
