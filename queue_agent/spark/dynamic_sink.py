"""Writes to dynamic tables, ordered or sorted: every row at least once.

Rows come twice when Spark repeats a task, never because a request is repeated: in an ordered table each request is a
transaction, and one whose outcome is not known is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from yt.wrapper.format import YsonFormat

from queue_agent.spark.connection import client_of, repeat, tablet_transaction
from queue_agent.spark.encoding import RowEncoder, rebatched
from queue_agent.spark.options import ConnectionOptions, WriteOptions
from queue_agent.spark.sinks import TaskReport, batch_size, new_report

_TIMEOUT: Final = 60.0
"""Seconds that the transaction of one request may take."""

Messages = list[WriterCommitMessage | None]


class DynamicTableWriter(DataSourceArrowWriter):
    """Writes a frame; every request of `spark.yt.write.dynBatchSize` rows is a transaction of its own.

    Args:
        options: of the write.
        encoder: for the table.
        is_sorted: whether a row that is written twice falls on itself.
    """

    def __init__(self, options: WriteOptions, encoder: RowEncoder, *, is_sorted: bool) -> None:
        self._options = options
        self._encoder = encoder
        self._is_sorted = is_sorted

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskReport:
        """Write the rows of a task in their order."""
        return _write(self._options, self._encoder, iterator, is_sorted=self._is_sorted)


class DynamicTableStreamWriter(DataSourceStreamArrowWriter):
    """The same for every batch of a stream; a batch that is repeated is written again.

    In a sorted table with the service columns as keys it then falls on the same rows: each is there exactly once.

    Args:
        options: of the write.
        encoder: for the table.
        is_sorted: whether a row that is written twice falls on itself.
    """

    def __init__(self, options: WriteOptions, encoder: RowEncoder, *, is_sorted: bool) -> None:
        self._options = options
        self._encoder = encoder
        self._is_sorted = is_sorted

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskReport:
        """Write the rows of a task in their order."""
        return _write(self._options, self._encoder, iterator, is_sorted=self._is_sorted)

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        """Nothing is left to do: requests were transactions of their own."""

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        """What was written stays."""


def _write(
    options: WriteOptions, encoder: RowEncoder, iterator: Iterator[pa.RecordBatch], *, is_sorted: bool
) -> TaskReport:
    report = new_report()
    for batch in rebatched(iterator, batch_size(options)):
        rows = encoder.encode(batch)
        if is_sorted:
            insert(client_of(options.connection), options.path, rows)
        else:
            append(options.connection, options.path, rows)
        report.add(batch, len(rows))
    return report


def append(connection: ConnectionOptions, path: str, rows: bytes) -> None:
    """Add rows to an ordered table once: ytsaurus-client sends them again only where nothing was committed.

    Raises:
        OutcomeUnknown: the answer to the commit was lost; the rows are there once, or not at all.
    """

    def write() -> None:
        with tablet_transaction(connection, _TIMEOUT) as client:
            insert(client, path, rows)

    repeat(connection, write)


def insert(client: Any, path: str, rows: bytes) -> None:
    """Send rows, a list fragment of YSON, in one request; without a transaction it may be repeated."""
    client.insert_rows(path, rows, format=YsonFormat(format="binary"), raw=True)
