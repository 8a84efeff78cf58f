"""The functions of the module."""

from __future__ import annotations

import traceback
from typing import Any, Dict, List, Literal, Mapping, Optional, Sequence, Tuple, Union

from . import _service
from ._configs import (
    ConfigLike, FieldsLike, PathLike, TargetLike, document_of, fields_of, matrix_document, target_of, version_of, words_of,
)
from ._errors import UsageError
from ._explanation import Explanation
from ._limits import Limits
from ._records import Target
from ._report import Library, Report, merged
from ._suggest import Bug, Suggestions

Words = Union[None, str, Sequence[str]]
Mode = Literal["A", "B", "FALLBACK"]
Modes = Union[None, Mode, Sequence[Mode]]
Engines = Literal["heuristic", "all", "knobs"]
Plans = Literal["none", "first", "build", "run", "run_first", "auto"]
By = Literal["answer", "engine", "category", "all", "time"]


def probe(
    config: Optional[ConfigLike] = None,
    *,
    target: Optional[TargetLike] = None,
    cudnn: Optional[PathLike] = None,
    framework: Words = None,
    torch: Any = None,
    jax: Any = None,
    mode: Modes = None,
    engines: Optional[Engines] = None,
    plans: Optional[Plans] = None,
    quick: Optional[bool] = None,
    timeout: Optional[float] = None,
    jobs: Optional[int] = None,
    **fields: Any,
) -> Report:
    """Asks cuDNN about attention configs, on simulated or real GPUs.

    >>> report = attnprobe.probe(heads=12, seqlen=512, head_dim=64, target="l40s,h200")  # doctest: +SKIP

    config: a config (a dict), several, a document with "configs" and "defaults", or the path of a file with one of these.

    fields: fields of a config by name (``pass_`` for "pass"). They override those of ``config``; a list makes a cross product.

    target: words of --target ("RTX 4090", "h100,b200", "all", "device:0"), a list of them, or a target document.
    By default the GPUs of this machine, otherwise the representative ones.

    cudnn: an installed version ("9.14"), a folder, or a libcudnn.so.9. By default the first one found.

    framework: also checks the gates of these frameworks: "torch", "torch==2.11", ["jax", "te"], "all".

    torch, jax: a call of scaled_dot_product_attention or dot_product_attention instead of a config. It is source with the
    tensors' sizes ("F.scaled_dot_product_attention(q[2, 8, 1024, 64], …)"), or a dict. The only field allowed with it is ``dtype``, the
    type of tensors that have none (bf16 by default).

    mode: heuristic modes among "A", "B", "FALLBACK". engines: "heuristic", "all" or "knobs".

    plans: "none", "first", "build", "run", "run_first" or "auto".

    quick: if False and nothing works, tries every engine and knob, and searches for fixes.

    timeout: seconds for a config on a target. jobs: worker processes at a time.

    Raises UsageError for invalid arguments, EnvironmentProblem for a problem of the machine.
    """
    result = _service.call(
        "probe",
        **_question(config, fields, torch, jax),
        target=target_of(target),
        cudnn=version_of(cudnn),
        framework=words_of(framework, "framework"),
        mode=words_of(mode, "mode"),
        engines=engines,
        plans=plans,
        quick=quick,
        timeout=timeout,
        jobs=jobs,
    )
    return Report.from_dict(result)


def _question(config: Optional[ConfigLike], fields: Mapping[str, Any], torch: Any, jax: Any) -> Dict[str, Any]:
    """The question: exactly one of a config, a PyTorch call and a JAX call."""
    calls = [name for name, given in (("torch", torch), ("jax", jax)) if given is not None]
    if not calls:
        return {"config": document_of(config, fields)}
    others = [field for field in fields if field != "dtype"]
    if len(calls) > 1 or config is not None or others:
        beside = "jax" if len(calls) > 1 else "config" if config is not None else others[0]
        raise UsageError(f"{calls[0]}: {beside} is also given; allowed: only one of a config, torch and jax")
    return {"torch": torch, "jax": jax, "dtype": fields.get("dtype")}


def matrix(
    configs: ConfigLike,
    *,
    targets: Optional[TargetLike] = None,
    cudnns: Optional[Sequence[PathLike]] = None,
    framework: Words = None,
    quick: bool = True,
    **options: Any,
) -> Report:
    """Probes configs on many GPUs with each of many cuDNN versions, and returns one report.

    ``configs`` may name the other axes ("targets", "cudnn", "framework", "config_files"), as for ``attnprobe matrix``;
    arguments override them. ``options`` are those of :func:`probe`. For large matrices, shards and stored answers, use
    ``attnprobe matrix``.
    """
    document, axes = matrix_document(configs)
    chosen = targets if targets is not None else axes.get("targets")
    versions = [cudnns] if isinstance(cudnns, str) else cudnns if cudnns is not None else axes.get("cudnn")
    if isinstance(versions, str):
        versions = versions.split(",")
    reports: List[Report] = []
    for version in versions or [None]:
        if version == "all":
            raise UsageError('cudnns: "all" is a word of `attnprobe matrix`; allowed here: versions ("9.14"), folders, libraries')
        reports.append(
            probe(document, target=chosen, cudnn=version,
                  framework=framework if framework is not None else axes.get("framework"), quick=quick, **options)
        )
    return merged(reports)


