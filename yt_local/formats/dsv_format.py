"""The formats `dsv` and `schemaful_dsv` as clients ask for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from yt_local.formats.dsv import DsvOptions, DsvReader, dsv_header, write_dsv
from yt_local.formats.format import Batch, Format, InputRow, RowReader, RowShape
from yt_local.formats.options import Attributes
from yt_local.formats.row_output import ValueRows
from yt_local.formats.row_streams import PieceReader
from yt_local.formats.value_count import check_value_count
from yt_local.schema.schema import Column


class DsvFormat(Format):
    """Lines of rows; a line is a row."""

    mime_type = "text/tab-separated-values"

    def __init__(self, name: str, attributes: Attributes) -> None:
        self.name = name
        self._options = DsvOptions.parse(name, attributes)

    def read_rows(self, data: bytes, columns: Sequence[Column]) -> list[InputRow]:
        check_value_count(data, (self._options.record_separator, self._options.field_separator))
        return DsvReader(self._options).read(data.removesuffix(self._options.record_separator)) if data else []

    def row_reader(self, columns: Sequence[Column]) -> RowReader:
        reader = DsvReader(self._options)

        def read_complete(data: bytes) -> tuple[list[InputRow], bytes]:
            lines, separator, rest = data.rpartition(reader.record_separator)
            return reader.read(lines) if separator else [], rest

        return PieceReader(read_complete, lambda rest: self.read_rows(rest, columns))

    def encode_rows(self, batches: Iterable[Batch], shape: RowShape) -> Iterator[bytes]:
        if header := dsv_header(self._options):
            yield header
        for batch in batches:
            yield batch.dsv(self._options) if isinstance(batch, ValueRows) else write_dsv(self._options, batch)
