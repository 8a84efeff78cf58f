"""A report: the results of a probe or a matrix, as a sequence, a table, Markdown, HTML or JSON."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _html
from ._behaviour import Usable
from ._document import Document, Several
from ._records import Result


@dataclass(frozen=True, repr=False)
class Library(Document):
    """A cuDNN on this machine."""

    path: str = ""
    version: Optional[str] = None
    #: the place where it was found: the loader's path, pip, the CUDA toolkit, …
    found_by: str = ""

    def __str__(self) -> str:
        return f"cuDNN {self.version or 'of unknown version'}: {self.path}" + (f" ({self.found_by})" if self.found_by else "")


@dataclass(frozen=True, repr=False)
class Report(Several[Result], Document):
    """The results of a probe or a matrix, in the order of the configs and then of the targets.

    ``raw`` has the schema ``attnprobe/report/1``; written to a file, it is input for ``attnprobe diff`` and ``merge``.
    """

    schema: str = ""
    tool: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)
    results: Tuple[Result, ...] = ()
    #: assumptions about a framework's call, and parts of it that were not asked
    warnings: Tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        """Whether every answer is as its config expects."""
        return all(result.met for result in self.results)

    @property
    def cudnn_versions(self) -> Tuple[str, ...]:
        """The cuDNN versions that answered, in the order of the results."""
        return tuple(dict.fromkeys(result.cudnn.version or "" for result in self.results))

    def where(self, *, config: Optional[str] = None, target: Optional[str] = None, cudnn: Optional[str] = None,
              usable: Optional[str] = None) -> Tuple[Result, ...]:
        """The results for a config (by name), a target (by id), a cuDNN version ("9.14" is any 9.14) or an answer."""
        return tuple(
            result
            for result in self.results
            if (config is None or result.name == config)
            and (target is None or result.target.id == target)
            and (cudnn is None or _is_version(result.cudnn.version or "", cudnn))
            and (usable is None or result.usable == usable)
        )

    def to_json(self, path: Union[str, "os.PathLike[str]", None] = None) -> str:
        """The JSON of the report; also writes it to ``path`` if given."""
        text = json.dumps(dict(self.raw), indent=2, ensure_ascii=False) + "\n"
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text

    def to_table(self) -> str:
        """Aligned text with one line per result. With several cuDNN versions, one line per config and target, and one column per
        version."""
        head, rows = self._cells(lambda result: result.answer)
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [head, *rows]]
        return "\n".join(lines)

    def to_markdown(self) -> str:
        """The same table in Markdown."""
        head, rows = self._cells(lambda result: result.answer)
        return "\n".join("| " + " | ".join(_markdown(cell) for cell in row) + " |"
                         for row in [head, ["---"] * len(head), *rows]) + "\n"

    def __str__(self) -> str:
        warnings = [f"warning: {warning}" for warning in self.warnings]
        if len(self.results) == 1:
            return "\n".join([str(self.results[0]), *warnings])
        refused = [str(result) for result in self.results if result.root_cause is not None and result.root_cause.advice]
        return "\n\n".join([self.to_table(), *refused, *warnings])

    def _repr_html_(self) -> str:
        escaped = _html.escaped
        versions = self.cudnn_versions
        if len(versions) <= 1:
            rows = [[escaped(r.name), escaped(r.target.id), _html.answer(r.usable, r.verdict), escaped(r.why)] for r in self.results]
            return _html.table(["config", "target", "answer", "why"], rows)
        keys = dict.fromkeys((r.name, r.target.id) for r in self.results)
        cells = {(r.name, r.target.id, r.cudnn.version or ""):
                 f'<span title="{escaped(r.why)}">{_html.answer(r.usable, r.verdict)}</span>' for r in self.results}
        lines = [[escaped(name), escaped(target), *(cells.get((name, target, version), "") for version in versions)]
                 for name, target in keys]
        return _html.table(["config", "target", *versions], lines)

    def _cells(self, answer: Callable[[Result], str]) -> Tuple[List[str], List[List[str]]]:
        versions = self.cudnn_versions
        if len(versions) <= 1:
            head = ["config", "target", "sm", "answer", "why"]
            return head, [[r.name, r.target.id, f"sm_{r.target.sm}", answer(r), r.why] for r in self.results]
        rows: Dict[Tuple[str, str], Dict[str, str]] = {}
        for result in self.results:
            rows.setdefault((result.name, result.target.id), {})[result.cudnn.version or ""] = answer(result)
        head = ["config", "target", *(version or "no cuDNN" for version in versions)]
        return head, [[*key, *(cells.get(version, "") for version in versions)] for key, cells in rows.items()]


def merged(reports: Sequence[Report]) -> Report:
    """Merges reports. Orders the results by config and target, with the cuDNN versions of each cell next to each other."""
    if len(reports) == 1:
        return reports[0]
    order: Dict[Tuple[str, str], List[Mapping[str, Any]]] = {}
    for report in reports:
        for result in report:
            order.setdefault((result.name, result.target.id), []).append(result.raw)
    raw = {key: value for key, value in reports[0].raw.items() if key != "cudnn"}
    # A report describes one library in detail; each result names its own.
    raw["cudnn"] = None
    raw["results"] = [result for results in order.values() for result in results]
    return Report.from_dict(raw)


def _is_version(version: str, asked: str) -> bool:
    return version == asked or version.startswith(asked + ".")


def _markdown(cell: str) -> str:
    return cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


__all__ = ["Report", "Usable", "merged"]
