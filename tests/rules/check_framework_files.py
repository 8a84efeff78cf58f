#!/usr/bin/env python3
"""Checks lib/rules/frameworks/*.json: form, versions, keys, and that every rule matches exactly its own examples.

Usage: check_framework_files.py [FILE…]      (default: all files of lib/rules/frameworks)

A file's conditions are those of lib/rules/condition.hpp. They refer to a flat problem (the keys of
lib/rules/flat_problem.cpp) and to the keys that the file declares under "keys" and "needs_keys". `affected` overrides the
file's `base`; each member of `unaffected` overrides `affected`; null removes a value.
"""

import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "lib" / "rules" / "frameworks"
NUMERIC = ("min", "max", "above", "below", "multiple_of", "not_multiple_of")
OPERATORS = NUMERIC + ("equal_to", "not_equal_to", "in", "not", "set")
RULE_MEMBERS = {"id", "from", "below", "when", "pass", "status", "what", "message", "change", "source", "affected", "unaffected",
                "unreachable", "note"}
FILE_MEMBERS = {"comment", "framework", "url", "read", "prefers_cudnn", "keys", "needs_keys", "base", "releases", "rules",
                "all_reasons", "order", "title", "names", "instead", "then", "by_name", "without", "lacks", "plans", "unread"}
STATUSES = {"falls back", "exception", "runs in another kernel", "not asked", "wrong results"}


class Bad(Exception):
    pass


def enum_names():
    """The names of every enum with a table of names in lib: "DataType" -> ["f16", …]."""
    tables = {}
    for path in (ROOT / "lib").rglob("*.hpp"):
        text = path.read_text()
        for name, body in re.findall(r"struct EnumNames<(?:\w+::)*(\w+)> \{(.*?)\n\};", text, re.S):
            tables[name] = re.findall(r'"(\w+)"', body)
        for name, body in re.findall(r"^ATTNPROBE_ENUM\((\w+),(.*?)\)$", text, re.S | re.M):
            tables[name] = re.findall(r"\w+", body)
    return tables


def flat_keys():
    """The flat problem's keys, read from the C++ source: kind, and values of a text."""
    text = (ROOT / "lib/rules/flat_problem.cpp").read_text()
    names = enum_names()
    keys = {}
    for kind, name in re.findall(r'\b(boolean|number|size)\(\s*"(\w+)"', text):
        keys[name] = {"kind": "number" if kind == "size" else kind}
    for kind, name in re.findall(r'\btext<(?:\w+::)*(\w+)>\(\s*"(\w+)"', text):
        keys[name] = {"kind": "text", "values": names[kind]}
    shapes = [b + h + q + k for b in "b1" for h in "h1" for q in "s1" for k in "s1"]
    keys["bias_shape"] = {"kind": "text", "values": shapes}
    if len(keys) < 40:
        raise Bad("only %d keys found in flat_problem.cpp; its form has changed" % len(keys))
    return keys


