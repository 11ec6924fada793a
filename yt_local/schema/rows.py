"""Row values: from YSON with their types checked, their weight, their stored form, and back to YSON."""

from __future__ import annotations

import enum
import json
import marshal
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from yt_local.schema.column_types import SIMPLE_TYPES, PhysicalType
from yt_local.schema.composite_values import completion
from yt_local.schema.keys import Row, Value
from yt_local.schema.schema import TABLET_INDEX, Column
from yt_wire import yson
from yt_wire.error import YtError
from yt_wire.yson import Yson


class Missing(enum.Enum):
    """Type of `MISSING`."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING
"""Stands in a partial row for a column the client did not name."""

SCHEMA_VIOLATION = 307

_STORAGE_VERSION = 2
"""Of marshal: without references and interning, so equal rows are equal bytes."""

_BOUNDS: Mapping[PhysicalType, tuple[int, int]] = {
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}


def data_weight(values: Sequence[Value]) -> int:
    """Data weight of a row of the stored schema; all its values, system columns included, count."""
    weight = 1
    for value in values:
        if type(value) is bytes:
            weight += len(value)
        elif value is not None:
            weight += 1 if type(value) is bool else 8
    return weight


def encode_values(values: Row) -> bytes:
    """The form rows are stored in; equal for equal rows. Values must be of the exact types of `Value`."""
    return marshal.dumps(values, _STORAGE_VERSION)


def decode_values(data: bytes) -> Row:
    """Read what `encode_values` wrote; only ever give it data of our own."""
    values = marshal.loads(data)
    assert isinstance(values, tuple)
    return values


def row_mapper(columns: Sequence[Column]) -> Callable[[Sequence[Value]], dict[str, Yson]]:
    """The function that makes maps for output of rows with these columns; make it once per result."""
    names = [column.name for column in columns]
    conversions: list[tuple[str, Callable[[Yson], Yson]]] = []
    for column in columns:
        if column.physical_type == "uint64":
            conversions.append((column.name, yson.Uint64))
        elif column.physical_type == "any":
            conversions.append((column.name, yson.loads_raw))

    def to_map(values: Sequence[Value]) -> dict[str, Yson]:
        row: dict[str, Yson] = dict(zip(names, values, strict=True))
        for name, convert in conversions:
            value = row[name]
            if value is not None:
                row[name] = convert(value)
        return row

    return to_map


def to_map(columns: Sequence[Column], values: Sequence[Value]) -> dict[str, Yson]:
    """One row for output: unsigned numbers as `Uint64`, strings as bytes, `any` parsed with all strings as bytes."""
    return row_mapper(columns)(values)


def accepted_type(column: Column) -> type[bytes] | type[bool] | type[float] | None:
    """The type every value of which fits the column as it is; None if there is no such type."""
    simple = SIMPLE_TYPES[column.type]
    match column.physical_type:
        case "string" if column.type not in _STRING_RULES:
            return bytes
        case "boolean":
            return bool
        case "double" if column.sort_order is None and simple.maximum is None:
            return float
        case _:
            return None


def takes_null(column: Column) -> bool:
    """Whether a row may leave the column out."""
    return column.name == TABLET_INDEX or not column.required


def component_parser(column: Column) -> Callable[[Yson], Value]:
    """The function that reads values of a column and lets null pass, as a component of a key."""
    return _PARSERS[column.physical_type](column)


def value_parser(column: Column) -> Callable[[Yson], Value]:
    """The function that checks values of one column: they come back as they are stored, or it raises YtError 307."""
    parse = component_parser(column)
    if takes_null(column):
        return parse

    def parse_required(value: Yson) -> Value:
        result = parse(value)
        if result is None:
            raise YtError(f'Required column "{column.name}" cannot have "null" value', SCHEMA_VIOLATION)
        return result

    return parse_required


def _integer_parser(column: Column) -> Callable[[Yson], Value]:
    physical_minimum, physical_maximum = _BOUNDS[column.physical_type]
    simple = SIMPLE_TYPES[column.type]
    minimum = physical_minimum if simple.minimum is None else int(simple.minimum)
    maximum = physical_maximum if simple.maximum is None else int(simple.maximum)

    def parse(value: Yson) -> Value:
        if type(value) is not int:
            value = _plain(column, value)
            if value is None:
                return None
            if isinstance(value, bool) or not isinstance(value, int):
                raise _mismatch(column, value)
            value = int(value)
        number: int = value
        if minimum <= number <= maximum:
            return number
        raise YtError(
            f'Value {value} of column "{column.name}" is out of range of type "{column.type}"', SCHEMA_VIOLATION
        )

    return parse


def _double_parser(column: Column) -> Callable[[Yson], Value]:
    simple = SIMPLE_TYPES[column.type]

    def parse(value: Yson) -> Value:
        if type(value) is not float:
            value = _plain(column, value)
            if value is None:
                return None
            if not isinstance(value, float):  # integers too: YTsaurus converts them only when a format asks for it
                raise _mismatch(column, value)
        if math.isnan(value) and column.sort_order is not None:
            raise YtError(f'Key column "{column.name}" cannot have NaN value', SCHEMA_VIOLATION)
        if simple.maximum is not None and math.isfinite(value) and abs(value) > simple.maximum:
            raise YtError(
                f'Value {value} of column "{column.name}" is out of range of type "{column.type}"', SCHEMA_VIOLATION
            )
        return float(value)

    return parse


def _boolean_parser(column: Column) -> Callable[[Yson], Value]:
    def parse(value: Yson) -> Value:
        if type(value) is not bool:
            value = _plain(column, value)
            if value is not None and not isinstance(value, bool):
                raise _mismatch(column, value)
        result: bool | None = value
        return result

    return parse


def _string_parser(column: Column) -> Callable[[Yson], Value]:
    validate = _STRING_RULES.get(column.type)

    def parse(value: Yson) -> Value:
        if type(value) is not bytes:
            value = _plain(column, value)
            if value is None:
                return None
            if not yson.is_string(value):
                raise _mismatch(column, value)
            value = yson.bytes_of(value)
        if validate is not None:
            try:
                validate(value)
            except (ValueError, RecursionError) as error:
                message = f'Value of column "{column.name}" is not valid for type "{column.type}"'
                raise YtError(message, SCHEMA_VIOLATION, inner_errors=[YtError(str(error))]) from error
        content: bytes = value
        return content

    return parse


def _any_parser(column: Column) -> Callable[[Yson], Value]:
    complete = None if column.composite is None else completion(column.composite)

    def parse(value: Yson) -> Value:
        value = _plain(column, value)
        if value is None:
            return None
        return yson.dumps(value if complete is None else complete(value))

    return parse


def _null_parser(column: Column) -> Callable[[Yson], Value]:
    def parse(value: Yson) -> Value:
        value = _plain(column, value)
        if value is not None:
            raise _mismatch(column, value)
        return None

    return parse


_PARSERS: Mapping[PhysicalType, Callable[[Column], Callable[[Yson], Value]]] = {
    "int64": _integer_parser,
    "uint64": _integer_parser,
    "double": _double_parser,
    "boolean": _boolean_parser,
    "string": _string_parser,
    "any": _any_parser,
    "null": _null_parser,
}


def _validate_uuid(value: bytes) -> None:
    if len(value) != 16:
        raise ValueError(f"a uuid has 16 bytes, got {len(value)}")


_STRING_RULES: Mapping[str, Callable[[bytes], object]] = {
    "utf8": bytes.decode,
    "json": json.loads,
    "uuid": _validate_uuid,
}


def _plain(column: Column, value: Yson) -> Yson:
    if yson.attributes_of(value):
        raise YtError(f'Value of column "{column.name}" cannot have top-level attributes', SCHEMA_VIOLATION)
    return yson.plain(value)


def _mismatch(column: Column, value: Yson) -> YtError:
    actual = _type_name(value)
    return YtError(
        f'Cannot write type "{actual}" into column "{column.name}" of type "{column.type}"',
        SCHEMA_VIOLATION,
        {"column": column.name, "expected_type": column.type, "actual_type": actual},
    )


def _type_name(value: Yson) -> str:
    match value:
        case bool():
            return "boolean"
        case yson.Uint64():
            return "uint64"
        case int():
            return "int64"
        case float():
            return "double"
        case list() | dict():
            return "any"
        case _:
            return "string"


def text_of_name(name: bytes) -> str:
    return name.decode(errors="backslashreplace")
