#!/usr/bin/env python3
"""Compares lib/rules/frameworks/jax.json with JAX itself, over random calls: check_layout and check_is_flash_attention.

Usage: compare_jax_gates.py WHEEL… [--calls N]       jax-0.12.0-py3-none-any.whl, as pip download --no-deps brings it

The two functions are taken out of the wheel and run with stand-ins for arrays and devices: no JAX, no GPU. A call is
refused, or not, by both; where JAX refuses, the first rule that holds must have the words of JAX' message. Rules about
what is checked outside these two functions are left out. Ends with 1 where there is a difference.
"""

import inspect
import pathlib
import random
import re
import sys
import types
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_framework_files as files  # noqa: E402

# Checked elsewhere: in jax.nn.dot_product_attention and in the function of that name beneath it.
ELSEWHERE = {"heads_divide", "right_window", "ampere", "fp8_mask", "fp8_bias", "fp8_paged", "lengths_missing",
             "window_not_positive", "offsets_without_lengths", "score_mod_cudnn"}
DTYPES = {"f16": "float16", "bf16": "bfloat16", "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2", "f32": "float32"}


class Array:
    def __init__(self, shape, dtype):
        self.shape, self.dtype, self.ndim = tuple(shape), dtype, len(shape)


class Names:
    """np, jnp and dtypes: their data types are their names."""

    def __getattr__(self, name):
        return name

    @staticmethod
    def dtype(name):
        return name


def gates_of(wheel):
    """check_layout and check_is_flash_attention of the wheel, and the capability that they see, as a list of two."""
    source = zipfile.ZipFile(wheel).read("jax/_src/cudnn/fused_attention_stablehlo.py").decode()
    capability = [9, 0]
    layout = types.SimpleNamespace(BTNH=types.SimpleNamespace(value=0), BNTH=types.SimpleNamespace(value=1))
    room = {"np": Names(), "jnp": Names(), "dtypes": Names(), "AttentionLayout": layout,
            "check_compute_capability": lambda text: tuple(capability) >= tuple(map(int, text.split("."))),
            "is_cuda_compute_capability_equal": lambda text: tuple(capability) == tuple(map(int, text.split(".")))}
    for name in ("check_layout", "check_is_flash_attention"):
        exec(function_text(source, name), room)
    return room, capability


def function_text(source, name):
    lines = source.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("def %s(" % name))
    last = first + 1
    while last < len(lines) and (not lines[last].strip() or lines[last][0] in " \t)#"):
        last += 1
    return "\n".join(lines[first:last])


def random_problem(base, pick):
    p = dict(base)
    p["dtype"] = pick(["f16", "bf16"] * 8 + ["fp8_e4m3", "fp8_e5m2"] * 3 + ["f32"])
    p["fp8"] = p["dtype"].startswith("fp8")
    p["sm"] = pick([75, 80, 89, 90, 100, 103, 120])
    p["cudnn"] = pick([90100, 90400, 90500, 90600, 90800, 90900, 91000, 91100, 92600])
    p["head_dim_qk"] = pick([64, 72, 80, 96, 100, 128, 128, 136, 192, 256, 264])
    p["head_dim_v"] = pick([p["head_dim_qk"]] * 6 + [64, 128, 512])
    p["seqlen_q"], p["seqlen_kv"] = pick([1, 127, 128, 1000, 1024]), pick([1, 127, 128, 1023, 1024])
    p["heads_kv"] = pick([8, 2])
    p["heads_v"] = pick([p["heads_kv"]] * 30 + [4])
    for name in ("one_dtype", "one_batch", "one_length_kv", "one_head_dim_qk", "lengths_int32", "lengths_fit", "blocks_fit"):
        p[name] = pick([True] * 60 + [False])
    p["requires_grad"] = pick([True, False])
    p["tensor_rank"] = pick([4] * 80 + [3, None])
    if pick([True, False]):
        p["mask_rows"], p["mask_columns"] = pick([p["seqlen_q"]] * 15 + [1]), pick([p["seqlen_kv"]] * 15 + [1])
    p["seqlen_q_given"] = p["seqlen_kv_given"] = pick([True, False])
    p["score_mod"] = pick([None] * 4 + ["tanh"])
    p["offsets"] = p["seqlen_q_given"] and pick([True, False, False])
    p["packed"] = p["offsets"] and pick([True, False])
    p["paged"] = not p["offsets"] and pick([True, False, False, False])
    return p


