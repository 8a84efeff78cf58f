"""A report's results as plain, frozen data. ``attnprobe schema report`` describes every key."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, Mapping, NoReturn, Optional, Tuple

from ._document import Document


class Usable(str, enum.Enum):
    """What a person wants to know. It equals its word: ``result.usable == "yes"``."""

    #: the engine config that a program would get passes every stage that was asked for
    YES = "yes"
    #: cuDNN takes it, and something stands in the way: ``result.but``
    BUT = "but"
    #: cuDNN refuses it, crashes, hangs or computes something wrong: ``result.root_cause``
    NO = "no"

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Source(Document):
    """Where a rule stands."""

    text: str = ""
    url: str = ""


@dataclass(frozen=True)
class Reason(Document):
    """A line of cuDNN's own traceback."""

    status: str = ""
    reason: str = ""


@dataclass(frozen=True)
class RootCause(Document):
    """Why the answer is no: cuDNN's words, plain ones, and what helps."""

    category: str = ""
    status: str = ""
    #: cuDNN's own words
    reason: str = ""
    engine: Optional[int] = None
    mode: Optional[str] = None
    #: in plain words
    explanation: str = ""
    in_general: str = ""
    #: what helps; each was probed
    advice: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Obstacle(Document):
    """What stands in the way of something that cuDNN takes."""

    #: framework, frontend, known_bug, requirement, outside_heuristics or first_choice_fails
    kind: str = ""
    text: str = ""
    source: str = ""


@dataclass(frozen=True)
class Since(Document):
    """The first cuDNN that takes the config on this target."""

    cudnn: str = ""
    #: whether the library was asked; otherwise the version rules say it
    asked: bool = False
    text: str = ""


@dataclass(frozen=True)
class Target(Document):
    """A GPU, there or not."""

    id: str = ""
    name: str = ""
    sm: int = 0
    #: "simulated" or "device"
    kind: str = ""
    #: of a simulated one: whether it was ever compared with a real one
    compared: str = ""
    architecture: str = ""
    aliases: Tuple[str, ...] = ()
    representative: bool = False

    def __str__(self) -> str:
        return f"{self.id} ({self.name}, sm_{self.sm})"


@dataclass(frozen=True)
class Cudnn(Document):
    """The cuDNN that answered."""

    version: Optional[str] = None
    path: str = ""


@dataclass(frozen=True)
class Library(Document):
    """A cuDNN on this machine."""

    path: str = ""
    version: Optional[str] = None
    #: the place where it was found: the loader's path, pip, the CUDA toolkit, …
    found_by: str = ""

    def __str__(self) -> str:
        return f"cuDNN {self.version or 'of unknown version'}: {self.path}" + (f" ({self.found_by})" if self.found_by else "")


@dataclass(frozen=True)
class Graph(Document):
    """The operation graph that was asked about."""

    hash: str = ""
    pattern: Optional[str] = None
    #: why this form was built
    choice: str = ""
    ops: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Check(Document):
    """cuDNN's support check of an engine config."""

    supported: bool = False
    status: str = ""


@dataclass(frozen=True)
class Plan(Document):
    """The compiled plan of an engine config."""

    status: str = ""
    build_ms: Optional[float] = None
    loaded: bool = False
    reasons: Tuple[Reason, ...] = ()


@dataclass(frozen=True)
class EngineConfig(Document):
    """An engine with its knobs, and what cuDNN said of it."""

    modes: Tuple[str, ...] = ()
    #: its place in the order of each mode
    rank: Mapping[str, int] = field(default_factory=dict)
    engine: int = -1
    knobs: Mapping[str, int] = field(default_factory=dict)
    check: Check = Check()
    reasons: Tuple[Reason, ...] = ()
    workspace_bytes: Optional[int] = None
    shared_memory_bytes: Optional[int] = None
    numerical_notes: Tuple[str, ...] = ()
    behavior_notes: Tuple[str, ...] = ()
    plan: Optional[Plan] = None
    #: where it ran on a real GPU: whether it is right, and its times
    run: Optional[Mapping[str, Any]] = None
    time: Optional[Mapping[str, Any]] = None

    @property
    def works(self) -> bool:
        """Whether it passes the support check and, where its plan was built or run, that too."""
        built = self.plan is None or self.plan.status in ("CUDNN_STATUS_SUCCESS", "")
        ran = self.run is None or self.run.get("status") in ("ok", None)
        return self.check.supported and built and ran

    def __str__(self) -> str:
        return " ".join([f"engine {self.engine}", *(f"{knob}={value}" for knob, value in self.knobs.items())])


