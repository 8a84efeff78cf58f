"""The result of ``explain``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Optional, Tuple

from ._document import Document
from ._html import bullets, escaped
from ._records import Frontend, KnownBug, Reason, Requirement, RootCause


@dataclass(frozen=True, repr=False)
class Refusal(Document):
    """A sentence that reports a refusal or a failure."""

    id: str = ""
    #: environment, execution, plan_compilation, cudnn_engine, cudnn_heuristics, cudnn_frontend or framework
    layer: str = ""
    who: str = ""
    headline: str = ""
    #: the sentence
    said: str = ""
    #: its line
    line: str = ""
    first_line: int = 0
    times: int = 1
    means: str = ""
    #: most likely first
    causes: Tuple[str, ...] = ()
    help: str = ""
    next: str = ""
    versions: str = ""
    source: str = ""
    #: "refusal", "general", "note", or "reading" (of facts and answers)
    kind: str = ""
    in_log: bool = False
    #: otherwise the causes are possible ones
    is_cause_known: bool = True


@dataclass(frozen=True, repr=False)
class BugInText(Document):
    """A known bug of cuDNN that fits the facts of a text. It is not proved to be the cause."""

    id: str = ""
    what: str = ""
    advice: str = ""
    versions: str = ""
    #: options of ``attnprobe`` that show it
    experiment: str = ""
    #: the facts of the text that it fits
    why: str = ""
    is_strong: bool = False

    def __str__(self) -> str:
        return f"{self.id} ({self.versions}): {self.what} {self.advice}"


@dataclass(frozen=True, repr=False)
class TextCall(Document):
    """A call in a text's source, and the answers of rules and cuDNN."""

    line: int = 0
    call: str = ""
    #: assumptions that the source leaves open
    read_as: Tuple[str, ...] = ()
    target: str = ""
    target_is_named: bool = False
    #: the framework's gate
    says: str = ""
    is_taken: bool = False
    change: str = ""
    source: str = ""
    #: who answered, and cuDNN's answer
    answered: str = ""
    #: the version that ``needs`` and ``bugs`` refer to
    cudnn: str = ""
    needs: Tuple[str, ...] = ()
    bugs: Tuple[str, ...] = ()
    framework: str = ""
    #: the value for ``--torch`` or ``--jax``
    asked: Any = None

    def __str__(self) -> str:
        return f"line {self.line}: {self.call} on {self.target}: {self.says}"


@dataclass(frozen=True, repr=False)
class OwnWords(Document):
    """The text author's own explanation of the cause, and of what works."""

    why: Tuple[str, ...] = ()
    works: Tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class LoggedGraph(Document):
    """An operation graph in a log of cuDNN."""

    number: int = 0
    description: str = ""
    hash: Optional[str] = None
    line: int = 0
    cudnn: Optional[str] = None
    device: str = ""
    sm: int = 0
    #: "works", "refused" or None
    verdict: Optional[str] = None
    root_cause: Optional[RootCause] = None
    reasons: Tuple[Reason, ...] = ()
    #: the engine configs that passed cuDNN's support check
    viable: Tuple[str, ...] = ()
    requirements: Tuple[Requirement, ...] = ()
    warnings: Tuple[KnownBug, ...] = ()
    frontend: Optional[Frontend] = None

    def __str__(self) -> str:
        text = f"{self.description}: {self.verdict or 'no verdict in the log'}"
        if self.root_cause is not None:
            text += f", {self.root_cause.category}: {self.root_cause.reason}"
        return text


@dataclass(frozen=True, repr=False)
class Explanation(Document):
    """The layer that refused, the reason and the fix. Schema ``attnprobe/explain/1``."""

    schema: str = ""
    #: the leading one first
    refusals: Tuple[Refusal, ...] = ()
    graphs: Tuple[LoggedGraph, ...] = ()
    exceptions: Tuple[str, ...] = ()
    frontend_refusals: Tuple[Mapping[str, Any], ...] = ()
    #: programs that passed the call on
    callers: Tuple[Any, ...] = ()
    #: possible known bugs of cuDNN
    bugs: Tuple[BugInText, ...] = ()
    own_words: OwnWords = OwnWords()
    #: calls in its source
    calls: Tuple[TextCall, ...] = ()
    #: other facts in the text
    told: Tuple[Any, ...] = ()
    problems: Tuple[str, ...] = ()
    advice: str = ""
    #: who answered the text's question, and the answer
    asked: str = ""
    #: the fact that would decide, if nothing is established
    missing: str = ""
    #: a command with more information
    next: str = ""

    def __str__(self) -> str:
        lines = []
        for refusal in self.refusals:
            lines += [refusal.headline, f"  it says: {refusal.line}"]
            if refusal.means:
                lines.append(f"  what it means: {refusal.means}")
            lines += [f"  {'because' if refusal.is_cause_known else 'possible'}: {cause}" for cause in refusal.causes]
            if refusal.help:
                lines.append(f"  workarounds: {refusal.help}")
        lines += [f"may be the known bug {bug}" for bug in self.bugs]
        lines += [f"graph {graph.number}: {graph}" for graph in self.graphs]
        lines += [f"the call in {call}" for call in self.calls]
        if self.next:
            lines.append(f"next: {self.next}")
        return "\n".join(lines) or "no refusal found in it"

    def _repr_html_(self) -> str:
        parts = []
        for refusal in self.refusals:
            parts.append(f"<p><b>{escaped(refusal.headline)}</b><br><code>{escaped(refusal.line)}</code><br>"
                         f"{escaped(refusal.means)}</p>" + bullets(refusal.causes))
        if self.next:
            parts.append(f"<p>next: {escaped(self.next)}</p>")
        return "".join(parts) or f"<p>{escaped(self)}</p>"
