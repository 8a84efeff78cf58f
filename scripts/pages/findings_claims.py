"""Limits that documentation states, as questions for `attnprobe limits`. Data of scripts/docs findings.

A claim has the statement, its source, the values of the field to ask about, the config and GPUs, and the supported values. For example,
"8-128 step 8, 256" means the asked multiples of 8 up to 128, and 256; other forms are words. If the values depend on the version, they
are a list of (cuDNN version, values), with the oldest version first, as "".
"""
import json

BACKEND = "[cuDNN backend, Graph API](https://docs.nvidia.com/deeplearning/cudnn/developer/graph-api.html), {}"
FPROP, BPROP = BACKEND.format("Fused Attention fprop"), BACKEND.format("Fused Attention bprop")
FRONTEND_PAGE = "https://docs.nvidia.com/deeplearning/cudnn/frontend/latest/operations/Attention.html"
MATRIX = f"[cudnn-frontend, Attention]({FRONTEND_PAGE}), Support Matrix, stated for cuDNN 9.18.1"
NOTES = f"[cudnn-frontend, Attention]({FRONTEND_PAGE}), Important Notes on Support Surface"
RELEASE = "[cuDNN backend, Release Notes](https://docs.nvidia.com/deeplearning/cudnn/backend/latest/release-notes.html), {}"
TE = ("[Transformer Engine 2.18, fused_attn.cpp](https://github.com/NVIDIA/TransformerEngine/blob/v2.18/transformer_engine/common/fused_attn/"
      "fused_attn.cpp), nvte_get_fused_attn_backend")
EVERY = "a100,h100,b200,rtx5090"  # one of each generation
SHORT = "a100,l40s,h100,b200"
PREFILL, DECODE, BACK = "--heads 4 --seqlen 512", "--heads 4 --seqlen-q 1 --seqlen-kv 1024", "--pass bprop --heads 4 --seqlen 512"
D64 = " --head-dim 64"
FP8 = " --dtype fp8_e4m3"
MHA = "--pattern mha --mask padding --heads 4"
# Numbers on both sides of each stated limit, and some between.
HEAD_DIMS = "head_dim=4,8,12,16,20,32,40,64,72,80,96,100,120,128,132,136,160,192,200,248,256,260,264,320,512,520,1024"
FP8_DIMS = "head_dim=8,16,24,32,48,64,72,80,96,112,120,128,136,144,160,176,192,208,240,256,272,288"
LENGTHS = "seqlen=1,2,8,32,63,64,65,96,100,127,128,192,200,256,320,384,448,480,500,511,512,513,576,640,1000,1024"
WINDOWS = "window_left=1,2,15,16,63,64,127,128,129,255,256,511,512"


# For batch 1, 4 heads, length 256, head dimension 64: the tokens are next to each other.
STRIDES = {"strides": [65536, 16384, 1, 256]}
STRIDED = {"all": "", "all but O": f"--o-layout '{json.dumps(STRIDES)}'",
           **{f"all but {name.upper()}": f"--layout '{json.dumps({'q': 'bshd', 'k': 'bshd', 'v': 'bshd', name: STRIDES})}'" for name in "qkv"}}


def claim(part, says, source, axis, config, targets, takes, cases=None, note=""):
    """`cases`: the options for each word, if `limits` does not know the axis as a field; each word is then a separate probe."""
    return {"part": part, "says": says, "source": source, "axis": axis, "config": config, "targets": targets,
            "takes": takes if isinstance(takes, list) else [("", takes)], "cases": cases, "note": " " + note if note else ""}


