"""The result of ``attnprobe.torch.why`` and ``attnprobe.jax.why`` for a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, NoReturn, Optional, Sequence, Tuple

from . import _api, _html
from ._errors import UsageError
from ._loaded import loaded_library, loaded_version
from ._behaviour import Usable
from ._records import Framework, Result, Target
from ._report import Report

_FIRST_THAT_SIMULATES = 90800


@dataclass(frozen=True)
class Why:
    """The backend for a call, why it is not cuDNN, cuDNN's answer, and what to change."""

    #: "cudnn"; another backend by its name if known ("flash", "efficient", "math", "xla"); "other" if it is
    #: only known not to be cuDNN; "none" if the call raises
    backend: str
    #: the evidence: "torch" (PyTorch was asked, with tensors on its GPU) or "rule" (the rules of its gate)
    backend_by: str
    #: the framework's gate
    gate: Framework
    #: the GPU of the question
    target: Target
    #: cuDNN's answers to the graphs of the call: forward and, if a gradient is needed, backward
    report: Report
    #: the call in the form that attnprobe reads
    call: Mapping[str, Any]
    #: the obstacles, in order
    reasons: Tuple[str, ...]
    #: what to change: by rule for the framework, probed for cuDNN
    changes: Tuple[str, ...]
    #: what was assumed
    notes: Tuple[str, ...] = ()

    @property
    def forward(self) -> Result:
        """cuDNN's answer to the forward graph."""
        return self.report[0]

    @property
    def backward(self) -> Optional[Result]:
        """cuDNN's answer to the backward graph; None if no gradient is requested."""
        return next((result for result in self.report if (result.config or {}).get("pass") == "bprop"), None)

    @property
    def cudnn_takes_it(self) -> bool:
        """Whether cuDNN itself supports every graph of the call, whatever the framework says."""
        return all(result.verdict == "supported" for result in self.report)

    @property
    def headline(self) -> str:
        """The backend, in one sentence."""
        title = self.gate.title or self.gate.framework
        by = f"{title} says" if self.backend_by == "torch" else "by rule"
        what = {
            "cudnn": "uses cuDNN" if self.cudnn_takes_it else "asks cuDNN, which refuses the call,",
            "other": "does not use cuDNN",
            "none": "raises, and uses no backend,",
        }.get(self.backend, f"uses {self.backend}, not cuDNN,")
        return f"{title} {what} on {self.target.id} ({self.target.name}), {by}"

    def to_dict(self) -> Dict[str, Any]:
        """All fields as JSON."""
        return {
            "backend": self.backend,
            "backend_by": self.backend_by,
            "gate": self.gate.to_dict(),
            "reasons": list(self.reasons),
            "changes": list(self.changes),
            "notes": list(self.notes),
            "call": dict(self.call),
            "report": self.report.to_dict(),
        }

    def __str__(self) -> str:
        lines = [self.headline]
        lines += [f"  {reason}" for reason in self.reasons]
        lines.append(f"cuDNN {self.forward.cudnn.version or ''} itself".rstrip())
        lines += [f"  {_pass_of(result)}: {_own_answer(result)}" for result in self.report]
        if self.changes:
            lines.append("what to change")
            lines += ["  - " + change.replace("\n", "\n    ") for change in self.changes]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    def __bool__(self) -> NoReturn:
        """Raises, as for Result."""
        raise TypeError('a Why is neither true nor false; ask why.backend == "cudnn" or why.cudnn_takes_it')

    def _repr_html_(self) -> str:
        headline = f"<p><b>{_html.escaped(self.headline)}</b></p>"
        return headline + _html.bullets(self.reasons) + self.report._repr_html_() + _html.bullets(self.changes)


def one_target(report: Report, option: str = "target") -> Target:
    """The GPU in a report about one call."""
    ids = dict.fromkeys(result.target.id for result in report)
    if len(ids) != 1:
        raise UsageError(f"{option}: only one GPU at a time is allowed; these are {len(ids)}: {', '.join(ids)}")
    return report[0].target


