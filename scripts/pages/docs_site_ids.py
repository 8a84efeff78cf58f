"""Writes the page to which terminal output links: every id that the program prints, with the text of `attnprobe explain ID`."""

import json
from pathlib import Path

from docs_site_sentences import CATALOG, escaped

ROOT = Path(__file__).resolve().parents[2]
PAGE = "reference/ids.md"


def rules_of(value):
    """The rules of a framework's file, which has a list of rules or of groups of rules."""
    for one in value:
        yield from rules_of(one["rules"]) if "rules" in one else [one]


def needed(needs):
    """The condition of a requirement in words."""
    if needs.get("never"):
        return "no cuDNN has it"
    words = [f"cuDNN {needs['cudnn']} or newer"] if "cudnn" in needs else []
    words += [f"cuDNN before {needs['below']}"] if "below" in needs else []
    words += [needs["sm_text"]] if "sm_text" in needs else []
    return ", ".join(words)


def groups():
    """(title, [(id, text, advice, source)]) in the order in which `explain` looks an id up."""
    def read(name):
        return json.loads((ROOT / "lib" / name).read_text())

    yield "Reasons of cuDNN", [(one["id"], one["meaning"], one.get("help"), one["source"]) for one in read("answer/reasons.json")["reasons"]]
    yield "Requirements", [(one["id"], f"{one['feature'][0].upper()}{one['feature'][1:]}: {needed(one['needs'])}.", "", one["source"]["text"])
                           for one in read("rules/cudnn/requirements.json")["requirements"]]
    yield "Known bugs of cuDNN", [(one["id"], one["what"], one["advice"], one["source"]["text"]) for one in read("rules/cudnn/known_bugs.json")["known_bugs"]]
    for file in sorted((ROOT / "lib/rules/cudnn-frontend").glob("*.json")):
        yield "Checks of cudnn-frontend", [(f"cudnn-frontend:{one['id']}", one["message"], "", "") for one in rules_of(json.loads(file.read_text())["rules"])]
    for file in sorted((ROOT / "lib/rules/frameworks").glob("*.json")):
        gate = json.loads(file.read_text())
        yield f"Rules of {gate['title']}", [(f"{gate['framework']}:{one['id']}", f"Refuses {one['what']} ({one['status']}).", one.get("change"), one["source"]["text"])
                                            for one in gate.get("rules", [])]
    for file in sorted(CATALOG.glob("*.json")):
        document = json.loads(file.read_text())
        yield document["title"].partition(":")[0], [(one["id"], one["means"], one["next"], one["source"]) for one in document.get("messages", document.get("reports", []))]


def pages():
    """Path in the site -> Markdown. A heading's anchor is the id itself."""
    seen, lines = set(), ["# Ids", "", "Every id that attnprobe prints in square brackets. `attnprobe explain ID` prints the same, with versions and numbers.", ""]
    for title, entries in groups():
        entries = [entry for entry in entries if entry[0] not in seen and not seen.add(entry[0])]
        if entries:
            lines += [f"## {escaped(title)}", ""]
        for name, text, advice, source in entries:
            lines += [f"### {escaped(name)}", "", escaped(text), ""]
            lines += [f"**What to do:** {escaped(advice)}", ""] if advice else []
            lines += [escaped(f"Source: {source}"), ""] if source else []
    return {PAGE: "\n".join(lines)}
