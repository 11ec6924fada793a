"""The format `arrow`: tables as streams of Arrow's record batches; it needs pyarrow, which is an extra."""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar, Final

from yt_local.formats.arrow_types import ArrowType, ArrowTypes
from yt_local.formats.format import Batch, Format, InputRow, PlacedRows, RowReader, RowShape
from yt_local.formats.options import Attributes, boolean
from yt_local.schema.schema import Column
from yt_wire import yson
from yt_wire.error import YtError

_PLACES: Final = ("$range_index", "$row_index", "$tablet_index")


class ArrowFormat(Format):
    """Rows of a table by columns, as long as there are some; no row is no stream. For output only.

    Raises:
        YtError: pyarrow is not there.
    """

    name = "arrow"
    mime_type = "application/octet-stream"
    tables_only: ClassVar[bool] = True

    def __init__(self, attributes: Attributes) -> None:
        try:
            # Importing it takes longer than a cluster needs to start.
            self._arrow = importlib.import_module("pyarrow")
        except ImportError as error:
            raise YtError('Format "arrow" needs pyarrow: install yt-local-cluster[arrow]') from error
        self._types = ArrowTypes(self._arrow, composites=boolean(attributes, "enable_complex_types"))

    def read_rows(self, data: bytes, columns: Sequence[Column]) -> list[InputRow]:
        raise self._output_only()

    def row_reader(self, columns: Sequence[Column]) -> RowReader:
        raise self._output_only()

    def encode_rows(self, batches: Iterable[Batch], shape: RowShape) -> Iterator[bytes]:
        shown = [column for column in shape.columns if shape.selected is None or column.name.encode() in shape.selected]
        types = [self._types.of_column(column.type, column.type_v3) for column in shown]
        placed = PlacedRows()
        filled = filter(None, (list(placed.of(batch)) for batch in batches))
        first = next(filled, None)
        if first is None:
            return
        places = [Column(name, "int64") for name in _PLACES if name.encode() in first[0]]
        types += [self._types.of_column(place.type, place.type_v3) for place in places]
        fields = [
            _Field(self._arrow, column, arrow_type) for column, arrow_type in zip((*shown, *places), types, strict=True)
        ]
        schema = self._arrow.schema([field.arrow for field in fields])
        sink = io.BytesIO()
        with self._arrow.ipc.new_stream(sink, schema) as stream:
            for rows in chain([first], filled):
                arrays = [field.values(rows) for field in fields]
                stream.write_batch(self._arrow.record_batch(arrays, schema=schema))
                yield _drained(sink)
        yield _drained(sink)


class _Field:
    """One column of batches."""

    def __init__(self, arrow: Any, column: Column, arrow_type: ArrowType) -> None:
        self.arrow = arrow.field(
            column.name, arrow_type.type, nullable=not column.required, metadata=arrow_type.metadata
        )
        self._array = arrow.array
        self._name = column.name.encode()
        self._convert = arrow_type.convert

    def values(self, rows: Sequence[Mapping[Any, Any]]) -> Any:
        """The column of these rows."""
        values = [row.get(self._name) for row in rows]
        if self._convert is not None:
            values = [None if yson.is_null(value) else self._convert(value) for value in values]
        return self._array(values, self.arrow.type)


def _drained(sink: io.BytesIO) -> bytes:
    data = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return data
