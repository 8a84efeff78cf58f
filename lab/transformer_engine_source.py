"""Extracts and parses Transformer Engine's C++ table from its source: nvte_get_fused_attn_backend of a release.

The source is read from a git directory (--git), or downloaded from GitHub into build/. This repository has no copy of it.
"""
import pathlib
import re
import subprocess
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
CACHE = ROOT / "build" / "transformer-engine-table"
RAW = "https://raw.githubusercontent.com/NVIDIA/TransformerEngine"
TABLE = "transformer_engine/common/fused_attn/fused_attn.cpp"
HEADERS = ("transformer_engine/common/include/transformer_engine/fused_attn.h",
           "transformer_engine/common/include/transformer_engine/transformer_engine.h")
OFFSETS = "transformer_engine/common/fused_attn/utils.cu"
FUNCTION = "NVTE_Fused_Attn_Backend nvte_get_fused_attn_backend"
TAGS = ("v2.2", "v2.3", "v2.4", "v2.5", "v2.6", "v2.7", "v2.8", "v2.9", "v2.10", "v2.11", "v2.12", "v2.13", "v2.14", "v2.14.1",
        "v2.15", "v2.16", "v2.16.1", "v2.17", "v2.17.1", "v2.18", "v2.19")
NEXT = "2.20.0"  # the first release whose table was not read


def release_of(tag):
    return tag[1:] if tag.count(".") == 2 else tag[1:] + ".0"


class Source:
    def __init__(self, git=None):
        self.git = git

    def text(self, tag, path):
        if self.git:
            command = ["git", "--git-dir", self.git, "show", f"{tag}:{path}"]
            return subprocess.run(command, check=True, capture_output=True, text=True).stdout
        kept = CACHE / tag / path.rsplit("/", 1)[1]
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            urllib.request.urlretrieve(f"{RAW}/{tag}/{path}", kept)
        return kept.read_text()

    def table(self, tag):
        """The function's text and its first line's number."""
        return cut(self.text(tag, TABLE), FUNCTION)


def cut(text, begin):
    """The function that begins with these words, and the number of its first line."""
    start = text.index(begin)
    return text[start:text.index("\n}\n", start) + 3], text.count("\n", 0, start) + 1


# ---- tokens and expressions ----------------------------------------------------------------------------------------

TOKEN = re.compile(r"\s+|//[^\n]*|/\*.*?\*/|(\"(?:[^\"\\]|\\.)*\"|[A-Za-z_]\w*(?:::\w+)*|\d+(?:\.\d+)?|&&|\|\||[<>=!]=|<<|->|::|.)", re.S)


def tokens_of(text, first_line):
    """(token, line) of a text without its comments."""
    found, line = [], first_line
    for match in TOKEN.finditer(text):
        if match.group(1):
            found.append((match.group(1), line))
        line += match.group(0).count("\n")
    return found


class Expression:
    """A recursive descent parser over tokens: ("or", [...]), ("and", [...]), ("!", x), (comparison, a, b), (arithmetic, a, b),
    ("?", condition, a, b), ("call", name, [...]), ("name", text), ("number", value). Each part of an "and" has its line number."""
    LEVELS = (("==", "!="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%"))

    def __init__(self, tokens):
        self.tokens, self.at = tokens, 0

    def peek(self):
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self, expected=None):
        token = self.tokens[self.at][0]
        if expected and token != expected:
            raise ValueError(f'"{expected}" was expected, not "{token}", in line {self.tokens[self.at][1]}')
        self.at += 1
        return token

    def whole(self):
        made = self.ternary()
        if self.at != len(self.tokens):
            raise ValueError(f'"{self.peek()}" is left over in line {self.tokens[self.at][1]}')
        return made

    def ternary(self):
        condition = self.junction("||", "or", lambda: self.junction("&&", "and", lambda: self.binary(0)))
        if self.peek() != "?":
            return condition
        self.take()
        yes = self.ternary()
        self.take(":")
        return ("?", condition, yes, self.ternary())

    def junction(self, sign, name, part):
        parts, lines = [], []
        while True:
            lines.append(self.tokens[self.at][1])
            parts.append(part())
            if self.peek() != sign:
                break
            self.take()
        return parts[0] if len(parts) == 1 else (name, parts, lines)

    def binary(self, level):
        if level == len(self.LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.peek() in self.LEVELS[level]:
            sign = self.take()
            left = (sign, left, self.binary(level + 1))
        return left

    def unary(self):
        if self.peek() == "!":
            self.take()
            return ("!", self.unary())
        if self.peek() == "-":
            self.take()
            return ("number", -self.unary()[1])
        if self.peek() == "(":
            self.take()
            made = self.ternary()
            self.take(")")
            return made
        token = self.take()
        if token[0].isdigit():
            return ("number", float(token) if "." in token else int(token))
        if self.peek() == "(":
            self.take()
            given = []
            while self.peek() != ")":
                given.append(self.ternary())
                if self.peek() == ",":
                    self.take()
            self.take(")")
            return ("call", token, given)
        return ("name", token)


# ---- statements ----------------------------------------------------------------------------------------------------

def closing(tokens, at):
    """The position after the bracket that closes the one at `at`."""
    opened = {"(": ")", "{": "}"}[tokens[at][0]]
    depth = 0
    for i in range(at, len(tokens)):
        depth += (tokens[i][0] == tokens[at][0]) - (tokens[i][0] == opened)
        if depth == 0:
            return i + 1
    raise ValueError(f"a bracket of line {tokens[at][1]} is not closed")


def statements(tokens):
    """("if", expression, line, then, otherwise), ("set", name, tokens): declarations with a value, and assignments."""
    made, at = [], 0
    while at < len(tokens):
        if tokens[at][0] == "if":
            end = closing(tokens, at + 1)
            condition = Expression(tokens[at + 2:end - 1]).whole()
            line = tokens[at + 2][1]
            stop = closing(tokens, end)
            then, at, otherwise = statements(tokens[end + 1:stop - 1]), stop, []
            if at < len(tokens) and tokens[at][0] == "else":
                if tokens[at + 1][0] == "if":
                    rest = statements(tokens[at + 1:])
                    made.append(("if", condition, line, then, rest[:1]))
                    made += rest[1:]
                    return made
                stop = closing(tokens, at + 1)
                otherwise, at = statements(tokens[at + 2:stop - 1]), stop
            made.append(("if", condition, line, then, otherwise))
            continue
        end = next(i for i in range(at, len(tokens)) if tokens[i][0] == ";")
        words = [token for token, _ in tokens[at:end]]
        if "=" in words:
            sign = words.index("=")
            made.append(("set", words[sign - 1], tokens[at + sign + 1:end]))
        at = end + 1
    return made


def parameters_of(function):
    """(type, name) of each argument."""
    inside = function[function.index("(") + 1:function.index(") {")]
    return [tuple(one.split()) for one in re.sub(r"\s+", " ", inside).split(",")]


def body_of(function, first_line):
    tokens = tokens_of(function, first_line)
    start = next(i for i, (token, _) in enumerate(tokens) if token == "{")
    return statements(tokens[start + 1:closing(tokens, start) - 1])


def enums_of(text):
    """{enum: {name: value}} of a header."""
    found = {}
    for name, inside in re.findall(r"^enum (\w+) \{(.*?)^\};", text, re.S | re.M):
        values, following = {}, 0
        for one in re.sub(r"/\*.*?\*/|//[^\n]*", "", inside, flags=re.S).split(","):
            words = one.split()
            if words:
                following = int(words[2]) if len(words) > 2 else following
                values[words[0]] = following
                following += 1
        found[name] = values
    return found
