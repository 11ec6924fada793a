"""Rows of a frame, as Arrow, to rows that a cluster takes, as binary YSON."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from queue_agent.spark.errors import ColumnError
from queue_agent.spark.types import SYSTEM_COLUMNS, Column, TypeV3, members_of, strip_optional
from queue_agent.spark.values import MICROSECONDS, Convert, decimal_bytes, uuid_bytes
from yt_wire import yson
from yt_wire.error import YtError

TABLET_CHOICE: Final = "$tablet_index"
"""Not a column of an ordered table, but it says which partition a row goes to."""

_INTEGERS: Final = (ByteType, ShortType, IntegerType, LongType)
_TIMES: Final = (TimestampType, TimestampNTZType)
_UNSIGNED: Final = ("uint8", "uint16", "uint32", "uint64", "date", "datetime", "timestamp")
_SIGNED: Final = ("int8", "int16", "int32", "int64", "interval", "interval64", "date32", "datetime64", "timestamp64")
_DATES: Final = ("date", "date32")
_SECONDS: Final = ("datetime", "datetime64")
_MICROSECONDS: Final = ("timestamp", "timestamp64")
_TEXT: Final = ("string", "utf8", "json")

_EPOCH: Final = date(1970, 1, 1)
_EPOCH_INSTANT: Final = datetime(1970, 1, 1, tzinfo=UTC)


class RowEncoder:
    """Turns batches to rows of a table; made on the driver, where it checks, and used in executors.

    Args:
        schema: of the frame.
        columns: of the table.
        is_queue: whether it is an ordered dynamic table, whose system columns the cluster fills.
        write_type_v3: whether composite values may go to composite columns.
        dropped: columns of the frame that are not written if the table lacks them.

    Raises:
        ColumnError: the table lacks a column, the frame lacks one that must be there, or types do not go together.
    """

    def __init__(
        self,
        schema: StructType,
        columns: Sequence[Column],
        *,
        is_queue: bool,
        write_type_v3: bool,
        dropped: Collection[str] = (),
    ) -> None:
        self._schema = schema
        self._columns = columns
        self._is_queue = is_queue
        self._write_type_v3 = write_type_v3
        self._dropped = dropped
        self._converters()

    def encode(self, batch: pa.RecordBatch) -> bytes:
        """Rows of a batch as a list fragment; ColumnError names the column of a value that cannot be written."""
        names, columns = [], []
        for name, position, convert in self._converters():
            names.append(name)
            columns.append(_converted(name, _values(batch.column(position)), convert))
        return yson.dumps_rows([dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)])

    def _converters(self) -> list[tuple[str, int, Convert]]:
        """For every column that is written: its name, its place in the frame, and how values are converted.

        They are created for every batch, as functions that are made on the spot cannot be pickled.
        """
        by_name = {column.spark_name: column for column in self._columns}
        converters: list[tuple[str, int, Convert]] = []
        for position, field in enumerate(self._schema.fields):
            column = by_name.get(field.name)
            if self._is_queue and field.name == TABLET_CHOICE:
                converters.append((TABLET_CHOICE, position, int))
            elif self._is_queue and field.name in SYSTEM_COLUMNS:
                continue  # filled by the cluster
            elif column is not None:
                converters.append((column.name, position, self._converter(field.dataType, column)))
            elif field.name not in self._dropped:
                raise ColumnError(f'column "{field.name}" is not in the table, whose columns are {list(by_name)}')
        written = {name for name, _, _ in converters}
        for column in self._columns:
            if column.name in written or column.name in SYSTEM_COLUMNS:
                continue
            if column.sort_order is not None or column.required:
                kind = "key" if column.sort_order is not None else "required"
                raise ColumnError(f'the {kind} column "{column.name}" of the table is not in the frame')
        return converters

    def _converter(self, data_type: DataType, column: Column) -> Convert:
        composite = isinstance(data_type, (ArrayType, MapType, StructType))
        if composite and column.is_composite and not self._write_type_v3:
            raise ColumnError(f'column "{column.name}" is composite; write_type_v3=true writes to such columns')
        convert = converter_of(data_type, column.type_v3)
        if convert is None:
            raise ColumnError(
                f'column "{column.name}": {data_type.simpleString()} cannot be written to {_name(column.type_v3)}'
            )
        return convert


def rebatched(batches: Iterator[pa.RecordBatch], row_count: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of exactly so many, but for the last."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        rest = batch
        while count + rest.num_rows >= row_count:
            head = row_count - count
            yield _joined([*waiting, rest.slice(0, head)])
            rest = rest.slice(head)
            waiting, count = [], 0
        if rest.num_rows:
            waiting.append(rest)
            count += rest.num_rows
    if waiting:
        yield _joined(waiting)


def gathered(batches: Iterator[pa.RecordBatch], row_count: int, byte_count: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches that are full once they have so many rows, or so many bytes in memory."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= row_count or sum(one.nbytes for one in waiting) >= byte_count:
            yield _joined(waiting)
            waiting = []
    if waiting:
        yield _joined(waiting)


def converter_of(data_type: DataType, type_v3: TypeV3) -> Convert | None:
    """How a value that is not null is written to a type; None if it cannot be."""
    if type_v3 == "yson":
        return yson.loads_raw if isinstance(data_type, BinaryType) else _to_any
    if not isinstance(type_v3, str):
        return _composite_converter(data_type, type_v3)
    match data_type:
        case NullType():
            return _as_is
        case BooleanType() if type_v3 == "bool":
            return _as_is
        case FloatType() | DoubleType() if type_v3 in ("float", "double"):
            return _as_is
        case StringType() | BinaryType() if type_v3 in _TEXT:
            return _as_is
        case StringType() if type_v3 == "uuid":
            return lambda data: uuid_bytes(_text(data))
        case DecimalType() if data_type.scale == 0 and type_v3 in ("uint64", "int64"):
            return _to_unsigned if type_v3 == "uint64" else int
        case DateType() if type_v3 in _DATES:
            return _to_unsigned if type_v3 == "date" else _as_is
        case TimestampType() | TimestampNTZType() if type_v3 in _SECONDS:
            return _to_unsigned_seconds if type_v3 == "datetime" else _to_seconds
        case TimestampType() | TimestampNTZType() if type_v3 in _MICROSECONDS:
            return _to_unsigned if type_v3 == "timestamp" else _as_is
        case _ if isinstance(data_type, _INTEGERS):
            if type_v3 in ("float", "double"):
                return float
            return _to_unsigned if type_v3 in _UNSIGNED else _as_is if type_v3 in _SIGNED else None
    return None


def _composite_converter(data_type: DataType, type_v3: Any) -> Convert | None:
    kind = type_v3["type_name"]
    match data_type:
        case NullType():
            return _as_is
        case BinaryType() if kind != "decimal":
            return yson.loads_raw
        case DecimalType() if kind == "decimal" and data_type.scale == type_v3["scale"]:
            return _decimal_converter(int(type_v3["precision"]), int(type_v3["scale"]))
        case ArrayType() if kind == "list":
            item = _inner(data_type.elementType, type_v3["item"])
            return item and (lambda values: [item(value) for value in values])
        case MapType() if kind == "dict":
            key, value = _inner(data_type.keyType, type_v3["key"]), _inner(data_type.valueType, type_v3["value"])
            return key and value and (lambda pairs: [[key(first), value(second)] for first, second in pairs])
        case StructType() if kind in ("struct", "tuple"):
            return _struct_converter(data_type, type_v3)
        case StructType() if kind == "variant":
            return _variant_converter(data_type, type_v3)
    return None


def _inner(data_type: DataType, type_v3: Any) -> Convert | None:
    convert = converter_of(data_type, strip_optional(type_v3)[0])
    if convert is None:
        return None
    if isinstance(data_type, DateType):
        # Inside of composite values Arrow gives dates and times as Python's own.
        return lambda value: None if value is None else convert((value - _EPOCH).days)
    if isinstance(data_type, _TIMES):
        return lambda value: None if value is None else convert(_microseconds(value))
    return lambda value: None if value is None else convert(value)


def _struct_converter(data_type: StructType, type_v3: Any) -> Convert | None:
    fields = {field.name: field.dataType for field in data_type.fields}
    members = [(name, _inner(fields[name], item)) for name, item in members_of(type_v3) if name in fields]
    if len(members) < len(fields) or len(members) < len(members_of(type_v3)):
        return None
    if any(convert is None for _, convert in members):
        return None
    return lambda value: [convert(value[name]) for name, convert in members if convert]


def _variant_converter(data_type: StructType, type_v3: Any) -> Convert | None:
    fields = {field.name: field.dataType for field in data_type.fields}
    by_position = type_v3.get("members") is None
    alternatives: list[tuple[str, Any, Convert]] = []
    for index, (name, item) in enumerate(members_of(type_v3)):
        convert = _inner(fields[f"_v{name}"], item) if f"_v{name}" in fields else None
        if convert is None:
            return None
        alternatives.append((f"_v{name}", index if by_position else name, convert))

    def write(value: dict[str, Any]) -> list[Any]:
        chosen = [(tag, convert(value[name])) for name, tag, convert in alternatives if value[name] is not None]
        if len(chosen) != 1:
            raise ValueError(f"one alternative of a variant has to be set, not {len(chosen)}")
        return list(chosen[0])

    return write


def _decimal_converter(precision: int, scale: int) -> Convert:
    return lambda value: decimal_bytes(value, precision, scale)


def _values(array: pa.Array) -> list[Any]:
    """Python values, in the shapes that converters know."""
    if pa.types.is_string(array.type):
        # Spark keeps any bytes in a string; Python would not.
        return list(array.view(pa.binary()).to_pylist())
    if pa.types.is_date32(array.type):
        return list(array.view(pa.int32()).to_pylist())
    if pa.types.is_timestamp(array.type):
        return list(array.view(pa.int64()).to_pylist())
    return list(array.to_pylist())


def _converted(name: str, values: list[Any], convert: Convert) -> list[Any]:
    if convert is _as_is:
        return values
    try:
        return [None if value is None else convert(value) for value in values]
    except (ValueError, TypeError, OverflowError, YtError) as error:
        raise ColumnError(f'column "{name}" has a value that cannot be written: {error}') from error


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def _as_is(value: Any) -> Any:
    return value


def _to_unsigned(value: Any) -> Any:
    if value < 0:
        raise ValueError(f"{value} is negative")
    return yson.Uint64(int(value))


def _to_seconds(microseconds: int) -> int:
    return microseconds // MICROSECONDS


def _to_unsigned_seconds(microseconds: int) -> Any:
    return _to_unsigned(microseconds // MICROSECONDS)


def _to_any(value: Any) -> Any:
    """A value as YSON has it: structs and maps by name; what YSON has no type for as text."""
    match value:
        case dict():
            return {key: _to_any(item) for key, item in value.items()}
        case list():
            if value and all(isinstance(item, tuple) and len(item) == 2 for item in value):
                return {_key(key): _to_any(item) for key, item in value}
            return [_to_any(item) for item in value]
        case Decimal() | date():
            return str(value)
    return value


def _key(value: Any) -> str | bytes:
    return value if isinstance(value, (str, bytes)) else str(value)


def _text(data: Any) -> str:
    return data.decode() if isinstance(data, bytes) else str(data)


def _microseconds(moment: datetime) -> int:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH_INSTANT) // timedelta(microseconds=1)


def _name(type_v3: TypeV3) -> str:
    return type_v3 if isinstance(type_v3, str) else str(type_v3["type_name"])
