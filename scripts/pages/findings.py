#!/usr/bin/env python3
"""Compares the limits that documentation states (findings_claims.py) with every cuDNN of this machine, and writes a page of the site.

  scripts/docs findings --program build/attnprobe                          writes build/pages/findings.md; attnprobe's cache has earlier
  answers
  scripts/docs findings --cudnn 9.19 --only Mha-fprop --out /tmp/f -o -     some statements, one version, to standard output

All questions are one matrix per GPU, in --out. Each command in the page's three tables is also run separately, and must give the same answer.
"""
import argparse
import datetime
import html
import json
import pathlib
import re
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True  # no __pycache__ next to the scripts
from findings_claims import CLAIMS, HIGHLIGHTS

NUMBERS = re.compile(r"(\d+)(?:-(\d+))?(?: step (\d+))?$")
JUDGEMENTS = {(False, False): "as stated", (True, False): "**less**", (False, True): "more", (True, True): "**other**"}
CRASHES = "**crashes**"


def version_key(version):
    return tuple(int(part) for part in version.split("."))


def asked_values(claim):
    words = claim["axis"].split("=")[1].split(",")
    return [int(word) for word in words] if all(word.isdigit() for word in words) else words


def values_of(words, asked):
    """The asked values that a claim calls supported."""
    found = set()
    for word in filter(None, words.split(", ")):
        number = NUMBERS.match(word) if isinstance(asked[0], int) else None
        if number:
            first, last, step = number.groups()
            found |= set(range(int(first), int(last or first) + 1, int(step or 1)))
        else:
            found.add(word)
    return frozenset(found & set(asked))


def stated(claim, version):
    words = [words for since, words in claim["takes"] if not since or version_key(since) <= version_key(version)][-1]
    return values_of(words, asked_values(claim))


