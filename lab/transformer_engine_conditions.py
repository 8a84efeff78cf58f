"""Converts Transformer Engine's C++ conditions to those of lib/rules/condition.hpp: the algebra, and the meaning of each name in the
source.

A condition here is True, False, ("is", key, operator, operand), ("and", [...]) or ("or", [...]).
"""
import json

OLDEST_CUDNN = 8900  # the oldest cuDNN for which attnprobe answers

INVERSE = {"eq": "ne", "in": "not_in", "min": "below", "max": "above", "multiple_of": "not_multiple_of", "equal_to": "not_equal_to",
           "set": "not_set"}
INVERSE.update({value: key for key, value in INVERSE.items()})


def negated(condition):
    if isinstance(condition, bool):
        return not condition
    if condition[0] == "is" and isinstance(condition[3], bool):
        return condition[:3] + (not condition[3],)
    if condition[0] == "is":
        return ("is", condition[1], INVERSE[condition[2]], condition[3])
    return joined("or" if condition[0] == "and" else "and", [negated(part) for part in condition[1]])


def joined(how, parts):
    flat = []
    for part in parts:
        flat += part[1] if not isinstance(part, bool) and part[0] == how else [part]
    decisive = how == "or"
    if any(part is decisive for part in flat):
        return decisive
    kept = []
    for part in flat:
        if not isinstance(part, bool) and part not in kept:
            kept.append(part)
    # x or (not x and y): x or y. x or (x and y): x. Likewise for "and".
    other = "and" if how == "or" else "or"
    alone = [part for part in kept if part[0] == "is"]
    kept = [part for part in kept if part[0] == "is" or not any(one in alone for one in part[1])]
    against = [negated(part) for part in alone]
    kept = [joined(other, [one for one in part[1] if one not in against]) if part[0] == other else part for part in kept]
    kept = values_joined(kept, *(("eq", "in") if how == "or" else ("ne", "not_in")))
    if any(negated(part) in kept for part in kept):
        return decisive
    if len(kept) < 2:
        return kept[0] if kept else not decisive
    if how == "or" and all(part[0] == "and" for part in kept):  # (x and y) or (x and z): x and (y or z)
        common = [one for one in kept[0][1] if all(one in part[1] for part in kept)]
        if common:
            rest = [joined("and", [one for one in part[1] if one not in common]) for part in kept]
            return joined("and", common + [joined("or", rest)])
    return (how, kept)


def values_joined(parts, one, several):
    """Joins conditions on the same key: k = a or k = b becomes k in (a, b). Does the same for "and" of values that k must not have."""
    by_key = {}
    for part in parts:
        if part[0] == "is" and part[2] in (one, several):
            by_key.setdefault(part[1], []).extend([part[3]] if part[2] == one else part[3])
    made, done = [], set()
    for part in parts:
        if part[0] == "is" and part[2] in (one, several) and len(by_key[part[1]]) > 1:
            if part[1] not in done:
                done.add(part[1])
                made.append(("is", part[1], several, by_key[part[1]]))
        else:
            made.append(part)
    return made


def as_json(condition):
    if condition[0] == "is":
        _, key, operator, operand = condition
        return {"eq": {key: operand}, "ne": {key: {"not": operand}}, "in": {key: {"in": operand}}, "set": {key: {"set": True}},
                "not_set": {key: None}, "not_in": {"not": {key: {"in": operand}}}}.get(operator, {key: {operator: operand}})
    if condition[0] == "or":
        return {"any": [as_json(part) for part in condition[1]]}
    made, left = {}, []
    for part in map(as_json, condition[1]):
        (key, value), = part.items()
        if key not in made:
            made[key] = value
        elif key not in ("any", "not") and isinstance(value, dict) and isinstance(made[key], dict) and not set(value) & set(made[key]):
            made[key] = {**made[key], **value}
        else:
            left.append(part)
    return {**made, "all": left} if left else made


def refusal(clause):
    """The condition under which a clause does not hold, in the shorter form."""
    plain, around = as_json(negated(clause)), {"not": as_json(clause)}
    return plain if len(json.dumps(plain)) <= len(json.dumps(around)) * 1.1 else around


# ---- from the source's expressions ---------------------------------------------------------------------------------

NUMBERS = {"cudnn_runtime_version": "cudnn", "sm_arch_": "sm", "max_seqlen_q": "seqlen_q", "max_seqlen_kv": "seqlen_kv",
           "head_dim_qk": "head_dim_qk", "head_dim_v": "head_dim_v", "num_attn_heads": "heads_q", "num_gqa_groups": "heads_kv"}
FLAGS = {"is_training": "is_training", "return_max_logit": "return_max_logit", "cuda_graph": "cuda_graph",
         "deterministic": "deterministic", "requires_64bit_ragged_offset": "wide_offsets"}
