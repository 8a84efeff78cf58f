#!/usr/bin/env python3
"""Provokes and collects every reason that cuDNN gives for a refusal, and compares them with the catalogue (lib/answer/reasons.json).

  scripts/docs reasons sweep --cudnn /usr/lib/x86_64-linux-gnu/libcudnn.so.9   asks this cuDNN (several: --cudnn A --cudnn B)
  scripts/docs reasons label                                                   assigns the collected reasons to entries anew

The sweep asks each cuDNN about the shipped configs on a GPU of each chip, with every engine. It also asks about the configs of
tests/fixtures/provoking-configs.json and random ones, on GPUs for each kind of engine. It tries a few with every knob value (--knobs),
and compiles a few (--plans). It writes the reasons to tests/fixtures/reasons-cudnn.json, where they replace those of the same version.
Needs only Python's standard library.
"""
import argparse
import collections
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CATALOGUE = ROOT / "lib/answer/reasons.json"
FIXTURE = ROOT / "tests/fixtures/reasons-cudnn.json"
PROVOKING = ROOT / "tests/fixtures/provoking-configs.json"
REFERENCE = "9.19.0"  # the version for which the catalogue was written; its examples are preferred

# One GPU for each set of engines. GPUs with the same set differ in shared memory, which the shipped configs show.
KINDS = "a100,h200,b200,rtx5090"
OTHERS = "t4,l40s,orin,thor,b300,gb10"
# Tried with every knob value, and every kernel compiled. This is slow, so there are only a few configs for each engine family.
KNOBS = [
    {}, {"pass": "bprop"}, {"dtype": "fp8_e4m3", "head_dim": 128}, {"dtype": "fp8_e4m3", "head_dim": 128, "pass": "bprop"},
    {"seqlen_q": 1, "seqlen_kv": 4096}, {"head_dim": 256}, {"head_dim_qk": 192, "head_dim_v": 128, "pass": "bprop"},
    {"pass": "bprop", "deterministic": True}, {"paged": 64, "mask": "padding", "pattern": "sdpa_composite"},
    {"layout": "thd", "mask": "padding", "pass": "bprop"}, {"dtype": "f32"}, {"dropout": 0.1, "pass": "bprop"},
    {"bias": "1hss", "pass": "fprop_train"}, {"pattern": "mha", "mask": "padding"}, {"softcap": 30, "pass": "bprop"}]
PLANS = [
    {}, {"dropout": 0.1, "seqlen_q": 1}, {"dtype": "fp8_e4m3", "head_dim": 128, "sink": True},
    {"dtype": "fp8_e4m3", "head_dim": 128, "layout": "thd", "mask": "padding", "pass": "bprop"}, {"pattern": "mha", "mask": "padding"}]


# ---- asking ------------------------------------------------------------------------------------------------------

def write_configs(path, configs):
    named = [{"name": "plain " + json.dumps(config), "batch": 2, "heads": 4, "seqlen": 256, **({} if "head_dim_qk" in config else {"head_dim": 64}),
              "dtype": "f16", **config} for config in configs]
    path.write_text(json.dumps(named))
    return path


def config_of(command):
    """The config and the target of a reproduce command; every option is the field of the same name."""
    words = shlex.split(command)[1:]
    fields = {option[2:].replace("-", "_"): value for option, value in zip(words[::2], words[1::2])}
    target = fields.pop("target")
    for option in ("mode", "engines", "plans"):
        fields.pop(option, None)
    def value_of(text):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return {"name": command, **{field: value_of(text) for field, text in fields.items()}}, target


def needs_more_than_a_check(reason):
    return re.search(r" --engines knobs| --plans", reason["example"]["command"]) is not None


def examples_again(fixture, folder):
    """The examples of all reasons that other versions gave, as parts. With these, a version is compared with the others in a minute."""
    configs = collections.defaultdict(dict)
    for reason in fixture["reasons"]:
        if reason["innermost"] and not needs_more_than_a_check(reason):
            config, target = config_of(reason["example"]["command"])
            configs[target][config["name"]] = config
    for target, of_target in sorted(configs.items()):
        path = folder / f"{target}.json"
        path.write_text(json.dumps(list(of_target.values())))
        yield f"examples on {target}", [path], target, ["--engines", "all", "--quick"]


