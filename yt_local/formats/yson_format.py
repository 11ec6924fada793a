"""The format `yson` in its styles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, cast

from yt_local.formats.format import Batch, Format, InputRow, RowReader, RowShape
from yt_local.formats.options import Attributes, boolean, choice
from yt_local.formats.row_output import ValueRows
from yt_local.formats.row_streams import PieceReader
from yt_local.formats.value_count import check_value_count
from yt_local.schema.schema import Column
from yt_wire import yson
from yt_wire.error import YtError

_MARKS: Final = (b";", b"{", b"[", b"<")


class YsonFormat(Format):
    """YSON; input may be in any style.

    Args:
        style: of output.
        skip_null_values: of rows: leave nulls out.
    """

    name = "yson"

    def __init__(self, style: yson.Style, *, skip_null_values: bool = False) -> None:
        self.mime_type = f"application/x-yt-yson-{style}"
        self._style = style
        self._skip_null_values = skip_null_values

    @classmethod
    def parse(cls, attributes: Attributes) -> YsonFormat:
        """Read the attributes of a format; YtError if one makes no sense."""
        style = choice(attributes, "format", "binary", "text", "pretty")
        return cls(cast("yson.Style", style), skip_null_values=boolean(attributes, "skip_null_values"))

    def read_node(self, data: bytes) -> Any:
        check_value_count(data, _MARKS)
        return yson.loads(data)

    def write_node(self, value: Any) -> bytes:
        return yson.dumps(value, self._style)

    def read_rows(self, data: bytes, columns: Sequence[Column]) -> list[InputRow]:
        check_value_count(data, _MARKS)
        rows = yson.loads_rows(data)
        for index, row in enumerate(rows):
            if not isinstance(row, dict):
                raise YtError(f"Error parsing row {index}: expected a map, got {yson.shown(row)}")
        return rows

    def row_reader(self, columns: Sequence[Column]) -> RowReader:
        def read_complete(data: bytes) -> tuple[list[InputRow], bytes]:
            length = yson.complete_length(data)
            return self.read_rows(data[:length], columns), data[length:]

        return PieceReader(read_complete, lambda rest: self.read_rows(rest, columns))

    def encode_rows(self, batches: Iterable[Batch], shape: RowShape) -> Iterator[bytes]:
        for batch in batches:
            if isinstance(batch, ValueRows) and self._style == "binary" and not self._skip_null_values:
                yield batch.binary_yson()
            else:
                yield yson.dumps_rows(map(_without_nulls, batch) if self._skip_null_values else batch, self._style)


def _without_nulls(row: Any) -> Any:
    if not isinstance(row, dict):
        return row
    return {name: value for name, value in row.items() if not yson.is_null(value)}
