"""Writes the pages of the site that are generated from the program: its options, the fields of its reports, its GPU catalogue."""

import json
import re
import subprocess


def said(program, *words):
    return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout


def escaped(text):
    """A cell of a Markdown table, with all markup in the text escaped."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text.strip())


def rows_of(section):
    """(name, text) of the option lines that CLI11 prints; after a long name, the text is on the next line."""
    rows = []
    for line in section:
        if re.match(r" {10,}\S", line) and rows:
            rows[-1][1] += " " + line.strip()
        elif match := re.match(r"  (\S.*?)(?: {2,}(\S.*))?$", line):
            rows.append([match[1], match[2] or ""])
    return rows


def sections_of(text):
    """[(title, lines)] of a help text; the first is its description."""
    sections = [("", [])]
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z][^:]*:", line) or line.startswith("Fields of the config, "):
            sections.append((line.rstrip(":"), []))
        else:
            sections[-1][1].append(line)
    return sections


def command_page(program, words):
    """The pages of a command and of its subcommands."""
    text = said(program, *words, "--help").partition("\nExit codes:")[0]
    sections = sections_of(text)
    description, _, usage = "\n".join(sections[0][1]).partition("Usage: ")
    name = " ".join(["attnprobe", *words])
    lines = ["#" * min(2 + len(words[1:]), 4) + f" {name}", "", escaped(" ".join(description.split())), "", "```text", usage.strip(), "```", ""]
    children = []
    for title, section in sections[1:]:
        rows = [row for row in rows_of(section) if not row[0].startswith("-h,--help")]
        if title == "Subcommands":
            children = [row[0] for row in rows]
        elif rows:
            lines += [f"**{title}**", "", "| | |", "| --- | --- |"]
            lines += [f"| `{name}` | {escaped(text)} |" for name, text in rows] + [""]
    for child in children:
        lines += command_page(program, [*words, child])
    return lines


def commands(program):
    text = said(program, "--help")
    names = [row[0] for title, section in sections_of(text) if title == "Subcommands" for row in rows_of(section)]
    lines = ["# Commands and options", "", "The output of `attnprobe COMMAND --help` for each command. `attnprobe` without a command is `attnprobe probe`.", ""]
    lines += ["Exit codes" + escaped(text.partition("\nExit codes")[2]).replace("\n", " "), ""]
    for name in names:
        lines += command_page(program, [name])
    return "\n".join(lines)


class Fields:
    """A JSON Schema as tables of its fields."""

    def __init__(self, schema):
        self.definitions = schema.get("$defs", {})

    def type_of(self, schema):
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return f"[{name}](#{name})"
        if "const" in schema:
            return f"`{schema['const']}`"
        if "enum" in schema:
            return ", ".join("null" if value is None else f"`{value}`" for value in schema["enum"])
        if "anyOf" in schema:
            return " or ".join(self.type_of(one) for one in schema["anyOf"])
        if schema.get("type") == "array" and "items" in schema:
            return f"array of {self.type_of(schema['items'])}"
        kind = schema.get("type", "any")
        return " or ".join(kind) if isinstance(kind, list) else kind

    def rows(self, schema, place=""):
        for name, field in schema.get("properties", {}).items():
            path = f"{place}.{name}" if place else name
            yield f"| `{path}` | {self.type_of(field)} | {escaped(field.get('description', ''))} |"
            for inner in [field, *field.get("anyOf", [])]:
                is_array = inner.get("type") == "array"
                yield from self.rows(inner.get("items", {}) if is_array else inner, path + ("[]" if is_array else ""))

    def table(self, schema):
        return ["| field | value | |", "| --- | --- | --- |", *self.rows(schema), ""]


def report(program):
    schema = json.loads(said(program, "schema", "report"))
    fields = Fields(schema)
    lines = ["# Fields of a report", "",
             "The output of `attnprobe schema report` as tables. It describes `--format json` and a matrix's report.json; a line of `jsonl` is one result. "
             "Within `attnprobe/report/1` fields may be added but are never removed.", "", "## report", ""]
    lines += fields.table(schema)
    for name, definition in fields.definitions.items():
        lines += [f"## {name}", "", escaped(definition.get("description", "")), "", *fields.table(definition)]
    return "\n".join(lines)


def targets(program):
    lines = said(program, "targets", "list").splitlines()
    starts = [match.start() for match in re.finditer(r"\S+(?: \S+)*", lines[0])]
    ends = [*starts[1:], None]
    # A word without a title may stand between two columns.
    rows = [[re.sub(r" {2,}", ", ", line[start:end].strip()) for start, end in zip(starts, ends)] for line in lines if line.strip()]
    table = [f"| {' | '.join(escaped(cell) for cell in row)} |" for row in rows]
    table.insert(1, "| --- " * len(starts) + "|")
    return "\n".join(["# GPUs that can be simulated", "",
                      "What `attnprobe targets list` prints. `attnprobe targets show ID` says where each number of one comes from.", "", *table])


def pages(program):
    """Path in the site -> Markdown."""
    return {"reference/commands.md": commands(program), "reference/report.md": report(program), "reference/targets.md": targets(program)}
