"""The results of a report as plain, frozen data. Written by scripts/python-records from `attnprobe schema report`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Tuple

from . import _behaviour
from ._behaviour import Usable
from ._document import Document


@dataclass(frozen=True, repr=False)
class Source(Document):
    """Where a rule comes from."""

    text: str = ""
    url: str = ""


@dataclass(frozen=True, repr=False)
class Reason(Document):
    """A line of cuDNN's own traceback."""

    status: str = ""
    reason: str = ""


@dataclass(frozen=True, repr=False)
class RootCause(Document):
    """Why the answer is no: cuDNN's message, an explanation, and workarounds."""

    category: str = ""
    status: str = ""
    reason: str = ""
    engine: Optional[int] = None
    mode: Optional[str] = None
    explanation: str = ""
    in_general: str = ""
    advice: Tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Obstacle(Document):
    """An obstacle to something that cuDNN supports."""

    kind: str = ""
    text: str = ""
    source: str = ""


@dataclass(frozen=True, repr=False)
class Since(Document):
    """The first cuDNN that supports the config on this target."""

    cudnn: str = ""
    asked: bool = False
    text: str = ""


@dataclass(frozen=True, repr=False)
class Target(_behaviour.Target, Document):
    """A real or simulated GPU."""

    id: str = ""
    name: str = ""
    sm: int = 0
    kind: str = ""
    #: for a simulated GPU: whether it was ever compared with a real one
    compared: str = ""
    architecture: str = ""
    aliases: Tuple[str, ...] = ()
    representative: bool = False


@dataclass(frozen=True, repr=False)
class Cudnn(Document):
    """The cuDNN that answered."""

    version: Optional[str] = None
    path: str = ""


@dataclass(frozen=True, repr=False)
class Graph(Document):
    """The operation graph of the question."""

    hash: str = ""
    #: null: not an attention that attnprobe knows
    pattern: Optional[str] = None
    ops: Tuple[str, ...] = ()
    choice: str = ""
    score_ops: Tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Check(Document):
    """cuDNN's support check of an engine config."""

    supported: bool = False
    status: str = ""


@dataclass(frozen=True, repr=False)
class Plan(Document):
    """The compiled plan of an engine config."""

    status: str = ""
    build_ms: Optional[float] = None
    host_bytes: Optional[int] = None
    loaded: bool = False
    reasons: Tuple[Reason, ...] = ()
    kernels: Tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, repr=False)
class EngineConfig(_behaviour.EngineConfig, Document):
    """An engine with its knobs, and cuDNN's answer for it."""

    modes: Tuple[str, ...] = ()
    rank: Mapping[str, int] = field(default_factory=dict)
    engine: int = -1
    knobs: Mapping[str, int] = field(default_factory=dict)
    check: Check = Check()
    reasons: Tuple[Reason, ...] = ()
    workspace_bytes: Optional[int] = None
    shared_memory_bytes: Optional[int] = None
    numerical_notes: Tuple[str, ...] = ()
    behavior_notes: Tuple[str, ...] = ()
    left_out: Optional[str] = None
    plan: Optional[Plan] = None
    run: Optional[Mapping[str, Any]] = None
    time: Optional[Mapping[str, Any]] = None
    #: passes every requested stage. Absent in a replay: a log has no stages
    works: bool = False


@dataclass(frozen=True, repr=False)
class Mode(Document):
    """A heuristic mode: its proposals, and those that pass the support check."""

    mode: str = ""
    status: str = ""
    candidates: int = 0
    viable: int = 0
    notes: Tuple[str, ...] = ()
    reasons: Tuple[Reason, ...] = ()


@dataclass(frozen=True, repr=False)
class Requirement(Document):
    """A version requirement of the config that this cuDNN or GPU does not meet."""

    id: str = ""
    feature: str = ""
    needs: str = ""
    text: str = ""
    source: Source = Source()


@dataclass(frozen=True, repr=False)
class KnownBug(Document):
    """A bug of this cuDNN that affects the config."""

    id: str = ""
    what: str = ""
    advice: str = ""
    #: empty if no fixed version is known
    fixed_in: str = ""
    of_compiling: bool = False
    of_other_configs: bool = False
    source: Source = Source()


@dataclass(frozen=True, repr=False)
class Frontend(Document):
    """cudnn-frontend's answer before it asks cuDNN."""

    version: str = ""
    refuses: bool = False
    id: str = ""
    status: str = ""
    message: str = ""
    source: Source = Source()
    since: str = field(default="", metadata={"key": "from"})
    until: str = ""


@dataclass(frozen=True, repr=False)
class FrontendEngine(Document):
    """One of cudnn-frontend's own engines that supports the config."""

    frontend: str = ""
    id: str = ""
    what: str = ""
    by_default: bool = False
    #: the environment variable that enables it; empty if it is enabled by default
    switch_on: str = ""
    provided: str = ""
    needs: str = ""
    source: Source = Source()


