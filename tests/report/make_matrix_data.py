#!/usr/bin/env python3
"""Makes a page of the hardware matrix from invented answers, in any size, assembled as in lib/report.

  tests/report/make_matrix_data.py PAGE.html [--configs 60] [--targets 24] [--versions 3] [--payload FILE.json]

--payload: take the payload from this file instead. The same arguments give the same page.
"""

import argparse
import hashlib
import json
import pathlib
import random

SOURCES = pathlib.Path(__file__).resolve().parent.parent.parent / "lib" / "report" / "page"

GPUS = [
    ("t4", "NVIDIA T4", 75, "Turing"),
    ("a100", "NVIDIA A100 SXM4 80GB", 80, "Ampere"),
    ("a100-40gb", "NVIDIA A100 SXM4 40GB", 80, "Ampere"),
    ("a30", "NVIDIA A30", 80, "Ampere"),
    ("a10", "NVIDIA A10", 86, "Ampere"),
    ("rtx-a6000", "NVIDIA RTX A6000", 86, "Ampere"),
    ("rtx3090", "NVIDIA GeForce RTX 3090", 86, "Ampere"),
    ("orin", "NVIDIA Jetson AGX Orin 64GB", 87, "Ampere"),
    ("l4", "NVIDIA L4", 89, "Ada Lovelace"),
    ("l40s", "NVIDIA L40S", 89, "Ada Lovelace"),
    ("rtx4090", "NVIDIA GeForce RTX 4090", 89, "Ada Lovelace"),
    ("h100", "NVIDIA H100 SXM5 80GB", 90, "Hopper"),
    ("h100-pcie", "NVIDIA H100 PCIe 80GB", 90, "Hopper"),
    ("h100-nvl", "NVIDIA H100 NVL 94GB", 90, "Hopper"),
    ("h200", "NVIDIA H200 SXM 141GB", 90, "Hopper"),
    ("gh200", "NVIDIA GH200 Grace Hopper 96GB HBM3", 90, "Hopper"),
    ("b200", "NVIDIA B200 SXM", 100, "Blackwell"),
    ("gb200", "NVIDIA GB200 (one GPU)", 100, "Blackwell"),
    ("b300", "NVIDIA B300 SXM6", 103, "Blackwell Ultra"),
    ("gb300", "NVIDIA GB300 (one GPU)", 103, "Blackwell Ultra"),
    ("thor", "NVIDIA Jetson AGX Thor (T5000)", 110, "Blackwell"),
    ("rtx5090", "NVIDIA GeForce RTX 5090", 120, "Blackwell"),
    ("rtx-pro-6000", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 120, "Blackwell"),
    ("gb10", "NVIDIA GB10 (DGX Spark)", 121, "Blackwell"),
]
VERSIONS = [
    "9.8.0",
    "9.9.0",
    "9.10.2",
    "9.11.0",
    "9.12.0",
    "9.13.1",
    "9.14.0",
    "9.15.1",
    "9.17.1",
    "9.19.0",
    "9.20.0",
    "9.21.1",
    "9.22.0",
    "9.24.1",
    "9.28.0",
]
MODELS = [
    ("bert-base", 12, 12, 64),
    ("llama-3.1-8b", 32, 8, 128),
    ("mistral-7b", 32, 8, 128),
    ("gemma-7b", 16, 16, 256),
    ("gpt-oss-20b", 64, 8, 64),
    ("deepseek-v3", 128, 128, 192),
    ("whisper-large-v3", 20, 20, 64),
    ("sdxl-64x64", 10, 10, 64),
    ("flux", 24, 24, 128),
    ("esm2-650m", 20, 20, 100),
]
PASSES = ["fprop", "fprop_train", "bprop"]
DTYPES = ["f16", "bf16", "fp8_e4m3"]
PATTERNS = ["sdpa", "sdpa_unified", "sdpa_composite", "mha"]
HOSTILE = '</script><script>document.title="taken over"</script><!--<script><img src=x onerror=alert(1)>, "quoted" & 100 %'