def version(text):
    """A version as a tuple that compares: "0.12.0.1" -> (0, 12, 0, 1)."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)*)(?:\.?(post|rc|dev)(\d+))?", text)
    if not parts:
        raise Bad('"%s" is not a known form of version' % text)
    numbers = [int(p) for p in parts.group(1).split(".")]
    numbers += [0] * (4 - len(numbers))
    return tuple(numbers + [int(parts.group(3)) if parts.group(2) == "post" else 0])


def is_multiple(value, of):
    return of != 0 and math.fmod(value, of) == 0


def same(a, b):
    return type(a) is type(b) and a == b if isinstance(a, bool) or isinstance(b, bool) else a == b


def operator_holds(name, value, operand, problem):
    if name == "set":
        return (value is not None) == operand
    if name == "not":
        return not same(value, operand)
    if value is None:
        return False
    if name == "in":
        return any(same(value, one) for one in operand)
    if name == "equal_to":
        return same(value, problem[operand])
    if name == "not_equal_to":
        return not same(value, problem[operand])
    other = problem[operand] if isinstance(operand, str) else operand
    if other is None:
        return False
    return {"min": value >= other, "max": value <= other, "above": value > other, "below": value < other,
            "multiple_of": is_multiple(value, other), "not_multiple_of": not is_multiple(value, other)}[name]


def holds(condition, problem):
    for name, value in condition.items():
        if name == "all":
            good = all(holds(part, problem) for part in value)
        elif name == "any":
            good = any(holds(part, problem) for part in value)
        elif name == "not":
            good = not holds(value, problem)
        elif isinstance(value, dict):
            good = all(operator_holds(op, problem[name], operand, problem) for op, operand in value.items())
        else:
            good = same(problem[name], value)
        if not good:
            return False
    return True


def check_condition(condition, keys):
    if not isinstance(condition, dict) or not condition:
        raise Bad("a condition must be a non-empty object")
    for name, value in condition.items():
        if name in ("all", "any"):
            if not isinstance(value, list) or not value:
                raise Bad('"%s" must be an array of conditions' % name)
            for part in value:
                check_condition(part, keys)
        elif name == "not":
            check_condition(value, keys)
        elif name not in keys:
            raise Bad('unknown key "%s"' % name)
        elif isinstance(value, dict):
            if not value:
                raise Bad('"%s" has no operator' % name)
            for op, operand in value.items():
                check_operator(name, op, operand, keys)
        else:
            check_value(name, value, keys)


def check_operator(name, op, operand, keys):
    kind = keys[name]["kind"]
    if op not in OPERATORS:
        raise Bad('unknown operator "%s"' % op)
    if op in NUMERIC:
        if kind != "number":
            raise Bad('"%s" is compared as a number but is not one' % name)
        if isinstance(operand, str) and keys.get(operand, {}).get("kind") != "number":
            raise Bad('"%s" is not the name of a numeric key' % operand)
        if not isinstance(operand, (int, float, str)) or isinstance(operand, bool):
            raise Bad('"%s" needs a number or the name of a numeric key' % op)
    elif op in ("equal_to", "not_equal_to"):
        if keys.get(operand, {}).get("kind") != kind:
            raise Bad('"%s" is not the name of another %s' % (operand, kind))
    elif op == "in":
        if not isinstance(operand, list) or not operand:
            raise Bad('"in" needs an array of values')
        for one in operand:
            check_value(name, one, keys)
    elif op == "not":
        check_value(name, operand, keys)
    elif not isinstance(operand, bool):
        raise Bad('"set" needs true or false')


def check_value(name, value, keys):
    if value is None:
        return
    key = keys[name]
    good = {"boolean": isinstance(value, bool),
            "number": isinstance(value, (int, float)) and not isinstance(value, bool),
            "text": isinstance(value, str) and (not key.get("values") or value in key["values"])}[key["kind"]]
    if not good:
        raise Bad('"%s" cannot be %s' % (name, json.dumps(value)))


def overlay(lower, upper, keys):
    problem = dict(lower)
    for name, value in upper.items():
        if name not in keys:
            raise Bad('unknown key "%s" in an example' % name)
        check_value(name, value, keys)
        problem[name] = value
    return problem


def check_source(source):
    if not isinstance(source, dict) or not str(source.get("text", "")).strip() or not str(source.get("url", "")).strip():
        raise Bad("a source needs text and url")
    if set(source) - {"text", "url"}:
        raise Bad("unknown member of a source: %s" % sorted(set(source) - {"text", "url"}))


def in_force(rule, release):
    return (not rule.get("from") or version(rule["from"]) <= release) and \
           (not rule.get("below") or release < version(rule["below"]))


def check_span(entry):
    if "from" not in entry or "below" not in entry:
        raise Bad('"from" and "below" are required; "" means no bound')
    if entry["from"] and entry["below"] and not version(entry["from"]) < version(entry["below"]):
        raise Bad("from %s is not before below %s" % (entry["from"], entry["below"]))


def in_order(data, release):
    """The rules of a release in its order of checks: the file's order, or that of an entry of "order"."""
    rules = [rule for rule in data["rules"] if in_force(rule, release)]
    for entry in data.get("order", []):
        if in_force(entry, release):
            return sorted(rules, key=lambda rule: entry["rules"].index(rule["id"]))
    return rules