@dataclass(frozen=True)
class Mode(Document):
    """A heuristic mode: what it proposes, and what of it passes the support check."""

    mode: str = ""
    status: str = ""
    candidates: int = 0
    viable: int = 0
    notes: Tuple[str, ...] = ()
    reasons: Tuple[Reason, ...] = ()


@dataclass(frozen=True)
class Requirement(Document):
    """What the config needs by the version rules, and this cuDNN or GPU lacks."""

    id: str = ""
    feature: str = ""
    needs: str = ""
    text: str = ""
    source: Source = Source()


@dataclass(frozen=True)
class KnownBug(Document):
    """A bug of this cuDNN that concerns the config."""

    id: str = ""
    what: str = ""
    #: what gets around it, by rule and not probed
    advice: str = ""
    fixed_in: str = ""
    of_compiling: bool = False
    of_other_configs: bool = False
    source: Source = Source()


@dataclass(frozen=True)
class Frontend(Document):
    """What cudnn-frontend says before it asks cuDNN."""

    version: str = ""
    refuses: bool = False
    id: str = ""
    status: str = ""
    message: str = ""
    source: Source = Source()


@dataclass(frozen=True)
class GateRefusal(Document):
    """A rule by which a framework keeps a call from cuDNN."""

    id: str = ""
    what: str = ""
    #: what it does then: "falls back", "exception", "not asked"
    status: str = ""
    #: the framework's own words
    message: str = ""
    #: what to change, by rule
    change: str = ""
    since: str = ""
    below: str = ""
    source: Source = Source()


