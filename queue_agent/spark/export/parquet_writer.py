"""Writes rows into Parquet files, one for every partition and directory of time: the work of a task."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from queue_agent.spark.errors import ColumnError
from queue_agent.spark.export.documents import ExportFile, Range
from queue_agent.spark.export.layout import WHOLE, FileName, Partitioning, label_of
from queue_agent.spark.export.storage import Storage
from queue_agent.spark.types import ROW_INDEX, SYSTEM_COLUMNS, TABLET_INDEX

TIMESTAMP: Final = "$timestamp"

_TIMESTAMP_BITS: Final = 30
_HOUR_SECONDS: Final = 3600
_DAY_SECONDS: Final = 86400

_ROW_GROUP_ROWS: Final = 1 << 17
"""Just so many, however rows arrive: an attempt that comes too late then writes the very bytes that are published."""

_PIECE_ROWS: Final = 1 << 13
"""For the same reason they are written in pieces of so many; those that came together are not copied for it."""

_ASCENDING: Final = (ROW_INDEX, *SYSTEM_COLUMNS)
"""Numbers that grow from row to row: their differences are small, and none comes twice."""

_DICTIONARY_BYTES: Final = 1 << 18
"""Columns whose distinct values take more are soon written as they are: most of what writing costs is in vain there."""

_READ_SIZE: Final = 8 << 20

_MAX_OPEN_FILES: Final = 32
"""Of one task; rows whose times jump to and fro would otherwise take memory without limit."""


@dataclass(frozen=True, slots=True)
class FileSettings:
    """How files are made."""

    partitioning: Partitioning = "hour"
    time_column: str = TIMESTAMP
    """An unsigned timestamp of YTsaurus, or one of Spark's."""

    compression: str = "zstd"
    revision: int | None = None
    """Goes into names of files that take the place of others."""


