"""Single values between YSON and Python, for columns that need more than a look at their bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from typing import Any, Final, TypeAlias
from uuid import UUID

from queue_agent.spark.errors import ColumnError
from queue_agent.spark.options import TypeOptions
from queue_agent.spark.types import Column, TypeV3, members_of, strip_optional
from yt_wire import yson

Convert: TypeAlias = Callable[[Any], Any]

MICROSECONDS: Final = 1_000_000

_INT64_MAX: Final = 2**63 - 1

_DECIMALS: Final = Context(prec=80)


def reader_of(column: Column, options: TypeOptions) -> Convert:
    """What makes a value that Arrow takes of one that is not null; strings in it are bytes."""
    if column.type_v3 == "yson" or (column.is_composite and not options.parsing_type_v3):
        return _json_of if options.any_as_json else yson.dumps
    return _reader(column.type_v3, options)


def _reader(type_v3: TypeV3, options: TypeOptions) -> Convert:
    if isinstance(type_v3, str):
        match type_v3:
            case "yson":
                return _json_of if options.any_as_json else yson.dumps
            case "uint64":
                return _checked_long if options.uint64_as == "long" else Decimal
            case "datetime" | "datetime64":
                return lambda seconds: seconds * MICROSECONDS
            case "uuid":
                return uuid_text
        return _as_is
    match type_v3["type_name"]:
        case "decimal":
            scale = int(type_v3["scale"])
            return lambda data: decimal_of(data, scale)
        case "list":
            item = _optional_reader(type_v3["item"], options)
            return lambda values: [item(value) for value in values]
        case "dict":
            key = _optional_reader(type_v3["key"], options)
            value = _optional_reader(type_v3["value"], options)
            return lambda pairs: [(key(first), value(second)) for first, second in pairs]
        case "struct" | "tuple":
            return _struct_reader([(name, _optional_reader(item, options)) for name, item in members_of(type_v3)])
        case _:
            return _variant_reader([(name, _optional_reader(item, options)) for name, item in members_of(type_v3)])


def _optional_reader(type_v3: Any, options: TypeOptions) -> Convert:
    inner, _ = strip_optional(type_v3)
    read = _reader(inner, options)
    return lambda value: None if yson.is_null(value) else read(value)


def _struct_reader(members: list[tuple[str, Convert]]) -> Convert:
    keys = [name.encode() for name, _ in members]

    def read(value: Any) -> dict[str, Any]:
        # By position, or by name where the cluster writes it so.
        values = [value.get(key) for key in keys] if isinstance(value, dict) else list(value)
        values += [None] * (len(members) - len(values))
        return {name: convert(item) for (name, convert), item in zip(members, values, strict=False)}

    return read


def _variant_reader(members: list[tuple[str, Convert]]) -> Convert:
    positions = {name.encode(): index for index, (name, _) in enumerate(members)}

    def read(value: Any) -> dict[str, Any]:
        tag, item = value
        name, convert = members[tag if isinstance(tag, int) else positions[tag]]
        return {f"_v{name}": convert(item)}

    return read


def _as_is(value: Any) -> Any:
    return value


def _checked_long(value: int) -> int:
    if value > _INT64_MAX:
        raise ColumnError(f"{value} does not fit Spark's long; uint64_as=decimal can hold it")
    return int(value)


def uuid_text(data: bytes) -> str:
    """Sixteen bytes as people write them."""
    return str(UUID(bytes=data))


def uuid_bytes(text: str) -> bytes:
    """The reverse."""
    return UUID(text).bytes


def decimal_of(data: bytes, scale: int) -> Decimal:
    """A decimal as YTsaurus stores it: big-endian, the sign bit flipped."""
    number = int.from_bytes(data, "big") - (1 << 8 * len(data) - 1)
    return Decimal(number).scaleb(-scale, _DECIMALS)


def decimal_bytes(value: Decimal, precision: int, scale: int) -> bytes:
    """The reverse; the length follows from the precision."""
    length = next(size for size, digits in ((4, 9), (8, 18), (16, 38)) if precision <= digits)
    number = int(value.scaleb(scale, _DECIMALS).to_integral_value(context=_DECIMALS))
    return (number + (1 << 8 * length - 1)).to_bytes(length, "big")


def _json_of(value: Any) -> str:
    """A value as JSON; bytes that are no text stand as the code points of the same numbers."""
    return json.dumps(_jsonable(value), ensure_ascii=False)


def _jsonable(value: Any) -> Any:
    attributes = yson.attributes_of(value)
    if attributes:
        return {"$attributes": _jsonable(attributes), "$value": _jsonable(yson.plain(value))}
    if yson.is_null(value):
        return None
    if yson.is_string(value):
        return _text(yson.bytes_of(value))
    if isinstance(value, Mapping):
        return {_text(yson.bytes_of(key)): _jsonable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_jsonable(item) for item in value]
    return yson.plain(value)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")
