"""Converts the arguments of Python programs to the configs, targets and versions that the service accepts."""

from __future__ import annotations

import glob
import gzip
import json
import lzma
import os
import re
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._errors import UsageError

PathLike = Union[str, "os.PathLike[str]"]
#: a config, an array of them, {"configs", "defaults"}, or the path of a file with one of these
ConfigLike = Union[Mapping[str, Any], Sequence[Mapping[str, Any]], PathLike]
#: words of --target, a target document, or several of these
TargetLike = Union[str, Mapping[str, Any], Sequence[Union[str, Mapping[str, Any]]]]

#: a field, several, or fields with their values (None: all that there are)
FieldsLike = Union[None, str, Sequence[str], Mapping[str, Optional[Sequence[Any]]]]

# A shorthand that sets several fields, which would override it.
_SETS = {"heads": ("heads_q", "heads_kv"), "seqlen": ("seqlen_q", "seqlen_kv"), "head_dim": ("head_dim_qk", "head_dim_v")}
# A string, or a comment: // to the end of the line, or /* … */.
_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)


def read_document(path: PathLike) -> Any:
    """The JSON of a file. Comments are allowed, and the file may be compressed with gzip or xz."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data = file.read()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        elif data[:6] == b"\xfd7zXZ\x00":
            data = lzma.decompress(data)
        text = data.decode("utf-8-sig")
    except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError) as problem:
        raise UsageError(f"config: {name} cannot be read: {problem}") from problem
    # Replaces comments by blanks, so that columns in messages stay right.
    plain = _STRING_OR_COMMENT.sub(
        lambda found: found.group() if found.group().startswith('"') else re.sub(r"[^\n]", " ", found.group()), text
    )
    try:
        return json.loads(plain, object_pairs_hook=lambda pairs: _no_double(pairs, name))
    except json.JSONDecodeError as problem:
        raise UsageError(f"config: {name} is not valid JSON: {problem}") from problem


def _no_double(pairs: List[Tuple[str, Any]], name: str) -> Dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        keys = [key for key, _ in pairs]
        double = next(key for key in keys if keys.count(key) > 1)
        raise UsageError(f'config: {name}: "{double}" appears twice in one object')
    return members


def document_of(config: Optional[ConfigLike], fields: Mapping[str, Any]) -> Any:
    """The config document of ``probe``'s arguments. Fields override the document, as options do."""
    fields = {"pass" if name == "pass_" else name: value for name, value in fields.items()}
    if config is None:
        if not fields:
            raise UsageError(
                "no question; give a config, fields of one (heads=12, seqlen=512, head_dim=64), torch= or jax="
            )
        return dict(fields)
    document = read_document(config) if isinstance(config, (str, os.PathLike)) else config
    if not fields:
        return document
    if isinstance(document, Mapping):
        if "configs" not in document:
            return _overruled(document, fields)
        # Defaults that a field overrides must not return.
        defaults = _overruled(document.get("defaults", {}), fields)
        return {**document, "defaults": defaults, "configs": [_overruled(one, fields) for one in document["configs"]]}
    return [_overruled(one, fields) for one in document]


def _overruled(config: Any, fields: Mapping[str, Any]) -> Any:
    if not isinstance(config, Mapping):
        return config  # the service says what is wrong with it
    gone = {name for field in fields for name in _SETS.get(field, ())}
    return {**{key: value for key, value in config.items() if key not in gone}, **fields}


def version_of(cudnn: Any, option: str = "cudnn") -> Optional[str]:
    """A version, a folder or a library, as text."""
    if cudnn is None or isinstance(cudnn, str):
        return cudnn
    if isinstance(cudnn, os.PathLike):
        return str(os.fspath(cudnn))
    if isinstance(cudnn, float):
        raise UsageError(f'{option}: {cudnn} is a number, and 9.2 equals 9.20; write "{cudnn}"')
    raise UsageError(f'{option}: {cudnn!r} is not a cuDNN; allowed: a version ("9.14"), a folder, a libcudnn.so.9')


def words_of(value: Union[None, str, Sequence[str]], option: str) -> Union[None, str, List[str]]:
    """A word, a comma-separated list or a sequence of words."""
    if value is None or isinstance(value, str):
        return value
    words = list(value)
    for word in words:
        if not isinstance(word, str):
            raise UsageError(f"{option}: {word!r} is not a text; allowed: a word, or several")
    return words


def values_of(values: Sequence[Any]) -> str:
    """A range, or several values, in the form of the service: 8:512:8, or none,causal."""
    if isinstance(values, range) and len(values) > 1:
        return f"{values[0]}:{values[-1]}:{values.step}"
    return ",".join(str(value).lower() if isinstance(value, bool) else str(value) for value in values)


def fields_of(fields: FieldsLike) -> Union[None, str, List[str]]:
    """Names of fields, with the values of a mapping; without a mapping, all values."""
    if isinstance(fields, Mapping):
        return [name if values is None else f"{name}={values_of(values)}" for name, values in fields.items()]
    return words_of(fields, "fields")


def target_of(target: Optional[TargetLike]) -> Any:
    """Targets: words of --target, documents, or paths of documents."""
    if target is None or isinstance(target, (str, Mapping)):
        return target
    if isinstance(target, os.PathLike):
        return os.fspath(target)
    return [os.fspath(one) if isinstance(one, os.PathLike) else one for one in target]


def matrix_document(configs: ConfigLike) -> Tuple[Any, Dict[str, Any]]:
    """A matrix document without its other axes, and those axes: "targets", "cudnn" and "framework" of docs/matrix.md."""
    is_file = isinstance(configs, (str, os.PathLike))
    document = read_document(configs) if isinstance(configs, (str, os.PathLike)) else configs
    if not isinstance(document, Mapping) or "configs" not in document and "config_files" not in document:
        return document, {}
    axes = {key: document[key] for key in ("targets", "cudnn", "framework") if key in document}
    rest = {key: value for key, value in document.items() if key not in axes and key != "config_files"}
    if "config_files" not in document:
        return rest, axes
    folder = os.path.dirname(os.fspath(configs)) if is_file else ""  # type: ignore[arg-type]  # is_file says what it is
    return _with_files(rest, document["config_files"], folder), axes


def _with_files(document: Dict[str, Any], patterns: Union[str, Sequence[str]], folder: str) -> List[Any]:
    configs = _configs_of(document) if "configs" in document else []
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        files = sorted(glob.glob(os.path.join(folder, pattern), recursive=True))
        if not files:
            raise UsageError(f'config_files: no file is "{os.path.join(folder, pattern)}"')
        for file in files:
            configs += _configs_of(read_document(file))
    return configs


def _configs_of(document: Any) -> List[Any]:
    """Each config separately, with the defaults of its document."""
    if isinstance(document, Mapping):
        if "configs" not in document:
            return [document]
        defaults = document.get("defaults", {})
        return [_overruled(defaults, one) if isinstance(one, Mapping) else one for one in document["configs"]]
    return list(document)