def suggest(
    config: Optional[ConfigLike] = None,
    *,
    target: Optional[TargetLike] = None,
    cudnn: Optional[PathLike] = None,
    framework: Words = None,
    torch: Any = None,
    jax: Any = None,
    keep: Words = None,
    most: Optional[int] = None,
    most_asked: Optional[int] = None,
    timeout: Optional[float] = None,
    jobs: Optional[int] = None,
    **fields: Any,
) -> Suggestions:
    """The smallest changes, one or two, that make configs work; each is confirmed and compiled (docs/no.md).

    >>> attnprobe.suggest(heads=12, seqlen=512, head_dim=100, target="a100").only.ways_out  # doctest: +SKIP

    config, fields, target, cudnn, framework, torch, jax, timeout, jobs: as in :func:`probe`.

    keep: fields that must not change: "dtype,layout". With "cudnn" and "target", it asks no other cuDNN versions and GPUs.

    most: fixes for a config on a target, 3 by default. most_asked: questions for one config before it gives up, 400 by default.
    """
    return Suggestions.from_dict(_service.call(
        "suggest",
        **_question(config, fields, torch, jax),
        target=target_of(target),
        cudnn=version_of(cudnn),
        framework=words_of(framework, "framework"),
        keep=words_of(keep, "keep"),
        most=most,
        most_asked=most_asked,
        timeout=timeout,
        jobs=jobs,
    ))


def limits(
    field: FieldsLike,
    config: Optional[ConfigLike] = None,
    *,
    vary: FieldsLike = None,
    target: Optional[TargetLike] = None,
    cudnn: Words = None,
    framework: Words = None,
    by: Optional[By] = None,
    mode: Modes = None,
    timeout: Optional[float] = None,
    jobs: Optional[int] = None,
    **fields: Any,
) -> Limits:
    """Finds where support begins and ends along a field, with few questions (docs/no.md).

    >>> limits("head_dim", vary={"mask": ["none", "causal"], "pass": None}, target="h100,b200")  # doctest: +SKIP

    field: "head_dim", or with values, {"head_dim": range(8, 513, 8)}. Two fields make a map.

    vary: fields whose combinations are rows: their names, or a dict of their values (None: all values of a field).

    config, fields: the rest of the config. Missing heads, seqlen and head_dim are assumed (``Limits.assumed``).

    target: as in :func:`probe`, by default the representative GPUs. cudnn: versions ("9.14,9.28", a list) or "all".

    by: the property that is equal within a run: "answer", "engine", "category" or "all". With "time", it runs each point of a map on a
    GPU of this machine.
    """
    given = None if config is None and not fields else document_of(config, fields)
    return Limits.from_dict(_service.call(
        "limits",
        field=fields_of(field),
        config=given,
        vary=fields_of(vary),
        target=target_of(target),
        cudnn=words_of(cudnn, "cudnn"),
        framework=words_of(framework, "framework"),
        by=by,
        mode=words_of(mode, "mode"),
        timeout=timeout,
        jobs=jobs,
    ))


def bugs(*ids: str, target: Optional[TargetLike] = None, cudnn: Words = None, framework: Words = None) -> Tuple[Bug, ...]:
    """The known bugs, all or those with these names, that affect a cuDNN (installed or not) or a framework's cuDNN on a GPU.

    >>> [bug.id for bug in attnprobe.bugs(framework="torch==2.13", target="h100")]  # doctest: +SKIP
    """
    answer = _service.call("bugs", ids=list(ids) or None, target=target_of(target),
                           cudnn=words_of(cudnn, "cudnn"), framework=words_of(framework, "framework"))
    return tuple(Bug.from_dict(bug) for bug in answer["bugs"])


def explain(text_or_exception: Union[str, BaseException]) -> Explanation:
    """Says who refused an attention, why, and what to do, from a text or an exception; needs no cuDNN.

    Reads an exception with its traceback, causes and notes. Raises UsageError for a text without a known message.
    """
    text = _text_of(text_or_exception) if isinstance(text_or_exception, BaseException) else text_or_exception
    return Explanation.from_dict(_service.call("explain", text=text))


def _text_of(problem: BaseException) -> str:
    """The exception as Python prints it, but without source lines, because a sentence in a source line is not a message."""
    chain: List[BaseException] = []
    one: Optional[BaseException] = problem
    while one is not None and one not in chain:
        chain.insert(0, one)
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
    lines: List[str] = []
    for one in chain:
        frames = traceback.extract_tb(one.__traceback__)
        lines += [f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n' for frame in frames]
        lines += traceback.format_exception_only(type(one), one)
    return "".join(lines)


def targets() -> Tuple[Target, ...]:
    """The GPUs that can be simulated."""
    return tuple(Target.from_dict({**target, "kind": "simulated"}) for target in _service.call("targets")["targets"])


def libraries() -> Tuple[Library, ...]:
    """The cuDNN libraries on this machine, in search order."""
    return tuple(Library.from_dict(library) for library in _service.call("libraries")["libraries"])


def version() -> str:
    """The version of the library."""
    return str(_service.call("version")["version"])


def schema(of: str) -> Mapping[str, Any]:
    """The JSON Schema of a "config" or a "report"."""
    result: Mapping[str, Any] = _service.call("schema", of=of)
    return result