@dataclass(frozen=True, repr=False)
class GateRefusal(Document):
    """A rule by which a framework does not send a call to cuDNN."""

    id: str = ""
    what: str = ""
    status: str = ""
    message: str = ""
    change: str = ""
    since: str = ""
    below: str = ""
    source: Source = Source()


@dataclass(frozen=True, repr=False)
class Framework(_behaviour.Framework, Document):
    """The answer of a framework's gate before cuDNN sees the config."""

    framework: str = ""
    #: "PyTorch 2.15.0"
    title: str = ""
    release: str = ""
    #: whether a call reaches cuDNN. `by_name`: only if the program selects it. `not_in_call`: the call cannot express
    #: the config. `wrong`: cuDNN computes something other than the call means. `unknown`: no rules of this release are
    #: known
    takes: str = ""
    text: str = ""
    #: what runs then, if known
    instead: str = ""
    #: the first release that refuses it; empty if the oldest known one does too
    refused_since: str = ""
    #: the first later release that accepts it; empty for none
    taken_from: str = ""
    refusals: Tuple[GateRefusal, ...] = ()
    #: how a program selects cuDNN
    by_name: str = ""
    #: that the release pins; empty if it pins none, or none was read
    cudnn: str = ""
    frontend: str = ""
    #: what was assumed of the call, and what follows the gate
    notes: Tuple[str, ...] = ()
    source: Source = Source()


@dataclass(frozen=True, repr=False)
class WayOut(_behaviour.WayOut, Document):
    """A change that turns a no or a but into a yes with the same cuDNN and GPU."""

    #: one change, or two together
    changes: Tuple[str, ...] = ()
    kinds: Tuple[str, ...] = ()
    text: str = ""
    #: of the first choice
    engine: int = -1
    #: whether its plan was also built
    compiled: bool = False
    #: floating point operations as a multiple of those of the asked config
    work: float = 0.0
    #: elements of Q, K, V, O and the bias as a multiple of those of the asked config
    memory: float = 0.0
    #: with the changes
    config: Mapping[str, Any] = field(default_factory=dict)
    reproduce: str = ""


@dataclass(frozen=True, repr=False)
class Result(_behaviour.Result, Document):
    """One config on one target with one cuDNN."""

    #: null for a graph that no config builds
    config: Optional[Mapping[str, Any]] = None
    graph: Optional[Graph] = None
    target: Target = Target()
    cudnn: Cudnn = Cudnn()
    verdict: str = ""
    #: the answer in one word; null if the machine or an error left it open
    usable: Optional[Usable] = None
    #: the reason in one line: the working engine config, the obstacles or the reason
    account: str = ""
    #: the obstacles, for usable but
    but: Tuple[Obstacle, ...] = ()
    #: the first cuDNN that supports the config on this target. Asked (the next older installed one refuses it) or by
    #: the version rules; absent if unknown
    since: Optional[Since] = field(default=None, metadata={"key": "from"})
    #: the version rules say this; cuDNN was not asked, because it is older than 9.8 or not installed
    by_rule: bool = False
    environment_broken: bool = False
    expect: str = ""
    #: whether the config states an expectation; the default is supported
    expect_given: bool = False
    met: bool = False
    #: the severity, which determines the exit code
    severity: str = ""
    root_cause: Optional[RootCause] = None
    #: changes that give a yes with the same cuDNN and GPU, cheapest first
    ways_out: Tuple[WayOut, ...] = ()
    #: for a graph of another program
    given: Mapping[str, Any] = field(default_factory=dict)
    crash: Mapping[str, Any] = field(default_factory=dict)
    #: what the config needs and this cuDNN or GPU lacks by the version rules; never decides the verdict
    requirements: Tuple[Requirement, ...] = ()
    #: known bugs that affect the config on this cuDNN and GPU
    warnings: Tuple[KnownBug, ...] = ()
    #: cudnn-frontend's answer before it asks cuDNN; null for patterns that it does not have
    frontend: Optional[Frontend] = None
    #: if cuDNN refuses: cudnn-frontend's own engines that support the config according to its rules. Graphs built in
    #: Python may use them; C++ programs (PyTorch, Transformer Engine, XLA) do not
    frontend_engines: Tuple[FrontendEngine, ...] = ()
    #: with --framework: what each does with the config before cuDNN sees it
    frameworks: Tuple[Framework, ...] = ()
    stages: Tuple[str, ...] = ()
    failure: Optional[Mapping[str, Any]] = None
    modes: Tuple[Mode, ...] = ()
    engine_configs: Tuple[EngineConfig, ...] = ()
    engines: Tuple[Mapping[str, Any], ...] = ()
    engine_count: int = 0
    swept: bool = False
    #: not in a matrix, whose reports are the same each time
    walk_ms: Optional[float] = None
    #: time of its turn on the GPU if plans ran, including data and reference
    gpu_ms: Optional[float] = None
    log: str = ""
    #: the command that asks this again
    reproduce: str = ""
