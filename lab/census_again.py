"""Runs some configs of a census again: with other cuDNNs, with other data and with one field changed."""
import collections
import json
import pathlib
import re
import time

from census_machine import ROOT, Job, fails, note, say_alive, settings, trials, uptime

# These depend on more than the config, or explain no failure.
NO_CAUSE = {"dropout_resolution"}
NOT_OF_CONFIG = NO_CAUSE | {"bprop_kv_128", "bprop_negative_lse_hopper", "bprop_one_query_hopper", "bprop_one_query_lse_hopper",
                            "bprop_padded_head_dim_hopper", "decode_dropout_far_negative", "decode_dropout_mask_odd_keys",
                            "ragged_statistics_gaps", "ragged_bprop_gaps_hopper", "bias_odd_keys_unified"}
DATA = ["normal", "integers", "negative_scores", "far_negative", "large"]


def other_data(trial):
    config = trial["config"]
    if str(config.get("dtype", "")).startswith("fp8"):
        return ["normal", "integers"]
    modifier = config.get("score_mod")
    kind = modifier.get("kind", "") if isinstance(modifier, dict) else modifier
    return ["normal"] if kind in ("exp", "pow") else DATA


def variants(config):
    """The config with one field changed, as far as that is easy."""
    always = {"batch", "heads", "heads_q", "heads_kv", "seqlen", "seqlen_q", "seqlen_kv", "head_dim", "head_dim_qk", "head_dim_v", "dtype", "pass"}
    for key in config:
        if key not in always:
            yield f"-{key}", {k: v for k, v in config.items() if k != key}
            if isinstance(config[key], dict) and len(config[key]) > 1:
                for member in config[key]:
                    yield f"-{key}.{member}", config | {key: {k: v for k, v in config[key].items() if k != member}}
    mask = config.get("mask")
    if isinstance(mask, dict) and "seqlens_q" in mask:
        full = mask | {"seqlens_q": [config["seqlen_q"]] * len(mask["seqlens_q"]), "seqlens_kv": [config["seqlen_kv"]] * len(mask["seqlens_kv"])}
        yield "full_lengths", config | {"mask": full}
    plain = {k: v for k, v in mask.items() if not k.startswith("seqlens")} if isinstance(mask, dict) else mask
    sizes = {"batch": [1, 2], "heads_kv": [1, config.get("heads_q")], "seqlen_q": [1, 2, 64, 65, 128, 129, 256, 257, 320, 512],
             "seqlen_kv": [1, 32, 64, 65, 128, 129, 256, 257, 512, 513],
             "head_dim_qk": [32, 64, 72, 128, 136, 192, 256], "head_dim_v": [32, 64, 72, 128, 136, 192, 256]}
    for key, values in sizes.items():
        for value in values:
            if key in config and value and value != config[key]:
                changed = config | {key: value}
                if mask is not None:
                    changed["mask"] = plain
                yield f"{key}={value}", changed
    if config.get("heads_q") and config.get("heads_kv"):
        yield "heads=1", config | {"heads_q": 1, "heads_kv": 1} | ({"heads_v": 1} if "heads_v" in config else {})
    if config.get("dtype") in ("f16", "bf16"):
        yield "dtype", config | {"dtype": "bf16" if config["dtype"] == "f16" else "f16"}


def rerun_groups():
    """(priority, cuDNN, data, seed) -> configs."""
    groups = collections.defaultdict(list)
    versions = sorted(p.name for p in (ROOT / "cudnn").iterdir())
    for trial in trials():
        causes, config, version = set(trial["bugs"]) - NO_CAUSE, trial["config"], trial["cudnn"]
        name = f"{version}_{trial['seed']}"
        if fails(trial) and not causes and not trial["refused_by"]:
            for data in other_data(trial):
                groups[0, version, data, 1].append((name, config))
            groups[0, version, trial["data"], 2].append((name, config))
            for other in versions:
                if other != version:
                    groups[0, other, trial["data"], 1].append((name, config))
            for words, changed in variants(config):
                groups[2, version, trial["data"], 1].append((f"{name}_{words}", changed))
        elif trial["seen"] == "right" and trial["first_choice_compiles"] and set(trial["bugs"]) - NOT_OF_CONFIG:
            for data in other_data(trial):
                if data != trial["data"]:
                    groups[1, version, data, 1].append((name, config))
            groups[1, version, trial["data"], 2].append((name, config))
    return groups


