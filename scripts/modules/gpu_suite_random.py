"""Part `random` of scripts/gpu-suite: checks the results of random plans, and how close correct results come to the allowed error."""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

# Most batch x heads x queries x keys, so that the reference takes a fraction of a second.
MOST_SCORES = 1 << 25
CHUNK = 24
REGIMES = ("normal", "integers", "normal", "negative_scores", "far_negative", "normal", "large")
# The scales of fp8 graphs fit only these data.
FP8_REGIMES = ("normal", "integers")
# Modifiers that turn large scores into scores beyond f32.
OVERFLOWING = ("exp", "pow")
# Seconds that one process may take in addition to the time for all of them.
GRACE = 60
# An error above this multiple of the allowance is more than rounding.
GROSS = 3


def smaller(config):
    """The config with a sufficiently small batch; None if this would change other fields."""
    def scores():
        return config["batch"] * config["heads_q"] * config["seqlen_q"] * config["seqlen_kv"]
    fixed = isinstance(config.get("layout"), dict) or "max_total_seqlen_q" in config
    while scores() > MOST_SCORES and config["batch"] > 1 and not fixed:
        config["batch"] //= 2
    return config if scores() <= MOST_SCORES else None


def random_chunks(program, first, count):
    """Yields (regime, configs), with a few configs each."""
    lines = subprocess.run([program, str(count), str(first)], capture_output=True, text=True, check=True).stdout.splitlines()
    waiting = {}
    for seed, line in enumerate(lines, first):
        config = smaller(json.loads(line))
        if config is None:
            continue
        regimes = FP8_REGIMES if config["dtype"].startswith("fp8") else REGIMES
        if any(kind in json.dumps(config.get("score_mod", "")) for kind in OVERFLOWING):
            regimes = ("normal",)
        chunk = waiting.setdefault(regimes[seed % len(regimes)], [])
        chunk.append(config)
        if len(chunk) == CHUNK:
            yield regimes[seed % len(regimes)], waiting.pop(regimes[seed % len(regimes)])
    yield from waiting.items()


def run_chunk(suite, regime, configs, deadline):
    """The rows of one process. Omits configs that contradict themselves, and all configs after the time limit."""
    configs = list(configs)
    with tempfile.TemporaryDirectory() as folder:
        report, file = pathlib.Path(folder) / "report.json", pathlib.Path(folder) / "configs.json"
        while configs and time.time() < deadline:
            file.write_text(json.dumps(configs))
            done = subprocess.run([suite.program, "--config", str(file), "--target", "device:0", "--mode", "A,FALLBACK", "--plans", "run", "--timing", "none",
                                   "--repeat", "0", "--timeout", "60", "--jobs", "1", "--data", regime, "--seed", str(configs[0]["seqlen_kv"]), "--format", "json", "-o",
                                   str(report), *suite.cudnn], capture_output=True, text=True, check=False,
                                  timeout=max(deadline - time.time(), 0) + GRACE)
            wrong = re.search(r": /(\d+)[/:]", done.stderr) if done.returncode == 2 else None
            if wrong:
                configs.pop(int(wrong[1]))
            elif not report.exists():
                return [{"config": c["name"], "data": regime, "problem": f"exit code {done.returncode}: {done.stderr[-300:]}"} for c in configs]
            else:
                return [row for result in json.loads(report.read_text())["results"] for row in rows_of(result, regime)]
    return []


def in_time(*arguments):
    try:
        return run_chunk(*arguments)
    except subprocess.TimeoutExpired:
        return []


def rows_of(result, regime):
    for c in result["engine_configs"]:
        run = c.get("run")
        if not run:
            continue
        shares = [share for o in run["outputs"] for share in shares_of(o)]
        yield {"config": result["config"]["name"], "data": regime, "dtype": result["config"]["dtype"], "pass": result["config"]["pass"], "engine": c["engine"],
               "knobs": c["knobs"], "status": run["status"], "message": run["message"], "element": max((s for kind, s in shares if kind == "element"), default=0),
               "norm": max((s for kind, s in shares if kind == "norm"), default=0), "wrong_outputs": [o for o in run["outputs"] if not o["right"]],
               "reproduce": f"{result['reproduce']} --data {regime}" if run["status"] == "wrong_result" else ""}


