"""Writes to static tables: tasks write tables of their own, which one master transaction puts together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter
from yt.wrapper import YtClient
from yt.wrapper.format import YsonFormat
from yt.wrapper.ypath import TablePath

from queue_agent.spark.connection import client_of
from queue_agent.spark.dynamic_sink import Messages
from queue_agent.spark.encoding import RowEncoder, gathered
from queue_agent.spark.errors import OutcomeUnknown
from queue_agent.spark.options import WriteOptions
from queue_agent.spark.sinks import TaskReport, new_report

BATCHES_ATTRIBUTE: Final = "spark_batches"
"""Of the table: by query, the last batch that it holds."""

_PART_LIFETIME: Final = 6 * 3600 * 1000
"""Milliseconds after which parts vanish that no commit has taken and nobody looks at."""

_LOCK_WAIT: Final = 120_000
"""Milliseconds: several queries may add to one table, each in its turn."""

_TRANSACTION_TIMEOUT: Final = 30_000
"""Milliseconds for which the lock of a driver that was killed keeps others waiting; ytsaurus-client takes 120,000."""

_REQUEST_ROWS: Final = 100_000
"""Written together: each request makes chunks of its own, and takes a transaction."""

_REQUEST_BYTES: Final = 64 << 20
"""Rows may be wide; as they are encoded they take several times as much memory."""


@dataclass
class WrittenPart(TaskReport):
    """What a task has written."""

    path: str | None = None
    """Of its table; None if there were no rows."""

    partition: int = 0


@dataclass(frozen=True, slots=True)
class StaticTarget:
    """The table and how it is written."""

    options: WriteOptions
    encoder: RowEncoder
    schema: Any
    """As `@schema` has it, for parts and for a table that is not there yet."""

    append: bool

    def write_part(self, iterator: Iterator[pa.RecordBatch]) -> WrittenPart:
        """Write the rows of a task to a table of its own; a task that is repeated writes another."""
        context = TaskContext.get()
        assert context is not None
        part = WrittenPart(query_id=new_report().query_id, partition=context.partitionId())
        client = client_of(self.options.connection)
        for batch in gathered(iterator, _REQUEST_ROWS, _REQUEST_BYTES):
            if part.path is None:
                part.path = f"{self._parts_folder}/{uuid4().hex}"
                attributes = {"schema": self.schema, "expiration_timeout": _PART_LIFETIME}
                client.create("table", part.path, attributes=attributes, recursive=True)
            rows = self.encoder.encode(batch)
            path = TablePath(part.path, append=True)
            client.write_table(path, rows, format=YsonFormat(format="binary"), raw=True)
            part.add(batch, len(rows))
        if part.path is not None:
            check_row_count(client, part.path, part.row_count)
        return part

    def publish(self, messages: Messages, batch: tuple[str, int] | None) -> None:
        """Put the parts into the table, in the order of tasks, unless it has this batch of this query already."""
        parts = sorted(
            (message for message in messages if isinstance(message, WrittenPart)), key=lambda part: part.partition
        )
        paths = [part.path for part in parts if part.path is not None]
        client = client_of(self.options.connection)
        with client.Transaction(timeout=_TRANSACTION_TIMEOUT):
            if not client.exists(self.options.path):
                client.create("table", self.options.path, attributes={"schema": self.schema}, recursive=True)
            client.lock(self.options.path, mode="exclusive", waitable=True, wait_for=_LOCK_WAIT)
            done: Mapping[str, int] = client.get_attribute(self.options.path, BATCHES_ATTRIBUTE, default={})
            if batch is None or done.get(batch[0], -1) < batch[1]:
                self._concatenate(client, paths)
                if batch is not None:
                    client.set_attribute(self.options.path, BATCHES_ATTRIBUTE, {**done, batch[0]: batch[1]})
        for path in paths:
            client.remove(path, force=True)

    def _concatenate(self, client: YtClient, paths: Sequence[str]) -> None:
        """Within a transaction that has the table's lock."""
        if paths:
            rows_of = [client.get(f"{path}/@row_count") for path in (*paths, self.options.path)]
            wanted = sum(rows_of) if self.append else sum(rows_of[:-1])
            client.concatenate(paths, TablePath(self.options.path, append=self.append))
            check_row_count(client, self.options.path, wanted)
        elif not self.append:
            client.write_table(self.options.path, b"", format=YsonFormat(format="binary"), raw=True)

    @property
    def _parts_folder(self) -> str:
        return f"{self.options.path}.parts"


def check_row_count(client: YtClient, path: str, wanted: int) -> None:
    """See that a table which nobody else writes to has what was written, before its rows are shown.

    ytsaurus-client writes each piece in a transaction of its own, inside that of the table, and writes the piece once
    more where the commit of that got no answer.

    Raises:
        OutcomeUnknown: rows are missing, or are there twice.
    """
    found = int(client.get(f"{path}/@row_count"))
    if found != wanted:
        raise OutcomeUnknown(
            f"{path} has {found} rows where {wanted} were written: an answer of the cluster was lost; nothing of it is "
            "shown"
        )


class StaticTableWriter(DataSourceArrowWriter):
    """Writes a frame: all of it, or nothing.

    Args:
        target: the table.
    """

    def __init__(self, target: StaticTarget) -> None:
        self._target = target

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenPart:
        """Write the rows of a task."""
        return self._target.write_part(iterator)

    def commit(self, messages: Messages) -> None:
        """Show the rows."""
        self._target.publish(messages, None)

    def abort(self, messages: Messages) -> None:
        """Parts vanish by themselves."""


class StaticTableStreamWriter(DataSourceStreamArrowWriter):
    """Appends every batch of a stream once; the table remembers the last one of every query.

    Args:
        target: the table.
    """

    def __init__(self, target: StaticTarget) -> None:
        self._target = target

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenPart:
        """Write the rows of a task."""
        return self._target.write_part(iterator)

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        """Show the rows of the batch, unless they are there."""
        query_ids = {message.query_id for message in messages if isinstance(message, WrittenPart)}
        if query_ids:
            self._target.publish(messages, (str(query_ids.pop()), batchId))

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        """Parts vanish by themselves."""
