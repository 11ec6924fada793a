"""Rows of batches that one transaction cannot take: kept in Cypress until all of them are written.

What a query computes may come out otherwise when it is repeated; the rest of a batch has to go with what is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from yt.wrapper.errors import YtResponseError

from queue_agent.spark.connection import client_of
from queue_agent.spark.errors import ConnectorError, OutcomeUnknown
from queue_agent.spark.options import ConnectionOptions
from queue_agent.spark.requests import Request


@dataclass(frozen=True, slots=True)
class Batch:
    """All that one batch of a query comes to."""

    query_id: str
    batch_id: int
    requests: Sequence[Request]
    ends: Mapping[int, int]
    """By partition of the source: one past its last row; empty for frames without service columns."""

    @property
    def row_count(self) -> int:
        return sum(request.row_count for request in self.requests)

    @property
    def byte_count(self) -> int:
        return sum(len(request.rows) for request in self.requests)


class KeptBatches:
    """Files beside a ledger.

    Args:
        connection: of its cluster.
        ledger_path: of the ledger.
    """

    def __init__(self, connection: ConnectionOptions, ledger_path: str) -> None:
        self._connection = connection
        self._folder = f"{ledger_path}.batches"

    def keep(self, batch: Batch) -> str:
        """Make a file of a batch, all at once; its path, which is another one every time.

        Raises:
            OutcomeUnknown: it did not get the content that was written; there is no file.
        """
        path = f"{self._folder}/{batch.query_id}-{batch.batch_id}-{uuid4().hex}"
        client = client_of(self._connection)
        attributes = {
            "requests": [[len(request.rows), request.row_count] for request in batch.requests],
            "ends": {str(partition): end for partition, end in batch.ends.items()},
        }
        with client.Transaction():
            client.create("file", path, attributes=attributes, recursive=True)
            client.write_file(path, b"".join(request.rows for request in batch.requests))
            # ytsaurus-client writes a piece once more where no answer tells that it was written.
            found = int(client.get(f"{path}/@uncompressed_data_size"))
            if found != batch.byte_count:
                raise OutcomeUnknown(f"{path} has {found} bytes where {batch.byte_count} were written; it is not kept")
        return path

    def load(self, path: str, query_id: str, batch_id: int) -> Batch:
        """Read such a file; ConnectorError if it is gone."""
        client = client_of(self._connection)
        try:
            attributes = client.get(f"{path}/@", attributes=["requests", "ends"])
            content = client.read_file(path).read()
        except YtResponseError as error:
            if not error.is_resolve_error():
                raise
            raise ConnectorError(
                f"batch {batch_id} of query {query_id} is written in part, and {path} is gone, where its other rows "
                "were; only a new checkpointLocation goes on"
            ) from error
        requests, begin = [], 0
        for size, row_count in attributes["requests"]:
            requests.append(Request(content[begin : begin + size], row_count))
            begin += size
        return Batch(query_id, batch_id, requests, {int(index): end for index, end in attributes["ends"].items()})

    def forget(self, query_id: str) -> None:
        """Remove all files of a query, those that no transaction came to among them."""
        client = client_of(self._connection)
        for name in client.list(self._folder) if client.exists(self._folder) else ():
            if str(name).startswith(f"{query_id}-"):
                client.remove(f"{self._folder}/{name}", force=True)
