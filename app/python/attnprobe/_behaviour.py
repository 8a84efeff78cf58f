"""The methods of a report's records. The records themselves are generated from the schema (_records.py)."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Mapping, NoReturn, Optional, Tuple

from ._html import answer as html_answer, bullets, escaped

if TYPE_CHECKING:
    from . import _records


class Usable(str, enum.Enum):
    """The answer. It equals its word: ``result.usable == "yes"``."""

    #: the engine config that a program would get passes every requested stage
    YES = "yes"
    #: cuDNN supports it, but there is an obstacle: ``result.but``
    BUT = "but"
    #: cuDNN refuses it, crashes, hangs or computes something wrong: ``result.root_cause``
    NO = "no"

    def __str__(self) -> str:
        return str(self.value)


class Target:
    if TYPE_CHECKING:
        id: str
        name: str
        sm: int

    def __str__(self) -> str:
        return f"{self.id} ({self.name}, sm_{self.sm})"


class EngineConfig:
    if TYPE_CHECKING:
        engine: int
        knobs: Mapping[str, int]

    def __str__(self) -> str:
        return " ".join([f"engine {self.engine}", *(f"{knob}={value}" for knob, value in self.knobs.items())])


class Framework:
    if TYPE_CHECKING:
        text: str

    def __str__(self) -> str:
        return self.text


class WayOut:
    if TYPE_CHECKING:
        text: str

    def __str__(self) -> str:
        return self.text


class Result:
    if TYPE_CHECKING:
        config: Optional[Mapping[str, Any]]
        graph: Optional[_records.Graph]
        target: _records.Target
        cudnn: _records.Cudnn
        verdict: str
        usable: Optional[Usable]
        account: str
        but: Tuple[_records.Obstacle, ...]
        since: Optional[_records.Since]
        by_rule: bool
        root_cause: Optional[_records.RootCause]
        ways_out: Tuple[_records.WayOut, ...]
        warnings: Tuple[_records.KnownBug, ...]
        engine_configs: Tuple[_records.EngineConfig, ...]

    @property
    def name(self) -> str:
        """The config's name, otherwise its pattern."""
        config = self.config or {}
        return str(config.get("name") or config.get("pattern") or (self.graph.pattern if self.graph else None) or "graph")

    @property
    def engine_config(self) -> Optional[_records.EngineConfig]:
        """The first engine config that works, which a program would get; None if none works."""
        return next((config for config in self.engine_configs if config.works), None)

    @property
    def answer(self) -> str:
        """"yes", "but" or "no"; cuDNN's verdict if an environment problem or an error prevented an answer."""
        return str(self.usable) if self.usable is not None else self.verdict

    @property
    def why(self) -> str:
        """One line: the working engine config, the obstacle, or why nothing works."""
        since = self.since.text if self.since is not None else ""
        return "; ".join(text for text in (self.account, since) if text)

    def __str__(self) -> str:
        cudnn = f", cuDNN {self.cudnn.version}" if self.cudnn.version else ""
        text = f"{self.name} on {self.target.id} (sm_{self.target.sm}{cudnn}): {self.answer}"
        lines = [text + (f", {self.why}" if self.why else "")]
        if self.root_cause is not None:
            if self.root_cause.explanation:
                lines.append(f"  in plain words: {self.root_cause.explanation}")
            # An advice may be followed by its command, on a separate line.
            lines += ["  workaround (probed): " + advice.replace("\n", "\n    ") for advice in self.root_cause.advice]
        else:
            lines += [f"  workaround (probed): {way}\n    {way.reproduce}" for way in self.ways_out]
        lines += [f"  workaround, by rule: {bug.advice}" for bug in self.warnings if bug.advice]
        return "\n".join(lines)

    def __bool__(self) -> NoReturn:
        """Raises, because a "but" is neither true nor false, and users may mean "there is a result"."""
        raise TypeError(
            'a Result is neither true nor false; ask result.usable == "yes", '
            'result.verdict == "supported" or result.met'
        )

    def _repr_html_(self) -> str:
        head = f"{escaped(self.name)} on {escaped(self.target)}, cuDNN {escaped(self.cudnn.version)}: "
        text = f"<p>{head}{html_answer(self.usable, self.verdict)} {escaped(self.why)}</p>"
        if self.root_cause is not None:
            text += f"<p>{escaped(self.root_cause.explanation)}</p>" + bullets(self.root_cause.advice)
        return text + bullets(bug.advice for bug in self.warnings if bug.advice)