# status, category, cuDNN's words, plain words
REFUSALS = {
    "arch": (
        "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH",
        "arch_mismatch",
        "MHA fusion patterns are only supported for Ampere and later GPUs. Current deviceVersion=={sm}0",
        "Fused attention needs an Ampere GPU (compute capability 8.0) or newer; this one is older.",
    ),
    "shared": (
        "CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT",
        "shared_memory",
        "Kernel request for shared memory is exceeding the shared memory in the GPU at: "
        "requested_smem_exceed_arch_limit(this->getDeviceProp(), this->shared_mem_size[kernelNumRunning])",
        "The kernel of this engine needs more shared memory per block than this GPU has. The opt-in limit is about "
        "99 KB on Ada, GeForce Ampere and sm_12x, 163 KB on A100, 227 KB on Hopper and datacenter "
        "Blackwell. Everything else about the graph was accepted.",
    ),
    "dim": (
        "CUDNN_STATUS_NOT_SUPPORTED",
        "head_dim",
        "Embedding dim per head for q and k is not a multiple of 8",
        "Head dimensions of q and k have to be multiples of 8.",
    ),
    "dtype": (
        "CUDNN_STATUS_NOT_SUPPORTED",
        "data_type",
        "FP8 attention is only supported on Hopper and later at: deviceVersion < 900 && is_fp8",
        "8-bit floating point attention needs a Hopper GPU or newer.",
    ),
    "pattern": (
        "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN",
        "graph_pattern",
        "the chosen engine does not support this graph pattern at: true",
        "The graph is not one that this engine's matcher knows.",
    ),
}
FAILURES = ["error", "crashed", "timeout", "wrong_result", "invalid_graph"]
GATE = (
    "framework",
    "PyTorch 2.15.0 refuses dropout 0.1 on sm_90 with cuDNN 9.19.0, since 2.14.0",
    "PyTorch 2.15.0, sdp_utils.cpp, check_cudnn_tensor_shapes",
)
BUG = ("known_bug", "bias gradients are computed wrongly by the backward of engine 6. Take cuDNN 9.21", "cuDNN 9.21 release notes")
RULE = ("requirement", "fp8 needs cuDNN 9.13 on this GPU", "cuDNN 9.13 release notes")


class Interned:
    """Values by index, without duplicates."""

    def __init__(self):
        self.values, self.at = [], {}

    def index(self, value):
        key = json.dumps(value)
        if key not in self.at:
            self.at[key] = len(self.values)
            self.values.append(value)
        return self.at[key]