def check_order(data):
    for entry in data.get("order", []):
        check_span(entry)
        for release in data["releases"]:
            if not in_force(entry, version(release["version"])):
                continue
            there = {r["id"] for r in data["rules"] if in_force(r, version(release["version"]))}
            if there - set(entry["rules"]):
                raise Bad("order lacks these rules for %s: %s" % (release["version"], sorted(there - set(entry["rules"]))))
        if set(entry["rules"]) - {r["id"] for r in data["rules"]}:
            raise Bad("order has unknown rules: %s" % sorted(set(entry["rules"]) - {r["id"] for r in data["rules"]}))


def check_plans(data):
    """How the framework keeps plans: ascending spans that do not overlap, each with a text and a source."""
    last = None
    for entry in data.get("plans", []):
        check_span(entry)
        if last is not None and last["below"] != entry["from"]:
            raise Bad("plans leave out or repeat releases between %s and %s" % (last["below"], entry["from"]))
        if set(entry) != {"from", "below", "text", "source"} or not entry["text"].strip():
            raise Bad("plans need from, below, text and source")
        check_source(entry["source"])
        last = entry


def check_rule(rule, data, keys):
    unknown = set(rule) - RULE_MEMBERS
    if unknown:
        raise Bad("unknown members: %s" % sorted(unknown))
    check_span(rule)
    check_condition(rule["when"], keys)
    check_source(rule["source"])
    if rule.get("pass", "") not in ("", "forward", "backward"):
        raise Bad('pass is "forward", "backward" or ""')
    if rule["status"] not in STATUSES:
        raise Bad("status must be one of %s" % sorted(STATUSES))
    if not isinstance(rule["message"], str) or not rule["change"].strip():
        raise Bad("message (empty if the framework prints nothing) and change must be texts")
    if not rule["what"].strip() or rule["what"].endswith("."):
        raise Bad('"what" must be a few words that can follow "refuses"')
    for place in ("what", "message"):
        for name in re.findall(r"\{(\w+)\}", rule[place]):
            if name not in keys:
                raise Bad('%s names the unknown key "%s"' % (place, name))
    if "unreachable" in rule:
        if "affected" in rule or "unaffected" in rule:
            raise Bad("an unreachable rule must not have examples")
        return
    affected = overlay(data["base"], rule["affected"], keys)
    if not holds(rule["when"], affected):
        raise Bad("the rule does not match affected")
    if not rule["unaffected"]:
        raise Bad("unaffected has no example")
    for number, upper in enumerate(rule["unaffected"], 1):
        if holds(rule["when"], overlay(affected, upper, keys)):
            raise Bad("the rule matches unaffected %d" % number)
    if data.get("all_reasons"):
        return
    # The framework stops at its first refusal: the example must get as far as this rule in every release that has it.
    newest = [r for r in data["releases"] if in_force(rule, version(r["version"]))]
    for release in newest:
        for earlier in in_order(data, version(release["version"])):
            if earlier is rule:
                break
            if holds(earlier["when"], affected):
                raise Bad("in %s, %s already refuses the affected example" % (release["version"], earlier["id"]))


