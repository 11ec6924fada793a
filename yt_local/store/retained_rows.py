"""Rows of sorted tables as they look when only writes since a moment count: `retention_timestamp`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from yt_local.base.clock import LATEST_TIMESTAMP
from yt_local.schema.keys import Row
from yt_local.schema.rows import decode_values, encode_values
from yt_local.schema.schema import TableSchema
from yt_local.store.storage import SortedRow, SortedVersion, Storage
from yt_wire.error import YtError


@dataclass(frozen=True, slots=True)
class ReadWindow:
    """Which writes count for a read."""

    timestamp: int = LATEST_TIMESTAMP
    """Those up to this one."""

    retention: int = 0
    """Values that were written before are null, and rows of such values alone are not there; 0: no matter when."""


def rows_in_window(
    storage: Storage, schema: TableSchema, tablet: int, lower: bytes, upper: bytes | None, window: ReadWindow
) -> Iterator[SortedRow]:
    """As `Storage.sorted_rows`, as far as a window shows them."""
    rows = storage.sorted_rows(tablet, lower, upper, window.timestamp)
    if not window.retention:
        yield from rows
        return
    for row in rows:
        values = retained_row(schema, storage.versions(tablet, row.key, window.timestamp), window.retention)
        if values is not None:
            yield SortedRow(row.key, row.timestamp, encode_values(values))


def retained_row(schema: TableSchema, versions: Sequence[SortedVersion], retention: int) -> Row | None:
    """The row of the values written since a timestamp; None if there are none (foreign-clients.md, section 9).

    Args:
        schema: of the table.
        versions: of the row, newest first.
        retention: the timestamp.

    Raises:
        YtError: nobody knows any more when a value was written, or it is a sum of older and newer ones.
    """
    if not versions or versions[0].value is None or versions[0].timestamp < retention:
        return None
    if any(column.aggregate for column in schema.columns):
        raise YtError("The local cluster knows no retention timestamps for tables with aggregate columns")
    values = decode_values(versions[0].value)
    width = len(schema.key_columns)
    unknown = set(range(width, len(values)))
    for version in versions:
        if version.value is None or version.timestamp < retention:
            break
        unknown = {position for position in unknown if not version.has_written(position)}
    else:
        # Older versions may have been forgotten; what is null has not been written, whenever that was.
        if any(values[position] is not None for position in unknown):
            names = ", ".join(schema.columns[position].name for position in sorted(unknown))
            raise YtError(f"The local cluster has forgotten when values of these columns were written: {names}")
    return tuple(None if position in unknown else value for position, value in enumerate(values))