def gate_of(report: Report, framework: str) -> Framework:
    """The framework's answer, which is the same in all results."""
    for gate in report[0].frameworks:
        if gate.framework == framework:
            return gate
    return Framework(framework=framework)


def asked(framework: str, call: Mapping[str, Any], target: Any, cudnn: Any, plans: str, quick: bool) -> Report:
    """cuDNN's answers to the call, with fixes only for refusals."""
    is_simulated = not str(target).startswith("device:")
    words: Dict[str, Any] = {framework: call, "target": target, "cudnn": cudnn or loaded_cudnn(is_simulated), "plans": plans}
    report = _api.probe(quick=True, **words)
    refused = any(result.verdict == "unsupported" and not result.by_rule for result in report)
    return _api.probe(quick=False, **words) if refused and not quick else report


def reasons_of(gate: Framework, report: Report) -> Tuple[str, ...]:
    """The reasons why cuDNN does not get the call; the framework's come first, because it decides first."""
    reasons: List[str] = []
    if gate.takes in ("refused", "by_name", "not_in_call", "wrong", "unknown"):
        reasons.append(gate.text + (f"; {gate.instead}" if gate.instead else ""))
    told = []
    for result in report:
        if result.usable == Usable.BUT:
            told += [(obstacle.text, _pass_of(result)) for obstacle in result.but if obstacle.kind != "framework"]
        elif result.usable != Usable.YES:
            told.append((f"cuDNN says {result.answer}, {result.why}", _pass_of(result)))
    return (*reasons, *_by_pass(told))


def changes_of(gate: Framework, report: Report) -> Tuple[str, ...]:
    """Fixes: from the gate's rules, then probed ones, then workarounds for known bugs."""
    changes = [f"{refusal.change} (by rule)" for refusal in gate.refusals if refusal.change]
    if gate.takes == "by_name" and gate.by_name:
        changes.append(f"select cuDNN: {gate.by_name} (by rule)")
    told = []
    for result in report:
        if result.root_cause is not None:
            told += [(_marked(advice, "probed"), _pass_of(result)) for advice in result.root_cause.advice]
        told += [(_marked(bug.advice, "by rule"), _pass_of(result)) for bug in result.warnings if bug.advice]
    return (*changes, *_by_pass(told))


def _marked(advice: str, mark: str) -> str:
    """Adds the mark to an advice, before its command, which may follow on a separate line."""
    text, newline, command = advice.partition("\n")
    return f"{text} ({mark}){newline}{command}"


def _by_pass(told: Sequence[Tuple[str, str]]) -> Tuple[str, ...]:
    """Each text once, with its passes."""
    passes: Dict[str, List[str]] = {}
    for text, of in told:
        passes.setdefault(text, []).append(of)
    return tuple(f"{' and '.join(dict.fromkeys(of))}: {text}" for text, of in passes.items())


def _own_answer(result: Result) -> str:
    """cuDNN's answer, whatever the framework says."""
    others = [obstacle.text for obstacle in result.but if obstacle.kind != "framework"]
    if result.usable != Usable.BUT or others and len(others) == len(result.but):
        return result.answer + (f", {result.why}" if result.why else "")
    if others:
        return f"but, {'; '.join(others)}"
    return f"yes, {result.engine_config}" if result.engine_config is not None else "yes"


def _pass_of(result: Result) -> str:
    return "backward" if (result.config or {}).get("pass") == "bprop" else "forward"


def loaded_cudnn(is_simulated: bool) -> Optional[str]:
    """The cuDNN that this process has loaded; None if it has loaded none.

    A cuDNN before 9.8 cannot simulate a GPU. For such a cuDNN, this is the version number, and the version rules answer.
    """
    version = loaded_version()
    if is_simulated and version is not None and version < _FIRST_THAT_SIMULATES:
        return f"{version // 10000}.{version // 100 % 100}.{version % 100}"
    path = loaded_library()
    return path.rpartition("/")[0] if path else None
