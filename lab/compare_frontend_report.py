"""Writes the reports of lab/compare-frontend: counts and cases as JSON and as Markdown."""
import collections
import json
import re

import provenance

CATEGORIES = {
    "agree_supported": "both: supported",
    "agree_unsupported": "both: cuDNN refuses",
    "agree_died": "both: cuDNN crashes or fails",
    "rule_supported": "cudnn-frontend's rule refuses, cuDNN would support it",
    "rule_unsupported": "cudnn-frontend's rule refuses, cuDNN too",
    "rule_died": "cudnn-frontend's rule refuses, cuDNN crashes or fails",
    "rule_refused": "cudnn-frontend's rule refuses, attnprobe rejects the config",
    "not_expressible": "no cudnn-frontend API for it",
    "explained": "differ, explained",
    "disagree": "differ",
}
MOST_CASES = 20  # cases of one category in Markdown; the JSON has all


def one_line(text, most=200):
    return re.sub(r"\s+", " ", text).strip()[:most]


def counts_by(key, rows):
    counts = collections.defaultdict(collections.Counter)
    for row in rows:
        counts[key(row)][row["category"]] += 1
    return {name: dict(counter) for name, counter in counts.items()}


def case(row):
    result = row["result"]
    return {"name": row["config"]["name"], "target": row["target"], "explanation": row["explanation"],
            "engine_lists": row["engine_lists"], "config": row["config"], "frontend": row["frontend"],
            "attnprobe": {"verdict": result["verdict"] if result else row["refused"], "answer": row["answers"]["attnprobe"],
                          "root_cause": result["root_cause"]["reason"] if result and result["root_cause"] else None,
                          "engines": row["viable"]},
            "reproduce": result["reproduce"] if result else None}


def rules(rows):
    """cudnn-frontend's own refusals by their text, with cuDNN's answers for the same configs."""
    texts = collections.defaultdict(collections.Counter)
    for row in rows:
        if row["answers"]["frontend"] == "rule":
            texts[one_line(row["frontend"]["message"])][row["answers"]["attnprobe"]] += 1
    return [{"text": text, **count} for text, count in sorted(texts.items(), key=lambda item: -sum(item[1].values()))]


def predictions(rows):
    """The kinds of differences between attnprobe's predictions of cudnn-frontend's refusals and the real ones."""
    kinds = {}
    for row in rows:
        if row["prediction"] in (None, "correctly no refusal", "refusal, same message"):
            continue
        said = row["result"]["frontend"]
        key = (row["prediction"], said.get("id", ""), one_line(row["frontend"]["message"], 120))
        kind = kinds.setdefault(key, {"kind": key[0], "attnprobe": said["message"], "rule": key[1], "frontend": key[2], "count": 0,
                                      "example": f"{row['config']['name']} on {row['target']}", "config": row["config"]})
        kind["count"] += 1
    return sorted(kinds.values(), key=lambda kind: -kind["count"])


def other_implementation(row):
    frontend, graph = row["frontend"]["implementation"], row["result"] and row["result"]["graph"]
    return frontend and graph and f"sdpa_{frontend.lower()}" != graph["pattern"]


def summary(rows, facts, explanations):
    inexpressible = collections.Counter(f"{row['frontend']['message']} (cuDNN: {row['answers']['attnprobe']})"
                                        for row in rows if row["category"] == "not_expressible")
    return {
        "schema": "attnprobe/compare-frontend/1", **facts,
        "configs": len({row["config"]["name"] for row in rows}), "pairs": len(rows),
        "by_target": counts_by(lambda row: row["target"], rows), "by_pass": counts_by(lambda row: row["config"]["pass"], rows),
        "engine_lists": dict(collections.Counter(row["engine_lists"] for row in rows if row["engine_lists"])),
        "predictions": dict(collections.Counter(row["prediction"] for row in rows if row["prediction"])),
        "wrong_predictions": predictions(rows),
        "rules": rules(rows),
        "not_expressible": dict(inexpressible.most_common()),
        "refused_by_attnprobe": sorted({row["refused"] for row in rows if row["refused"]}),
        "explanations": {name: {"text": text, "count": sum(row["explanation"] == name for row in rows)}
                         for name, text in explanations.items()},
        "disagreements": [case(row) for row in rows if row["category"] == "disagree"],
        "explained": [case(row) for row in rows if row["category"] == "explained"],
        "other_implementation": [case(row) for row in rows if other_implementation(row)],
        "other_engines": [case(row) for row in rows if row["engine_lists"] in ("other engines", "same engines, other knobs")],
        "died": [case(row) for row in rows if row["category"] == "agree_died"],
    }