def backend():
    part = "cuDNN's backend documentation: fused attention for short sequences"
    for pass_, source, name in (("", FPROP, "Mha-fprop"), (" --pass bprop", BPROP, "Mha-bprop")):
        yield claim(part, f"{name}: the head dimension is 64", source, "head_dim=8,16,32,48,56,60,64,68,72,80,96,120,128,192,256", MHA + pass_ + " --seqlen 256", SHORT, "64")
    yield claim(part, "Mha-fprop, inference: any length up to 512", FPROP, LENGTHS, MHA + D64, SHORT, "1-512")
    yield claim(part, "Mha-fprop, training: lengths are multiples of 64, up to 512", FPROP, LENGTHS, MHA + " --pass fprop_train" + D64,
                SHORT, "64-512 step 64")
    yield claim(part, "Mha-bprop: lengths are multiples of 64, up to 512", BPROP, LENGTHS, MHA + " --pass bprop" + D64, SHORT,
                "64-512 step 64")
    for pass_, source, name in (("", FPROP, "Mha-fprop"), (" --pass bprop", BPROP, "Mha-bprop")):
        yield claim(part, f"{name}: the head dimension has stride 1 in Q, K, V and O", source, "contiguous in the head dimension=all,all but Q,"
                    "all but K,all but V,all but O", MHA + pass_ + " --seqlen 256" + D64, "a100,h100,b200", "all", STRIDED)
        yield claim(part, f"{name} fuses in the padding and the causal mask", source, "mask=none,causal,padding,padding_causal",
                    "--pattern mha --heads 4" + pass_ + " --seqlen 256" + D64, "a100,h100,b200", "none, causal, padding, padding_causal",
                    note="The documentation shows the masks' operations in drawings. attnprobe asked [the graph that it builds](../docs/how-it-works.md#how-attnprobe-builds-each-graph); "
                    "cuDNN may support another wiring.")


def matrix():
    part = "cudnn-frontend's support matrix"
    yield claim(part, "SDPA needs an Ampere GPU or newer", MATRIX, HEAD_DIMS, PREFILL, "v100,t4", "")
    rows = (("Ampere and Ada", "a100,l40s", "256", "128", "128"), ("Hopper", "h100", "256", "256", "256"),
            ("Blackwell, B200 and B300", "b200", "256", "128", "128"), ("Blackwell, consumer", "rtx5090", "256", "128", "128"))
    for name, targets, *ends in rows:
        for (words, config), end in zip((("prefill", PREFILL), ("decode", DECODE), ("bprop", BACK)), ends):
            also = ", 256" if words == "bprop" and targets == "b200" else ""
            yield claim(part, f"{name}, {words}, f16: head dimensions are multiples of 8 up to {end}" + (", and 256" if also else ""), MATRIX,
                        HEAD_DIMS, config, targets, f"8-{end} step 8{also}")
            if targets in ("h100", "b200"):
                yield claim(part, f"{name}, {words}, fp8: head dimensions are multiples of 16 up to {end}" + (", and 256" if also else ""),
                            MATRIX, FP8_DIMS, config + FP8, targets, f"16-{end} step 16{also}")
    yield claim(part, "Blackwell, consumer: f16 and bf16, no fp8", MATRIX, "dtype=f16,bf16,fp8_e4m3", PREFILL + D64, "rtx5090", "f16, bf16")
    for words, config, targets in (("prefill", PREFILL, "h100,b200"), ("decode", DECODE, "h100,b200,rtx5090"),
                                   ("bprop", BACK, "h100,b200")):
        yield claim(part, f"{words}: head dimension 192 of Q and K with 128 of V", MATRIX, "head_dim_qk=192", config + " --head-dim-v 128", targets,
                    "192")
    for words, config in (("prefill", PREFILL), ("bprop", BACK)):
        yield claim(part, f"{words}: padded and ragged sequences, on every GPU", MATRIX, "layout=bshd,bhsd,bs3hd,thd",
                    config + D64 + " --mask padding", EVERY, "bshd, bhsd, bs3hd, thd")
        yield claim(part, f"{words}: no mask, causal, a causal sliding window, on every GPU", MATRIX, WINDOWS,
                    config + D64 + " --mask causal", EVERY, "1-512")
        yield claim(part, f"{words}: softcap, on every GPU", MATRIX, "softcap=30", config + D64, EVERY, "30")
        yield claim(part, f"{words}: an additive bias, on every GPU", MATRIX, "bias=bhss,1hss,b1ss,11ss", config + D64 + " --batch 2", EVERY,
                    "bhss, 1hss, b1ss, 11ss")
    yield claim(part, "bprop: deterministic, on every GPU", MATRIX, "deterministic=false,true", BACK + D64, EVERY, "false, true")
    for words, config in (("prefill", "--heads 4 --seqlen 512"), ("decode", DECODE)):
        yield claim(part, f"{words}: a paged K/V cache, on every GPU", MATRIX, "page_size=16,32,64,128", config + D64 + " --mask padding", EVERY,
                    "16, 32, 64, 128")
    part = "cudnn-frontend's notes on the support surface"
    for words, config in (("fprop", "--heads 4"), ("bprop", "--pass bprop --heads 4")):
        yield claim(part, f"{words}: lengths are arbitrary", NOTES, "seqlen=1,2,3,7,16,63,64,65,100,127,128,129,320,511,1000,1023,1024,1025,2047,2048", config + D64, EVERY, "1-2048")
        yield claim(part, f"{words}: MHA, GQA and MQA", NOTES, "heads_kv=1,2,4,8", config.replace("--heads 4", "--heads-q 8 --seqlen 512") + D64,
                    EVERY, "1, 2, 4, 8")


