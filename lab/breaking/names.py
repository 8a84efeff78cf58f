"""Hostile names of configs and GPUs in every report format. The output must parse, and no text may contain commands for a terminal or a CI."""
import csv
import html.parser
import io
import json
import pathlib
import re
import shutil
import xml.etree.ElementTree

from . import common

NAMES = [
    "\x1b]0;title\x07", "\x1b[2J\x1b[31mred", "bell\x07 back\x08 delete\x7f", "\u009b31m eight-bit escape", "\u202eoverride\u202c", "\u2066isolate",
    "mark\u200f", "line\u2028separator", "\ufeffbyte order mark", "noncharacter \ufffe \uffff", "::error::name", " ::set-output name=x::y",
    "##[error]name", "##vso[task.setvariable]x", "=cmd()", "+1+1", "-1+1", "@SUM(A1)", "\t=cmd()", "\r=cmd()", "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>", "<!-- comment", "]]>", "&amp;&lt;&#0;", "a & b", "quote \" quote ' quote", "comma, semicolon; tab\tend",
    "two\nlines", "carriage\r\nreturn", "nul\0byte", "`back` ``ticks``", "[link](javascript:alert(1))", "pipe | pipe", "# heading", "---",
    "{}", "{0} %s %n", "../../etc/passwd", "-", " ", "\\", "é \U0001f600 \u0301", "\U000e0041 tag", "x" * 1_000_000]
csv.field_size_limit(1 << 30)  # Python's default is 128 KiB
PROBE_FORMATS = {"json": "json", "jsonl": "jsonl", "csv": "csv", "junit": "xml", "md": "md", "html": "html", "table": "txt"}
PROBLEM = {"batch": 1, "heads": 2, "seqlen": 128, "head_dim": 64, "dtype": "f16", "expect": "any"}


class Elements(html.parser.HTMLParser):
    """The elements of a page and the names of their attributes, without texts: names must not change them."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, *(name for name, _ in attributes)))

    def handle_comment(self, data):
        self.found.append(("comment",))


def elements(text):
    parser = Elements()
    parser.feed(text)
    parser.close()
    return parser.found


def problem_json(text, names):
    document = json.loads(text)
    there = {result["config"]["name"] for result in document["results"]}
    return None if there == set(names) else f"names are lost or changed: {sorted(set(names) ^ there)[:2]!a}"


def problem_jsonl(text, _):
    for line in text.split("\n"):
        if line:
            json.loads(line)


def problem_csv(text, _):
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    if len({len(row) for row in rows if row}) != 1:
        return "rows of several widths"
    for row in rows:
        for cell in row:
            if re.match(r"[=+\-@\t\r]", cell) and not re.fullmatch(r"-?[\d.e+-]+", cell):
                return f"a cell that a spreadsheet reads as a formula: {cell[:60]!a}"


def problem_junit(text, _):
    xml.etree.ElementTree.fromstring(text)


def problem_text(text, _):
    raw = common.RAW_CONTROL.search(text)
    if raw:
        return f"a raw {raw.group()!a}"
    command = re.search(r"(?m)^\s*::|##\w*\[", text)
    if command:
        return f"a CI command: {text[command.start():command.start() + 40]!a}"


def problem_markdown(text, names):
    # Code spans are not HTML; a Markdown parser reads them first.
    bare = re.sub(r"(`+)[^`](?:.*?[^`])??\1(?!`)", "", text)
    tag = re.search(r"(?<!\\)<(?!/?(details|summary|br|sub|a|code|pre)\b)[a-zA-Z!/]", bare)
    return f"HTML: {bare[tag.start():tag.start() + 60]!a}" if tag else problem_text(text, names)


def problem_html(text, _):
    raw = re.search("[\x00-\x08\x0b-\x1f\x7f]", text)
    return f"a raw {raw.group()!a}" if raw else None


PROBLEMS = {"json": problem_json, "jsonl": problem_jsonl, "csv": problem_csv, "junit": problem_junit, "md": problem_markdown,
            "html": problem_html, "table": problem_text}
MATRIX_FORMATS = {"jsonl": "cells.jsonl", "json": "report.json", "csv": "report.csv", "junit": "report.xml", "md": "report.md", "html": "index.html"}


def problem_of(form, path, names, tame):
    try:
        text = path.read_bytes().decode("utf-8")
        wrong = PROBLEMS[form](text, names)
        if wrong is None and form == "html" and tame is not None and elements(text) != elements(tame.read_text("utf-8")):
            wrong = "different elements from those with harmless names"
        return wrong
    except (ValueError, csv.Error, xml.etree.ElementTree.ParseError, KeyError) as e:
        return f"it does not parse: {common.shown(str(e))}"
    except OSError as e:
        return common.shown(str(e))


def target_file(folder, name, identifier):
    target = json.loads((common.ROOT / "configs/targets/l40s.json").read_text())
    target.update(name=name, id=identifier)
    path = folder / "hostile-target.json"
    path.write_text(json.dumps(target))
    return path


def asked(settings, folder, names, target, out):
    """The two commands that make all formats, with how they ended."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    config = folder / "hostile-config.json"
    config.write_text(json.dumps([{"name": name, **PROBLEM} for name in names]))
    reports = [word for form, ending in PROBE_FORMATS.items() if form != "table" for word in ("--report", f"{form}={out}/probe.{ending}")]
    probe = ["--config", config, "--target", target, "--mode", "A", "--quick", *reports, "-o", out / "probe.txt"]
    matrix = ["matrix", config, "--target", target, "--mode", "A", "--cache", folder / "answers.sqlite", "--out", out / "matrix"]
    diff = ["diff", out / "matrix", out / "matrix", "--format", "md", "-o", out / "diff.md"]
    merge = ["merge", out / "matrix", "--out", out / "merged"]
    return [(command, settings.run(command)) for command in (probe, matrix, diff, merge)]


