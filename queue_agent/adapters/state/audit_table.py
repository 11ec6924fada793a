"""AuditStore and ActStore over a dynamic table beside the state tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Protocol, cast, get_args

import structlog

from queue_agent.adapters.cluster.plain_values import to_plain
from queue_agent.adapters.cluster.queries import quote_path, quote_string
from queue_agent.adapters.state.event_table import find_end, time_conditions
from queue_agent.core.state.audit_journal import ADDED_COLUMNS, TABLE_NAME, AuditOutcome, AuditRecord
from queue_agent.core.state.consumer_events import EventQuery, EventSlice
from queue_agent.core.status.act_events import make_act_event, matches_act
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.event_kinds import EventKind
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.scalars import read_instant, read_text
from queue_agent.errors import ClusterError, ObjectNotFound

log = structlog.get_logger(__name__)

_TEXTS: Final = ("id", "user", "login", "peer", "agent", "act", "subject")
_COLUMNS: Final = ("instant", *_TEXTS, "outcome", "finished", "error")
"""The plan is left out: that of a reset may have thousands of partitions."""


class AuditCluster(Protocol):
    """The commands this needs; `YtCluster` has them."""

    async def get_attributes(self, path: str, names: Collection[str]) -> Mapping[str, Any]: ...

    async def insert_rows(self, path: str, rows: Sequence[Mapping[str, Any]]) -> None: ...

    async def select_all(self, subject: str, queries: Sequence[str]) -> Sequence[Sequence[Mapping[str, Any]]]: ...


class AuditTable:
    """`ports.AuditStore` and `ports.ActStore`.

    Args:
        cluster: where the table is.
        root: directory of the state tables.
    """

    def __init__(self, cluster: AuditCluster, root: str) -> None:
        self._cluster = cluster
        self._path = f"{root}/{TABLE_NAME}"
        self._added: Collection[str] = ()
        """Those of the added columns that the table has; until it has them, it is asked each time."""

    async def write(self, record: AuditRecord) -> None:
        """See the port."""
        row = {
            "instant": encode_instant(record.instant),
            "id": record.id,
            "user": record.user,
            "login": record.login,
            "peer": record.peer,
            "agent": record.agent,
            "act": record.act,
            "subject": record.subject,
            "plan": record.plan,
            "outcome": record.outcome,
            "finished": None if record.finished is None else encode_instant(record.finished),
            "error": record.error,
            "queue": None if record.queue is None else str(record.queue),
            "consumer": None if record.consumer is None else str(record.consumer),
        }
        lacking = ADDED_COLUMNS.keys() - await self._find_added()
        row = {name: value for name, value in row.items() if name not in lacking}
        try:
            await self._cluster.insert_rows(self._path, [row])
        except ClusterError:
            self._added = ()
            raise

    async def read(self, query: EventQuery) -> EventSlice:
        """See `ports.ActStore`. Without the table nobody can act, so there are no acts."""
        if not query.asks_for(EventKind.ACT.value):
            return EventSlice((), None)
        try:
            text = to_text(query, self._path, await self._find_added())
            [rows] = await self._cluster.select_all(self._path, [text])
        except ObjectNotFound:
            return EventSlice((), None)
        except ClusterError:
            self._added = ()
            raise
        records = [record for record in map(_try_to_read, rows) if record is not None and matches_act(query, record)]
        events = [make_act_event(record, names_people=query.names_people) for record in records]
        return EventSlice(events, find_end(rows, "id", query))

    async def _find_added(self) -> Collection[str]:
        if not self._added:
            attributes = await self._cluster.get_attributes(self._path, ["schema"])
            self._added = ADDED_COLUMNS.keys() & {str(column["name"]) for column in attributes.get("schema", ())}
        return self._added


def to_text(query: EventQuery, path: str, added: Collection[str]) -> str:
    """The query as the cluster reads it, newest first; it may find acts on more than what is asked for."""
    conditions = time_conditions(query, "id")
    if query.queue is not None and query.consumer is not None:
        conditions.append(f"[subject] = {quote_string(f'{query.consumer} in {query.queue}')}")
    elif query.queue is not None:
        behind = quote_string(f" in {query.queue}")
        conditions.append(f"([subject] = {quote_string(str(query.queue))} or is_substr({behind}, [subject]))")
    elif query.consumer is not None:
        conditions.append(f"is_prefix({quote_string(f'{query.consumer} in ')}, [subject])")
    names = ", ".join(f"[{name}]" for name in (*_COLUMNS, *sorted(added)))
    order = "order by [instant] desc, [id] desc"
    return f"{names} from {quote_path(path)} where {' and '.join(conditions)} {order} limit {query.limit}"


def _try_to_read(row: Mapping[str, Any]) -> AuditRecord | None:
    """An act; None: somebody has edited the row, and it makes no sense."""
    try:
        values = {name: to_plain(row.get(name)) for name in (*_COLUMNS, *ADDED_COLUMNS)}
        finished, error, outcome = values["finished"], values["error"], values["outcome"]
        if outcome not in get_args(AuditOutcome):
            raise ValueError("an unknown outcome")
        return AuditRecord(
            instant=read_instant(values["instant"], "instant"),
            **{name: read_text(values[name], name) for name in _TEXTS},
            plan={},
            outcome=cast("AuditOutcome", outcome),
            finished=None if finished is None else read_instant(finished, "finished"),
            error=None if error is None else read_text(error, "error"),
            queue=_read_ref(values["queue"]),
            consumer=_read_ref(values["consumer"]),
        )
    except ValueError as error:
        log.warning("a row of the audit journal makes no sense", error=str(error))
        return None


def _read_ref(value: object) -> CrossClusterRef | None:
    return None if value is None else CrossClusterRef.parse(read_text(value, "queue or consumer"))
