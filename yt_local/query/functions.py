"""Functions of queries: the types they take, and what they compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from yt_local.base.turns import give_way
from yt_local.query.inference import ALL, STRING, TypeSet
from yt_local.query.numbers import truncate
from yt_local.schema.column_types import PhysicalType
from yt_local.schema.keys import Value
from yt_wire import farm_hash
from yt_wire.error import YtError

GENERIC: Final = "generic"
"""Stands for the one type that all arguments marked so have, and perhaps the result."""

MAX_STRING_BYTES: Final = 2**24
"""Of one value, as on a real cluster: functions of functions make short queries into long values."""

_LONG_BYTES: Final = 2**16
"""Others may have their turn before as much is copied."""

Parameter: TypeAlias = TypeSet | Literal["generic"]


@dataclass(frozen=True, slots=True)
class Signature:
    """Types of arguments and of the result."""

    parameters: tuple[Parameter, ...]
    result: PhysicalType | Literal["generic"]
    repeated: Parameter | None = None
    """Of any number of further arguments."""
    generic: TypeSet = ALL
    """What the generic type may be."""


@dataclass(frozen=True, slots=True)
class Function:
    """One by its signature."""

    signature: Signature
    make: Callable[[Sequence[PhysicalType]], Callable[..., Value]]
    """The function for arguments of these types."""
    takes_null: bool = False
    """Called for null arguments too; otherwise it is null if any of them is."""


def one_of(*types: PhysicalType) -> TypeSet:
    """A parameter of these types."""
    return frozenset(types)


def plain(
    parameters: Sequence[Parameter],
    result: PhysicalType | Literal["generic"],
    function: Callable[..., Any],
    *,
    repeated: Parameter | None = None,
    takes_null: bool = False,
) -> Function:
    """A function that does the same for all types."""
    return Function(Signature(tuple(parameters), result, repeated), lambda _: function, takes_null)


def _fingerprint(value: Value) -> int:
    if isinstance(value, bytes):
        return farm_hash.fingerprint(value)
    assert value is None or isinstance(value, int)
    return farm_hash.fingerprint_of_number(value or 0)


def _farm_hash(*values: Value) -> int:
    return farm_hash.combine(_fingerprint(value) for value in values)


def _greatest(*values: Any) -> Value:
    present = [value for value in values if value is not None]
    return max(present, default=None)


def _first_present(value: Value, otherwise: Value) -> Value:
    return otherwise if value is None else value


def _format_guid(first: int, second: int) -> bytes:
    parts = (second >> 32, second & 0xFFFFFFFF, first >> 32, first & 0xFFFFFFFF)
    return "-".join(f"{part:x}" for part in parts).encode()


def concatenated(left: bytes, right: bytes) -> bytes:
    """Both, one behind the other; YtError if that is too long."""
    check_length(len(left) + len(right))
    return left + right


def check_length(length: int) -> None:
    """YtError if a string of so many bytes is too long for a value."""
    if length > MAX_STRING_BYTES:
        raise YtError(f'Value of type "string" is too long: length {length}, limit {MAX_STRING_BYTES}')
    if length > _LONG_BYTES:
        give_way()


_ORDERED: TypeSet = one_of("int64", "uint64", "double", "boolean", "string")

GENERAL: Mapping[str, Function] = {
    "if_null": plain((GENERIC, GENERIC), GENERIC, _first_present, takes_null=True),
    "greatest": Function(
        Signature((GENERIC,), GENERIC, GENERIC, generic=_ORDERED), lambda _: _greatest, takes_null=True
    ),
    "farm_hash": plain(
        (), "uint64", _farm_hash, repeated=one_of("int64", "uint64", "boolean", "string"), takes_null=True
    ),
    "format_guid": plain((one_of("uint64"), one_of("uint64")), "string", _format_guid),
    "is_prefix": plain((STRING, STRING), "boolean", lambda prefix, text: text.startswith(prefix)),
    "is_substr": plain((STRING, STRING), "boolean", lambda part, text: part in text),
    "length": plain((STRING,), "int64", len),
    "concat": plain((STRING, STRING), "string", concatenated),
}
"""By lower-case name."""


def numeric_cast(target: PhysicalType) -> Callable[[Value], Value]:
    """The function that makes a number of another one."""

    def cast(value: Value) -> Value:
        assert isinstance(value, (int, float))
        return float(value) if target == "double" else truncate(value, target)

    return cast