def outputs(out):
    for form, ending in PROBE_FORMATS.items():
        yield form, out / f"probe.{ending}"
    for folder in ("matrix", "merged"):
        for form, name in MATRIX_FORMATS.items():
            yield form, out / folder / name


def run(settings, options, folder):
    folder = pathlib.Path(folder)
    whole = [name for name in NAMES if len(name) < 1000]
    # Each hostile name as a GPU's name, with all of them as config names; the long one separately; each as a GPU's id.
    experiments = [(whole, name, "l40s-mine") for name in whole] + [([NAMES[-1]], NAMES[-1], "l40s-mine")] + \
        [(["plain"], "plain", name) for name in NAMES]
    files = refused = 0
    tame, tame_names = folder / "tame", {}
    for number in settings.numbers(len(experiments)):
        names, target_name, identifier = experiments[number]
        if len(names) not in tame_names:
            tame_names[len(names)] = tame / str(len(names))
            tame.mkdir(exist_ok=True)
            asked(settings, folder, [f"name{i}" for i in range(len(names))], target_file(folder, "GPU", "l40s-mine"), tame_names[len(names)])
        target = target_file(folder, target_name, identifier)
        runs = asked(settings, folder, names, target, folder / "out")
        kept = [(path.name, path.read_bytes()) for path in (folder / "hostile-config.json", target)]
        for command, ended in runs:
            # Refusing the name is allowed too, if the message is harmless.
            wrong = common.complaint(ended, ["hostile-", str(folder / "out")]) or problem_text(ended.errors + "\n" + ended.out, names)
            if wrong:
                settings.finding(number, f"config names {names[0]!a:.40}..., GPU {target_name!a:.40}, id {identifier!a:.40}: {wrong}", command, kept)
        if any(ended.code in (2, 3) for _, ended in runs):
            refused += 1
            continue
        for form, path in outputs(folder / "out"):
            base = tame_names[len(names)] / path.relative_to(folder / "out")
            wrong = problem_of(form, path, names, base)
            files += 1
            if wrong:
                settings.finding(number, f"{path.relative_to(folder / 'out')}, GPU {target_name!a:.40}: {wrong}", runs[0][0],
                                 [*kept, (path.name, path.read_bytes() if path.is_file() else b"")])
    return {"files": files, "refused": refused}


def summary(counts):
    return f"{len(NAMES)} names, each of configs, of GPUs and as GPU ids: {counts['files']} files of {len(PROBE_FORMATS)} formats " \
           f"read back, {counts['refused']} combinations refused with a message"