def member(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def config_of(claim, value):
    """The config about which the claim's command asks, with this value."""
    words = shlex.split(claim["config"] + " " + (claim["cases"][value] if claim["cases"] else ""))
    config = {option[2:].replace("-", "_"): member(text) for option, text in zip(words[::2], words[1::2])}
    field = claim["axis"].split("=")[0]
    if field == "page_size":
        config["paged"] = value
    elif field == "window_left":
        config["mask"] = {"causal": True, "window_left": value}
    elif not claim["cases"]:
        config[field] = member(value) if isinstance(value, str) else value
    return config


def key_of(config):
    return json.dumps(config, sort_keys=True)


class Answers:
    """The answers for every claim, value, GPU and version: the answer's word, the reason, and the obstacle."""

    def __init__(self, program, cudnn, out, claims, ask):
        self.program, self.cudnn, self.out = program, cudnn, out
        self.found, self.versions, self.count = {}, set(), 0
        targets = {}
        for claim in claims:
            for target in claim["targets"].split(","):
                for value in asked_values(claim):
                    config = config_of(claim, value)
                    targets.setdefault(target, {})[key_of(config)] = config
        for target, configs in targets.items():
            if ask:
                self.ask(target, configs)
            self.read(target, list(configs))
        self.every = sorted(self.versions, key=version_key)
        last = max((out / target / "cells.jsonl").stat().st_mtime for target in targets)
        self.date = datetime.datetime.fromtimestamp(last, datetime.timezone.utc).date().isoformat()

    def ask(self, target, configs):
        self.out.mkdir(parents=True, exist_ok=True)
        document = {"defaults": {"expect": "any"}, "configs": [{"name": f"c{i}", **config} for i, config in enumerate(configs.values())]}
        file = self.out / f"{target}.json"
        file.write_text(json.dumps(document, indent=1))
        # 1 (not as expected) and 4 (crashes) are answers too.
        done = subprocess.run([self.program, "matrix", file, "--target", target, "--cudnn", self.cudnn, "--out", self.out / target, "--overwrite"])
        if done.returncode not in (0, 1, 4):
            sys.exit(f"attnprobe matrix for {target}: exit code {done.returncode}")

    def read(self, target, keys):
        with open(self.out / target / "cells.jsonl") as lines:
            axes = json.loads(next(lines))["axes"]
            for line in lines:
                cell = json.loads(line)
                version = axes["cudnns"][cell["cell"][2]]
                self.versions.add(version)
                self.count += 1
                cause = cell.get("root_cause") or {}
                said = [one["text"] for one in cell.get("but") or []]
                word = cell.get("usable") or cell["verdict"]
                if cell["verdict"] not in ("supported", "unsupported"):
                    word = cell["verdict"]
                    said = [one["what"].rstrip(".") for one in cell.get("warnings") or [] if "crash" in one["what"]]
                self.found[target, version, keys[int(axes["configs"][cell["cell"][0]][1:])]] = (
                    word, cause.get("reason") or cause.get("category") or cell["verdict"], said)

    def of(self, claim, value, target, version):
        return self.found[target, version, key_of(config_of(claim, value))]


def values_text(values, asked):
    """Values in words; for numbers a range with its step, then the others: "8–256, multiples of 8"."""
    if not values:
        return "none"
    if not isinstance(asked[0], int):
        return ", ".join(value for value in asked if value in values)
    best = None
    for step in (64, 32, 16, 8, 4, 2, 1):
        multiples = [value for value in asked if value % step == 0]
        # The longest band of multiples that are all supported: the widest step with the fewest other numbers.
        first = 0
        while first < len(multiples):
            last = first
            while last < len(multiples) and multiples[last] in values:
                last += 1
            band = multiples[first:last]
            if len(band) > 2:
                rest = [str(value) for value in asked if value in values and value not in band]
                text = f"{band[0]}–{band[-1]}" + (f", multiples of {step}" if step > 1 else "") + (f", and {', '.join(rest)}" if rest else "")
                if best is None or len(rest) < best[0]:
                    best = (len(rest), text)
            first = last + 1
    if best is None:
        return ", ".join(str(value) for value in asked if value in values)
    return best[1] + (" (nothing larger was asked)" if max(values) == max(asked) else "")


def versions_text(versions, every):
    """Versions in words. Versions that follow each other in `every` become a range; a range never covers a version that is not listed."""
    if len(versions) == len(every):
        return "every" if len(every) > 1 else every[0]
    spans, places = [], sorted(every.index(version) for version in versions)
    for place in places:
        if spans and spans[-1][1] == place - 1:
            spans[-1][1] = place
        else:
            spans.append([place, place])
    return ", ".join(every[first] if first == last else f"{every[first]} to {every[last]}" for first, last in spans)


def reason_text(reason):
    """cuDNN's sentence, without the C++ condition at its end."""
    return reason.split(" at: ")[0]


def cell(text):
    return html.escape(text, quote=False).replace("|", "\\|")


def command_of(claim, targets, cudnn, value=None):
    """The command for all values, or for one."""
    if claim["cases"]:
        return f"attnprobe {claim['config']} {claim['cases'][value or 'all']} --quick --target {targets} --cudnn {cudnn}".replace("  ", " ")
    axis = claim["axis"] if value is None else f"{claim['axis'].split('=')[0]}={value}"
    return f"attnprobe limits {axis} {claim['config']} --target {targets} --cudnn {cudnn}"


def check_shown(program, command, want_taken):
    """Runs a command of the page for one value, GPU and version, and checks its answer."""
    done = subprocess.run([program, *shlex.split(command)[1:], "--format", "json"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{command}: exit code {done.returncode}: {done.stderr[-800:]}")
    report = json.loads(done.stdout)
    word = report["results"][0]["usable"] if "results" in report else report["rows"][0]["values"][0]["answer"]
    if (word in ("yes", "but")) != want_taken:
        sys.exit(f"{command} gives {word}, but the matrix gave another answer")


class Page:
    """The page, made from the answers."""

    def __init__(self, program, cudnn, answers):
        self.program, self.cudnn, self.answers = program, cudnn, answers
        # Rows of the three tables; versions with the same answer share a row.
        self.less, self.more, self.crashes, self.sections = {}, {}, {}, []
        self.counts = dict.fromkeys([*JUDGEMENTS.values(), CRASHES], 0)
        self.statements = self.whole = self.kept = 0
        self.part = None
        self.says = set()

    def groups(self, claim):
        """Groups of GPUs and versions with the same result."""
        asked, every = asked_values(claim), self.answers.every
        by_target = {}
        for target in claim["targets"].split(","):
            for version in every:
                answers = {value: self.answers.of(claim, value, target, version) for value in asked}
                yes, but, no = (frozenset(value for value in asked if answers[value][0] == word) for word in ("yes", "but", "no"))
                by_target.setdefault((target, yes, but, no, stated(claim, version)), []).append(version)
        groups = {}
        for (target, yes, but, no, wanted), versions in by_target.items():
            groups.setdefault((tuple(versions), yes, but, no, wanted), []).append(target)
        for (versions, yes, but, no, wanted), targets in groups.items():
            crashed, extra = wanted - yes - but - no, (yes | but) - wanted
            yield {"targets": targets, "versions": versions, "yes": yes, "but": but, "missing": wanted & no, "extra": extra, "crashed": crashed,
                   "judgement": CRASHES if crashed else JUDGEMENTS[bool(wanted & no), bool(extra)]}

    def add(self, claim):
        groups = list(self.groups(claim))
        self.says.add(claim["says"])
        self.statements += 1
        self.whole += all(group["judgement"] == "as stated" for group in groups)
        self.kept += not any(group["missing"] or group["crashed"] for group in groups)
        if claim["part"] != self.part:
            self.part = claim["part"]
            self.sections.append(f"## {self.part}\n")
        takes = "; ".join((f"from cuDNN {since}: " if since else "") + (re.sub(r"(?<=\d)-(?=\d)", "–", words) or "none") for since, words in claim["takes"])
        asked = claim["axis"].replace("=", ": ").replace(",", ", ")
        self.sections.append(f"### {claim['says']}\n\n{claim['source']}. It states: {cell(takes)}. Asked: {cell(asked)}.{claim['note']}\n\n"
                             "| GPU | cuDNN | supported | |\n| --- | --- | --- | --- |\n" + "\n".join(self.line(claim, group) for group in groups) +
                             f"\n\n`{command_of(claim, claim['targets'], self.cudnn)}`\n")

    def obstacles(self, claim, group, values):
        """The obstacle to these configs with the newest version, or the known cause of their crash; "" if there is none."""
        said = {}
        for value in asked_values(claim):
            if value in values:
                said.update(dict.fromkeys(self.answers.of(claim, value, group["targets"][0], group["versions"][-1])[2]))
        return "; ".join(said)

    def note(self, table, claim, group, values, reason):
        row = table.setdefault((claim["says"], tuple(group["targets"]), values, reason), {"claim": claim, "group": group, "versions": set()})
        row["versions"].update(group["versions"])

    def line(self, claim, group):
        asked = asked_values(claim)
        self.counts[group["judgement"]] += len(group["targets"]) * len(group["versions"])
        target, version = group["targets"][0], group["versions"][-1]
        if group["missing"]:
            value = next(value for value in asked if value in group["missing"])
            self.note(self.less, claim, group, group["missing"], reason_text(self.answers.of(claim, value, target, version)[1]))
        if group["crashed"]:
            self.note(self.crashes, claim, group, group["crashed"], self.obstacles(claim, group, group["crashed"]))
        if group["extra"]:
            self.note(self.more, claim, group, group["extra"], self.obstacles(claim, group, group["extra"] & group["but"]))
        found = values_text(group["yes"], asked) if group["yes"] or not group["but"] else ""
        if group["but"]:
            found += ("; " if found else "") + f"but: {values_text(group['but'], asked)} ({self.obstacles(claim, group, group['but'])})"
        if group["crashed"]:
            found += f"; crashes: {values_text(group['crashed'], asked)}"
        return f"| {', '.join(group['targets'])} | {versions_text(group['versions'], self.answers.every)} | {cell(found)} | {group['judgement']} |"

    def rows(self, table, want_taken):
        """The rows of a table. Each has a command that shows one of its values with the newest version; this function runs each
        command."""
        for (says, targets, values, reason), row in table.items():
            asked, claim = asked_values(row["claim"]), row["claim"]
            versions = sorted(row["versions"], key=version_key)
            among = [value for value in asked if value in values]
            command = command_of(claim, targets[0], versions[-1], among[-1 if want_taken else 0])
            check_shown(self.program, command, want_taken)
            yield (f"| {cell(says)} | {', '.join(targets)} | {versions_text(versions, self.answers.every)} | {cell(values_text(values, asked))} | "
                   f"{cell(reason)} | `{command}` |")

    def highlights(self):
        """The sentences of findings_claims.py about the asked claims, each compared with a row of the findings."""
        for sentence, table, says, target, version in HIGHLIGHTS:
            if says not in self.says or version not in self.answers.every:
                continue
            rows = {"less": self.less, "more": self.more, "crashes": self.crashes}[table]
            if not any(row_says == says and target in targets and version in row["versions"] for (row_says, targets, *_), row in rows.items()):
                sys.exit(f"HIGHLIGHTS: no longer true with {target} and cuDNN {version}: {sentence}")
            yield f"- {sentence}"

    def text(self):
        counts, every = self.counts, self.answers.every
        less = table("statement | GPU | cuDNN | refused | cuDNN's reason, of the newest of these | shown by", self.rows(self.less, False))
        crashes = table("statement | GPU | cuDNN | crashes | known cause | shown by", self.rows(self.crashes, False))
        more = table("statement | GPU | cuDNN | also supported | obstacle | shown by", self.rows(self.more, True))
        return f"""# Documentation against the library

**Of {self.statements} statements about limits, {self.whole} hold for each of {len(every)} versions, {every[0]} to {every[-1]}, on
each GPU asked, and {self.statements - self.kept} promise something that some version refuses or that crashes it. By statement, GPU and version, of
{sum(counts.values()):,} answers {counts['as stated']:,} are as stated. In {counts['more']:,} cuDNN supports more, in {counts['**less**']:,} less, in {counts['**other**']:,} both; in {counts[CRASHES]:,} it crashes.**

{chr(10).join(self.highlights())}

Each statement is asked on both sides of its limits, and between them. A program that follows a page misses whatever cuDNN supports beyond it.
Supported means that cuDNN's support check passed for a simulated GPU: nothing was run. "but": cuDNN supports it, but a framework refuses it or a known
bug affects it. A page about one version, or about none, is compared with all versions; the column shows which. Of Transformer Engine's table, the clauses
about head dimensions, fp8, THD, masks together with a bias or dropout, and determinism are here. [The audit](audit.md) has whole gates.

Written by `scripts/docs findings`: {self.answers.count:,} cells, asked on {self.answers.date} of cuDNN {', '.join(every)}. Each command of the three tables was also run by itself, with the same answer.
`--cudnn all` asks every cuDNN that the machine has; `attnprobe cudnn fetch 9.8` downloads one.

## Refused, although stated

{less}

## Crashes, although stated

{crashes}

## Supported, although not stated

{more}

{chr(10).join(self.sections)}"""


def table(heads, lines):
    lines = list(lines)
    return f"| {heads} |\n|{' --- |' * (heads.count('|') + 1)}\n" + "\n".join(lines) if lines else "Nothing."


def main():
    parser = argparse.ArgumentParser(prog="scripts/docs findings", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/attnprobe")
    parser.add_argument("--cudnn", default="all")
    parser.add_argument("--only", default="", help="only the statements with this text")
    parser.add_argument("--out", default="build/findings", help="folder for the matrices")
    parser.add_argument("--asked", action="store_true", help="only write the page; the matrices in --out already answer these statements")
    parser.add_argument("-o", "--output", default="build/pages/findings.md", help="-: standard output")
    arguments = parser.parse_args()
    claims = [claim for claim in CLAIMS if arguments.only in claim["part"] + ": " + claim["says"]]
    if not claims:
        sys.exit(f"--only {arguments.only}: no statement has these words")
    page = Page(arguments.program, arguments.cudnn, Answers(arguments.program, arguments.cudnn, pathlib.Path(arguments.out), claims, not arguments.asked))
    for claim in claims:
        page.add(claim)
    if arguments.output == "-":
        print(page.text())
    else:
        output = pathlib.Path(arguments.output)
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(page.text())


if __name__ == "__main__":
    main()
