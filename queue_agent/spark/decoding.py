"""Rows as a proxy sends them, to Arrow columns as Spark wants them.

Plain columns come as `schemaful_dsv`, which pyarrow reads several times as fast as the bindings read YSON: a proxy
answers `pull_queue` in no columnar format. Tables with composite columns, and answers that pyarrow might read wrongly,
come as YSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType
from yt.wrapper.format import Format, SchemafulDsvFormat, YsonFormat

from queue_agent.spark.errors import ColumnError
from queue_agent.spark.options import TypeOptions
from queue_agent.spark.types import Column, spark_type
from queue_agent.spark.values import MICROSECONDS, reader_of, uuid_text
from yt_wire import yson

_INT64_MAX: Final = 2**63 - 1

_NULL: Final = "\\N"
"""Of values the format writes a backslash twice, so none looks like this."""

_ESCAPE: Final = re.compile(rb"\\(.)", re.DOTALL)
_ESCAPED: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"0": b"\0"}

_PHYSICAL: Final = {
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint8": pa.int16(),
    "uint16": pa.int32(),
    "uint32": pa.int64(),
    "uint64": pa.uint64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bool": pa.bool_(),
    "date": pa.int32(),
    "date32": pa.int32(),
    "datetime": pa.int64(),
    "datetime64": pa.int64(),
    "timestamp": pa.int64(),
    "timestamp64": pa.int64(),
    "interval": pa.int64(),
    "interval64": pa.int64(),
    "null": pa.null(),
    "void": pa.null(),
}
"""What a number is read as; everything else is bytes."""


class UnreadableAsText(Exception):
    """The answer is to be asked for as YSON."""


class Decoder(Protocol):
    """Makes columns of an answer."""

    @property
    def format(self) -> Format:
        """The format to ask for."""
        ...

    def decode(self, data: bytes) -> list[pa.Array]:
        """Arrays in the order of the columns; ColumnError if a value has no equal in Spark."""
        ...


def decoder_of(columns: Sequence[Column], options: TypeOptions) -> Decoder:
    """The fastest decoder that can read these columns."""
    if all(column.is_simple_text for column in columns):
        return TextDecoder(columns, options)
    return YsonDecoder(columns, options)


class TextDecoder:
    """Reads `schemaful_dsv`.

    Args:
        columns: none of them composite.
        options: how types are mapped.
    """

    def __init__(self, columns: Sequence[Column], options: TypeOptions) -> None:
        names = [column.name for column in columns]
        self.format: Format = SchemafulDsvFormat(
            columns=names, attributes={"missing_value_mode": "print_sentinel", "missing_value_sentinel": _NULL}
        )
        self._finishers = [_Finisher(column, spark_type(column, options)) for column in columns]
        self._read_options = {"use_threads": False, "column_names": names}
        self._parse_options = pyarrow.csv.ParseOptions(
            delimiter="\t", quote_char=False, double_quote=False, escape_char=False, ignore_empty_lines=False
        )
        self._convert_options = pyarrow.csv.ConvertOptions(
            check_utf8=False,
            column_types={finisher.column.name: finisher.physical for finisher in self._finishers},
            null_values=[_NULL],
            strings_can_be_null=True,
        )

    def decode(self, data: bytes) -> list[pa.Array]:
        """Arrays in the order of the columns.

        Raises:
            UnreadableAsText: what pyarrow takes for the end of a line is in a value.
        """
        if not data:
            return [finisher.finish(pa.array([], finisher.physical)) for finisher in self._finishers]
        if b"\r" in data:
            raise UnreadableAsText
        # A search of the whole answer costs next to nothing, one of every value as much as all the rest.
        escaped = b"\\" in data and data.count(b"\\") != data.count(_NULL.encode())
        table = pyarrow.csv.read_csv(
            pa.BufferReader(data),
            # One block: blocks would have to be put together again.
            pyarrow.csv.ReadOptions(block_size=len(data) + 1, **self._read_options),
            self._parse_options,
            self._convert_options,
        )
        arrays = map(_one_chunk, table.columns)
        return [
            finisher.finish(_unescaped(array) if escaped else array)
            for finisher, array in zip(self._finishers, arrays, strict=True)
        ]


class YsonDecoder:
    """Reads binary YSON: any column, several times slower.

    Args:
        columns: of any type.
        options: how types are mapped.
    """

    def __init__(self, columns: Sequence[Column], options: TypeOptions) -> None:
        self.format: Format = YsonFormat(format="binary")
        self._finishers = [_Finisher(column, spark_type(column, options)) for column in columns]
        self._readers: list[Callable[[Any], Any] | None] = [
            reader_of(column, options) if not column.is_simple_text else None for column in columns
        ]

    def decode(self, data: bytes) -> list[pa.Array]:
        """Arrays in the order of the columns; a column that rows lack is null."""
        rows = yson.loads_rows(data)
        arrays = []
        for finisher, read in zip(self._finishers, self._readers, strict=True):
            key = finisher.column.name.encode()
            values = [row.get(key) for row in rows]
            if read is None:
                arrays.append(finisher.finish(pa.array(values, finisher.physical)))
            else:
                arrays.append(finisher.composite([None if value is None else read(value) for value in values]))
        return arrays


@dataclass(frozen=True, slots=True)
class _Finisher:
    """Turns values as YTsaurus stores them into Spark's."""

    column: Column
    spark_type: DataType

    @property
    def physical(self) -> pa.DataType:
        type_v3 = self.column.type_v3
        return _PHYSICAL.get(type_v3, pa.binary()) if isinstance(type_v3, str) else pa.binary()

    @property
    def arrow_type(self) -> pa.DataType:
        return to_arrow_type(self.spark_type, timezone="UTC")

    def composite(self, values: list[Any]) -> pa.Array:
        """Values that are read already."""
        try:
            return pa.array(values, self.arrow_type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeDecodeError) as error:
            raise ColumnError(
                f'column "{self.column.name}" has a value that Spark cannot hold: {error}; for strings that are not '
                "UTF-8 set string_as_binary, for large unsigned numbers uint64_as=decimal"
            ) from error

    def finish(self, array: pa.Array) -> pa.Array:
        """Values of a plain column."""
        match self.column.type_v3:
            case "uint64":
                return self._uint64(array)
            case "datetime" | "datetime64":
                seconds = pc.multiply_checked(array, pa.scalar(MICROSECONDS, pa.int64()))
                return seconds.view(self.arrow_type)
            case "uuid":
                return pa.array(
                    [None if value is None else uuid_text(value) for value in array.to_pylist()], pa.string()
                )
            case str():
                # Bytes pass through even if they are no text: the JVM keeps them as they are.
                return array if array.type == self.arrow_type else array.view(self.arrow_type)
            case _:  # a decimal
                read = reader_of(self.column, TypeOptions())
                return self.composite([None if value is None else read(value) for value in array.to_pylist()])

    def _uint64(self, array: pa.Array) -> pa.Array:
        if not pa.types.is_int64(self.arrow_type):
            return array.cast(self.arrow_type)
        largest = pc.max(array).as_py()
        if largest is not None and largest > _INT64_MAX:
            raise ColumnError(
                f'column "{self.column.name}" has the value {largest}, which Spark\'s long cannot hold; '
                "uint64_as=decimal can"
            )
        return array.view(pa.int64())


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _unescaped(array: pa.Array) -> pa.Array:
    """Strings as they were before the format wrote some of their bytes as two."""
    if not pa.types.is_binary(array.type):
        return array
    escaped = pc.match_substring(array, "\\")
    if not pc.any(escaped).as_py():
        return array
    values = [
        _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), value)
        for value in array.filter(escaped).to_pylist()
    ]
    return pc.replace_with_mask(array, escaped.fill_null(False), pa.array(values, pa.binary()))
