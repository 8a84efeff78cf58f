"""A plugin of pytest: a marker that checks a config's answer, and a fixture that asks.

    @pytest.mark.attention(config="configs/llama.json", targets="h100,b200", expect="yes", cudnn="9.19")
    def test_prefill(): ...

    def test_head_dims(attention):
        assert attention(heads=12, seqlen=512, head_dim=100, target="h100").only.usable == "no"
"""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

import pytest

from . import _api
from ._errors import EnvironmentProblem, UsageError
from ._records import Result
from ._report import Report

Expectation = Union[str, Mapping[str, str]]
_WORDS = ("supported", "unsupported", "yes", "but", "no", "any")


class _Cache:
    """Caches answers, so that equal questions of one pytest run are asked once."""

    def __init__(self) -> None:
        self._reports: Dict[str, Report] = {}

    def probe(self, config: Any = None, **words: Any) -> Report:
        """Asks as attnprobe.probe does; with several `cudnn`, as attnprobe.matrix does."""
        key = json.dumps([config, words], sort_keys=True, default=str)
        if key not in self._reports:
            cudnn = words.get("cudnn")
            if isinstance(cudnn, (list, tuple)):
                rest = {name: value for name, value in words.items() if name not in ("cudnn", "target")}
                document = config if config is not None else {}
                self._reports[key] = _api.matrix(document, targets=words.get("target"), cudnns=cudnn, **rest)
            else:
                self._reports[key] = _api.probe(config, **words)
        return self._reports[key]


_cache: "pytest.StashKey[_Cache]" = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker, which --strict-markers requires."""
    config.stash[_cache] = _Cache()
    config.addinivalue_line(
        "markers",
        "attention(config=None, targets=None, expect=None, cudnn=None, framework=None, **fields): fails unless cuDNN gives the "
        "expected answer. It is yes, but, no, supported (yes or but), unsupported, any, or a dict by target with default. "
        'Default: the config\'s own "expect", or "supported" if it has none',
    )


@pytest.fixture(scope="session")
def attention(pytestconfig: pytest.Config) -> Callable[..., Report]:
    """The function attnprobe.probe; each question is asked once per run."""
    return pytestconfig.stash[_cache].probe


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Asks before the body of the test runs, but not in its setup, so that an unexpected answer is a failure, not an error."""
    for mark in item.iter_markers("attention"):
        failure = _failure_of(mark, item)
        if failure:
            pytest.fail(failure, pytrace=False)


def _failure_of(mark: pytest.Mark, item: pytest.Item) -> str:
    words = dict(mark.kwargs)
    try:
        if len(mark.args) > 1 or mark.args and "config" in words:
            raise UsageError("only a config may be given without a name; name the other arguments")
        config = mark.args[0] if mark.args else words.pop("config", None)
        expect = words.pop("expect", None)
        if "targets" in words:
            words["target"] = words.pop("targets")
        looks_further = words.get("quick") is None
        words.setdefault("quick", True)
        _check_words(expect)
        cache, config = item.config.stash[_cache], _found(config, item)
        report = cache.probe(config, **words)
        # Searching for fixes takes seconds, so it is only done if a test fails for a refusal.
        if looks_further and any(result.root_cause and not _is_met(result, expect) for result in report):
            report = cache.probe(config, **{**words, "quick": False})
    except UsageError as problem:
        return f"pytest.mark.attention: {problem}"
    except EnvironmentProblem as problem:
        return f"attention: no answer because of an environment problem: {problem}"
    return "\n".join(_text(result, expect) for result in report if not _is_met(result, expect))


def _found(config: Any, item: pytest.Item) -> Any:
    """Searches a file next to the test first, then in pytest's working directory."""
    if not isinstance(config, (str, os.PathLike)):
        return config
    beside = pathlib.Path(item.path).parent / config
    return beside if beside.exists() else config


def _check_words(expect: Optional[Expectation]) -> None:
    given: List[str] = list(expect.values()) if isinstance(expect, Mapping) else [] if expect is None else [expect]
    for word in given:
        if word not in _WORDS:
            raise UsageError(f'expect: "{word}" is not an answer; allowed: {", ".join(_WORDS)}, or a dict of these by target')


def _expected(result: Result, expect: Optional[Expectation]) -> str:
    if isinstance(expect, Mapping):
        return expect.get(result.target.id, expect.get("default", "supported"))
    return expect if expect is not None else result.expect


def _is_met(result: Result, expect: Optional[Expectation]) -> bool:
    if expect is None:
        return result.met
    word = _expected(result, expect)
    if result.usable is None:
        return False
    if word == "any":
        return result.verdict in ("supported", "unsupported")
    if word in ("supported", "unsupported"):
        return result.verdict == word
    return result.usable == word


def _text(result: Result, expect: Optional[Expectation]) -> str:
    text = f"attention: expected {_expected(result, expect)}; {result}"
    return text + (f"\n  asked again by: {result.reproduce}" if result.reproduce else "")