class ParquetTask:
    """Takes the rows of one task, in their order; a context manager, which removes what has not been finished.

    Args:
        storage: of the export.
        settings: of the files.
        owner: of temporary files, for their names.
    """

    def __init__(self, storage: Storage, settings: FileSettings, owner: str) -> None:
        self._storage = storage
        self._settings = settings
        self._owner = owner
        self._open: dict[tuple[int, str], _OpenFile] = {}
        self._finished: list[ExportFile] = []
        self._last_rows: dict[int, int] = {}

    def __enter__(self) -> ParquetTask:
        return self

    def __exit__(self, *error: object) -> None:
        for file in self._open.values():
            file.discard()
        self._open.clear()

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows.

        Raises:
            ColumnError: a column is missing that tells where they belong, or they are not in order.
        """
        if not batch.num_rows:
            return
        for index, rows in _by_partition(batch):
            self._check_order(index, rows)
            for label, part in self._by_label(rows):
                self._file(index, label).write(part)

    def finish(self) -> list[ExportFile]:
        """Give the files their names; what they are, in the order of their rows."""
        for key in list(self._open):
            self._close(key)
        return sorted(self._finished, key=lambda file: file.rows)

    def _file(self, index: int, label: str) -> _OpenFile:
        key = index, label
        file = self._open.pop(key, None)
        if file is None:
            if len(self._open) == _MAX_OPEN_FILES:
                self._close(next(iter(self._open)))
            file = _OpenFile(self._storage, self._settings, self._owner, index, label)
        self._open[key] = file  # the one written last is closed last
        return file

    def _close(self, key: tuple[int, str]) -> None:
        file = self._open[key]
        self._finished.append(file.finish())
        del self._open[key]

    def _check_order(self, index: int, rows: pa.RecordBatch) -> None:
        numbers = rows.column(ROW_INDEX)
        ascending = pc.all(pc.less(numbers.slice(0, len(numbers) - 1), numbers.slice(1))).as_py()
        if ascending is False or numbers[0].as_py() <= self._last_rows.get(index, -1):
            raise ColumnError(
                f'column "{ROW_INDEX}": rows of partition {index} are not in the order of the queue; '
                "what is done to rows on the way must leave them in their order"
            )
        self._last_rows[index] = numbers[-1].as_py()

    def _by_label(self, rows: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        if self._settings.partitioning == "none":
            yield WHOLE, rows
            return
        size = _HOUR_SECONDS if self._settings.partitioning == "hour" else _DAY_SECONDS
        for period, part in _runs(rows, pc.divide(_seconds(rows, self._settings.time_column), size)):
            yield label_of(datetime.fromtimestamp(period * size, UTC), self._settings.partitioning), part


class _OpenFile:
    """One file that is being written."""

    def __init__(self, storage: Storage, settings: FileSettings, owner: str, index: int, label: str) -> None:
        self._storage = storage
        self._settings = settings
        self._index = index
        self._directory = f"{label}/" if label else ""
        self._stack = ExitStack()
        self._local = self._stack.enter_context(storage.writing(f"{self._directory}-", owner))
        self._writer: pq.ParquetWriter | None = None
        self._buffer: list[pa.RecordBatch] = []
        self._buffered_rows = 0
        self._row_count = 0
        self._begin = 0
        self._end = 0
        self._least: int | None = None
        self._greatest: int | None = None

    def write(self, rows: pa.RecordBatch) -> None:
        numbers = rows.column(ROW_INDEX)
        if not self._row_count:
            self._begin = numbers[0].as_py()
        self._end = numbers[-1].as_py() + 1
        self._row_count += rows.num_rows
        if TIMESTAMP in rows.schema.names:
            bounds = pc.min_max(rows.column(TIMESTAMP)).as_py()
            if bounds["min"] is not None:
                self._least = bounds["min"] if self._least is None else min(self._least, bounds["min"])
                self._greatest = bounds["max"] if self._greatest is None else max(self._greatest, bounds["max"])
        self._buffer.append(rows)
        self._buffered_rows += rows.num_rows
        while self._buffered_rows >= _ROW_GROUP_ROWS:
            self._write_group()

    def finish(self) -> ExportFile:
        if self._buffer:
            self._write_group()
        assert self._writer is not None
        self._writer.close()
        self._writer = None
        name = FileName(self._index, self._begin, self._end, self._settings.revision)
        path = f"{self._directory}{name}"
        byte_count, checksum = measure(self._local)
        self._storage.upload(self._local, path)
        self._stack.close()
        return ExportFile(
            path,
            Range(self._index, self._begin, self._end),
            self._row_count,
            byte_count,
            checksum,
            None if self._least is None else int(self._least),
            None if self._greatest is None else int(self._greatest),
        )

    def discard(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._stack.close()

    def _write_group(self) -> None:
        table = pa.Table.from_batches(self._buffer)
        if self._writer is None:
            self._writer = new_parquet(self._local, table.schema, self._settings.compression)
        group = pa.Table.from_batches(_pieces(table.slice(0, _ROW_GROUP_ROWS)))
        self._writer.write_table(group, row_group_size=_ROW_GROUP_ROWS)
        self._buffer = table.slice(_ROW_GROUP_ROWS).to_batches()
        self._buffered_rows = sum(batch.num_rows for batch in self._buffer)


def _pieces(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """Its rows in batches of equal size."""
    for begin in range(0, len(table), _PIECE_ROWS):
        yield from table.slice(begin, _PIECE_ROWS).combine_chunks().to_batches()


def new_parquet(path: Path, schema: pa.Schema, compression: str) -> pq.ParquetWriter:
    """A file of an export, to be written and closed."""
    ascending = [field.name for field in schema if field.name in _ASCENDING and pa.types.is_integer(field.type)]
    return pq.ParquetWriter(
        path,
        schema,
        compression=compression,
        use_dictionary=[leaf for field in schema if field.name not in ascending for leaf in _leaves(field)],
        column_encoding=dict.fromkeys(ascending, "DELTA_BINARY_PACKED"),
        dictionary_pagesize_limit=_DICTIONARY_BYTES,
    )


def _leaves(field: pa.Field, path: str = "") -> Iterator[str]:
    """What Parquet calls the columns that a field becomes."""
    kind, own = field.type, f"{path}{field.name}"
    if pa.types.is_struct(kind):
        for child in kind:
            yield from _leaves(child, f"{own}.")
    elif pa.types.is_map(kind):
        yield from _leaves(kind.key_field.with_name("key"), f"{own}.key_value.")
        yield from _leaves(kind.item_field.with_name("value"), f"{own}.key_value.")
    elif pa.types.is_list(kind):
        yield from _leaves(kind.value_field.with_name("element"), f"{own}.list.")
    else:
        yield own


def measure(file: Path) -> tuple[int, str]:
    """Bytes of a file, and its checksum."""
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256")
        return opened.tell(), f"sha256:{digest.hexdigest()}"


def checksum_of(opened: pa.NativeFile) -> str:
    """The checksum of a file of an export, which is read from where it stands to its end."""
    digest = hashlib.sha256()
    while chunk := opened.read(_READ_SIZE):
        digest.update(chunk)
    return f"sha256:{digest.hexdigest()}"


def check_columns(names: list[str], settings: FileSettings) -> None:
    """ColumnError if rows lack a column that tells where they belong."""
    needed = [TABLET_INDEX, ROW_INDEX] + ([] if settings.partitioning == "none" else [settings.time_column])
    for name in needed:
        if name not in names:
            raise ColumnError(f'column "{name}" is missing: it tells into which file a row belongs')


def _by_partition(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    return _runs(batch, batch.column(TABLET_INDEX))


def _runs(rows: pa.RecordBatch, keys: pa.Array) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Rows by key: as slices where those of a key are neighbours, else picked out; within a key in their order."""
    if keys.null_count:
        raise ColumnError("a row does not tell where it belongs: the column of its time or partition is null")
    bounds = pc.min_max(keys).as_py()
    if bounds["min"] == bounds["max"]:
        yield int(bounds["min"]), rows
        return
    runs = pc.run_end_encode(keys)
    distinct = pc.unique(runs.values)
    if len(distinct) == len(runs.values):
        begin = 0
        for key, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            yield int(key), rows.slice(begin, end - begin)
            begin = end
        return
    for key in distinct:
        yield int(key.as_py()), rows.filter(pc.equal(keys, key))


def _is_whole_decimal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind)) and kind.scale == 0


def _seconds(rows: pa.RecordBatch, column: str) -> pa.Array:
    """Seconds since 1970 of the time of every row; earlier times count as 1970."""
    values = rows.column(column)
    if pa.types.is_timestamp(values.type):
        return pc.max_element_wise(values.cast(pa.timestamp("s"), safe=False).cast(pa.int64()), 0, skip_nulls=False)
    if pa.types.is_integer(values.type) or _is_whole_decimal(values.type):  # which `uint64_as=decimal` makes of it
        return pc.shift_right(values.cast(pa.int64()), _TIMESTAMP_BITS)
    raise ColumnError(f'column "{column}" is {values.type}, which is no time')
