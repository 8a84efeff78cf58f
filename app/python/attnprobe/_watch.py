"""``with attnprobe.watch() as seen:`` records the attention that the code inside the block sends to cuDNN."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from . import _cudnn_log, _service
from ._document import Document
from ._errors import EnvironmentProblem, UsageError
from ._explanation import Explanation, LoggedGraph, Refusal
from ._records import EngineConfig, Mode, RootCause

_MOST_MEGABYTES = 256
_is_watching = False


@dataclass(frozen=True, repr=False)
class Executed(Document):
    """An engine config that ran."""

    engine: int = -1
    knobs: Mapping[str, int] = field(default_factory=dict)
    times: int = 0

    def __str__(self) -> str:
        return " ".join([f"engine {self.engine}", *(f"{knob}={value}" for knob, value in self.knobs.items())])


@dataclass(frozen=True, repr=False)
class SeenGraph(Document):
    """A distinct operation graph that cuDNN received."""

    number: int = 0
    description: str = ""
    #: whether attnprobe can ask about it elsewhere; then ``config`` is set
    recognised: bool = False
    hash: Optional[str] = None
    #: for :func:`attnprobe.probe`
    config: Optional[Mapping[str, Any]] = None
    #: how often it was built
    finalized: int = 0
    executed: Tuple[Executed, ...] = ()
    cudnn: Optional[str] = None
    device: str = ""
    sm: int = 0
    modes: Tuple[Mode, ...] = ()
    engine_configs: Tuple[EngineConfig, ...] = ()
    notes: Tuple[str, ...] = ()
    #: "works", "refused", or None if cuDNN was asked for no engine
    verdict: Optional[str] = None
    root_cause: Optional[RootCause] = None

    @property
    def executions(self) -> int:
        """How often the graph ran."""
        return sum(executed.times for executed in self.executed)

    def __str__(self) -> str:
        ran = f"executed {self.executions} times" if self.executions else "not executed"
        text = f"{self.description}: {self.verdict or 'no verdict'}, {ran}"
        if self.executed:
            text += " by " + ", ".join(str(executed) for executed in self.executed)
        if self.root_cause is not None:
            text += f"; {self.root_cause.category}: {self.root_cause.reason}"
        return text


class Seen:
    """The findings of :func:`watch`, available after the ``with`` block."""

    def __init__(self) -> None:
        self._graphs: Optional[Tuple[SeenGraph, ...]] = None
        self._explanation: Optional[Explanation] = None
        #: what prevented a complete record
        self.notes: Tuple[str, ...] = ()

    @property
    def graphs(self) -> Tuple[SeenGraph, ...]:
        """Every distinct operation graph, in the order in which cuDNN received them."""
        if self._graphs is None:
            raise UsageError("seen.graphs: the watch is still running; read it after the with block")
        return self._graphs

    @property
    def refused(self) -> Tuple[SeenGraph, ...]:
        """The graphs that cuDNN refused."""
        return tuple(graph for graph in self.graphs if graph.verdict == "refused")

    @property
    def refusals(self) -> Tuple[Refusal, ...]:
        """The reasons for refusals in cuDNN's log."""
        self.graphs  # raises while the watch is active
        return self._explanation.refusals if self._explanation is not None else ()

    @property
    def configs(self) -> List[Dict[str, Any]]:
        """The recognised attention as configs, for ``attnprobe.probe(seen.configs, target="b200")``."""
        return [{**graph.config, "name": f"attention {graph.number}"} for graph in self.graphs if graph.config is not None]

    def __str__(self) -> str:
        if self._graphs is None:
            return "watching"
        refused = len(self.refused)
        count = len(self._graphs)
        lines = [f"{count} distinct operation graph{'' if count == 1 else 's'} reached cuDNN, {refused} refused"]
        lines += [f"{graph.number}. {graph}" for graph in self._graphs]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


@contextmanager
def watch(most_megabytes: int = _MOST_MEGABYTES) -> Iterator[Seen]:
    """Records the attention that the code inside the block sends to cuDNN, with its engines, and cuDNN's refusals.

    It sees every thread of this process, but no child processes (use ``attnprobe trace`` for these). In the block, cuDNN logs every
    call, about 50 KB per execution, so run only a few steps. The program's own log callback receives nothing until the
    end. A log is cut off after ``most_megabytes``, and ``seen.notes`` says so.

    It does not see executions of a CUDA graph that was captured earlier. It does not see calls that a framework keeps from cuDNN
    (:func:`attnprobe.torch.why` shows those).
    """
    global _is_watching
    if _is_watching:
        raise UsageError("watch: another watch is running in this process; cuDNN has one log")
    log = _cudnn_log.CudnnLog(most_megabytes << 20)
    _is_watching = True
    seen = Seen()
    try:
        log.start()
        try:
            yield seen
        finally:
            log.stop()
            _read(seen, log)
    finally:
        _is_watching = False
        log.remove()


def _read(seen: Seen, log: _cudnn_log.CudnnLog) -> None:
    seen._graphs = ()
    notes = []
    if log.left_out:
        notes.append(f"{log.left_out >> 20} MB of cuDNN's log were dropped, so counts are too low")
    if os.path.getsize(log.path):
        listed, problem = _asked("replay", "--list", log.path)
        if listed is not None:
            explained, _ = _asked("explain", log.path)
            if explained is not None:
                seen._explanation = Explanation.from_dict(explained)
            seen._graphs = _graphs(listed, seen._explanation)
        elif problem:
            notes.append(problem)
    seen.notes = tuple(notes)


def _graphs(listed: Mapping[str, Any], explanation: Optional[Explanation]) -> Tuple[SeenGraph, ...]:
    told: Dict[Optional[str], LoggedGraph] = {graph.hash: graph for graph in explanation.graphs} if explanation else {}
    graphs = []
    for graph in listed.get("graphs", []):
        verdict = told.get(graph.get("hash"))
        more = {key: verdict.raw.get(key) for key in ("verdict", "root_cause", "reasons", "warnings")} if verdict else {}
        graphs.append(SeenGraph.from_dict({**graph, **more}))
    return tuple(graphs)


def _asked(command: str, *arguments: str) -> Tuple[Optional[Dict[str, Any]], str]:
    """The result of the program `attnprobe` for a log of any length, or the reason why there is none."""
    program = _service.program_path()
    try:
        run = subprocess.run([program, command, "--format", "json", *arguments], capture_output=True, check=False)
    except OSError as problem:
        raise EnvironmentProblem(f"{program} cannot be started: {problem}") from problem
    if run.returncode != 0:
        return None, run.stderr.decode(errors="replace").strip()
    document: Dict[str, Any] = json.loads(run.stdout)
    return document, ""