def summary(result, about):
    plans = []
    for config in result.get("engine_configs") or []:
        if config.get("plan"):
            run = config.get("run") or {}
            plans.append({"engine": config["engine"], "knobs": config["knobs"], "plan": config["plan"]["status"],
                          "reason": (config["plan"].get("reasons") or [{}])[0].get("reason", "")[:200] if not run else "", "run": run.get("status"),
                          "message": (run.get("message") or "")[:300], "outputs": [o for o in run.get("outputs", []) if not o.get("right")]})
    return about | {"name": result["config"].get("name"), "verdict": result["verdict"], "failure": str(result.get("failure"))[:300], "plans": plans,
                    "bugs": [w["id"] for w in result.get("warnings", [])], "environment_broken": result.get("environment_broken")}


def run_again(gpus):
    how, queue = settings(), []
    for (priority, version, data, seed), configs in sorted(rerun_groups().items(), key=lambda g: g[0]):
        for begin in range(0, len(configs), 40):
            queue.append((priority, version, data, seed, configs[begin:begin + 40]))
    note(f"runs again: {len(queue)} groups, {sum(len(q[4]) for q in queue)} configs")
    folder = ROOT / "again"
    folder.mkdir(exist_ok=True)
    out, jobs, number = open(ROOT / "again.jsonl", "a"), [], 0
    while (queue or jobs) and uptime() < how["until"]:
        (ROOT / "alive").write_text(str(time.time()))
        for job in list(jobs):
            if not job.is_over() and job.idle() < 60:
                continue
            if job.process.poll() is None:
                job.end()
            jobs.remove(job)
            take_results(job, queue, out)
        for gpu in gpus:
            while queue and sum(j.gpu == gpu for j in jobs) < 3:
                priority, version, data, seed, configs = queue.pop(0)
                number += 1
                asked = folder / f"{number}.json"
                asked.write_text(json.dumps({"configs": [config | {"name": name} for name, config in configs]}))
                command = [str(ROOT / "prog/attnprobe"), str(asked), "--target", "device:0", "--cudnn", str(ROOT / "cudnn" / version),
                           "--mode", "A", "--quick", "--plans", "run_first", "--timing", "none", "--repeat", "0", "--timeout", "20",
                           "--data", data, "--seed", str(seed), "--format", "jsonl", "-j", "4", "-o", str(asked) + "l"]
                with open(folder / f"{number}.err", "wb") as errors:
                    job = Job(gpu, ["sh", "-c", 'exec "$@" 2>' + str(folder / f"{number}.err"), "sh", *command], str(asked) + "l",
                              priority=priority, version=version, data=data, seed=seed, configs=configs, number=number)
                jobs.append(job)
        time.sleep(0.3)
    for job in jobs:
        job.end(gently=False)
        take_results(job, None, out)
    note(f"{len(queue)} groups are left")


def take_results(job, queue, out):
    about = {key: job.about[key] for key in ("priority", "version", "data", "seed")}
    if job.output.exists():
        for line in job.output.read_text(errors="replace").splitlines():
            try:
                out.write(json.dumps(summary(json.loads(line), about)) + "\n")
            except (ValueError, KeyError, TypeError) as e:
                note(f"group {job.about['number']}: {type(e).__name__} {e}")
        out.flush()
    if queue is not None and job.process.returncode == 2:
        # A config with a contradiction stops all: leave it out.
        words = (ROOT / "again" / f"{job.about['number']}.err").read_text(errors="replace")
        place = re.search(r"/configs/(\d+)", words)
        configs = job.about["configs"]
        if place and int(place.group(1)) < len(configs) and len(configs) > 1:
            configs.pop(int(place.group(1)))
            queue.insert(0, (*about.values(), configs))
        elif not place:
            note("group left out: " + words[:200])
