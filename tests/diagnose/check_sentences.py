#!/usr/bin/env python3
"""Holds lib/diagnose/sentences/ against texts that people pasted and against log lines that are none of ours.

Every text of tests/fixtures/texts/texts.json must be hit by a sentence of the text's own layer, and no line of
tests/fixtures/texts/unrelated.txt by any. Ends with 1 and names what is wrong otherwise.

    tests/diagnose/check_sentences.py            the check
    tests/diagnose/check_sentences.py --explain  what hits each text, longest hit first
    tests/diagnose/check_sentences.py FILE       what hits the lines of FILE

What a framework's release can say that no sentence knows: scripts/dev/attention-sentences.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXTS = ROOT / "tests" / "fixtures" / "texts"
LAYERS = ["environment", "execution", "plan_compilation", "cudnn_engine", "cudnn_heuristics", "cudnn_frontend",
          "framework"]
TEXT_KEYS = {"id", "text", "source", "layer", "names", "cause", "next"}
SENTENCE_KEYS = {"id", "layer", "who", "match", "means", "causes", "next", "versions", "source"}

# Constructs that RE2 or std::regex (ECMAScript) lack, or that the three dialects read differently.
MOST_REPEATS = 1000
UNPORTABLE = re.compile(r"\(\?|\\[ApPQEzZGK<>']|\\[1-9]|\[\[:|[*+?}][+]")


def read_sentences():
    sentences = [sentence for file in sorted((ROOT / "lib" / "diagnose" / "sentences").glob("*.json"))
                 for sentence in json.loads(file.read_text())["sentences"]]
    for sentence in sentences:
        sentence["compiled"] = [re.compile(match, re.IGNORECASE) for match in sentence["match"]]
    return sentences


def hits_of(text, sentences):
    """(length of the hit, sentence, what was hit), longest first; of one sentence the longest only.

    Pasted texts are wrapped: each is tried as it stands and with its line breaks taken as blanks.
    """
    forms = [text]
    if "\n" in text:
        forms.append(re.sub(r"[ \t]*\r?\n[ \t]*", " ", text))
    hits = []
    for sentence in sentences:
        found = [m.group(0) for pattern in sentence["compiled"] for form in forms for m in pattern.finditer(form)]
        if found:
            longest = max(found, key=len)
            hits.append((len(longest), sentence, longest))
    return sorted(hits, key=lambda hit: -hit[0])


def answer_of(hits):
    """The hit that tells most: of the innermost layer, there the longest."""
    return min(hits, key=lambda hit: (LAYERS.index(hit[1]["layer"]), -hit[0])) if hits else None


def faults_of_form(sentences, texts):
    faults = []
    for name, entries, keys in (("sentence", sentences, SENTENCE_KEYS), ("text", texts, TEXT_KEYS)):
        ids = Counter(entry["id"] for entry in entries)
        faults += [f"{name} {id}: the id occurs {n} times" for id, n in ids.items() if n > 1]
        for entry in entries:
            given = set(entry) - {"compiled"} - ({"kind", "headline"} if name == "sentence" else set())
            if given != keys:
                faults.append(f"{name} {entry['id']}: keys {sorted(given ^ keys)} missing or unknown")
            if entry["layer"] not in LAYERS:
                faults.append(f"{name} {entry['id']}: unknown layer {entry['layer']}")
            empty = [key for key in keys - {"versions"} if not entry.get(key)]
            if empty:
                faults.append(f"{name} {entry['id']}: {', '.join(empty)} is empty")
    for sentence in sentences:
        for match in sentence["match"]:
            if re.search(r"`[?*+{]", match):
                faults.append(f"sentence {sentence['id']}: backticks are taken out before it is compiled: {match}")
            if any(int(most) > MOST_REPEATS for most in re.findall(r"\{\d*,(\d+)\}", match)):
                faults.append(f"sentence {sentence['id']}: RE2 repeats at most {MOST_REPEATS} times: {match}")
            if UNPORTABLE.search(match):
                faults.append(f"sentence {sentence['id']}: not portable: {match}")
        versions = sentence["versions"]
        if isinstance(versions, list) and len(versions) != len(sentence["match"]):
            faults.append(f"sentence {sentence['id']}: {len(versions)} versions for {len(sentence['match'])} matches")
    seen = {}
    for text in texts:
        if text["text"] in seen:
            faults.append(f"text {text['id']}: the same text as {seen[text['text']]}")
        seen[text["text"]] = text["id"]
    return faults


def main(arguments):
    sentences = read_sentences()
    if arguments and arguments[0] != "--explain":
        for line in Path(arguments[0]).read_text(errors="replace").splitlines():
            for _, sentence, what in hits_of(line, sentences):
                print(f"{sentence['layer']:17} {sentence['id']:32} {what[:100]}")
        return 0
    texts = json.loads((TEXTS / "texts.json").read_text())["texts"]
    if arguments:
        for text in texts:
            print(f"\n{text['id']} ({text['layer']})")
            for length, sentence, what in hits_of(text["text"], sentences):
                print(f"  {length:4} {sentence['layer']:17} {sentence['id']:32} {what[:80]!r}")
        return 0

    faults = faults_of_form(sentences, texts)
    faults += [f"{file.name} has no title" for file in (ROOT / "lib" / "diagnose" / "sentences").glob("*.json") if not json.loads(file.read_text()).get("title")]
    missed = first = named = names = 0
    used = Counter()
    for text in texts:
        hits = hits_of(text["text"], sentences)
        used.update(sentence["id"] for _, sentence, _ in hits)
        if not any(sentence["layer"] == text["layer"] for _, sentence, _ in hits):
            missed += 1
            others = ", ".join(f"{s['id']} ({s['layer']})" for _, s, _ in hits) or "nothing"
            faults.append(f"text {text['id']}: no sentence of layer {text['layer']}; hit by {others}")
        answer = answer_of(hits)
        first += answer is not None and answer[1]["layer"] == text["layer"]
        said = " ".join([s["who"] + " " + s["means"] + " " + " ".join(s["causes"]) + " " + s["next"] for _, s, _ in hits])
        said = (said + " " + text["text"]).lower()
        names += len(text["names"])
        named += sum(name.lower() in said or name.lower().replace("head_dim", "head dimension") in said
                     for name in text["names"])
    unrelated = (TEXTS / "unrelated.txt").read_text().splitlines()
    unrelated = [line for line in unrelated if line.strip() and not line.startswith("## ")]
    for line in unrelated:
        for _, sentence, what in hits_of(line, sentences):
            faults.append(f"unrelated line hit by {sentence['id']} ({what[:60]!r}): {line[:100]}")

    for fault in faults:
        print(fault)
    layers = Counter(text["layer"] for text in texts)
    print(f"the innermost layer hit is the text's own for {first} of {len(texts)} texts; the sentences that hit, or the "
          f"text, say {named} of {names} names")
    print(f"{len(texts)} texts ({', '.join(f'{layers[layer]} {layer}' for layer in LAYERS)}), {missed} missed; "
          f"{len(sentences)} sentences with {sum(len(s['match']) for s in sentences)} patterns, "
          f"{len(used)} of them used by the texts; {len(unrelated)} unrelated lines")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
