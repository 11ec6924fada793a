"""The ledger of transactional streams: a table of how far each query is written, and how far into a large batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from yt.wrapper import YtClient
from yt.wrapper.errors import YtResponseError

from queue_agent.spark.connection import client_of
from queue_agent.spark.options import ConnectionOptions

_SCHEMA: Final = [
    {"name": "query_id", "type": "string", "sort_order": "ascending"},
    {"name": "batch_id", "type": "int64"},
    {"name": "unfinished_batch_id", "type": "int64"},
    {"name": "unfinished_rows_at", "type": "string"},
    {"name": "unfinished_row_count", "type": "int64"},
]


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A batch that is written in several transactions, of which some are done."""

    batch_id: int
    rows_at: str
    """Path of the file with all its rows: only these may be added, whatever a repetition comes to."""

    row_count: int
    """How many of them are written."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a query is."""

    batch_id: int = -1
    """The last batch that is written; -1 before the first."""

    unfinished: Unfinished | None = None
    """The one after it."""


def find_progress(client: YtClient, path: str, query_id: str) -> Progress:
    """What the ledger says of a query, as the client's transaction sees it."""
    for row in client.lookup_rows(path, [{"query_id": query_id}]):
        unfinished = None
        if row["unfinished_batch_id"] is not None:
            unfinished = Unfinished(
                int(row["unfinished_batch_id"]), str(row["unfinished_rows_at"]), int(row["unfinished_row_count"])
            )
        return Progress(int(row["batch_id"]), unfinished)
    return Progress()


def put_progress(client: YtClient, path: str, query_id: str, progress: Progress) -> None:
    """Say so within the client's transaction."""
    row: dict[str, Any] = {"query_id": query_id, "batch_id": progress.batch_id}
    if progress.unfinished is not None:
        row["unfinished_batch_id"] = progress.unfinished.batch_id
        row["unfinished_rows_at"] = progress.unfinished.rows_at
        row["unfinished_row_count"] = progress.unfinished.row_count
    client.insert_rows(path, [row])


def create_ledger(connection: ConnectionOptions, path: str) -> None:
    """Create the ledger, and mount it, unless that is done."""
    client: Any = client_of(connection)
    try:
        state = client.get(f"{path}/@tablet_state")
    except YtResponseError as error:
        if not error.is_resolve_error():
            raise
        attributes = {"dynamic": True, "schema": _SCHEMA}
        client.create("table", path, attributes=attributes, recursive=True, ignore_existing=True)
        state = "unmounted"
    if state == "unmounted":  # also by a driver that died in between
        client.mount_table(path, sync=True)