def call(room, capability, p):
    """JAX' message, or "" where it takes the call."""
    capability[:] = divmod(p["sm"], 10)
    b, length_kv = 2, p["seqlen_kv"]
    other = lambda good, value: value if good else value + 1  # noqa: E731
    shapes = [[b, p["seqlen_q"], 8, p["head_dim_qk"]],
              [b, length_kv, p["heads_kv"], other(p["one_head_dim_qk"], p["head_dim_qk"])],
              [other(p["one_batch"], b), other(p["one_length_kv"], length_kv), p["heads_v"], p["head_dim_v"]]]
    tables = [None, None]
    if p["paged"]:  # a block an entry and page, of the whole length
        for shape, table in ((1, 0), (2, 1)):
            tables[table] = Array([shapes[shape][0], 1, 1 if p["blocks_fit"] else 2, 1], "int32")
    if p["tensor_rank"] == 3:
        shapes = [shape[1:] for shape in shapes]
    elif p["tensor_rank"] is None:
        shapes[1] = shapes[1][1:]
    dtype = DTYPES[p["dtype"]]
    q, k, v = (Array(shape, dtype) for shape in shapes)
    if not p["one_dtype"]:
        k.dtype = "float64"
    lengths = Array([other(p["lengths_fit"], b)] + ([3] if p["offsets"] else []), "int32" if p["lengths_int32"] else "int64")
    values = {"query": q, "key": k, "value": v, "layout": room["AttentionLayout"].BTNH,
              "bias": Array([b, 8, p["mask_rows"], p["mask_columns"]], dtype) if p["mask_rows"] else None,
              "q_seqlen": lengths if p["seqlen_q_given"] else None, "kv_seqlen": lengths if p["seqlen_kv_given"] else None,
              "q_offsets": lengths if p["offsets"] else None, "kv_offsets": lengths if p["offsets"] else None,
              "page_table_k": tables[0], "page_table_v": tables[1], "cudnn_version": p["cudnn"],
              "has_bias": p["mask_rows"] is not None, "is_training": p["requires_grad"], "is_packed": p["packed"],
              "is_paged_attention": p["paged"], "is_fp8": p["fp8"], "is_score_mod": p["score_mod"] is not None}
    try:
        for name in ("check_layout", "check_is_flash_attention"):
            if name == "check_is_flash_attention":
                values["layout"] = 0
            room[name](**{one: values[one] for one in inspect.signature(room[name]).parameters})
    except (ValueError, NotImplementedError, RuntimeError) as error:
        return str(error)
    return ""


def compare(wheel, calls):
    data = files.json.loads((files.FOLDER / "jax.json").read_text())
    keys = {name: None for name in [*files.flat_keys(), *data["keys"], *data["needs_keys"]]}
    base = {**keys, **data["base"]}
    release = files.version(re.match(r"jax-([\d.]+)-", pathlib.Path(wheel).name).group(1))
    rules = [r for r in files.in_order(data, release) if r["id"] not in ELSEWHERE]
    room, capability = gates_of(wheel)
    takes = [one for name in ("check_layout", "check_is_flash_attention") for one in inspect.signature(room[name]).parameters]
    draw = random.Random(16)
    differences, refused = 0, 0
    for _ in range(calls):
        p = random_problem(base, draw.choice)
        if "is_fp8" not in takes and p["fp8"]:
            p["dtype"], p["fp8"] = "f32", False
        for key, parameter in (("offsets", "q_offsets"), ("paged", "page_table_k"), ("score_mod", "is_score_mod")):
            if parameter not in takes:
                p[key] = None if key == "score_mod" else False
        p["packed"] = p["packed"] and p["offsets"]
        said = call(room, capability, p)
        rule = next((r for r in rules if files.holds(r["when"], p)), None)
        words = re.sub(r"\{(\w+)\}", lambda m: str(p[m.group(1)]), rule["message"]) if rule else ""
        refused += bool(said)
        alike = ("lengths_shape", "rank", "lengths_int32", "page_blocks")  # the message names one of several tensors
        if bool(said) != bool(rule) or (rule and not said.startswith(words) and rule["id"] not in alike):
            differences += 1
            if differences <= 5:
                print("  JAX: %r\n  rule: %s\n  %s" % (said, rule and rule["id"], {k: v for k, v in p.items() if base[k] != v}))
    print("%s: %d calls, %d refused, %d differences" % (pathlib.Path(wheel).name, calls, refused, differences))
    return differences


def main():
    arguments = sys.argv[1:]
    calls = 10000
    if "--calls" in arguments:
        at = arguments.index("--calls")
        calls = int(arguments[at + 1])
        del arguments[at:at + 2]
    return 1 if sum(compare(wheel, calls) for wheel in arguments) else 0


if __name__ == "__main__":
    sys.exit(main())
