"""Writes a batch of a stream to a dynamic table exactly once: rows, ledger and consumer in one tablet transaction.

Tasks only encode: their rows travel to the driver, which writes them. A task that is repeated, or runs twice at once,
therefore leaves nothing behind; in an ordered table, a transaction that tasks write to themselves would have its rows
twice. A batch is small anyway: a tablet takes 100,000 rows in a transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter
from pyspark.sql.types import StructType
from yt.wrapper import YtClient
from yt.wrapper.errors import YtResponseError

from queue_agent.spark.connection import client_of, tablet_transaction
from queue_agent.spark.dynamic_sink import Messages, insert
from queue_agent.spark.encoding import RowEncoder, rebatched
from queue_agent.spark.errors import ConnectorError, OptionError
from queue_agent.spark.options import ConnectionOptions, WriteOptions
from queue_agent.spark.queues import Consumer, advance, forward_moves, queue_name
from queue_agent.spark.sinks import TaskReport, batch_size, new_report
from queue_agent.spark.types import SERVICE_COLUMNS

_TIMEOUT: Final = 300.0
"""Seconds that the transaction of a batch may take."""

_TOO_MANY_ROWS: Final = 1717

_LEDGER_SCHEMA: Final = [
    {"name": "query_id", "type": "string", "sort_order": "ascending"},
    {"name": "batch_id", "type": "int64"},
]


@dataclass
class EncodedRows(TaskReport):
    """What a task would write."""

    requests: list[bytes] = field(default_factory=list)


class TransactionWriter(DataSourceStreamArrowWriter):
    """Writes batches of a stream, each once.

    Args:
        options: of the write, `write_mode=transaction`.
        schema: of the frame.
        encoder: for the table, dropping service columns that it lacks.
    """

    def __init__(self, options: WriteOptions, schema: StructType, encoder: RowEncoder) -> None:
        if options.consumer_path is not None and not set(SERVICE_COLUMNS) <= set(schema.fieldNames()):
            raise OptionError(
                "to move the consumer with the rows, the frame needs the service columns: read it with "
                "include_service_columns=true"
            )
        self._options = options
        self._encoder = encoder

    def write(self, iterator: Iterator[pa.RecordBatch]) -> EncodedRows:
        """Encode the rows of a task in their order."""
        encoded = EncodedRows(query_id=new_report().query_id)
        for batch in rebatched(iterator, batch_size(self._options)):
            rows = self._encoder.encode(batch)
            encoded.requests.append(rows)
            encoded.add(batch, len(rows))
        return encoded

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        """Write the batch, unless the ledger says that it is written.

        Raises:
            ConnectorError: there are too many rows for one transaction.
        """
        tasks = [message for message in messages if isinstance(message, EncodedRows)]
        if not tasks:
            return
        query_ids = {task.query_id for task in tasks}
        if len(query_ids) != 1 or None in query_ids:
            raise ConnectorError(f"tasks of batch {batchId} do not say which query it is of: {query_ids}")
        query_id = str(query_ids.pop())
        try:
            with tablet_transaction(self._options.connection, _TIMEOUT) as client:
                if self._is_written(client, query_id, batchId):
                    return
                for task in tasks:
                    for rows in task.requests:
                        insert(client, self._options.path, rows)
                client.insert_rows(self._options.ledger_path, [{"query_id": query_id, "batch_id": batchId}])
                self._advance(client, tasks)
        except YtResponseError as error:
            if error.contains_code(_TOO_MANY_ROWS):
                row_count = sum(task.row_count for task in tasks)
                raise ConnectorError(
                    f"{row_count} rows are too many for one transaction; lower max_rows_per_partition, or give "
                    f"{self._options.path} more tablets"
                ) from error
            raise

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        """Nothing was written."""

    def _is_written(self, client: YtClient, query_id: str, batch_id: int) -> bool:
        rows = list(client.lookup_rows(self._options.ledger_path, [{"query_id": query_id}]))
        return bool(rows) and int(rows[0]["batch_id"]) >= batch_id

    def _advance(self, client: YtClient, tasks: Sequence[EncodedRows]) -> None:
        if self._options.consumer_path is None or self._options.queue_path is None:
            return
        queue = queue_name(self._options.queue_path, self._options.connection)
        current = Consumer(self._options.connection, self._options.consumer_path, queue).next_row_indexes()
        ends: dict[int, int] = {}
        for task in tasks:
            for partition, (_, last) in task.row_ranges.items():
                ends[partition] = max(ends.get(partition, 0), last + 1)
        advance(client, self._options.consumer_path, queue, forward_moves(ends, current), current)


def create_ledger(connection: ConnectionOptions, path: str) -> None:
    """Create the table that says which batch of a query was written last, and mount it, unless that is done."""
    client: Any = client_of(connection)
    try:
        state = client.get(f"{path}/@tablet_state")
    except YtResponseError as error:
        if not error.is_resolve_error():
            raise
        attributes = {"dynamic": True, "schema": _LEDGER_SCHEMA}
        client.create("table", path, attributes=attributes, recursive=True, ignore_existing=True)
        state = "unmounted"
    if state == "unmounted":  # also by a driver that died in between
        client.mount_table(path, sync=True)
