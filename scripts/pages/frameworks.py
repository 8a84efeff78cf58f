"""Writes the page with every rule of lib/rules/frameworks: the calls that frameworks refuse before they ask cuDNN."""

import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "lib" / "rules" / "frameworks"

SIGNS = {"min": "≥", "max": "≤", "above": ">", "below": "<", "multiple_of": "is a multiple of",
         "not_multiple_of": "is not a multiple of", "equal_to": "=", "not_equal_to": "≠", "not": "≠"}


def value_in_words(value):
    return "not set" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def words_for(condition, nested=False):
    """A condition as words: "head_dim_qk > 128 and (sm < 90 or cudnn < 91000)"."""
    parts = []
    for name, value in condition.items():
        if name in ("all", "any"):
            many = len(value) > 1
            joined = (" or " if name == "any" else " and ").join(words_for(part, many and name == "any") for part in value)
            parts.append("(%s)" % joined if many else joined)
        elif name == "not":
            parts.append("not (%s)" % words_for(value))
        elif not isinstance(value, dict):
            parts.append(name if value is True else "not " + name if value is False else
                         "%s not set" % name if value is None else "%s = %s" % (name, value))
        else:
            for op, operand in value.items():
                if op == "set":
                    parts.append("%s %s" % (name, "set" if operand else "not set"))
                elif op == "in":
                    parts.append("%s one of %s" % (name, ", ".join(value_in_words(one) for one in operand)))
                else:
                    parts.append("%s %s %s" % (name, SIGNS[op], value_in_words(operand)))
    words = " and ".join(parts)
    return "(%s)" % words if nested and len(parts) > 1 else words


def span_in_words(entry):
    since = entry["from"] or "all read"
    return since + (" to before " + entry["below"] if entry["below"] else " on" if entry["from"] else "")


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ").strip()


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return lines + ["| " + " | ".join(cell(one) for one in row) + " |" for row in rows]


def page_for(data):
    lines = ["## %s" % data["framework"], "", data["comment"], ""]
    others = ", ".join("`%s`" % name for name in data["names"])
    lines += ["%s: `--framework %s`%s." % (data["title"], data["framework"], " (or %s)" % others if others else ""), ""]
    if "unread" in data:
        return lines
    lines += ["When it uses cuDNN at all:", ""]
    lines += ["* %s (%s): [source](%s)" % (entry["text"], span_in_words(entry), entry["source"]["url"])
              for entry in data["prefers_cudnn"]] + [""]
    lines += ["How a program selects cuDNN: " + "; ".join(
        "%s%s" % ("if %s: " % words_for(entry["when"]) if "when" in entry else "otherwise: " if len(data["by_name"]) > 1 else "",
                  entry["text"]) for entry in data["by_name"]) + ".", ""]
    if "without" in data:
        lines += ["How it excludes cuDNN: %s." % data["without"], ""]
    if "lacks" in data:
        lines += ["Its call has no argument for these ([%s](%s)): %s." % (
            data["lacks"]["source"]["text"], data["lacks"]["source"]["url"],
            "; ".join(feature["what"] for feature in data["lacks"]["features"])), ""]
    if data["releases"]:
        rows = [[r["version"], r.get("date") or "", " ".join(filter(None, (
            r.get("package"), r.get("cuda12"), r.get("cuda13")))) or r.get("cudnn") or "not pinned, or not read",
            "%s (%s)" % (r["cudnn_frontend"], r["cudnn_frontend_source"]) if "cudnn_frontend" in r else "not read"]
            for r in data["releases"]]
        lines += table(["release", "date", "cuDNN", "cudnn-frontend"], rows) + [""]
    rows = [["`%s`" % r["id"], words_for(r["when"]), r["message"], r["change"], span_in_words(r), r["status"],
             "[%s](%s)" % (r["source"]["text"], r["source"]["url"])] for r in data["rules"]]
    return lines + table(["rule", "refused if", "its message", "what to change", "since", "then", "source"], rows) + [""]


def page():
    lines = ["# What frameworks refuse before cuDNN", "",
             "Made from [lib/rules/frameworks](../lib/rules/frameworks). Conditions use the keys of a problem",
             "([conditions](../docs/how-it-works.md#conditions)) and the keys of a call that each file declares.",
             "\"All read\" means every release that was read.", "",
             "`attnprobe --framework torch==2.11,jax` asks these gates about a config, in addition to cuDNN:",
             "[--framework](../docs/from-frameworks.md#any-frameworks-gate---framework). A config becomes the call that would ask for it: with gradients",
             "if it trains, `enable_gqa=True` if heads differ, nested tensors if it is ragged, a mask if it has a bias. Anything else has its",
             "usual value (`base` of each file). A release between two that were read has the rules of the older one.", "",
             "These rules were compared with the frameworks over random calls, without a difference:", ""]
    lines += ["* PyTorch 2.11.0 (cuDNN 9.19.0) on an H200, `torch.backends.cuda.can_use_cudnn_attention`: 20,000 calls, 5,876 accepted"
              " ([compare_torch_gates.py](../tests/rules/compare_torch_gates.py)); its other releases were read, not run.",
              "* PyTorch 2.14.0, 2.14.1 and 2.15.0, the selection of `varlen_attn`: 10,000 calls each"
              " ([compare_varlen_gates.py](../tests/rules/compare_varlen_gates.py)).",
              "* JAX, Keras, Diffusers, FlashInfer and Transformer Engine for PyTorch, the public functions of each release that is listed"
              " there. 1,000 calls each, refusals and their words ([results](../docs/results/README.md#frameworks)).",
              "* All 20 releases of Transformer Engine from 2.2.0 to 2.18.0, `nvte_get_fused_attn_backend`: 10,000 calls each"
              " ([results](../docs/results/README.md#frameworks)).", ""]
    for path in sorted(FOLDER.glob("*.json")):
        lines += page_for(json.loads(path.read_text()))
    return "\n".join(lines).rstrip() + "\n"
