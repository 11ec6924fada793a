"""What methods and commands on rows of dynamic tables have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from yt_local.calls.call import reply
from yt_local.calls.command import tablet_transaction
from yt_local.calls.rowsets import encode_rows
from yt_local.cluster import Cluster
from yt_local.formats.row_output import ValueRows
from yt_wire.bus import Part
from yt_wire.connection import Reply
from yt_wire.error import ErrorCode, YtError
from yt_wire.proto import api_pb2 as api

_NULL_TIMESTAMP: Final = 0


def read_timestamp(cluster: Cluster, transaction_id: str | None, timestamp: int | None) -> int | None:
    """What the client asks for, or else the start of its transaction."""
    transaction = tablet_transaction(cluster, transaction_id)
    if timestamp is not None or transaction is None:
        return timestamp
    return transaction.read_timestamp


def at_timestamp(timestamp: int) -> dict[str, Any]:
    """A timestamp to read at as parameters; without one the latest rows are read."""
    return {} if timestamp == _NULL_TIMESTAMP else {"timestamp": timestamp}


def rowset_reply(message: api.TRspLookupRows | api.TRspSelectRows, rows: ValueRows) -> Reply:
    """An answer with rows."""
    return reply(message, encode_rows(rows.columns, rows.rows))


def take(rest: list[Part], count: int) -> list[Part]:
    """The next so many attachments, which are of one subrequest; YtError 101 if there are not so many."""
    if not 0 <= count <= len(rest):
        raise YtError(f"A subrequest wants {count} attachments, there are {len(rest)} left", ErrorCode.PROTOCOL)
    taken = rest[:count]
    del rest[:count]
    return taken


def check_all_taken(rest: Sequence[Part]) -> None:
    """YtError 101 if there are attachments that no subrequest wants."""
    if rest:
        raise YtError(f"There are {len(rest)} attachments more than subrequests want", ErrorCode.PROTOCOL)