def make_config(number):
    model, heads, heads_kv, dim = MODELS[number % len(MODELS)]
    which = number // len(MODELS)
    one_pass, dtype, seqlen = PASSES[which % 3], DTYPES[(which // 3) % 3], 512 << (number % 6)
    name = HOSTILE if number == 3 else f"{model}-{seqlen}[pass={one_pass},dtype={dtype}]" + (f"-{which}" if which > 8 else "")
    fields = {
        "pattern": PATTERNS[0 if number % 7 else 3],
        "pass": one_pass,
        "batch": 1,
        "heads_q": heads,
        "heads_kv": heads_kv,
        "seqlen_q": seqlen,
        "seqlen_kv": seqlen,
        "head_dim_qk": dim,
        "head_dim_v": dim,
        "dtype": dtype,
        "layout": "bshd",
        "mask": "causal",
    }
    return {
        "name": name,
        "summary": f"{fields['pattern']} {one_pass} b1 h{heads}/{heads_kv} s{seqlen} d{dim} {dtype} bshd causal",
        "pattern": fields["pattern"],
        "pass": one_pass,
        "dtype": dtype,
        "source": "https://huggingface.co/example/model, config.json (num_attention_heads, head_dim)",
        "command": f"attnprobe --config configs/matrix/atlas.json --only '^{model}-{seqlen}'",
        "fields": fields,
    }


def refusal_of(config, sm, version):
    """A key of REFUSALS; "": supported. Older GPUs and versions refuse some configs that newer ones support."""
    fields = config["fields"]
    if sm < 80:
        return "arch"
    if fields["head_dim_qk"] % 8:
        return "dim"
    if fields["dtype"].startswith("fp8") and sm < 90:
        return "dtype"
    if fields["head_dim_qk"] > 128 and config["pass"] != "fprop" and (sm not in (90, 100, 103) or version < 1):
        return "pattern"
    if fields["pattern"] == "mha" and sm in (86, 89, 120, 121):
        return "shared"
    return ""


def row_of(engine, knobs, modes, **others):
    nothing = {"ws": None, "plan": None, "run": None, "ms": None, "tflops": None, "peak": None}
    return {"e": engine, "k": knobs, "m": modes, "ok": False, "s": "", "r": -1, **nothing, **others}


def refused_row(engine, refusal, sm, texts):
    status, _, reason, _ = REFUSALS[refusal]
    return row_of(engine, "", f"FALLBACK{engine}", s=status, r=texts.index(reason.format(sm=sm)))


def viable_row(engine, noise, texts):
    """`noise`: a factor for the times; 0: no plan runs. The fourth plan does not compile, the fifth computes a wrong result."""
    row = row_of(engine, f"KERNEL_CFG={(3, 7, 32)[engine % 3]}", f"A{engine} B{engine}", ok=True, ws=256 * engine)
    if not noise:
        return row
    if engine == 3:
        reason = texts.index("ptxas error: Entry function uses too much shared data")
        return {**row, "plan": "failed", "s": "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED", "r": reason}
    if engine == 4:
        return {**row, "plan": "built", "run": "wrong_result"}
    slowness = (1 + 0.7 * engine) * noise
    times = {"ms": round(0.047 * slowness, 5), "tflops": round(612 / slowness, 1), "peak": round(62 / slowness, 1)}
    return {**row, "plan": "built", "run": "ok", **times}


def advice_on(config, target, version, texts):
    command = f"{config['command']} --head-dim 104 --target {target['id']} --cudnn {VERSIONS[version]}"
    padded = "head dimensions padded with zeros, the scale kept: supported here, by engine 2"
    return [texts.index(f"{padded}\n{command}"), texts.index("the same config is supported on h200, b200")]


def told(notes, texts):
    return [[kind, texts.index(text), texts.index(source)] for kind, text, source in notes]


def make_answer(config, target, version, rng, texts, engines):
    refusal = refusal_of(config, target["sm"], version)
    failure = rng.choice(FAILURES) if rng.random() < 0.002 else ""
    viable = 0 if refusal or failure else 1 + (len(config["name"]) + target["sm"] // 10 + version // 3) % 7
    noise = rng.uniform(0.9, 1.1) if target["kind"] == "device" else 0
    rows = [viable_row(engine, noise, texts) for engine in range(viable)]
    rows += [refused_row(engine, refusal or "pattern", target["sm"], texts) for engine in range(viable, 9)]
    status, category, reason, explanation = REFUSALS[refusal] if refusal else ("", "", "", "")
    stands = [GATE] if viable and config["pass"] == "bprop" and target["sm"] == 90 else []
    verdict = failure or ("no" if refusal else "but" if stands else "yes")
    has_advice = refusal not in ("", "arch")
    known = [BUG] if config["pass"] == "bprop" and version < 2 else [RULE] if config["dtype"].startswith("fp8") else []
    choice = "composite: the unified SDPA operation supports diagonal masks only from cuDNN 9.21"
    expected = ("unsupported" if refusal else "supported") if rng.random() > 0.004 else "unsupported"
    met = (expected == "supported") == (verdict in ("yes", "but"))
    digest = hashlib.md5(f"{config['name']}{version > 6}".encode()).hexdigest()
    return {
        "v": verdict,
        "but": told(stands, texts),
        "met": met,
        "expect": expected,
        "n": viable,
        "c": len(rows),
        "category": category or ("execution" if failure else ""),
        "status": status,
        "reason": texts.index(reason.format(sm=target["sm"])) if reason else -1,
        "explanation": texts.index(explanation) if explanation else -1,
        "advice": advice_on(config, target, version, texts) if has_advice else [],
        "pattern": "sdpa_unified" if version > 6 else "sdpa_composite",
        "hash": digest,
        "choice": texts.index(choice) if version <= 6 else -1,
        "modes": [
            ["A", 5, min(viable, 5), "CUDNN_STATUS_SUCCESS"],
            ["B", 5, min(viable, 5), "CUDNN_STATUS_SUCCESS"],
            ["FALLBACK", 9, viable, "CUDNN_STATUS_SUCCESS"],
        ],
        "engines": [engines.index(row) for row in rows],
        "notes": told(known, texts),
        "frameworks": [],
        "from": texts.index("from cuDNN 9.9.0 by rule") if viable else -1,
        "frontend": texts.index("SDPA FP16/BF16 requires SM80 (Ampere) or newer architecture") if refusal == "arch" else -1,
    }


def make_targets(count):
    targets = [{"id": "device:0", "name": "NVIDIA H200", "sm": 90, "kind": "device", "family": "Hopper"}]
    for number in range(count - 1):
        identifier, name, sm, family = GPUS[number % len(GPUS)]
        again = f"-{number // len(GPUS)}" if number >= len(GPUS) else ""
        targets.append({"id": identifier + again, "name": name + again, "sm": sm, "kind": "simulated", "family": family})
    return targets


def chosen_versions(count):
    """`count` of VERSIONS, spread over all of them."""
    return [VERSIONS[(number + 1) * len(VERSIONS) // count - 1] for number in range(count)]


def make_payload(configs, targets, versions):
    rng = random.Random(1)
    texts, engines, answers = Interned(), Interned(), Interned()
    payload = {
        "title": "Attention of today's models on every GPU of the catalogue",
        "tool": "attnprobe 0.1.0",
        "command": "attnprobe matrix configs/matrix/atlas.json --cudnn all",
        "targets": make_targets(targets),
        "measurements": [{"key": "ms", "unit": "ms"}, {"key": "tflops", "unit": "TFLOP/s"}, {"key": "peak", "unit": "% of peak"}],
        "cudnns": [{"version": version} for version in chosen_versions(versions)],
        "configs": [make_config(number) for number in range(configs)],
    }
    payload["cells"] = [
        -1 if rng.random() < 0.001 else answers.index(make_answer(config, target, version, rng, texts, engines))
        for version in range(versions)
        for config in payload["configs"]
        for target in payload["targets"]
    ]
    payload["milliseconds"] = [round(rng.uniform(2, 9), 1) for _ in payload["cells"]]
    payload.update(texts=texts.values, engines=engines.values, answers=answers.values)
    return payload


def assemble(payload):
    """The page. Every "<" in the data becomes \\u003c, which JSON decodes and HTML does not read as a tag or comment."""
    data = json.dumps(payload, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")

    def joined(ending):
        files = sorted(SOURCES.glob(f"common_*{ending}")) + sorted(SOURCES.glob(f"matrix_page*{ending}"))
        return "".join(path.read_text() for path in files)

    page = (SOURCES / "matrix_page.html").read_text()
    before, page = page.split("/*STYLE*/")
    between, page = page.split("/*DATA*/")
    rest, after = page.split("/*SCRIPT*/")
    return "".join([before, joined(".css"), between, data, rest, joined(".js"), after])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--configs", type=int, default=60)
    parser.add_argument("--targets", type=int, default=24)
    parser.add_argument("--versions", type=int, default=3)
    parser.add_argument("--payload", type=pathlib.Path)
    options = parser.parse_args()
    payload = (
        json.loads(options.payload.read_text())
        if options.payload
        else make_payload(options.configs, options.targets, options.versions)
    )
    options.page.write_text(assemble(payload))
    size = options.page.stat().st_size / 1e6
    print(f"{options.page}: {len(payload['cells'])} cells, {len(payload['answers'])} answers, {size:.1f} MB")


if __name__ == "__main__":
    main()
