"""Which fused-attention graphs cuDNN supports, on which GPU, and if not, why not.

>>> import attnprobe
>>> report = attnprobe.probe(heads=12, seqlen=512, head_dim=64, target="l40s,h200")  # doctest: +SKIP
>>> print(report)  # doctest: +SKIP

The answers are those of the real cuDNN, which is asked in worker processes: a GPU need not be there, and a crash inside
cuDNN costs one answer. docs/python.md has examples.
"""

from __future__ import annotations

TYPE_CHECKING = False  # of type checkers' own: importing typing takes 5 ms, which every `attnprobe` command would pay
if TYPE_CHECKING:
    from typing import Any, List

    from . import jax, torch
    from ._api import bugs, explain, libraries, limits, matrix, probe, schema, suggest, targets, version
    from ._behaviour import Usable
    from ._errors import Cancelled, EnvironmentProblem, Error, UsageError
    from ._explanation import BugInText, Explanation, LoggedGraph, OwnWords, Refusal, TextCall
    from ._limits import Edge, Limits, LimitsLine, LimitsRow, Run, Time, Value
    from ._records import (
        Check, Cudnn, EngineConfig, Framework, Frontend, GateRefusal, Graph, KnownBug, Mode, Obstacle,
        Plan, Reason, Requirement, Result, RootCause, Since, Source, Target, WayOut,
    )
    from ._report import Library, Report
    from ._suggest import Bug, Sighting, Suggestion, Suggestions
    from ._watch import Executed, Seen, SeenGraph, watch
    from ._why import Why

    __version__: str

# Where a name comes from; nothing is imported before it is asked for.
_WORDS = {
    "_api": "bugs explain libraries limits matrix probe schema suggest targets version",
    "_behaviour": "Usable",
    "_errors": "Cancelled EnvironmentProblem Error UsageError",
    "_explanation": "BugInText Explanation LoggedGraph OwnWords Refusal TextCall",
    "_limits": "Edge Limits LimitsLine LimitsRow Run Time Value",
    "_records": "Check Cudnn EngineConfig Framework Frontend GateRefusal Graph KnownBug Mode Obstacle Plan "
    "Reason Requirement Result RootCause Since Source Target WayOut",
    "_report": "Library Report",
    "_suggest": "Bug Sighting Suggestion Suggestions",
    "_watch": "Executed Seen SeenGraph watch",
    "_why": "Why",
}
_MODULES = {name: module for module, words in _WORDS.items() for name in words.split()}

__all__ = [
    "Bug", "BugInText", "Cancelled", "Check", "Cudnn", "Edge", "EngineConfig", "EnvironmentProblem", "Error", "Executed",
    "Explanation", "Framework", "Frontend", "GateRefusal", "Graph", "KnownBug", "Library", "Limits", "LimitsLine",
    "LimitsRow", "LoggedGraph", "Mode", "Obstacle", "OwnWords", "Plan", "Reason", "Refusal", "Report", "Requirement", "Result",
    "RootCause", "Run", "Seen", "SeenGraph", "Sighting", "Since", "Source", "Suggestion", "Suggestions", "Target",
    "TextCall", "Time", "Usable", "UsageError", "Value", "WayOut", "Why", "__version__", "bugs", "explain", "jax", "libraries",
    "limits", "matrix", "probe", "schema", "suggest", "targets", "torch", "version", "watch",
]


if not TYPE_CHECKING:  # which would take any name for a known one

    def __getattr__(name: str):
        from importlib import import_module

        if name == "__version__":
            from importlib.metadata import version as version_of_package  # 30 ms, which no command should pay

            return version_of_package("attnprobe")
        if name in ("jax", "torch"):
            return import_module(f".{name}", __name__)
        if name in _MODULES:
            value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
            globals()[name] = value
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> "List[str]":
    return sorted(__all__)