@dataclass(frozen=True)
class Framework(Document):
    """What a framework's gate does with the config before cuDNN sees it."""

    framework: str = ""
    #: "PyTorch 2.15.0"
    title: str = ""
    release: str = ""
    #: "yes", "by_name" (only where the program names cuDNN), "refused", "not_in_call", "wrong" (cuDNN computes something else than the
    #: call means) or "unknown" (no rules of this release)
    takes: str = ""
    text: str = ""
    #: what runs then, where that is known
    instead: str = ""
    refused_since: str = ""
    taken_from: str = ""
    refusals: Tuple[GateRefusal, ...] = ()
    #: how a program names cuDNN
    by_name: str = ""
    #: the cuDNN that the release brings
    cudnn: str = ""
    notes: Tuple[str, ...] = ()
    source: Source = Source()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class WayOut(Document):
    """What changed a no or a but into a yes, asked of the same cuDNN for the same GPU."""

    #: one, or two made together
    changes: Tuple[str, ...] = ()
    #: a word for each: "head_dim", "layout"
    kinds: Tuple[str, ...] = ()
    text: str = ""
    #: of the first choice
    engine: int = -1
    #: whether its plan was built, too
    compiled: bool = False
    #: times the floating point operations of what was asked
    work: float = 1.0
    #: times its elements of Q, K, V and O
    memory: float = 1.0
    #: the config with the changes
    config: Optional[Mapping[str, Any]] = None
    reproduce: str = ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Result(Document):
    """One config on one target with one cuDNN."""

    #: as it was understood, every key spelled out; None for a graph that no config builds
    config: Optional[Mapping[str, Any]] = None
    graph: Optional[Graph] = None
    target: Target = Target()
    cudnn: Cudnn = Cudnn()
    #: cuDNN's own: supported, unsupported, invalid_graph, error, crashed, timeout or wrong_result
    verdict: str = ""
    #: None where the machine or an error left it open
    usable: Optional[Usable] = None
    but: Tuple[Obstacle, ...] = ()
    since: Optional[Since] = field(default=None, metadata={"key": "from"})
    #: the version rules say this; a cuDNN before 9.8, or one that is not here, is not asked
    by_rule: bool = False
    environment_broken: bool = False
    expect: str = ""
    #: whether the config says so itself; else "supported" is
    expect_given: bool = False
    #: whether the answer is the one that the config expects
    met: bool = False
    root_cause: Optional[RootCause] = None
    #: the cheapest first; none where nobody looked for them (quick=True)
    ways_out: Tuple[WayOut, ...] = ()
    requirements: Tuple[Requirement, ...] = ()
    #: known bugs
    warnings: Tuple[KnownBug, ...] = ()
    frontend: Optional[Frontend] = None
    frameworks: Tuple[Framework, ...] = ()
    stages: Tuple[str, ...] = ()
    modes: Tuple[Mode, ...] = ()
    #: in the heuristics' order, then those found otherwise
    engine_configs: Tuple[EngineConfig, ...] = ()
    engine_count: int = 0
    swept: bool = False
    walk_ms: Optional[float] = None
    #: the command that asks this again
    reproduce: str = ""

    @property
    def name(self) -> str:
        """The config's name; its pattern where it has none."""
        config = self.config or {}
        return str(config.get("name") or config.get("pattern") or (self.graph.pattern if self.graph else None) or "graph")

    @property
    def engine_config(self) -> Optional[EngineConfig]:
        """The first engine config that works, which is what a program would get; None for none."""
        return next((config for config in self.engine_configs if config.works), None)

    @property
    def answer(self) -> str:
        """"yes", "but" or "no"; cuDNN's verdict where the machine or an error left it open."""
        return str(self.usable) if self.usable is not None else self.verdict

    @property
    def why(self) -> str:
        """What works, what stands in the way, or why nothing works, in one line."""
        return account_of(self)

    def __str__(self) -> str:
        cudnn = f", cuDNN {self.cudnn.version}" if self.cudnn.version else ""
        text = f"{self.name} on {self.target.id} (sm_{self.target.sm}{cudnn}): {self.answer}"
        lines = [text + (f", {self.why}" if self.why else "")]
        if self.root_cause is not None:
            if self.root_cause.explanation:
                lines.append(f"  in plain words: {self.root_cause.explanation}")
            # Behind an advice may stand the command that asks about it, on a line of its own.
            lines += ["  what helps (probed): " + advice.replace("\n", "\n    ") for advice in self.root_cause.advice]
        else:
            lines += [f"  what helps (probed): {way}\n    {way.reproduce}" for way in self.ways_out]
        lines += [f"  what helps, by rule: {bug.advice}" for bug in self.warnings if bug.advice]
        return "\n".join(lines)

    def __bool__(self) -> NoReturn:
        """Refused: a "but" is neither, and "there is a result" is a third meaning."""
        raise TypeError(
            'a Result is neither true nor false; ask result.usable == "yes", '
            'result.verdict == "supported" or result.met'
        )

    def _repr_html_(self) -> str:
        from . import _html

        return _html.result(self)


def account_of(result: Result) -> str:
    """Behind the answer, as the command line has it."""
    by_rule = "by rule, " if result.by_rule else ""
    if result.verdict != "supported":
        account = by_rule + _cause(result)
    elif result.usable == Usable.BUT:
        account = by_rule + "; ".join(obstacle.text for obstacle in result.but)
    else:
        account = "by rule: none speaks against it" if result.by_rule else _working(result)
    since = result.since.text if result.since is not None else ""
    return "; ".join(text for text in (account, since) if text)


def _cause(result: Result) -> str:
    cause = result.root_cause
    if cause is None:
        return ""
    # Behind cuDNN's words stands the condition in its source; other words are whole sentences.
    words = cause.reason.split(" at: ")[0] if cause.status else cause.reason
    return f"{cause.category}: {words or cause.explanation}"


def _working(result: Result) -> str:
    working = [config for config in result.engine_configs if config.works]
    if not working:
        return ""
    return str(working[0]) + (f", {len(working) - 1} more" if len(working) > 1 else "")
