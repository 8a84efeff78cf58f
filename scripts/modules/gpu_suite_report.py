"""The report of scripts/gpu-suite as Markdown."""
import provenance
from gpu_suite_random import random_part


def knobs(config):
    return f"engine {config['engine']}" + "".join(f" {k}={v}" for k, v in config["knobs"].items())


def number(value, text):
    return "-" if value is None else text.format(value)


def walk_part(part):
    rows = part["results"]
    equal = sum(r["equal_to_simulated"] and r["plans_equal_to_simulated"] for r in rows)
    lines = []
    if part["compared_with"]:
        lines += [f"**{equal} of {len(rows)} configs: the real and the simulated GPU give the same answer**, "
                  "engine config by engine config. Compared: modes, candidates, viable configs, ranks, reasons, workspace, shared memory, notes. "
                  "For models (configs/*.json) that is every engine with every knob value and every plan. For features "
                  "(configs/features) it is what the heuristics propose, and the plans of mode A. Checks are simulated twice, from the "
                  f"properties dumped on this machine and from the catalogue's `{part['compared_with'][1]}`; plans from the dumped ones.", ""]
    else:
        lines += ["This cuDNN is too old to simulate a GPU (9.8), so there is nothing to compare with.", ""]
    if part["catalogue_differs_in"]:
        lines += [f"The catalogue's properties differ from the measured ones in: `{part['catalogue_differs_in']}`", ""]
    lines += ["| config | graph | verdict with plans | A | B | FALLBACK | engine configs walked, viable | real = simulated | plans built | failed |",
              "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for r in rows:
        modes = [r["modes"].get(m, "-") for m in ("A", "B", "FALLBACK")]
        same = "yes" if r["equal_to_simulated"] and r["plans_equal_to_simulated"] else f"NO: {r['difference'] or r['plan_difference']}"
        lines.append(f"| {r['config']} | {r['pattern']} | {r['verdict']} | {' | '.join(modes)} | {r['engine_configs_walked']}, {r['viable']} | "
                     f"{same if part['compared_with'] else '-'} | {r['plans_built']} | {', '.join(r['plans_failed']) or '-'} |")
    return lines


def faults(rows):
    for r in rows:
        for c in r["engine_configs"]:
            if c["status"] not in (None, "ok", "not_verified"):
                yield r, c


def busy(name, call):
    """Compares the work of the cores and of the GPU with the elapsed time, from the seconds that the program reports."""
    larger = max(call["gpu"], call["compile"] / call["cores"])
    return (f"- {name}: {call['wall']:.0f} s of wall time, {call['gpu']:.0f} s of runs on the GPU, {call['compile']:.0f} s of compiling on {call['cores']} cores. "
            f"That is {call['wall'] / larger:.2f} times the larger of the GPU's time and a core's share of compiling")


def run_part(part):
    rows = part["results"]
    ran = [c for r in rows for c in r["engine_configs"] if c["status"]]
    right = [c for c in ran if c["status"] == "ok"]
    supported = [r for r in rows if r["verdict"] == "supported"]
    lines = [f"**{len(right)} of {len(ran)} plans of {len(rows)} configs ran and computed the correct results**. The reference is attnprobe's own interpreter of "
             "the graph in f32 on the same GPU. Every output element was written, and nothing outside the tensors. "
             f"{len(supported)} configs have a correct plan; {sum(r['verdict'] == 'unsupported' for r in rows)} are refused by cuDNN.", "",
             "Errors are the norm of the difference over the norm of the reference. Times are from CUDA events, with L2 flushed before each sample and everything queued before "
             "the start. The time of the events around an empty kernel is subtracted, and the GPU rests for twice as long as it works. Measured: " + ("models until the noise is below 0.5 % or stable, features 0.1 s each."
              if any(r["timing"] == "standard" for r in rows) else "0.1 s of GPU time each.") + " FLOP are those of the unmasked scores. The peak is that of the "
             "tensor cores at the highest SM clock that CUDA reports. Memory-bound shapes are given as a percentage of the memory's bandwidth.", ""]
    if part.get("note"):
        lines += [part["note"], ""]
    calls = part.get("calls", [])
    lines += [busy(f"--timing {call['timing']}", call) for call in calls]
    if len(calls) > 1:
        lines += [busy("both", {**{key: sum(call[key] for call in calls) for key in ("wall", "gpu", "compile")}, "cores": calls[0]["cores"]})]
    lines += [""] if calls else []
    found = list(faults(rows))
    if found:
        lines += [f"### Plans that cuDNN builds but that do not work ({len(found)}; `--errata FILE` writes them in cudnn-frontend's format)", "",
                  "| config | engine config | status | what | cudnn-frontend |", "| --- | --- | --- | --- | --- |"]
        lines += [f"| {r['config']} | {knobs(c)} | {c['status']} | {' '.join(str(c['message']).split())} | {'refuses it' if r['frontend_refuses'] else 'builds it'} |" for r, c in found]
        lines.append("")
    failed = [(r, c) for r in rows for c in r["engine_configs"] if c["plan"] != "CUDNN_STATUS_SUCCESS"]
    if failed:
        lines += ["Plans that pass cuDNN's check but do not compile: " + "; ".join(f"{r['config']} {knobs(c)}: {c['plan']}" for r, c in failed) + ".", ""]
    unsteady = sorted({f"{r['config']}, {knobs(c)}" for r in rows for c in r["engine_configs"] if c["deterministic"] is False})
    if unsteady:
        lines += [f"Bits differ from run to run, without a NONDETERMINISTIC note from cuDNN ({len(unsteady)}): " + "; ".join(unsteady) + ".", ""]
    lines += ["### The fastest correct plan of each config", "",
              "| config | graph | engine config | error | ms | noise | hot | CUDA graph | TFLOP/s | % of peak | GB/s | % of bandwidth | first choice slower by |",
              "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for r in rows:
        timed = [c for c in r["engine_configs"] if c["median_ms"] and c["status"] in ("ok", "not_verified")]
        if not timed:
            continue
        best, first = min(timed, key=lambda c: c["median_ms"]), timed[0]
        slower = "it is the first" if best is first else f"{100 * (first['median_ms'] / best['median_ms'] - 1):.1f} %"
        lines.append(f"| {r['config']} | {r['pattern']} | {knobs(best)} | {number(best['relative_l2'], '{:.1e}')} | {best['median_ms']:.4g} | "
                     f"{number(best['noise'] and 100 * best['noise'], '{:.1f} %')} | {number(best['hot_ms'], '{:.4g}')} | {number(best['graph_ms'], '{:.4g}')} | "
                     f"{number(best['tflops'], '{:.0f}')} | {number(best['percent_of_peak'], '{:.0f}')} | {number(best['gbytes_per_s'], '{:.0f}')} | "
                     f"{number(best['percent_of_bandwidth'], '{:.0f}')} | {slower} |")
    return lines


def again_part(part):
    rows = part["results"]
    worst = max((abs(r["difference"]) for r in rows), default=0)
    return [f"{len(rows)} plans timed in two runs of the program: the medians differ by at most {100 * worst:.2f} %.", "",
            "| config | engine config | first ms | second ms | difference |", "| --- | --- | --- | --- | --- |"] + [
        f"| {r['config']} | {knobs(r)} | {r['first_ms']:.5g} | {r['second_ms']:.5g} | {100 * r['difference']:+.2f} % |" for r in rows]


def plan_lines(rows, *columns):
    """One line per plan."""
    lines = ["| " + " | ".join([*columns, "config", "engine config", "status", "error", "ms", "what"]) + " |", "| --- |" + " --- |" * (len(columns) + 5)]
    for r in rows:
        for c in r["engine_configs"]:
            cells = [*(r[name] for name in columns), r["config"], knobs(c), c["status"] or c["plan"], number(c["relative_l2"], "{:.1e}"),
                     number(c["median_ms"], "{:.4g}"), c["message"] or ""]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def counted(rows):
    plans = [c for r in rows for c in r["engine_configs"]]
    return f"{sum(c['status'] == 'ok' for c in plans)} of {len(plans)} plans are correct."


def regimes_part(part):
    return [counted(part["results"]), "", *plan_lines(part["results"], "data")]


def sweep_part(part):
    return [counted(part["results"]), "", *plan_lines(part["results"])]


def several_part(part):
    return [f"{part['gpus']} GPUs. {counted(part['results'])}", "", *plan_lines(part["results"], "target")]


def logs_part(part):
    rows = part["results"]
    graphs = [g for r in rows for g in r["graphs"]]
    agree = sum(g["compared"] and not g["differences"] for g in graphs)
    ran = [n for g in graphs for n in g["plans_run"].items()]
    right, plans = sum(n for status, n in ran if status == "ok"), sum(n for _, n in ran)
    lines = [f"{len(rows)} logs of frameworks, {len(graphs)} operation graphs: {agree} got the same answers as in the log (candidates, ranks, engine configs, reasons), "
             f"{sum(g['recognised'] for g in graphs)} recognised exactly. {right} of {plans} plans, run from nothing but the log, are correct.", "",
             "| log | graph | viable of candidates | as in the log | verdict | plans run | result for the user |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for r in rows:
        exception = " ".join((r["exception"] or "it ran").split()).replace("|", "\\|")[:160]
        for g in r["graphs"] or [{}]:
            if not g:
                lines.append(f"| {r['name']} | {r['problem'] or 'none'} | - | - | - | - | {exception} |")
                continue
            same = "yes" if g["compared"] and not g["differences"] else "NO: " + str(g["differences"] or g["why_not"])
            lines.append(f"| {r['name']} | {g['description']} | {', '.join(f'{m} {n}' for m, n in g['modes'].items()) or '-'} | {same} | "
                         f"{g['verdict']} | {', '.join(f'{n} {s}' for s, n in g['plans_run'].items()) or '-'} | {exception} |")
    return lines


def pytorch_part(part):
    if "markdown" not in part:
        return [part.get("problem", "")]
    # Lowers its headings by two levels.
    return [("##" + line) if line.startswith("#") else line for line in part["markdown"].splitlines()]


TITLES = {"tests": "Tests that need a GPU", "run": "Every shipped config, executed", "again": "Two runs", "regimes": "Kinds of data", "random": "Random plans", "sweep": "Every engine and knob", "several": "Several GPUs", "logs": "Logs of frameworks, replayed",
          "pytorch": "Compared with PyTorch",
          "walk": "The real GPU and the simulated one"}
WRITERS = {"tests": lambda part: [part["summary"]], "run": run_part, "again": again_part, "regimes": regimes_part, "random": random_part, "sweep": sweep_part, "several": several_part, "logs": logs_part, "pytorch": pytorch_part, "walk": walk_part}


def findings(parts):
    """The most important lines, for the top of the report."""
    if "walk" in parts and parts["walk"]["compared_with"]:
        rows = parts["walk"]["results"]
        equal = sum(r["equal_to_simulated"] and r["plans_equal_to_simulated"] for r in rows)
        yield f"{equal} of {len(rows)} configs give exactly the same answers on the real GPU as on the simulated one."
    if "run" in parts:
        ran = [c for r in parts["run"]["results"] for c in r["engine_configs"] if c["status"]]
        right = sum(c["status"] == "ok" for c in ran)
        yield f"{right} of {len(ran)} plans that cuDNN proposes compute correct results; {len(ran) - right} crash or are wrong."


def markdown(report):
    parts = report["parts"]
    lines = [f"# {report['gpu']}, cuDNN {report['cudnn']}", "", f"**{' '.join(findings(parts))}**", "",
             *provenance.table(report, driver=report["driver"], made="by `scripts/gpu-suite`, part by part")]
    for name, title in TITLES.items():
        part = report["parts"].get(name)
        if part:
            lines += [f"## {title}", "", f"{part['attnprobe']}, {part['seconds']} s: `{part['command']}`", "", *WRITERS[name](part), ""]
    return "\n".join(lines)
