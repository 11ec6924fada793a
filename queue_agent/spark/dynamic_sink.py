"""Writes to dynamic tables, ordered or sorted: every row at least once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from yt.wrapper.format import YsonFormat

from queue_agent.spark.connection import client_of
from queue_agent.spark.encoding import RowEncoder, rebatched
from queue_agent.spark.options import WriteOptions
from queue_agent.spark.sinks import TaskReport, batch_size, new_report

Messages = list[WriterCommitMessage | None]


class DynamicTableWriter(DataSourceArrowWriter):
    """Writes a frame; every request of `spark.yt.write.dynBatchSize` rows is a transaction of its own.

    Args:
        options: of the write.
        encoder: for the table.
    """

    def __init__(self, options: WriteOptions, encoder: RowEncoder) -> None:
        self._options = options
        self._encoder = encoder

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskReport:
        """Write the rows of a task in their order."""
        return _write(self._options, self._encoder, iterator)


class DynamicTableStreamWriter(DataSourceStreamArrowWriter):
    """The same for every batch of a stream; a batch that is repeated is written again.

    In a sorted table with the service columns as keys it then falls on the same rows: each is there exactly once.

    Args:
        options: of the write.
        encoder: for the table.
    """

    def __init__(self, options: WriteOptions, encoder: RowEncoder) -> None:
        self._options = options
        self._encoder = encoder

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskReport:
        """Write the rows of a task in their order."""
        return _write(self._options, self._encoder, iterator)

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        """Nothing is left to do: requests were transactions of their own."""

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        """What was written stays."""


def _write(options: WriteOptions, encoder: RowEncoder, iterator: Iterator[pa.RecordBatch]) -> TaskReport:
    report = new_report()
    for batch in rebatched(iterator, batch_size(options)):
        rows = encoder.encode(batch)
        insert(client_of(options.connection), options.path, rows)
        report.add(batch, len(rows))
    return report


def insert(client: Any, path: str, rows: bytes) -> None:
    """Send rows, a list fragment of YSON, in one request."""
    client.insert_rows(path, rows, format=YsonFormat(format="binary"), raw=True)
