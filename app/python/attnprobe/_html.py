"""HTML for notebooks. It escapes every text, because names of configs and cuDNN's messages are not trusted."""

from __future__ import annotations

import html
from typing import Iterable, Optional

_COLOURS = {"yes": "#1a7f37", "but": "#9a6700", "no": "#cf222e"}


def escaped(text: object) -> str:
    return html.escape(str(text), quote=True)


def answer(usable: Optional[object], verdict: str) -> str:
    """The answer in color; without an answer, cuDNN's verdict."""
    word = str(usable) if usable is not None else verdict
    return f'<b style="color:{_COLOURS.get(word, "#8250df")}">{escaped(word)}</b>'


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table; the header cells are text, the other cells are HTML."""
    left = ' style="text-align:left"'
    lines = ["<table><thead><tr>", *(f"<th{left}>{escaped(cell)}</th>" for cell in head), "</tr></thead><tbody>"]
    for row in rows:
        lines.append("<tr>" + "".join(f"<td{left}>{cell}</td>" for cell in row) + "</tr>")
    return "".join([*lines, "</tbody></table>"])


def bullets(items: Iterable[str]) -> str:
    entries = "".join(f"<li>{escaped(item)}</li>" for item in items)
    return f"<ul>{entries}</ul>" if entries else ""
