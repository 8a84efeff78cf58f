#!/usr/bin/env python3
"""Validates the GPU catalogue, configs/targets/*.json. Exit code 1 on any error."""

import json
import sys
from pathlib import Path

TARGETS = Path(__file__).resolve().parents[2] / "configs" / "targets"
KEYS = ["schema", "id", "name", "aliases", "architecture", "sm", "representative", "properties", "matmul_rates", "sources", "references"]
REPRESENTATIVE = {"a100", "l40s", "h200", "b200", "rtx5090"}
KB = 1024
# So far only for sm_107; cuDNN reads it since 9.26.
OVERSIZED = "oversizedSharedMemoryPerBlock"

# sm: (shared memory per block opt-in, threads per SM, blocks per SM, reserved shared memory per block).
# CUDA C++ Programming Guide 13, Table 27 "Technical Specifications per Compute Capability". For 10.3, 12.1 and the
# last column: cuda::arch_traits of NVIDIA CCCL (libcudacxx/include/cuda/__device/arch_traits.h).
# 7.0: OpenXLA's dump of a V100. 10.7: estimated, as 10.3.
LIMITS = {
    70: (96 * KB, 2048, 32, 0),
    75: (64 * KB, 1024, 16, 0),
    80: (163 * KB, 2048, 32, 1 * KB),
    86: (99 * KB, 1536, 16, 1 * KB),
    87: (163 * KB, 1536, 16, 1 * KB),
    89: (99 * KB, 1536, 24, 1 * KB),
    90: (227 * KB, 2048, 32, 1 * KB),
    100: (227 * KB, 2048, 32, 1 * KB),
    103: (227 * KB, 2048, 32, 1 * KB),
    107: (227 * KB, 2048, 32, 1 * KB),
    110: (227 * KB, 1536, 24, 1 * KB),
    120: (99 * KB, 1536, 24, 1 * KB),
    121: (99 * KB, 1536, 24, 1 * KB),
}
LIMIT_KEYS = ("maxSharedMemoryPerBlockOptin", "maxThreadsPerSM", "maxCtasPerSM", "reservedSharedMemoryPerBlock")


def same_type(value, model):
    if isinstance(model, list):
        return isinstance(value, list) and len(value) == len(model) and all(type(v) is int for v in value)
    return type(value) is type(model) and value != ""


def check(doc, stem, model):
    """Yields (JSON pointer, message) for every error in one target; `model` has the properties of h200.json."""
    # A GPU without published matmul rates has none here.
    if not isinstance(doc, dict) or list(doc) not in (KEYS, [key for key in KEYS if key != "matmul_rates"]):
        yield "", f"keys must be {', '.join(KEYS)}, in this order"
        return
    if doc["schema"] != "attnprobe/target/1":
        yield "/schema", "must be attnprobe/target/1"
    if doc["id"] != stem:
        yield "/id", "differs from the file name"
    for key in ("name", "architecture"):
        if not isinstance(doc[key], str) or not doc[key]:
            yield f"/{key}", "must be a non-empty string"
    if not isinstance(doc["aliases"], list) or not all(isinstance(a, str) and a for a in doc["aliases"]):
        yield "/aliases", "must be a list of non-empty strings"
    if doc["representative"] is not (stem in REPRESENTATIVE):
        yield "/representative", f"must be {str(stem in REPRESENTATIVE).lower()}"

    shaped = True
    for key in ("properties", "sources", "references"):
        if not isinstance(doc[key], dict):
            yield f"/{key}", "must be an object"
            shaped = False
        elif key != "references" and [k for k in doc[key] if k != OVERSIZED] != list(model):
            yield f"/{key}", "keys differ from the properties of h200.json, or their order does"
            shaped = False
    if not shaped:
        return
    properties, sources, references = doc["properties"], doc["sources"], doc["references"]

    for key, value in properties.items():
        if not same_type(value, 0 if key == OVERSIZED else model[key]):
            yield f"/properties/{key}", "wrong type, or empty"
    if type(doc["sm"]) is not int or doc["sm"] not in LIMITS:
        yield "/sm", f"{doc['sm']!r} is not in the table of this script"
    else:
        if properties["deviceVer"] != doc["sm"] * 10:
            yield "/properties/deviceVer", f"must be sm * 10 = {doc['sm'] * 10}"
        for key, want in zip(LIMIT_KEYS, LIMITS[doc["sm"]]):
            if properties[key] != want:
                yield f"/properties/{key}", f"{properties[key]}, but sm_{doc['sm']} has {want}"

    for key, source in sources.items():
        if not isinstance(source, str) or source not in references:
            yield f"/sources/{key}", f"no reference {source!r}"
    rates = doc.get("matmul_rates", {})
    if rates.get("source", "") not in ("", *references):
        yield "/matmul_rates/source", f"no reference {rates['source']!r}"
    for key, value in rates.items():
        if key not in ("f16", "bf16", "fp8", "f32", "source") or (key != "source" and (type(value) is not int or value <= 0)):
            yield f"/matmul_rates/{key}", "is not a rate: a positive integer for f16, bf16, fp8 or f32"
    if rates and "source" not in rates:
        yield "/matmul_rates", "needs a source"
    for key, reference in references.items():
        if key not in [*sources.values(), rates.get("source")]:
            yield f"/references/{key}", "is not used"
        if not isinstance(reference, dict) or not reference.get("title") or not (reference.get("url") or reference.get("note")):
            yield f"/references/{key}", "needs a title, and a url or a note"


def main():
    errors, docs = [], {}
    for path in sorted(TARGETS.glob("*.json")):
        try:
            docs[path.name] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as e:
            errors.append(f"{path.name}: {e}")
    try:
        model = docs["h200.json"]["properties"]
        list(model.items())
    except (KeyError, TypeError, AttributeError):
        sys.exit("\n".join(errors + ["h200.json: missing, or without properties"]))

    names = {}  # id or alias -> file
    for file, doc in docs.items():
        found = list(check(doc, Path(file).stem, model))
        errors += [f"{file}: {pointer or '/'}: {message}" for pointer, message in found]
        if any(pointer in ("", "/id", "/aliases") for pointer, _ in found):
            continue
        for pointer, name in [("/id", doc["id"])] + [(f"/aliases/{i}", a) for i, a in enumerate(doc["aliases"])]:
            if name in names:
                errors.append(f"{file}: {pointer}: {name!r} is already used by {names[name]}")
            names.setdefault(name, file)

    if errors:
        sys.exit("\n".join(errors))
    print(f"{len(docs)} targets ok")


if __name__ == "__main__":
    main()