def check_texts(data, keys):
    """The texts about the whole framework: its names, what runs instead, how to select cuDNN, what its call lacks."""
    if not data["title"].strip() or not isinstance(data["names"], list):
        raise Bad("title and names (a list) are required")
    # instead and then may be a single text for all cases; instead is empty if the framework raises.
    for place in ("by_name", "instead", "then"):
        entries = data.get(place, "")
        for entry in [] if isinstance(entries, str) and place != "by_name" else entries:
            if set(entry) - {"when", "text", "raises"} or not entry["text"].strip():
                raise Bad("an entry of %s needs a text; allowed members: text, when, raises" % place)
            if "when" in entry:
                check_condition(entry["when"], keys)
    if not data["by_name"] or "when" in data["by_name"][-1]:
        raise Bad("the last entry of by_name must not have a condition")
    if "lacks" not in data:
        return
    check_source(data["lacks"]["source"])
    for feature in data["lacks"]["features"]:
        if set(feature) != {"when", "what"} or not feature["what"].strip():
            raise Bad("a feature that a call lacks needs when and what")
        check_condition(feature["when"], keys)
        if holds(feature["when"], data["base"]) and data["framework"] != "torch-varlen":
            raise Bad("the base problem has a feature that the call lacks: %s" % feature["what"])


def check_file(path, flat):
    problems = []
    data = json.loads(path.read_text())
    if "unread" in data:
        data |= {"prefers_cudnn": [], "rules": []}
    keys = dict(flat)
    try:
        if set(data) - FILE_MEMBERS:
            raise Bad("unknown members: %s" % sorted(set(data) - FILE_MEMBERS))
        if data["framework"] != path.stem:
            raise Bad('framework must be "%s"' % data["framework"])
        for place in ("keys", "needs_keys"):
            for name, key in data.get(place, {}).items():
                if name in keys:
                    raise Bad('key "%s" is declared twice, or is a key of the flat problem' % name)
                if key["kind"] not in ("boolean", "number", "text") or not key["help"].strip():
                    raise Bad('key "%s" needs kind and help' % name)
                keys[name] = key
        base = {name: None for name in keys}
        data["base"] = overlay(base, data["base"], keys)
        releases = [r["version"] for r in data["releases"]]
        if sorted(releases, key=version) != releases or len(set(releases)) != len(releases):
            raise Bad("releases are not in order, or one is repeated")
        for entry in data["prefers_cudnn"]:
            check_span(entry)
            check_source(entry["source"])
            if "when" in entry:
                check_condition(entry["when"], keys)
        check_texts(data, keys)
        check_order(data)
        check_plans(data)
        for rule in in_order(data, version(releases[-1] if releases else "999999")):
            if holds(rule["when"], data["base"]):
                raise Bad("%s of the newest release matches the base problem" % rule["id"])
    except (Bad, KeyError) as error:
        return ["%s: %s" % (path.name, error if isinstance(error, Bad) else "missing %s" % error)]
    seen = set()
    for rule in data["rules"]:
        where = "%s, %s" % (path.name, rule.get("id", "?"))
        try:
            if rule["id"] in seen:
                raise Bad("this id is repeated")
            seen.add(rule["id"])
            check_rule(rule, data, keys)
        except (Bad, KeyError) as error:
            problems.append("%s: %s" % (where, error if isinstance(error, Bad) else "missing %s" % error))
    used = json.dumps([data["rules"], data["prefers_cudnn"], data["by_name"], data.get("lacks", []), data["instead"],
                       data.get("then")])
    for place in ("keys", "needs_keys"):
        for name in data.get(place, {}):
            if not re.search(r'"%s"|\{%s\}' % (name, name), used):
                problems.append('%s: key "%s" is declared and not used' % (path.name, name))
    return problems


def main():
    flat = flat_keys()
    paths = [pathlib.Path(p) for p in sys.argv[1:]] or sorted(FOLDER.glob("*.json"))
    problems = []
    for path in paths:
        problems += check_file(path, flat)
    for problem in problems:
        print(problem)
    rules = sum(len(json.loads(p.read_text()).get("rules", [])) for p in paths)
    print("%d files, %d rules, %d problems" % (len(paths), rules, len(problems)))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