def release_notes():
    part = "cuDNN's release notes"
    yield claim(part, "known issue: bprop does not support keys and values of length 1", RELEASE.format("9.18.1, Known Issues"), "seqlen_kv=1,2,3,8,64,65,128,256",
                "--pass bprop --heads 4 --seqlen-q 512" + D64, EVERY, "2-256")
    yield claim(part, "new in 9.18.1: bprop of ragged sequences (THD) on Ampere and RTX PRO 6000",
                RELEASE.format("9.18.1, Key Features and Enhancements"), "layout=bshd,thd", BACK + D64 + " --mask padding",
                "a100,rtx-pro-6000", [("", "bshd"), ("9.18.1", "bshd, thd")])


def transformer_engine():
    part = "Transformer Engine's table"
    eights = "8-{} step 8".format
    for targets, before, since in (("a100", 128, "9.10.2"), ("h100", 256, "9.10.2"), ("b200", 128, "9.9.0")):
        yield claim(part, f"inference, f16: head dimensions up to {before}, from cuDNN {since} any multiple of 8", TE, HEAD_DIMS, PREFILL, targets,
                    [("", eights(before)), (since, eights(1024))])
        yield claim(part, f"inference, one query: head dimensions up to {before}, from cuDNN 9.10.2 any multiple of 8", TE, HEAD_DIMS, DECODE,
                    targets, [("", eights(before)), ("9.10.2", eights(1024))])
    for targets, takes, words in (("a100", eights(128), "up to 128"), ("h100", eights(256), "up to 256"),
                                  ("b200", [("", eights(128)), ("9.23.0", eights(128) + ", 256")], "up to 128, and 256 from cuDNN 9.23")):
        yield claim(part, f"training, f16: head dimensions {words}", TE, HEAD_DIMS, BACK, targets, takes)
    yield claim(part, "training, Blackwell: 192 of Q and K with 128 of V from cuDNN 9.11", TE, "head_dim_qk=192", BACK + " --head-dim-v 128", "b200",
                [("", ""), ("9.11.0", "192")])
    yield claim(part, "training, Hopper, from cuDNN 9.11: of head dimensions from 128 on that differ only 192 with 128", TE, "head_dim_v=8,32,64,96,112,120,124,128,136,144,160,184,192,200,248,256",
                BACK + " --head-dim-qk 192", "h100", [("", eights(256)), ("9.11.0", eights(120) + ", 128, 192")])
    for targets, takes in (("a100", "bshd"), ("h100,b200", "bshd, thd")):
        yield claim(part, "inference: ragged sequences (THD) on Hopper and newer only", TE, "layout=bshd,thd", PREFILL + D64 + " --mask padding",
                    targets, takes)
    yield claim(part, "a causal mask aligned to the bottom right needs at least as many keys as queries", TE, "seqlen_q=1,2,63,64,128,256,448,511,512,513,576,640,1000,1024",
                "--heads 4 --seqlen-kv 512" + D64 + " --mask causal_bottom_right", "a100,h100,b200", "1-512")
    for option in ("--bias 1hss", "--dropout 0.125 --pass fprop_train"):
        yield claim(part, f"no padding mask with {'a bias' if 'bias' in option else 'dropout'}", TE, "mask=none,causal,padding,padding_causal",
                    "--heads 4 --seqlen 512" + D64 + " " + option, "a100,h100,b200", "none, causal")
    yield claim(part, "training, Blackwell: deterministic from cuDNN 9.18.1", TE, "deterministic=false,true", BACK + D64, "b200",
                [("", "false"), ("9.18.1", "false, true")])
    yield claim(part, "training, sm_120: from cuDNN 9.18.1, and never deterministic", TE, "deterministic=false,true", BACK + D64, "rtx5090",
                [("", ""), ("9.18.1", "false")])
    sixteens = "16-{} step 16".format
    for targets, end in (("h100", 256), ("b200", 128)):
        yield claim(part, f"inference, fp8: head dimensions are multiples of 16 up to {end}", TE, FP8_DIMS, PREFILL + FP8, targets,
                    sixteens(end))
    yield claim(part, "training, fp8: head dimension 128", TE, FP8_DIMS, BACK + FP8, "h100", "128")
    yield claim(part, "training, fp8: head dimensions are multiples of 16 up to 128", TE, FP8_DIMS, BACK + FP8, "b200", sixteens(128))


