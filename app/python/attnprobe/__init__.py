"""Which fused-attention graphs cuDNN supports, on which GPU, and if not, why not.

>>> import attnprobe
>>> report = attnprobe.probe(heads=12, seqlen=512, head_dim=64, target="l40s,h200")  # doctest: +SKIP
>>> print(report)  # doctest: +SKIP

The answers are those of the real cuDNN, which is asked in worker processes: a GPU need not be there, and a crash inside
cuDNN costs one answer. docs/python.md has examples.
"""

from . import jax, torch
from ._api import explain, libraries, matrix, probe, schema, targets, version
from ._errors import Cancelled, EnvironmentProblem, Error, UsageError
from ._explanation import Explanation, LoggedGraph, Refusal
from ._model import (
    Check,
    Cudnn,
    EngineConfig,
    Framework,
    Frontend,
    GateRefusal,
    Graph,
    KnownBug,
    Library,
    Mode,
    Obstacle,
    Plan,
    Reason,
    Requirement,
    Result,
    RootCause,
    Since,
    Source,
    Target,
    Usable,
)
from ._report import Report
from ._watch import Seen, watch
from ._why import Why

__all__ = [
    "Cancelled", "Check", "Cudnn", "EngineConfig", "EnvironmentProblem", "Error", "Explanation", "Framework", "Frontend",
    "GateRefusal", "Graph", "KnownBug", "Library", "LoggedGraph", "Mode", "Obstacle", "Plan", "Reason", "Refusal", "Report",
    "Requirement", "Result", "RootCause", "Seen", "Since", "Source", "Target", "UsageError", "Usable", "Why", "explain", "jax",
    "libraries", "matrix", "probe", "schema", "targets", "torch", "version", "watch",
]