def table(title, rows):
    used = [c for c in CATEGORIES if any(c in row for row in rows.values()) or c == "disagree"]
    yield f"| {title} | " + " | ".join(CATEGORIES[c] for c in used) + " |"
    yield "| --- |" + " --: |" * len(used)
    for key, row in rows.items():
        yield f"| {key} | " + " | ".join(str(row.get(c, 0)) for c in used) + " |"
    yield ""


def cases(title, details, most=MOST_CASES):
    if not details:
        return
    yield from (f"## {title}", "")
    for d in details[:most]:
        theirs = one_line(f"{d['frontend']['stage']} {d['frontend']['code']} {d['frontend']['message']}", 240)
        engines = ", ".join(d["frontend"]["engines"])
        yield f"- **{d['name']}** on {d['target']}" + (f" ({d['explanation']})" if d["explanation"] else "")
        yield f"  - cudnn-frontend: {theirs}" + (f": {engines}" if engines else "")
        yield f"  - attnprobe: {d['attnprobe']['verdict']} {d['attnprobe']['root_cause'] or ', '.join(d['attnprobe']['engines'])}"
        yield f"  - `{d['reproduce'] or json.dumps(d['config'])}`"
    if len(details) > most:
        yield f"- … {len(details) - most} more in the JSON file"
    yield ""


def bullets(title, lines):
    if lines:
        yield from (f"## {title}", "", *(f"- {line}" for line in lines), "")


def counted(counts):
    return ", ".join(f"{count} {what}" for what, count in counts.items()) + "."


def markdown(report):
    same = sum(rows.get("agree_supported", 0) + rows.get("agree_unsupported", 0) + rows.get("agree_died", 0)
               for rows in report["by_target"].values())
    refused = sum(n for rows in report["by_target"].values() for name, n in rows.items() if name.startswith("rule_"))
    lines = [f"# attnprobe and cudnn-frontend {report['frontend']}, cuDNN {report['cudnn']}", "",
             f"**Of {report['pairs']} answers about {report['configs']} random configs, {same} are the same. {refused} are refused by cudnn-frontend's own "
             f"rules, {len(report['explained'])} differ for a known reason, {len(report['disagreements'])} differ.**", "",
             *provenance.table(report, made=f"by `lab/compare-frontend` in {report['seconds']} s"), *table("target", report["by_target"]), *table("pass", report["by_pass"])]
    if report["engine_lists"]:
        lines += [f"Surviving engine configs where both say supported: {counted(report['engine_lists'])}", ""]
    if report["predictions"]:
        lines += [f"attnprobe's predictions of cudnn-frontend's refusals: {counted(report['predictions'])}", ""]
    lines += cases("Disagreements", report["disagreements"], 1000)
    lines += cases("Implementations other than cudnn-frontend's choice", report["other_implementation"])
    lines += bullets("Wrong predictions of cudnn-frontend's refusals", [
        f"{kind['count']} × {kind['kind']}: attnprobe says \"{one_line(kind['attnprobe'], 120)}\" ({kind['rule']}), cudnn-frontend "
        f"\"{kind['frontend']}\"; {kind['example']}: `{json.dumps(kind['config'])}`" for kind in report["wrong_predictions"]])
    for name, entry in report["explanations"].items():
        if entry["count"]:
            lines += [f"**Explained: {name}** ({entry['count']}). {entry['text']}", ""]
    lines += ["## What cudnn-frontend refuses by its own rules", "", "| message | cuDNN would support it | cuDNN refuses too | other |",
              "| --- | --: | --: | --: |"]
    for rule in report["rules"][:40]:
        text, other = rule["text"].replace("|", "/"), rule.get("died", 0) + rule.get("refused", 0)
        lines.append(f"| {text} | {rule.get('supported', 0)} | {rule.get('unsupported', 0)} | {other} |")
    lines += ["", *cases("Other engine configs", report["other_engines"])]
    lines += cases("cuDNN crashes or fails for both", report["died"])
    lines += cases("Explained differences", report["explained"])
    lines += bullets("What cudnn-frontend has no API for", [f"{n} × {text}" for text, n in report["not_expressible"].items()])
    lines += bullets("Configs that attnprobe rejects", [text[:300] for text in report["refused_by_attnprobe"][:MOST_CASES]])
    return "\n".join(lines) + "\n"