def shares_of(output):
    """The error of an output as a share of the allowed error: for its worst element, and for its norm."""
    if output.get("of_allowed") is not None:
        yield "element", output["of_allowed"]
    if output["relative_l2"] is not None and output["allowed_l2"] > 0:
        yield "norm", output["relative_l2"] / output["allowed_l2"]


def is_gross(row):
    return any(o["nan"] or o["inf"] or o["unwritten"] or o["outside"] for o in row["wrong_outputs"]) or max(row["element"], row["norm"]) > GROSS


def part_random(suite):
    first, count = (int(n) for n in suite.options.random.split(":"))
    deadline = time.time() + suite.options.random_seconds
    program = pathlib.Path(suite.program).parent / "random_configs"
    if not program.exists():
        program = program.parent / "tests/random_configs"
    chunks = list(random_chunks(str(program), first, count))
    rows = []
    with concurrent.futures.ThreadPoolExecutor(suite.options.random_jobs or max(1, (os.cpu_count() or 2) // 2)) as pool:
        for done, found in enumerate(pool.map(lambda chunk: in_time(suite, *chunk, deadline), chunks), 1):
            rows += found
            wrong = [r for r in found if r.get("status") == "wrong_result"]
            for r in wrong:
                print("wrong_result" if is_gross(r) else "NEAR", r["config"], r["data"], r["dtype"], r["pass"], f"engine {r['engine']}", r["knobs"], r["message"], flush=True)
            if done % 20 == 0:
                print(f"{done} of {len(chunks)} chunks, {len(rows)} plans", flush=True)
    before = suite.kept.get("random", {"results": []})["results"] if suite.options.random_more else []
    rows = before + [{**r, "seeds": suite.options.random} for r in rows]
    ran = [r for r in rows if r.get("status") in ("ok", "wrong_result")]
    near = [r for r in ran if r["status"] == "wrong_result" and not is_gross(r)]
    print(f"{len(ran)} plans, {sum(r['status'] == 'wrong_result' for r in ran)} wrong, {len(near)} of them near the tolerance; {len(rows) - len(ran)} did not run")
    return bool(ran) and not near, {"results": rows}


def random_part(part):
    """The report's Markdown."""
    rows = part["results"]
    ran = [r for r in rows if r.get("status") in ("ok", "wrong_result")]
    right, wrong = [r for r in ran if r["status"] == "ok"], [r for r in ran if r["status"] == "wrong_result"]
    lines = [f"{len(ran)} plans of {len({r['config'] for r in ran})} random configs: {len(right)} correct, {len(wrong)} wrong, {sum(not is_gross(r) for r in wrong)} of "
             f"these by less than {GROSS} times the tolerance; {len(rows) - len(ran)} did not run.", "",
             "The largest errors of correct plans, relative to the tolerance:", "", "| type | pass | data | plans | worst element | norm |", "| --- | --- | --- | --- | --- | --- |"]
    groups = {}
    for r in right:
        groups.setdefault((r["dtype"], r["pass"], r["data"]), []).append(r)
    lines += [f"| {' | '.join(group)} | {len(found)} | {max(r['element'] for r in found):.2f} | {max(r['norm'] for r in found):.2f} |" for group, found in sorted(groups.items())]
    if wrong:
        lines += ["", "| config | data | type | engine config | element | norm | what |", "| --- | --- | --- | --- | --- | --- | --- |"]
        lines += [f"| {r['config']} | {r['data']} | {r['dtype']} {r['pass']} | engine {r['engine']} {r['knobs']} | {r['element']:.3g} | {r['norm']:.3g} | {r['message']} |" for r in wrong]
    return lines