def parts_of(options, fixture, folder):
    """(description, config files, targets, further options) of each run of the program."""
    if options.again:
        return examples_again(fixture, folder)
    shipped = sorted([*(ROOT / "configs").glob("*.json"), *(ROOT / "configs/features").glob("*.json")])
    check = ["--engines", "all", "--quick"]
    parts = [("provoking configs", [PROVOKING], options.targets or KINDS, check),
             ("shipped configs", shipped, options.targets or ("all" if options.all_targets else f"{KINDS},{OTHERS}"), check)]
    if options.random:
        lines = subprocess.run([options.random_configs, str(options.random), str(options.seed)], capture_output=True, text=True, check=True).stdout
        random = folder / "random.json"
        random.write_text(json.dumps([json.loads(line) for line in lines.splitlines()]))
        parts.append(("random configs", [random], options.targets or KINDS, check))
    if options.knobs:
        parts.append(("every knob", [write_configs(folder / "knobs.json", KNOBS)], options.targets or KINDS, ["--engines", "knobs"]))
    if options.plans:
        parts.append(("plans", [write_configs(folder / "plans.json", PLANS)], options.targets or KINDS, ["--plans", "build", "--quick"]))
    return parts


def results_of(options, cudnn, files, targets, further):
    command = [options.program, *(word for file in files for word in ("--config", str(file))), "--target", targets, "--mode", "A,FALLBACK",
               *(("--cudnn", cudnn) if cudnn else ()), "--timeout", "60", "--jobs", str(options.jobs), "--format", "jsonl", *further]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as program:
        for line in program.stdout:
            yield json.loads(line)
    if program.returncode not in (0, 1, 3, 4):  # 1 (not as expected), 3 (environment problem) and 4 (crash) are findings too
        sys.exit(f"exit code {program.returncode}: {' '.join(command)}")


def lines_of(result):
    """(stage, engine, status, text, is innermost) of each line of cuDNN's log."""
    def of(stage, engine, reasons):
        for i, reason in enumerate(reasons):
            yield stage, engine, reason["status"], reason["reason"], i == 0
    for config in result["engine_configs"]:
        yield from of("check", config["engine"], config["reasons"])
        if config["plan"]:
            yield from of("plan", config["engine"], config["plan"]["reasons"])
    for engine in result["engines"]:
        yield from of("engine", engine["engine"], engine["reasons"])
    for mode in result["modes"]:
        yield from of("heuristic", None, mode["reasons"])
    if result["failure"] and result["failure"]["cudnn"]["status"]:
        cudnn = result["failure"]["cudnn"]
        yield "graph", None, cudnn["status"], cudnn["last_error"], True


def normalised(text):
    """The text without parts that vary between runs and engines, so that such lines count as one reason."""
    text = re.sub(r"0x[0-9a-fA-F]{6,}", "ADDRESS", text)
    text = re.sub(r"\b(Engine|global index) \d+", r"\1 N", text)
    text = re.sub(r"(deviceVersion==)\d+", r"\1N", text)
    return re.sub(r"(?<![\w.])/\S*/(lib\w+\.so)", r"PATH/\1", text)


class Collected:
    """The reasons of one cuDNN version."""

    def __init__(self):
        self.reasons, self.losses, self.cells = {}, collections.Counter(), 0

    def add(self, result):
        self.cells += 1
        if result["verdict"] in ("crashed", "timeout", "error"):
            self.losses[f"{result['config']['name']}: {(result['root_cause'] or {}).get('explanation', '')}"] += 1
        command = re.sub(r" --cudnn \S+", "", result["reproduce"])
        for stage, engine, status, text, innermost in lines_of(result):
            one = self.reasons.setdefault((status, normalised(text)), {
                "times": 0, "innermost": 0, "stages": set(), "engines": set(), "sm": set(), "example": command})
            one["times"] += 1
            one["innermost"] += innermost
            one["stages"].add(stage)
            one["sm"].add(result["target"]["sm"])
            if engine is not None:
                one["engines"].add(engine)
            one["example"] = min(one["example"], command, key=lambda c: (len(c), c))


