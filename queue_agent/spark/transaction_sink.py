"""Writes a batch of a stream to a dynamic table exactly once: rows, ledger and consumer in one tablet transaction.

Tasks only encode: their rows travel to the driver, which writes them. A task that is repeated, or runs twice at once,
therefore leaves nothing behind; in an ordered table, a transaction that tasks write to themselves would have its rows
twice. A batch that one transaction cannot take is kept in a file and written from there in several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter
from pyspark.sql.types import StructType
from yt.wrapper import YtClient
from yt.wrapper.errors import YtResponseError

from queue_agent.spark.connection import client_of, tablet_transaction
from queue_agent.spark.dynamic_sink import Messages, insert
from queue_agent.spark.encoding import RowEncoder, rebatched
from queue_agent.spark.errors import ConnectorError, OptionError
from queue_agent.spark.kept_batches import Batch, KeptBatches
from queue_agent.spark.ledger import Progress, Unfinished, find_progress, put_progress
from queue_agent.spark.options import WriteOptions
from queue_agent.spark.queues import Consumer, advance, forward_moves, queue_name
from queue_agent.spark.requests import Request, TransactionLimits, next_requests
from queue_agent.spark.sinks import TaskReport, batch_size, new_report
from queue_agent.spark.types import SERVICE_COLUMNS

_TIMEOUT: Final = 300.0
"""Seconds that a transaction may take."""

_TOO_MANY_ROWS: Final = 1717


@dataclass
class EncodedRows(TaskReport):
    """What a task would write."""

    requests: list[Request] = field(default_factory=list)


class TransactionWriter(DataSourceStreamArrowWriter):
    """Writes batches of a stream, each once.

    Args:
        options: of the write, `write_mode=transaction`.
        schema: of the frame.
        encoder: for the table, dropping service columns that it lacks.
        limits: of one transaction.
    """

    def __init__(
        self, options: WriteOptions, schema: StructType, encoder: RowEncoder, limits: TransactionLimits | None = None
    ) -> None:
        if options.consumer_path is not None and not set(SERVICE_COLUMNS) <= set(schema.fieldNames()):
            raise OptionError(
                "to move the consumer with the rows, the frame needs the service columns: read it with "
                "include_service_columns=true"
            )
        if options.ledger_path is None:
            raise OptionError('option "ledger_path" is missing: the ledger tells what was written')
        self._options = options
        self._encoder = encoder
        self._limits = limits or TransactionLimits()
        self._ledger_path = options.ledger_path

    def write(self, iterator: Iterator[pa.RecordBatch]) -> EncodedRows:
        """Encode the rows of a task in their order."""
        encoded = EncodedRows(query_id=new_report().query_id)
        for batch in rebatched(iterator, batch_size(self._options)):
            rows = self._encoder.encode(batch)
            encoded.requests.append(Request(rows, batch.num_rows))
            encoded.add(batch, len(rows))
        return encoded

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        """Write the batch, or what is left to be written of it.

        Raises:
            ConnectorError: another driver writes batches of the same query.
        """
        tasks = [message for message in messages if isinstance(message, EncodedRows)]
        if not tasks:
            return
        query_ids = {task.query_id for task in tasks}
        if len(query_ids) != 1 or None in query_ids:
            raise ConnectorError(f"tasks of batch {batchId} do not say which query it is of: {query_ids}")
        query_id = str(query_ids.pop())
        batch = Batch(query_id, batchId, [request for task in tasks for request in task.requests], _ends(tasks))
        progress = find_progress(client_of(self._options.connection), self._ledger_path, query_id)
        if progress.unfinished is not None:
            progress = self._finish(query_id, progress, progress.unfinished)
        if progress.batch_id >= batchId:
            self._kept.forget(query_id)
        elif not self._write_whole(batch, progress):
            self._write_parts(batch, self._kept.keep(batch), progress)

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        """Nothing was written."""

    def _write_whole(self, batch: Batch, before: Progress) -> bool:
        """Write a batch in one transaction; False if it is too large, or the cluster finds so."""
        if batch.row_count > self._limits.row_count or batch.byte_count > self._limits.byte_count:
            return False
        try:
            self._write(batch, batch.requests, before, Progress(batch.batch_id))
        except YtResponseError as error:
            if not error.contains_code(_TOO_MANY_ROWS) or batch.row_count == 1:
                raise
            return False
        return True

    def _finish(self, query_id: str, before: Progress, unfinished: Unfinished) -> Progress:
        """Write what is left of a batch that was begun before a crash."""
        batch = self._kept.load(unfinished.rows_at, query_id, unfinished.batch_id)
        return self._write_parts(batch, unfinished.rows_at, before, unfinished.row_count)

    def _write_parts(self, batch: Batch, rows_at: str, before: Progress, written: int = 0) -> Progress:
        """Write a batch that is kept in several transactions, from a row on; where the query is then."""
        limits = self._limits
        while written < batch.row_count:
            requests = next_requests(batch.requests, written, limits)
            following = written + sum(request.row_count for request in requests)
            after = Progress(batch.batch_id)
            if following < batch.row_count:
                after = Progress(before.batch_id, Unfinished(batch.batch_id, rows_at, following))
            try:
                self._write(batch, requests, before, after)
            except YtResponseError as error:
                if not error.contains_code(_TOO_MANY_ROWS) or following - written == 1:
                    raise
                limits = replace(limits, row_count=(following - written) // 2)
            else:
                before, written = after, following
        self._kept.forget(batch.query_id)
        return before

    def _write(self, batch: Batch, requests: Sequence[Request], before: Progress, after: Progress) -> None:
        """One transaction: rows, how far the query is with them and, with the last rows of a batch, the consumer."""
        with tablet_transaction(self._options.connection, _TIMEOUT) as client:
            if find_progress(client, self._ledger_path, batch.query_id) != before:
                raise ConnectorError(f"another driver writes batch {batch.batch_id} of query {batch.query_id} as well")
            for request in requests:
                insert(client, self._options.path, request.rows)
            put_progress(client, self._ledger_path, batch.query_id, after)
            if after.unfinished is None:
                self._advance(client, batch.ends)

    def _advance(self, client: YtClient, ends: Mapping[int, int]) -> None:
        if self._options.consumer_path is None or self._options.queue_path is None:
            return
        queue = queue_name(self._options.queue_path, self._options.connection)
        current = Consumer(self._options.connection, self._options.consumer_path, queue).next_row_indexes()
        advance(client, self._options.consumer_path, queue, forward_moves(ends, current), current)

    @property
    def _kept(self) -> KeptBatches:
        return KeptBatches(self._options.connection, self._ledger_path)


def _ends(tasks: Sequence[EncodedRows]) -> dict[int, int]:
    ends: dict[int, int] = {}
    for task in tasks:
        for partition, (_, last) in task.row_ranges.items():
            ends[partition] = max(ends.get(partition, 0), last + 1)
    return ends
