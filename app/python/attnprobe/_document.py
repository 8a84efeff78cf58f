"""Frozen dataclasses from JSON: known keys become typed fields, and ``raw`` has the whole object."""

from __future__ import annotations

import copy
import dataclasses
import enum
import typing
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence, Tuple, Type, TypeVar, Union, overload

from ._errors import UsageError

D = TypeVar("D", bound="Document")
E = TypeVar("E", bound="Document")
_Converter = Callable[[Any], Any]
_converters: Dict[type, List[Tuple[str, str, _Converter]]] = {}


@dataclasses.dataclass(frozen=True, repr=False)
class Document:
    """A JSON object. Missing fields get their default, because an older library may not write all fields."""

    #: the object as it came, with the keys that this version of the module does not know
    raw: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_dict(cls: Type[D], data: Mapping[str, Any]) -> D:
        """Creates the document from a JSON object; the inverse of :meth:`to_dict`."""
        values = {}
        for name, key, convert in _plan(cls):
            if key in data:
                value = data[key]
                # null counts as absent; an Optional field has None as its default.
                if value is not None:
                    values[name] = convert(value)
        return cls(raw=data, **values)

    def __repr__(self) -> str:
        """One line: the document's own text, otherwise its short fields that differ from the default."""
        if type(self).__str__ is not object.__str__:
            return f"<{type(self).__name__}: {(str(self).splitlines() or [''])[0]}>"
        told = [f"{name}={value!r}" for name, _, _ in _plan(type(self))
                if isinstance(value := getattr(self, name), (str, int, float)) and value]
        return f"<{type(self).__name__}: {', '.join(told)}>"

    def to_dict(self) -> Dict[str, Any]:
        """The JSON object, as a copy that you may change."""
        return copy.deepcopy(dict(self.raw))


class Several(Sequence[E]):
    """A document that is a sequence of its ``results``. Not a dataclass, which Python 3.9 does not allow with a subscripted base."""

    results: Tuple[E, ...]

    @overload
    def __getitem__(self, index: int) -> E: ...

    @overload
    def __getitem__(self, index: slice) -> Tuple[E, ...]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[E, Tuple[E, ...]]:
        return self.results[index]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.results)} result{'' if len(self.results) == 1 else 's'}>"

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[E]:
        return iter(self.results)

    @property
    def only(self) -> E:
        """The only result."""
        if len(self.results) != 1:
            raise UsageError(f"only: there are {len(self.results)} results; allowed: one")
        return self.results[0]


def _plan(cls: type) -> List[Tuple[str, str, _Converter]]:
    """The fields with their JSON keys and converters, computed once per class."""
    plan = _converters.get(cls)
    if plan is None:
        hints = typing.get_type_hints(cls)
        plan = [
            (field.name, field.metadata.get("key", field.name), _converter(hints[field.name]))
            for field in dataclasses.fields(typing.cast(Any, cls))
            if field.name != "raw"
        ]
        _converters[cls] = plan
    return plan


def _same(value: Any) -> Any:
    return value


def _converter(hint: Any) -> _Converter:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union:
        return _converter(next(argument for argument in arguments if argument is not type(None)))
    if origin is tuple:
        element = _converter(arguments[0])
        return tuple if element is _same else lambda values: tuple(element(value) for value in values)
    if isinstance(hint, type):
        if issubclass(hint, Document):
            return hint.from_dict
        if issubclass(hint, enum.Enum):
            # An unknown word, from a later library, stays a string.
            words = {member.value: member for member in hint}
            return lambda value: words.get(value, value)
    return _same
