"""EventStore over a dynamic table beside the state tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

import structlog

from queue_agent.adapters.cluster.plain_values import to_plain
from queue_agent.adapters.cluster.queries import quote_path, quote_string
from queue_agent.core.state.consumer_events import (
    KEY_COLUMNS,
    TABLE_NAME,
    VALUE_COLUMNS,
    Event,
    EventQuery,
    EventSlice,
)
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.scalars import read_instant, read_text

log = structlog.get_logger(__name__)


class EventCluster(Protocol):
    """The commands this needs; `YtCluster` has them."""

    async def insert_rows(self, path: str, rows: list[dict[str, Any]]) -> None: ...

    async def select_all(self, path: str, queries: Sequence[str]) -> Sequence[Sequence[Mapping[str, Any]]]: ...


class EventTable:
    """`ports.EventStore`.

    Args:
        cluster: where the table is.
        root: directory of the state tables.
    """

    def __init__(self, cluster: EventCluster, root: str) -> None:
        self._cluster = cluster
        self._path = f"{root}/{TABLE_NAME}"

    async def write(self, events: Collection[Event]) -> None:
        """See `ports.EventStore`."""
        await self._cluster.insert_rows(self._path, [to_row(event) for event in events])

    async def read(self, query: EventQuery) -> EventSlice:
        """See `ports.EventStore`."""
        [rows] = await self._cluster.select_all(self._path, [to_text(query, self._path)])
        events = [event for event in map(_try_to_read, rows) if event is not None]
        return EventSlice(events, find_end(rows, "event_id", query))


def to_row(event: Event) -> dict[str, Any]:
    """Columns of the table by name."""
    queue, consumer = event.queue, event.consumer
    return {
        "instant": encode_instant(event.instant),
        "event_id": event.event_id,
        "kind": event.kind,
        "queue_cluster": None if queue is None else queue.cluster,
        "queue_path": None if queue is None else queue.path,
        "consumer_cluster": None if consumer is None else consumer.cluster,
        "consumer_path": None if consumer is None else consumer.path,
        "consumer_name": None if consumer is None else consumer.name,
        "actor": event.actor,
        "subject": event.subject,
        "reason": event.reason,
        "details": dict(event.details),
    }


def to_text(query: EventQuery, path: str) -> str:
    """The query as the cluster reads it, newest first."""
    conditions = time_conditions(query, "event_id")
    for prefix, ref in (("queue", query.queue), ("consumer", query.consumer)):
        if ref is not None:
            conditions += [
                f"[{prefix}_cluster] = {quote_string(ref.cluster)}",
                f"[{prefix}_path] = {quote_string(ref.path)}",
            ]
    if query.consumer is not None:
        conditions.append(f"[consumer_name] = {quote_string(query.consumer.name)}")
    if query.kinds:
        conditions.append(f"[kind] in ({', '.join(map(quote_string, sorted(query.kinds)))})")
    names = ", ".join(f"[{name}]" for name in (*KEY_COLUMNS, *VALUE_COLUMNS))
    order = "order by [instant] desc, [event_id] desc"
    return f"{names} from {quote_path(path)} where {' and '.join(conditions)} {order} limit {query.limit}"


def time_conditions(query: EventQuery, id_column: str) -> list[str]:
    """Which rows of a table whose key is instant and id are in the time of a query."""
    conditions = [f"[instant] >= {quote_string(encode_instant(query.since))}"]
    if query.before is not None:
        instant, _, event_id = query.before.partition(",")
        at, than = quote_string(instant), quote_string(event_id)
        conditions.append(f"([instant] < {at} or [instant] = {at} and [{id_column}] < {than})")
    return conditions


def find_end(rows: Sequence[Mapping[str, Any]], id_column: str, query: EventQuery) -> str | None:
    """Where the next page begins, also if the last rows are unreadable; None: a page that is not full is the last."""
    if len(rows) < query.limit:
        return None
    last = {name: to_plain(rows[-1][name]) for name in ("instant", id_column)}
    return f"{last['instant']},{last[id_column]}"


def _try_to_read(row: Mapping[str, Any]) -> Event | None:
    """An event; None: somebody has edited the row, and it tells nothing."""
    try:
        values = {name: to_plain(row.get(name)) for name in (*KEY_COLUMNS, *VALUE_COLUMNS)}
        details = values["details"]
        return Event(
            instant=read_instant(values["instant"], "instant"),
            event_id=read_text(values["event_id"], "event_id"),
            kind=read_text(values["kind"], "kind"),
            actor=read_text(values["actor"], "actor"),
            reason=read_text(values["reason"], "reason"),
            queue=_read_ref(values, "queue"),
            consumer=_read_ref(values, "consumer"),
            subject=None if values["subject"] is None else read_text(values["subject"], "subject"),
            details=details if isinstance(details, dict) else {},
        )
    except ValueError as error:
        log.warning("a row of the record of events makes no sense", error=str(error))
        return None


def _read_ref(values: Mapping[str, Any], prefix: str) -> CrossClusterRef | None:
    if values[f"{prefix}_path"] is None:
        return None
    name = values.get(f"{prefix}_name")
    return CrossClusterRef(
        read_text(values[f"{prefix}_cluster"], "cluster"),
        read_text(values[f"{prefix}_path"], "path"),
        "" if name is None else read_text(name, "name"),
    )
