"""The results of ``suggest`` and ``bugs``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Tuple

from . import _html
from ._behaviour import Usable
from ._document import Document, Several
from ._records import Cudnn, KnownBug, Obstacle, RootCause, Target, WayOut


@dataclass(frozen=True, repr=False)
class Suggestion(Document):
    """The answer for one config on one target, and the changes that make it a yes."""

    config: Optional[Mapping[str, Any]] = None
    target: Target = Target()
    cudnn: Cudnn = Cudnn()
    verdict: str = ""
    usable: Optional[Usable] = None
    but: Tuple[Obstacle, ...] = ()
    root_cause: Optional[RootCause] = None
    #: cheapest first, each asked and compiled
    ways_out: Tuple[WayOut, ...] = ()
    #: representative GPUs on which the same config is a yes
    gpus: Tuple[str, ...] = ()
    #: other head dimensions, and the GPUs on which they work: keys "head_dim_qk", "head_dim_v", "gpus"
    other_models: Tuple[Mapping[str, Any], ...] = ()
    #: changes that were not tried because of ``most_asked``
    not_tried: int = 0

    @property
    def name(self) -> str:
        """The config's name."""
        return str((self.config or {}).get("name", ""))

    @property
    def helped(self) -> bool:
        """Whether the answer is a yes, or can become one without changing the model."""
        return self.usable == Usable.YES or any("model" not in way.kinds for way in self.ways_out)

    @property
    def why(self) -> str:
        """The obstacle, in one line."""
        if self.root_cause is not None:
            return f"{self.root_cause.category}: {self.root_cause.reason.split(' at: ')[0] or self.root_cause.explanation}"
        return "; ".join(obstacle.text for obstacle in self.but)

    def __str__(self) -> str:
        lines = [f"{self.name} on {self.target.id}, cuDNN {self.cudnn.version}: {self.usable or self.verdict}" + (f", {self.why}" if self.why else "")]
        lines += [f"  {number}  {way}\n     {way.reproduce}" for number, way in enumerate(self.ways_out, 1)]
        if not self.helped:
            lines.append("  no change that keeps the model was found" + (f"; {self.not_tried} more were not tried" if self.not_tried else ""))
        if self.gpus:
            lines.append("  works unchanged on " + ", ".join(self.gpus))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        escaped = _html.escaped
        head = (f"{escaped(self.name)} on {escaped(self.target)}, cuDNN {escaped(self.cudnn.version)}: "
                f"{_html.answer(self.usable, self.verdict)} {escaped(self.why)}")
        gpus = f"<p>The same config is a yes on {escaped(', '.join(self.gpus))}.</p>" if self.gpus else ""
        ways = "".join(f"<li>{escaped(way)}<br><code>{escaped(way.reproduce)}</code></li>" for way in self.ways_out)
        return f"<p>{head}</p>" + (f"<ol>{ways}</ol>" if ways else "") + gpus


@dataclass(frozen=True, repr=False)
class Suggestions(Several[Suggestion], Document):
    """Suggestions in the order of the configs, and for each config in the order of the targets. Schema ``attnprobe/suggest/1``."""

    schema: str = ""
    results: Tuple[Suggestion, ...] = ()
    warnings: Tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n\n".join(str(one) for one in self.results)

    def _repr_html_(self) -> str:
        return "".join(one._repr_html_() for one in self.results)


@dataclass(frozen=True, repr=False)
class Sighting(Document):
    """One run of a bug's experiment."""

    bug: str = ""
    gpu: str = ""
    cudnn: str = ""
    #: its outcome: "wrong_result", "right", …
    seen: str = ""
    what: str = ""
    simulated: bool = False
    driver: str = ""
    date: str = ""


@dataclass(frozen=True, repr=False)
class Bug(KnownBug):
    """A known bug of cuDNN's attention, with its conditions and sightings."""

    #: the versions that have it: "9.10 to 9.19"
    cudnn: str = ""
    #: the condition on problem, version and GPU
    when: Mapping[str, Any] = field(default_factory=dict)
    #: options of ``attnprobe`` that show it; "" for none
    experiment: str = ""
    sightings: Tuple[Sighting, ...] = ()

    def __str__(self) -> str:
        return f"{self.id} (cuDNN {self.cudnn}): {self.what}" + (f" What to do: {self.advice}" if self.advice else "")
