"""Functions of `any` values: looking into YSON, converting and comparing it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import total_ordering
from typing import Any, Final

from yt_local.query.functions import (
    GENERIC,
    Function,
    Signature,
    check_length,
    numeric_cast,
    one_of,
    plain,
)
from yt_local.query.inference import ALL, NUMERIC, STRING
from yt_local.query.numbers import truncate
from yt_local.schema.column_types import PhysicalType
from yt_local.schema.keys import Value
from yt_wire import ypath, yson
from yt_wire.error import YtError
from yt_wire.yson import Yson

_ANY: Final = one_of("any")
_NOT_FOUND: Final = object()
_INDEX: Final = re.compile(r"[0-9]{1,18}")


@total_ordering
class Comparable:
    """A scalar inside of an `any`: only values of one type can be compared."""

    __slots__ = ("type", "value")

    def __init__(self, value_type: str, value: Any) -> None:
        self.type = value_type
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Comparable):
            return False
        self._check(other)
        return bool(self.value == other.value)

    def __lt__(self, other: Comparable) -> bool:
        self._check(other)
        return bool(self.value < other.value)

    def __hash__(self) -> int:
        return hash((self.type, self.value))

    def _check(self, other: Comparable) -> None:
        if self.type != other.type:
            raise YtError(f'Cannot compare values of types "{self.type}" and "{other.type}"')
        if self.type in ("map", "list"):
            raise YtError(f'Values of type "{self.type}" are not comparable')


def comparable(value_type: PhysicalType) -> Callable[[Any], Any]:
    """The function that makes values of this type comparable with those of `any`."""
    if value_type != "any":
        return lambda value: Comparable(value_type, value)

    def convert(data: bytes) -> Comparable | None:
        value = yson.loads_raw(data)
        return None if yson.is_null(value) else Comparable(_type_of(value), yson.plain(value))

    return convert


def _type_of(value: Yson) -> str:
    match yson.plain(value):
        case None:
            return "null"
        case bool():
            return "boolean"
        case yson.Uint64():
            return "uint64"
        case int():
            return "int64"
        case float():
            return "double"
        case dict():
            return "map"
        case list():
            return "list"
        case _:
            return "string"


def to_any(value_type: PhysicalType) -> Callable[[Any], bytes]:
    """The function that makes an `any` of values of this type."""
    if value_type == "any":
        return lambda value: value
    return lambda value: yson.dumps(_as_yson(value, value_type))


def _as_yson(value: Value, value_type: PhysicalType) -> Yson:
    if value is None:
        return None
    if value_type == "any":
        assert isinstance(value, bytes)
        return yson.loads_raw(value)
    return yson.Uint64(value) if value_type == "uint64" else value


def _cannot_convert(value: Any, target: str) -> YtError:
    words = yson.dumps(value, "text").decode("utf-8", "replace")
    return YtError(f'Cannot convert value "{words}" of type "any" to "{target}"')


def _number_of(target: PhysicalType) -> Callable[[Sequence[PhysicalType]], Callable[..., Value]]:
    def make(types: Sequence[PhysicalType]) -> Callable[..., Value]:
        cast = numeric_cast(target)
        if types[0] != "any":
            return cast

        def convert(data: bytes) -> Value:
            value = yson.loads_raw(data)
            if yson.is_null(value):
                return None
            if _type_of(value) not in ("int64", "uint64", "double"):
                raise _cannot_convert(value, target)
            return cast(yson.plain(value))

        return convert

    return make


def _scalar_of(target: PhysicalType) -> Callable[[Sequence[PhysicalType]], Callable[..., Value]]:
    def make(types: Sequence[PhysicalType]) -> Callable[..., Value]:
        if types[0] != "any":
            return bool if target == "boolean" else lambda value: value

        def convert(data: bytes) -> Value:
            value = yson.loads_raw(data)
            if yson.is_null(value):
                return None
            if _type_of(value) != target:
                raise _cannot_convert(value, target)
            plain_value: Value = yson.plain(value)
            return plain_value

        return convert

    return make


def _parse_number(target: PhysicalType) -> Callable[[bytes], Value]:
    def parse(text: bytes) -> Value:
        value = yson.plain(yson.loads_raw(text)) if text.strip() else None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            words = text.decode("utf-8", "replace")
            raise YtError(f'Cannot convert value "{words}" of type "string" to "{target}"')
        return float(value) if target == "double" else truncate(value, target)

    return parse


def _find(data: bytes, path: bytes) -> Any:
    value: Any = yson.loads_raw(data)
    attributes: Any = None
    tokens = ypath.tokenize(path.decode("utf-8", "surrogateescape"))
    for token in tokens:
        if token == "/":
            continue
        if token == "@":
            attributes = yson.attributes_of(value)
            value = attributes
            continue
        literal = ypath.unescape_literal(token)
        if isinstance(value, dict):
            value = value.get(literal.encode("utf-8", "surrogateescape"), _NOT_FOUND)
        elif isinstance(value, list) and _INDEX.fullmatch(literal) and int(literal) < len(value):
            value = value[int(literal)]
        else:
            return _NOT_FOUND
        if value is _NOT_FOUND:
            return _NOT_FOUND
    return value


def _get(target: PhysicalType, *, is_strict: bool) -> Callable[[bytes, bytes], Value]:
    def get(data: bytes, path: bytes) -> Value:
        value = _find(data, path)
        if value is not _NOT_FOUND:
            if target == "any":
                return yson.dumps(value)
            if _type_of(value) == target:
                plain_value: Value = yson.plain(value)
                return plain_value
        if is_strict:
            words = path.decode("utf-8", "replace")
            raise YtError(f'Value of type "{target}" is not found at YPath {words}')
        return None

    return get


def _list_contains(types: Sequence[PhysicalType]) -> Callable[..., Value]:
    wanted_type = types[1]

    def contains(data: bytes, wanted: Value) -> bool:
        return any(_type_of(item) == wanted_type and yson.plain(item) == wanted for item in _list_of(data))

    return contains


def _list_of(data: bytes) -> list[Yson]:
    value = yson.loads_raw(data)
    if not isinstance(value, list):
        raise YtError(f'Invalid node type: expected "list", actual "{_type_of(value)}"')
    return value


def _have_intersection(left: bytes, right: bytes) -> bool:
    members = {(_type_of(item), yson.dumps(yson.plain(item))) for item in _list_of(left)}
    return any((_type_of(item), yson.dumps(yson.plain(item))) in members for item in _list_of(right))


def _length(data: bytes) -> int:
    value = yson.loads_raw(data)
    if not isinstance(value, (list, dict)):
        raise YtError(f"YSON List or Map expected, but got {_type_of(value).capitalize()}")
    return len(value)


def _make_list(types: Sequence[PhysicalType]) -> Callable[..., Value]:
    def make(*values: Value) -> Value:
        check_length(sum(len(value) for value in values if isinstance(value, bytes)))
        return yson.dumps([_as_yson(*item) for item in zip(values, types, strict=True)])

    return make


def _make_map(types: Sequence[PhysicalType]) -> Callable[..., Value]:
    if len(types) % 2:
        raise YtError('"make_map" takes a even number of arguments')

    def make(*values: Value) -> Value:
        check_length(sum(len(value) for value in values if isinstance(value, bytes)))
        result: dict[Value, Yson] = {}
        for index in range(0, len(values), 2):
            if types[index] != "string" or values[index] is None:
                raise YtError(f'Invalid type of key in key-value pair #{index // 2}: expected "string"')
            result[values[index]] = _as_yson(values[index + 1], types[index + 1])
        return yson.dumps(result)

    return make


def _numeric_to_string(types: Sequence[PhysicalType]) -> Callable[..., Value]:
    return lambda value: yson.dumps(_as_yson(value, types[0]), "text")


def _in_text(data: bytes) -> bytes:
    return yson.dumps(yson.loads_raw(data), "text")


def _typed(parameters: Sequence[Any], result: PhysicalType, make: Any, *, takes_null: bool = False) -> Function:
    return Function(Signature(tuple(parameters), result), make, takes_null)


_SCALARS = one_of("int64", "uint64", "double", "boolean", "string")
_ITEMS = _SCALARS | _ANY

_GET: dict[str, Function] = {
    f"{prefix}get_{target}": plain((_ANY, STRING), target, _get(target, is_strict=not prefix))
    for prefix in ("try_", "")
    for target in ("int64", "uint64", "double", "boolean", "string", "any")
}

YSON: Mapping[str, Function] = {
    **_GET,
    "int64": _typed((NUMERIC | _ANY,), "int64", _number_of("int64")),
    "uint64": _typed((NUMERIC | _ANY,), "uint64", _number_of("uint64")),
    "double": _typed((NUMERIC | _ANY,), "double", _number_of("double")),
    "boolean": _typed((one_of("int64", "uint64", "boolean", "any"),), "boolean", _scalar_of("boolean")),
    "string": _typed((one_of("string", "any"),), "string", _scalar_of("string")),
    "to_any": Function(Signature((GENERIC,), "any", generic=ALL), lambda types: to_any(types[0])),
    "yson_string_to_any": plain((STRING,), "any", lambda text: yson.dumps(yson.loads_raw(text))),
    "any_to_yson_string": plain((_ANY,), "string", _in_text),
    "yson_length": plain((_ANY,), "int64", _length),
    "list_contains": _typed((_ANY, _SCALARS), "boolean", _list_contains),
    "list_has_intersection": plain((_ANY, _ANY), "boolean", _have_intersection),
    "make_list": Function(Signature((), "any", repeated=_ITEMS), _make_list, takes_null=True),
    "make_map": Function(Signature((), "any", repeated=_ITEMS), _make_map, takes_null=True),
    "make_entity": plain((), "any", lambda: None),
    "numeric_to_string": _typed((NUMERIC,), "string", _numeric_to_string),
    "parse_int64": plain((STRING,), "int64", _parse_number("int64")),
    "parse_uint64": plain((STRING,), "uint64", _parse_number("uint64")),
    "parse_double": plain((STRING,), "double", _parse_number("double")),
}
"""By lower-case name."""
