"""The result of ``limits``: where support begins and ends along a field."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Mapping, Optional, Sequence, Tuple

from . import _html
from ._document import Document
from ._errors import UsageError


@dataclass(frozen=True, repr=False)
class Run(Document):
    """Numbers with one answer: first, first + step, … last. ``64 in run`` asks whether a number is one of them."""

    answer: str = ""
    first: int = 0
    last: int = 0
    step: int = 1
    #: multiples of it are excluded; 0: none
    except_multiples_of: int = 0
    #: the number of values in it, and how many of them were asked; the others are inferred from their neighbours
    count: int = 0
    asked: int = 0

    def __contains__(self, number: int) -> bool:
        inside = self.first <= number <= self.last and (number - self.first) % self.step == 0
        return inside and (self.except_multiples_of == 0 or number % self.except_multiples_of != 0)

    @property
    def is_taken(self) -> bool:
        """Whether cuDNN supports the value: yes or but."""
        return _is_taken(self.answer)

    def __str__(self) -> str:
        if self.first == self.last:
            return str(self.first)
        text = f"{self.first}–{self.last}" + (f" step {self.step}" if self.step != 1 else "")
        text += f" except multiples of {self.except_multiples_of}" if self.except_multiples_of else ""
        return text + (f" ({self.asked} of {self.count} asked)" if self.asked < self.count else "")


@dataclass(frozen=True, repr=False)
class Edge(Document):
    """The reason why a supported run begins, ends, has gaps, or is a but."""

    #: "below", "above", "between" or "inside"
    side: str = ""
    #: the number that was asked
    value: int = 0
    #: its answer
    answer: str = ""
    category: str = ""
    #: in the words of the refusing layer
    reason: str = ""
    #: "cuDNN", or another layer
    source: str = ""
    engine: Optional[int] = None

    def __str__(self) -> str:
        return f"{self.value}: {self.answer}, {self.reason}" + (f" ({self.source})" if self.source else "")


@dataclass(frozen=True, repr=False)
class Value(Document):
    """The answer for one value of a field whose values are words."""

    value: Any = None
    answer: str = ""
    category: str = ""
    reason: str = ""
    source: str = ""
    #: of the first choice
    engine: Optional[int] = None


@dataclass(frozen=True, repr=False)
class Time(Document):
    """The times of a point's plans on a GPU: medians of cold runs in milliseconds."""

    value: Any = None
    #: of the first choice that works
    first_ms: Optional[float] = None
    fastest_ms: Optional[float] = None
    fastest_engine: Optional[int] = None


@dataclass(frozen=True, repr=False)
class LimitsRow(Document):
    """One config with one value of each varied field, on one target with one cuDNN."""

    config: str = ""
    target: str = ""
    cudnn: str = ""
    #: the varied fields and their values
    varied: Mapping[str, Any] = field(default_factory=dict)
    #: of a field of numbers: the whole range
    runs: Tuple[Run, ...] = ()
    #: why the supported runs begin and end
    edges: Tuple[Edge, ...] = ()
    #: of a field of words: each of them
    values: Tuple[Value, ...] = ()
    #: of a map by time
    times: Tuple[Time, ...] = ()
    asked: int = 0
    #: the number of wrong predictions, after which the row was asked on a finer grid
    surprises: int = 0

    def answer(self, value: Any) -> str:
        """"yes", "but" or "no" (with engine or category if ``by`` includes them), asked or predicted."""
        for run in self.runs:
            if value in run:
                return run.answer
        for one in self.values:
            if one.value == value:
                return one.answer
        raise UsageError(f"answer: {value!r} is not one of the values in this answer")

    @property
    def taken(self) -> Tuple[Run, ...]:
        """The runs that cuDNN supports."""
        return tuple(run for run in self.runs if run.is_taken)

    def __str__(self) -> str:
        words = [str(run) + ("" if run.answer == "yes" else f" ({run.answer})") for run in self.taken]
        words += [str(one.value) + ("" if one.answer == "yes" else f" ({one.answer})") for one in self.values if _is_taken(one.answer)]
        return ", ".join(words) or "none"


@dataclass(frozen=True, repr=False)
class LimitsLine(Document):
    """Rows with equal answers, and the fields in which they differ."""

    configs: Tuple[str, ...] = ()
    varied: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    targets: Tuple[str, ...] = ()
    cudnns: Tuple[str, ...] = ()
    #: their places in Limits.rows
    rows: Tuple[int, ...] = ()
    #: if support reaches the end of a default range: whether the first choice there compiled
    end_compiled: Optional[bool] = None


@dataclass(frozen=True, repr=False)
class Limits(Document):
    """Where support begins and ends. Schema ``attnprobe/limits/1``."""

    schema: str = ""
    #: the command that asks it again
    command: str = ""
    #: "field", and "range" or "values"
    axis: Mapping[str, Any] = field(default_factory=dict)
    configs: Tuple[Mapping[str, Any], ...] = ()
    #: assumed parts of the shape: "heads 8"
    assumed: Tuple[str, ...] = ()
    #: questions to cuDNN, and the cells of the answer
    asked: int = 0
    cells: int = 0
    #: the longest gap: numbers of a run in a row that were not asked
    widest_unasked: int = 0
    lines: Tuple[LimitsLine, ...] = ()
    rows: Tuple[LimitsRow, ...] = ()
    warnings: Tuple[str, ...] = ()

    @property
    def only(self) -> LimitsRow:
        """The only row."""
        if len(self.rows) != 1:
            raise UsageError(f"only: {len(self.rows)} rows; allowed: limits with one row")
        return self.rows[0]

    def table(self) -> List[List[str]]:
        """The rows of the printed table: one for each of ``lines``, as words, after a header row."""
        varied = list(dict.fromkeys(name for line in self.lines for name in line.varied))
        several = {"config": len(self.configs) > 1, "cuDNN": len({row.cudnn for row in self.rows}) > 1}
        head = [*(["config"] if several["config"] else []), *varied, "GPU", *(["cuDNN"] if several["cuDNN"] else []), str(self.axis.get("field", ""))]
        lines = [head]
        for line in self.lines:
            cells = [", ".join(line.configs)] if several["config"] else []
            cells += [", ".join(str(value) for value in line.varied.get(name, ())) for name in varied]
            cells += [", ".join(line.targets)] + ([", ".join(line.cudnns)] if several["cuDNN"] else [])
            lines.append([*cells, str(self.rows[line.rows[0]])])
        return lines

    def reasons(self) -> Tuple[str, ...]:
        """The reasons why runs end, each once."""
        told = [edge.reason + (f" ({edge.source})" if edge.source else "") for row in self.rows for edge in row.edges]
        told += [f"{one.value}: {one.reason} ({one.source})" for row in self.rows for one in row.values if one.reason]
        return tuple(dict.fromkeys(told))

    def __str__(self) -> str:
        rows = self.table()
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        text = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([*text, *(f"  because: {reason}" for reason in self.reasons())])

    def _repr_html_(self) -> str:
        head, *rows = self.table()
        return _html.table(head, ([_html.escaped(cell) for cell in row] for row in rows)) + _html.bullets(self.reasons())


def _is_taken(answer: str) -> bool:
    return answer.split(",")[0] in ("yes", "but")