def sweep(options):
    fixture = json.loads(FIXTURE.read_text()) if FIXTURE.exists() else {"cells": {}, "reasons": []}
    for cudnn in options.cudnn or [""]:
        collected, version = Collected(), None
        with tempfile.TemporaryDirectory() as folder:
            for what, files, targets, further in parts_of(options, fixture, pathlib.Path(folder)):
                for result in results_of(options, cudnn, files, targets, further):
                    version = version or result["cudnn"]["version"]
                    if version is None:
                        sys.exit(result["root_cause"]["explanation"])
                    collected.add(result)
                print(f"{version}: {what}: {collected.cells} cells, {len(collected.reasons)} reasons so far", file=sys.stderr)
                merge(fixture, version, collected)
        for loss, times in sorted(collected.losses.items()):
            print(f"{version}: {times} x {loss}", file=sys.stderr)
        write_fixture(fixture)


# ---- the fixture -------------------------------------------------------------------------------------------------

def version_key(version):
    return tuple(map(int, version.split(".")))


def merge(fixture, version, collected):
    known = {(r["status"], r["reason"]): r for r in fixture["reasons"]}
    for reason in known.values():
        reason["times"].pop(version, None)
    for key, said in collected.reasons.items():
        one = known.setdefault(key, {"status": key[0], "reason": key[1], "innermost": False, "stages": [], "engines": [], "sm": [],
                                     "times": {}, "example": {}})
        one["times"][version] = said["times"]
        one["innermost"] = one["innermost"] or said["innermost"] > 0
        for field in ("stages", "engines", "sm"):
            one[field] = sorted({*one[field], *said[field]})
        old = one["example"].get("cudnn")
        if old not in one["times"] or version == REFERENCE or old != REFERENCE and version_key(version) >= version_key(old):
            one["example"] = {"cudnn": version, "command": said["example"]}
    fixture["cells"][version] = collected.cells
    fixture["reasons"] = [reason for reason in known.values() if reason["times"]]


def write_fixture(fixture):
    catalogue = json.loads(CATALOGUE.read_text())["reasons"]
    for reason in fixture["reasons"]:
        entry = entry_of(catalogue, reason["status"], reason["reason"])
        reason["entry"] = entry["id"] if entry else None
        reason["times"] = dict(sorted(reason["times"].items(), key=lambda item: version_key(item[0])))
    fixture["cells"] = dict(sorted(fixture["cells"].items(), key=lambda item: version_key(item[0])))
    fixture["reasons"].sort(key=lambda r: (not r["innermost"], r["reason"], r["status"]))
    lines = ",\n".join("  " + json.dumps(reason) for reason in fixture["reasons"])
    FIXTURE.write_text('{"comment": "What cuDNN said, by scripts/docs reasons: cells asked of each version, and each distinct line.",\n'
                       f' "cells": {json.dumps(fixture["cells"])},\n "reasons": [\n{lines}\n]}}\n')
    unknown = [r for r in fixture["reasons"] if r["entry"] is None]
    print(f"{len(fixture['reasons'])} reasons, {len(unknown)} unknown", file=sys.stderr)
    for reason in unknown:
        print(f"  unknown: {reason['status']}; {reason['reason']}  ({reason['example']['command']})", file=sys.stderr)


def entry_of(catalogue, status, text):
    """The first entry that matches, as in lib/answer/reasons.cpp."""
    for entry in catalogue:
        if entry.get("status", status) != status:
            continue
        if "whole" in entry and entry["whole"] != text or not text.startswith(entry.get("begins", "")) or entry.get("match", "") not in text:
            continue
        return entry
    return None


# ---- the page ----------------------------------------------------------------------------------------------------

def versions_text(versions, all_versions):
    """"9.14.0 to 9.19.0", of the versions that were asked."""
    versions = sorted(versions, key=version_key)
    missing = [v for v in all_versions if version_key(versions[0]) < version_key(v) < version_key(versions[-1]) and v not in versions]
    if len(versions) == 1 or len(missing) > len(versions):
        return ", ".join(versions)
    text = f"{versions[0]} to {versions[-1]}"
    return text + (f", not {', '.join(missing)}" if missing else "")