WINDOWS = {"window_size_left": "window_left", "window_size_right": "window_right"}
COMPARED = {"<": "below", "<=": "max", ">": "above", ">=": "min", "==": "eq", "!=": "ne"}
VALUES = {"NVTE_NO_BIAS": "no_bias", "NVTE_PRE_SCALE_BIAS": "pre_scale_bias", "NVTE_POST_SCALE_BIAS": "post_scale_bias",
          "NVTE_ALIBI": "alibi", "NVTE_NO_MASK": "no_mask", "NVTE_PADDING_MASK": "padding", "NVTE_CAUSAL_MASK": "causal",
          "NVTE_PADDING_CAUSAL_MASK": "padding_causal", "NVTE_CAUSAL_BOTTOM_RIGHT_MASK": "causal_bottom_right",
          "NVTE_PADDING_CAUSAL_BOTTOM_RIGHT_MASK": "padding_causal_bottom_right", "NVTE_VANILLA_SOFTMAX": "vanilla",
          "NVTE_SBHD": "sbhd", "NVTE_BSHD": "bshd", "NVTE_THD": "thd"}
NO_CACHE = ("is", "kv_cache", "eq", False)


def format_is(value):
    return ("is", "qkv_format", "eq", value)


def all_formats(name):
    """qkv_format: a cache for K and V is always bshd (inference.py, cache_qkv_format)."""
    if name == "NVTE_BHSD":
        return False  # no call in the file has it
    value = VALUES[name]
    return format_is(value) if value == "bshd" else joined("and", [format_is(value), NO_CACHE])


def q_format(name):
    return False if name == "NVTE_BHSD" else format_is(VALUES[name])


def kv_format(name):
    if name == "NVTE_BSHD":
        return joined("or", [format_is("bshd"), negated(NO_CACHE)])
    return all_formats(name)


def layout_group(name):
    if name != "NVTE_Paged_KV_HD_HD_HD":
        raise ValueError(f"layout group {name}")
    return ("is", "paged", "eq", True)


def layout(name):
    """The condition for a layout by its name: NVTE_BS3HD, NVTE_SBHD_SB2HD, NVTE_BSHD_BSHD_BSHD."""
    parts = name.removeprefix("NVTE_").lower().split("_")
    tokens = "t" if parts[0][0] == "t" else parts[0][:2]
    group = "_".join(part.removeprefix(tokens) for part in parts)
    made = [format_is({"t": "thd", "bs": "bshd", "sb": "sbhd"}[tokens]), ("is", "qkv_layout_group", "eq", group)]
    if group == "hd_hd_hd":
        made.append(("is", "paged", "eq", False) if tokens == "bs" else NO_CACHE)
    return joined("and", made)


def same_name(key):
    return lambda name: ("is", key, "eq", VALUES[name])


ENUMS = {"bias_type": same_name("bias_type"), "attn_mask_type": same_name("attn_mask_type"), "softmax_type": same_name("softmax_type"),
         "qkv_format": all_formats, "q_format": q_format, "kv_format": kv_format, "layout_group": layout_group, "qkv_layout": layout}


def number_compared(key, sign, number):
    if key == "cudnn":
        if sign in (">=", "<") and number <= OLDEST_CUDNN:
            return sign == ">="
    return ("is", key, COMPARED[sign], number)


def window_compared(key, sign, number):
    """A comparison of a window; -1 (no bound) is an unset value in attnprobe."""
    if (sign, number) in (("==", -1), ("!=", -1), (">=", 0)):
        return ("is", key, "not_set" if sign == "==" else "set", None)
    if (sign, number) == ("==", 0):
        return ("is", key, "eq", 0)
    raise ValueError(f"{key} {sign} {number}")


def condition_of(expression, known):
    kind = expression[0]
    if kind in ("and", "or"):
        return joined(kind, [condition_of(part, known) for part in expression[1]])
    if kind == "!":
        return negated(condition_of(expression[1], known))
    if kind == "name":
        name = expression[1]
        return ("is", FLAGS[name], "eq", True) if name in FLAGS else known[name]
    _, left, right = expression
    if left[0] == "%" and right == ("number", 0):
        return ("is", NUMBERS[left[1][1]], {"==": "multiple_of", "!=": "not_multiple_of"}[kind], left[2][1])
    name = left[1]
    if right[0] == "?":
        condition = condition_of(right[1], known)
        return joined("or", [joined("and", [condition, condition_of((kind, left, right[2]), known)]),
                             joined("and", [negated(condition), condition_of((kind, left, right[3]), known)])])
    if name in ENUMS:
        made = ENUMS[name](right[1].split("::")[-1])
        return made if kind == "==" else negated(made)
    if name == "dropout" and (kind, right) == ("==", ("number", 0.0)):
        return ("is", "dropout", "eq", False)
    if name in WINDOWS:
        return window_compared(WINDOWS[name], kind, right[1])
    if right[0] == "name":
        operator = {"<=": "max", "==": "equal_to", "!=": "not_equal_to"}[kind]
        return ("is", NUMBERS[name], operator, NUMBERS[right[1]])
    return number_compared(NUMBERS[name], kind, right[1])


def names_in(expression):
    if isinstance(expression, tuple):
        if expression[0] == "name":
            return {expression[1].split("::")[-1]}
        return set().union(*map(names_in, expression[1:]))
    return set().union(set(), *map(names_in, expression)) if isinstance(expression, list) else set()
