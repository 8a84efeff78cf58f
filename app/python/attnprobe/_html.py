"""The display in notebooks. Escapes every text, because names of configs and cuDNN's messages are foreign."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Iterable, List, Union

if TYPE_CHECKING:
    from ._explanation import Explanation
    from ._limits import Limits
    from ._records import Result
    from ._report import Report
    from ._suggest import Suggestion
    from ._why import Why

_COLOURS = {"yes": "#1a7f37", "but": "#9a6700", "no": "#cf222e"}


def escaped(text: object) -> str:
    return html.escape(str(text), quote=True)


def _answer(result: "Union[Result, Suggestion]") -> str:
    answer = str(result.usable) if result.usable is not None else result.verdict
    return f'<b style="color:{_COLOURS.get(answer, "#8250df")}">{escaped(answer)}</b>'


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    left = ' style="text-align:left"'
    lines = ["<table><thead><tr>", *(f"<th{left}>{escaped(cell)}</th>" for cell in head), "</tr></thead><tbody>"]
    for row in rows:
        lines.append("<tr>" + "".join(f"<td{left}>{cell}</td>" for cell in row) + "</tr>")
    return "".join([*lines, "</tbody></table>"])


def _list(items: Iterable[str]) -> str:
    entries = "".join(f"<li>{escaped(item)}</li>" for item in items)
    return f"<ul>{entries}</ul>" if entries else ""


def result(item: "Result") -> str:
    head = f"{escaped(item.name)} on {escaped(item.target)}, cuDNN {escaped(item.cudnn.version)}: "
    text = f"<p>{head}{_answer(item)} {escaped(item.why)}</p>"
    if item.root_cause is not None:
        text += f"<p>{escaped(item.root_cause.explanation)}</p>" + _list(item.root_cause.advice)
    return text + _list(bug.advice for bug in item.warnings if bug.advice)


def report(items: "Report") -> str:
    versions = items.cudnn_versions
    if len(versions) <= 1:
        rows = [[escaped(r.name), escaped(r.target.id), _answer(r), escaped(r.why)] for r in items]
        return _table(["config", "target", "answer", "why"], rows)
    keys = dict.fromkeys((r.name, r.target.id) for r in items)
    cells = {(r.name, r.target.id, r.cudnn.version or ""): f'<span title="{escaped(r.why)}">{_answer(r)}</span>' for r in items}
    lines: List[List[str]] = [
        [escaped(name), escaped(target), *(cells.get((name, target, version), "") for version in versions)]
        for name, target in keys
    ]
    return _table(["config", "target", *versions], lines)


def explanation(item: "Explanation") -> str:
    parts = []
    for refusal in item.refusals:
        parts.append(f"<p><b>{escaped(refusal.headline)}</b><br><code>{escaped(refusal.line)}</code><br>"
                     f"{escaped(refusal.means)}</p>" + _list(refusal.causes))
    if item.next:
        parts.append(f"<p>next: {escaped(item.next)}</p>")
    return "".join(parts) or f"<p>{escaped(item)}</p>"


def limits(item: "Limits") -> str:
    head, *rows = item.table()
    return _table(head, ([escaped(cell) for cell in row] for row in rows)) + _list(item.reasons())


def suggestion(item: "Suggestion") -> str:
    head = f"{escaped(item.name)} on {escaped(item.target)}, cuDNN {escaped(item.cudnn.version)}: {_answer(item)} {escaped(item.why)}"
    gpus = f"<p>The same config is a yes on {escaped(', '.join(item.gpus))}.</p>" if item.gpus else ""
    ways = "".join(f"<li>{escaped(way)}<br><code>{escaped(way.reproduce)}</code></li>" for way in item.ways_out)
    return f"<p>{head}</p>" + (f"<ol>{ways}</ol>" if ways else "") + gpus


def why(item: "Why") -> str:
    return f"<p><b>{escaped(item.headline)}</b></p>" + _list(item.reasons) + report(item.report) + _list(item.changes)
