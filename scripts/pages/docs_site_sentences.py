"""Writes the pages that a web search for an error message should find: one for each message in the catalogue of `attnprobe explain`."""

import json
import re
from pathlib import Path

CATALOG = Path(__file__).resolve().parents[2] / "catalog"
LONGEST_HEADING = 120


def readable(pattern):
    """A regular expression as a readable sentence, with "…" for each value and the first of several alternatives."""
    at, said = 0, ""
    while at < len(pattern):
        c = pattern[at]
        piece, at = c, at + 1
        if c == "\\":
            piece, at = {"d": "N", "w": "…", "S": "…", "s": " ", "b": ""}.get(pattern[at], pattern[at]), at + 1
        elif c == "[":
            end = pattern.index("]", at + (2 if pattern[at] == "^" else 1))
            inside = pattern[at:end]
            piece, at = inside[0] if len(inside) == 2 and inside.isalpha() else "…", end + 1
        elif c == "(":
            end, depth = at, 1
            while depth:
                if pattern[end] == "[" and pattern[end - 1] != "\\":
                    end = pattern.index("]", end + 2)
                depth += {"(": 1, ")": -1}.get(pattern[end], 0) if pattern[end - 1] != "\\" else 0
                end += 1
            piece, at = readable(pattern[at:end - 1]), end
        elif c == "|":
            return said
        elif c == ".":
            piece = "…"
        elif c in "^$":
            piece = ""
        if at < len(pattern) and pattern[at] in "?*+":
            piece, at = "" if pattern[at] == "?" and len(piece) > 1 else piece, at + 1
        elif at < len(pattern) and pattern[at] == "{":
            at = pattern.index("}", at) + 1
        said += piece
    return re.sub(r"…[….]*", "…", said)


def escaped(text):
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", text.strip())


def entry(sentence):
    forms = [(form["text"] if "text" in form else readable(form["pattern"])).strip() for form in sentence["texts"]]
    heading = forms[0] if len(forms[0]) <= LONGEST_HEADING else forms[0][:LONGEST_HEADING].rsplit(" ", 1)[0] + " …"
    lines = [f"### {escaped(heading)}", ""]
    if len(forms) > 1:
        lines += ["Also: " + "; ".join(f"“{escaped(form)}”" for form in forms[1:]), ""]
    lines += [f"**{escaped(sentence.get('headline') or sentence['who'])}.** {escaped(sentence['means'])}", ""]
    if sentence["causes"]:
        causes = (cause if isinstance(cause, str) else cause["cause"] for cause in sentence["causes"])
        lines += ["The likeliest causes first:", "", *(f"{n}. {escaped(cause)}" for n, cause in enumerate(causes, 1)), ""]
    lines += [f"**What to do:** {escaped(sentence['next'])}", ""]
    since = next((form["since"] for form in sentence["texts"] if "since" in form), "")
    lines += [escaped(f"{sentence['who']}{', since ' + since if since else ''}. Source: {sentence['source']}"), ""]
    return lines


def page(document):
    sentences = document["messages"]
    lines = [f"# {document['title']}", "", f"{len(sentences)} messages that `attnprobe explain` knows. Paste the whole message into it: it also reads the GPU, the shape and the release, "
             "and asks rules and cuDNN about them. “…” stands for a value.", ""]
    # The messages by the program that prints them; each group has a second-level heading.
    for who in dict.fromkeys(sentence["who"] for sentence in sentences):
        lines += [f"## {escaped(who)}", ""]
        for sentence in sentences:
            if sentence["who"] == who:
                lines += entry(sentence)
    return "\n".join(lines)


def pages():
    """Path in the site -> Markdown."""
    documents = {file.stem: json.loads(file.read_text()) for file in sorted(CATALOG.glob("*.json"))}
    return {f"reference/sentences/{name}.md": page(document) for name, document in documents.items() if "messages" in document}
