"""The prose of a file: blocks(name, text) gives (kind, line, text), kinds as in english.json; sentences(text) cuts a block."""
import ast
import json
import re

CODE = "`x`"
MARKDOWN_CODE = re.compile(r"^( *)(```|~~~).*?^\1\2 *$", re.S | re.M)
# Members with text by attnprobe's authors. Other members have names, sources, or texts of other programs.
TEXT_KEYS = frozenset(("about", "advice", "cause", "causes", "change", "comment", "feature", "headline", "help", "instead", "label", "meaning", "means", "next",
                       "note", "part", "reason", "then", "title", "what", "why"))
CPP = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\((.*?)\)\1"|"((?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\\n]|\\.)+\'', re.S)
HASH = re.compile(r"^\s*#(?!!)(?: (.*))?$")


def blank(match):
    return "\n" * match[0].count("\n")


def prose_of_markdown(text):
    text = re.sub(r"`[^`\n]+(?:\n[^`\n]+)?`", lambda code: CODE + "\n" * code[0].count("\n"), text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"<[^>\n]+>|\*\*|https?://\S+", "", text)


def markdown(text):
    text = re.sub(r"<!--.*?-->", blank, MARKDOWN_CODE.sub(blank, text), flags=re.S)
    block, begun = [], 1
    for number, line in enumerate([*text.split("\n"), ""], 1):
        stripped = line.strip()
        item = re.match(r"(?:[-*+]|\d+\.) +|#+ +|> ?", stripped)
        row = stripped.startswith("|")
        if (not stripped or item or row) and block:
            yield begun, prose_of_markdown("\n".join(block)).replace("\n", " ")
            block = []
        if row:
            for cell in re.split(r"(?<!\\)\|", stripped.strip("|")):
                if not re.fullmatch(r"[\s:-]*", cell):
                    yield number, prose_of_markdown(cell.strip())
        elif stripped:
            begun = begun if block else number
            block.append(stripped[item.end():] if item else stripped)


def of_lines(lines):
    """Joins consecutive comment lines [(number, text)] into blocks; an indented line, or one with columns, is code."""
    block, begun, last = [], 0, -1
    for number, text in [*lines, (-9, "")]:
        code = text.startswith("  ") or re.search(r"\S {3,}\S", text)
        if block and (number != last + 1 or not text.strip() or code):
            yield begun, prose_of_markdown(" ".join(block))
            block = []
        if text.strip() and not code:
            begun = begun if block else number
            block.append(text.strip())
        last = number


def cpp(text):
    """("comments" or "strings", line, text) of C and C++."""
    comments, string, begun, end, column = [], [], 0, 0, 0
    for found in CPP.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        if found[0].startswith(("//", "/*")):
            lines = re.sub(r"^/[/*]+[!<]?|\*/$", "", found[0]).split("\n")
            before = text[text.rfind("\n", 0, found.start()) + 1:found.start()]
            if before.strip() or len(before) != column:  # not a continuation of the comment above
                comments.append((line - 1, ""))
            column = len(before)
            comments += [(line + number, re.sub(r"^\s*\* ?|^ ", "", one)) for number, one in enumerate(lines)]
            continue
        if found[2] is not None:
            yield "strings", line, found[2]
        elif found[3] is not None:
            if string and text[end:found.start()].strip():  # not adjacent literals
                yield "strings", begun, "".join(string)
                string = []
            begun = begun if string else line
            string.append(re.sub(r"\\(.)", lambda escape: {"n": "\n", "t": " "}.get(escape[1], escape[1]), found[3]))
            end = found.end()
    if string:
        yield "strings", begun, "".join(string)
    for line, block in of_lines(comments):
        yield "comments", line, block


def members(value, key=""):
    if isinstance(value, dict):
        for name, one in value.items():
            yield from members(one, name)
    elif isinstance(value, list):
        for one in value:
            yield from members(one, key)
    elif isinstance(value, str) and key in TEXT_KEYS:
        yield value


def of_json(text):
    comments = [(number, line.strip()[2:].removeprefix(" ")) for number, line in enumerate(text.split("\n"), 1) if line.strip().startswith("//")]
    yield from (("comments", *block) for block in of_lines(comments))
    try:
        data = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.M))
    except json.JSONDecodeError:
        return
    for one in members(data):
        at = text.find(json.dumps(one, ensure_ascii=False)[1:-1])
        yield "json", text.count("\n", 0, at) + 1 if at >= 0 else 1, prose_of_markdown(one)


def strings_of_python(text):
    """(line, text) of string literals; an f-string's values count as code. Docstrings are read as comments."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(value) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for value in node.values}
    for node in ast.walk(tree):
        if id(node) in statements or id(node) in parts:
            continue
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(value.value if isinstance(value, ast.Constant) else CODE for value in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def is_prose(text):
    return len(re.findall(r"[A-Za-z]{2,} ", text)) >= 3


def blocks(name, text):
    if name.endswith(".md"):
        yield from (("markdown", *block) for block in markdown(text))
    elif name.endswith((".cpp", ".hpp", ".c", ".h", ".hpp.in")):
        for kind, line, block in cpp(text):
            if kind == "comments":
                yield kind, line, block
            elif is_prose(block):
                yield from ((kind, line, prose_of_markdown(one)) for one in block.split("\n"))
    elif name.endswith(".json"):
        yield from of_json(text)
    elif not name.endswith((".js", ".css", ".html", ".csv", ".txt", ".jsonl", ".log")):
        lines = [(number, found[1] or "") for number, line in enumerate(text.split("\n"), 1) for found in [HASH.match(line)] if found]
        yield from (("comments", *block) for block in of_lines(lines))
        if name.endswith(".py") or text.startswith("#!/usr/bin/env python3"):
            for found in re.finditer(r'^ *"""(.*?)"""', text, re.S | re.M):
                start = text.count("\n", 0, found.start()) + 1
                yield from (("comments", *block) for block in of_lines([(start + number, re.sub(r"^    (?=\S)|^        (?=\S)", "", line))
                                                                       for number, line in enumerate(found[1].split("\n"))]))
            for line, string in strings_of_python(text):
                if is_prose(string):
                    yield from (("strings", line, prose_of_markdown(one)) for one in string.split("\n"))


def sentences(block):
    return [one.strip() for one in re.split(r"(?<=[.!?])[\"”)]*\s+(?=[A-Z0-9`\"(“]|(?:cu[A-Z]|cudnn|attnprobe))|\n", block) if one.strip()]
