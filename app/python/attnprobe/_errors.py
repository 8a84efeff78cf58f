"""The exceptions of attnprobe."""

from __future__ import annotations

from typing import Any, Mapping, Optional

CANCELLED = -32800


class Error(Exception):
    """An error that kept attnprobe from answering. If cuDNN refuses, crashes or hangs, that is an answer, not an error.

    ``str(error)`` names the argument, its value and the allowed values.
    """

    #: "usage", "environment" or "internal"
    kind = "internal"

    def __init__(self, message: str, *, code: Optional[int] = None) -> None:
        super().__init__(message)
        #: of JSON-RPC, if the service returned it
        self.code = code


class UsageError(Error, ValueError):
    """A config, a target, a call or an option is invalid."""

    kind = "usage"


class EnvironmentProblem(Error):
    """Environment problem: cuDNN, the packaged library or program, or memory is missing. It says nothing about the graph."""

    kind = "environment"


class Cancelled(Error):
    """The call was cancelled before it had an answer."""


def error_of(answer: Mapping[str, Any]) -> Error:
    """The exception for the member ``error`` of an answer."""
    # The place is relative to the parameters of the request, which a Python caller does not know.
    message, code = str(answer.get("message", "")).removeprefix("params/"), answer.get("code")
    data = answer.get("data")
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if code == CANCELLED:
        return Cancelled(message, code=code)
    for known in (UsageError, EnvironmentProblem):
        if kind == known.kind:
            return known(message, code=code)
    return Error(message, code=code)
