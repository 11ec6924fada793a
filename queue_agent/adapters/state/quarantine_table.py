"""QuarantineStore over a dynamic table beside the state tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Protocol

import structlog

from queue_agent.adapters.cluster.plain_values import to_plain
from queue_agent.adapters.cluster.queries import quote_path, quote_string
from queue_agent.core.state.quarantines import KEY_COLUMNS, TABLE_NAME, VALUE_COLUMNS, Commit, Quarantine
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.scalars import MAX_DURATION, read_boolean, read_instant, read_integer, read_text, shown

log = structlog.get_logger(__name__)


class QuarantineCluster(Protocol):
    """The commands this needs; `YtCluster` has them."""

    async def insert_rows(self, path: str, rows: list[dict[str, Any]]) -> None: ...

    async def select_all(self, path: str, queries: Sequence[str]) -> Sequence[Sequence[Mapping[str, Any]]]: ...

    async def delete_rows(self, path: str, keys: Sequence[Mapping[str, Any]]) -> None: ...


class QuarantineTable:
    """`ports.QuarantineStore`.

    Args:
        cluster: where the table is.
        root: directory of the state tables.
    """

    def __init__(self, cluster: QuarantineCluster, root: str) -> None:
        self._cluster = cluster
        self._path = f"{root}/{TABLE_NAME}"

    async def read(self, queue: CrossClusterRef) -> Sequence[Quarantine]:
        """See the port. A row that makes no sense is none: its consumer holds its rows, and gets a new notice."""
        names = ", ".join(f"[{name}]" for name in (*KEY_COLUMNS, *VALUE_COLUMNS))
        condition = f"[queue_cluster] = {quote_string(queue.cluster)} and [queue_path] = {quote_string(queue.path)}"
        [rows] = await self._cluster.select_all(
            self._path, [f"{names} from {quote_path(self._path)} where {condition}"]
        )
        return [one for one in map(_try_to_read, rows) if one is not None]

    async def write(self, queue: CrossClusterRef, quarantine: Quarantine) -> None:
        """See the port."""
        row = {
            **_key(queue, quarantine.consumer),
            "object_id": quarantine.object_id,
            "announced_at": encode_instant(quarantine.announced_at),
            "renewed_at": encode_instant(quarantine.renewed_at),
            "notice_seconds": quarantine.notice.total_seconds(),
            "waited_seconds": quarantine.waited.total_seconds(),
            "is_started": quarantine.is_started,
            "commits": {str(index): list(commit) for index, commit in quarantine.commits.items()},
        }
        await self._cluster.insert_rows(self._path, [row])

    async def remove(self, queue: CrossClusterRef, consumer: CrossClusterRef) -> None:
        """See the port."""
        await self._cluster.delete_rows(self._path, [_key(queue, consumer)])


def _key(queue: CrossClusterRef, consumer: CrossClusterRef) -> dict[str, str]:
    return {
        "queue_cluster": queue.cluster,
        "queue_path": queue.path,
        "consumer_cluster": consumer.cluster,
        "consumer_path": consumer.path,
        "consumer_name": consumer.name,
    }


def _try_to_read(row: Mapping[str, Any]) -> Quarantine | None:
    """None: somebody has edited the row."""
    values = {name: to_plain(value) for name, value in row.items()}
    try:
        consumer = (read_text(values[f"consumer_{name}"], name) for name in ("cluster", "path", "name"))
        commits = values["commits"]
        if not isinstance(commits, Mapping):
            raise ValueError("commits")
        return Quarantine(
            consumer=CrossClusterRef(*consumer),
            object_id=read_text(values["object_id"], "object_id"),
            commits={int(index): _read_commit(commit) for index, commit in commits.items()},
            announced_at=read_instant(values["announced_at"], "announced_at"),
            renewed_at=read_instant(values["renewed_at"], "renewed_at"),
            notice=_read_seconds(values["notice_seconds"]),
            waited=_read_seconds(values["waited_seconds"]),
            is_started=read_boolean(values["is_started"], "is_started"),
        )
    except (KeyError, ValueError) as error:
        log.warning("a row of the table of quarantines makes no sense", error=repr(error))
        return None


def _read_commit(value: Any) -> Commit:
    if not isinstance(value, list) or len(value) != len(Commit._fields):
        raise ValueError(f"expected an offset and a timestamp, got {shown(value)}")
    offset, written_at = value
    return Commit(read_integer(offset, "offset"), read_integer(written_at, "written_at"))


def _read_seconds(value: Any) -> timedelta:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_DURATION.total_seconds():
        raise ValueError(f"expected seconds, got {shown(value)}")
    return timedelta(seconds=value)