def entry_text(entry, said, all_versions):
    lines = [f"### {entry['id']}", ""]
    for reason in said:
        lines += ["```text", f"{reason['status']}: {reason['reason']}", "```"]
    if not said:
        lines += ["```text", f"{entry.get('status', 'CUDNN_STATUS_…')}: {'… ' + entry['match'] + ' …' if entry.get('match') else entry.get('whole', '…')}", "```"]
    lines += ["", entry["meaning"], ""]
    if entry.get("help"):
        lines += [f"**Fix.** {entry['help']}", ""]
    if said:
        sms = ", ".join(f"sm_{sm}" for sm in sorted({sm for reason in said for sm in reason["sm"]}))
        versions = versions_text({v for reason in said for v in reason["times"]}, all_versions)
        lines += [f"Seen in cuDNN {versions}, on {sms}. For example (cuDNN {said[0]['example']['cudnn']}):", "", "```sh", said[0]["example"]["command"], "```", ""]
    else:
        lines += ["Not seen in the sweep.", ""]
    if entry.get("source"):
        lines += [f"Source: {entry['source']}", ""]
    return lines


def page():
    catalogue = json.loads(CATALOGUE.read_text())["reasons"]
    fixture = json.loads(FIXTURE.read_text())
    of_entry = collections.defaultdict(list)
    for reason in fixture["reasons"]:
        of_entry[reason["entry"]].append(reason)
    for said in of_entry.values():  # the reference version's examples first
        said.sort(key=lambda r: r["example"]["cudnn"] != REFERENCE)
    decisive = [entry for entry in catalogue if not entry.get("wrapper")]
    categories = sorted({entry["category"] for entry in decisive})
    all_versions = list(fixture["cells"])
    lines = [
        "# Why cuDNN says no", "",
        f"{len(decisive)} reasons in {len(categories)} categories, and {len(catalogue) - len(decisive)} lines that only repeat an inner one.",
        f"{sum(fixture['cells'].values())} cells (a config on a GPU) of {len(all_versions)} cuDNN versions, {all_versions[0]} to {all_versions[-1]}, gave "
        f"{len(fixture['reasons'])} distinct lines. Each is below, verbatim except for addresses, paths and engine numbers (`N`), with what it means.",
        "attnprobe prints any other line as it is, labelled `unknown`.", "",
        "| category | entries |", "| --- | --- |"]
    for category in categories:
        ids = [entry["id"] for entry in decisive if entry["category"] == category]
        lines.append(f"| [{category}](#{category.replace('_', '-')}) | {', '.join(f'[{i}](#{i})' for i in ids)} |")
    for category in categories:
        lines += ["", f"## {category.replace('_', ' ')}", ""]
        for entry in decisive:
            if entry["category"] == category:
                lines += entry_text(entry, of_entry[entry["id"]], all_versions)
        lines.pop()
    wrappers = [entry for entry in catalogue if entry.get("wrapper")]
    lines += ["", "## Lines that repeat an inner one", "",
              "cuDNN logs a traceback, innermost line first. These lines name the call or the condition that failed, but not why. attnprobe "
              "names one of them as the cause only if no other line says more.", ""]
    lines += [f"- `{entry.get('whole') or entry['begins']}`: {entry['meaning']}" for entry in wrappers]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="scripts/docs reasons", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    sweeping = commands.add_parser("sweep", help="ask cuDNN")
    sweeping.add_argument("--cudnn", action="append", help="a libcudnn.so.9; may be repeated; default: the one that attnprobe finds")
    sweeping.add_argument("--program", default=str(ROOT / "build/attnprobe"))
    sweeping.add_argument("--random-configs", default=str(ROOT / "build/tests/random_configs"))
    sweeping.add_argument("--random", type=int, default=100, help="number of random configs (0: none)")
    sweeping.add_argument("--seed", type=int, default=1, help="seed of the first random config")
    sweeping.add_argument("--targets", help="use these GPUs for all questions")
    sweeping.add_argument("--all-targets", action="store_true", help="ask about the shipped configs on every GPU of the catalogue, not on one per chip")
    sweeping.add_argument("--again", action="store_true", help="only the examples of other versions' reasons")
    sweeping.add_argument("--knobs", action="store_true", help="also every knob value of a few configs; cuDNN from 9.23 on has thousands")
    sweeping.add_argument("--plans", action="store_true", help="also compile the plans of a few configs")
    sweeping.add_argument("--jobs", type=int, default=2)
    commands.add_parser("label", help="match the collected reasons with the catalogue again")
    options = parser.parse_args()
    if options.command == "sweep":
        sweep(options)
    else:
        write_fixture(json.loads(FIXTURE.read_text()))


if __name__ == "__main__":
    main()