CLAIMS = [*backend(), *matrix(), *release_notes(), *transformer_engine()]

# The main findings: the sentence, and the table, statement, GPU and version in which it must be found (scripts/docs findings).
HIGHLIGHTS = [
    ("The fused attention for short sequences that the backend's documentation describes no longer exists from cuDNN 9.25.1 on. 9.24.1 supports it on A100, "
     "H100 and B200, 9.25.1 on no GPU asked. An L40S never had it: its shared memory is too small.", "less", "Mha-fprop: the head dimension is 64", "a100", "9.25.1"),
    ("Up to 9.24.1 Mha-bprop checks neither the head dimension nor a length above 512 nor strides. It accepts what the documentation "
     "forbids, so the program must check the limits itself.", "more", "Mha-bprop: the head dimension is 64", "h100", "9.24.1"),
    ("Softcap in the backward pass is refused on Ampere and consumer Blackwell by every version, though the support matrix lists it for every GPU.",
     "less", "bprop: softcap, on every GPU", "a100", "9.28.1"),
    ("fp8 on Hopper: the backward pass supports only head dimension 128 with every version, and decode is refused from 9.10.2 on. The support matrix "
     "says up to 256 for both.", "less", "Hopper, bprop, fp8: head dimensions are multiples of 16 up to 256", "h100", "9.28.1"),
    ("Head dimensions of f16 inference no longer end at 128 or 256. From 9.10.2 on, every multiple of 8 that was asked, up to 1024, is "
     "supported on A100, L40S, H100, B200 and RTX 5090.", "more", "Ampere and Ada, prefill, f16: head dimensions are multiples of 8 up to 256", "a100", "9.10.2"),
    ("Up to 2.18, Transformer Engine's table refuses three things that cuDNN supports. These are inference in THD on Ampere, padding masks together with a bias or "
     "dropout, and deterministic training on sm_120.", "more", "training, sm_120: from cuDNN 9.18.1, and never deterministic", "rtx5090", "9.28.1"),
    ("Varying lengths in the backward pass, as cudnn-frontend 1.26 and newer build it, crash cuDNN 9.8 and 9.9.", "crashes",
     "bprop: padded and ragged sequences, on every GPU", "h100", "9.9.0"),
]
