"""Multi-consumers: tables that hold the offsets of several named consumers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.family import is_multi_consumer
from queue_agent.core.state.rows import ConsumerNameRow, ConsumerRow, StateRows
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef

PASS_FAILED: Final = "queue_agent_multi_consumer_controller_pass_failed"
"""Category of the alert."""

PASS_FAILED_CODE: Final = 3060


@dataclass(frozen=True, slots=True)
class MultiConsumerSnapshot:
    """Result of a multi-consumer's pass."""

    row: ConsumerRow
    pass_index: int
    """Counts from 1; 0 before the first pass."""

    pass_instant: datetime
    error: ErrorInfo | None
    names: Sequence[str] = ()
    """In order; those of the last pass that could read them."""

    banned_since: datetime | None = None
    alerts: Mapping[str, ErrorInfo] = field(default_factory=dict)
    """By category."""

    @property
    def ref(self) -> CrossClusterRef:
        return self.row.consumer

    @property
    def role(self) -> Role:
        """Multi-consumers are never followed."""
        return Role.LEADING


@dataclass(frozen=True, slots=True)
class NameChanges:
    """What makes the state table name the consumers a multi-consumer holds."""

    write: Sequence[ConsumerNameRow]
    delete: Sequence[CrossClusterRef]


def split_multi_consumers(
    rows: StateRows, is_multi: Callable[[ConsumerRow], bool] = is_multi_consumer
) -> tuple[StateRows, Sequence[ConsumerRow]]:
    """Tell multi-consumers from consumers.

    Args:
        rows: of the state tables.
        is_multi: whether a row is that of a multi-consumer; does not raise.

    Returns:
        The rows with named consumers, each with the row of its table, in place of the multi-consumers; and the rows of
        these.
    """
    multi_consumers = {row.consumer: row for row in rows.consumers if is_multi(row)}
    if not multi_consumers:
        return rows, ()
    consumers = [row for row in rows.consumers if row.consumer not in multi_consumers]
    consumers += [
        replace(multi_consumers[name.consumer.table], consumer=name.consumer)
        for name in rows.consumer_names
        if name.consumer.table in multi_consumers
    ]
    return replace(rows, consumers=consumers), list(multi_consumers.values())


def plan_names(
    consumer: CrossClusterRef, stage: str | None, names: Collection[str], recorded: Collection[ConsumerNameRow]
) -> NameChanges:
    """Say how to record the names.

    Args:
        consumer: the table.
        stage: its stage.
        names: those in the table.
        recorded: rows of the state table for this table.
    """
    stages = {row.consumer.name: row.queue_agent_stage for row in recorded}
    wanted = {name for name in names if name}
    return NameChanges(
        write=[
            ConsumerNameRow(consumer._replace(name=name), stage)
            for name in sorted(wanted)
            if name not in stages or stages[name] != stage
        ],
        delete=sorted(row.consumer for row in recorded if row.consumer.name not in wanted),
    )


def banned_multi_consumer(
    previous: MultiConsumerSnapshot, row: ConsumerRow, pass_instant: datetime, origin: Origin
) -> MultiConsumerSnapshot:
    """The next snapshot while the multi-consumer is banned; alerts raised before are over."""
    since = previous.banned_since or pass_instant
    error = origin.error(
        'Multi consumer is banned by "queue_agent_banned" attribute', attributes={"banned_since": encode_instant(since)}
    )
    return MultiConsumerSnapshot(row, previous.pass_index + 1, pass_instant, error, previous.names, since)


def multi_consumer_status(
    snapshot: MultiConsumerSnapshot, host: str, consumers: Mapping[str, Mapping[str, Any] | None]
) -> dict[str, Any]:
    """The multi-consumer's own status and, by name, those of its consumers (None: there is none yet)."""
    status: dict[str, Any] = {
        "alerts": {category: alert.to_map() for category, alert in snapshot.alerts.items()},
        "queue_agent_host": host,
    }
    if snapshot.error is not None:
        return {**status, "error": snapshot.error.to_map()}
    return {
        **status,
        "queue_consumer_names": list(snapshot.names),
        "consumers": {name: _part(consumers.get(name), "status") for name in snapshot.names},
    }


def multi_consumer_partitions(snapshot: MultiConsumerSnapshot, consumers: Mapping[str, Any]) -> dict[str, Any]:
    """Partitions of each named consumer (None: it has none yet)."""
    return {"consumers": {name: _part(consumers.get(name), "partitions") for name in snapshot.names}}


def _part(value: Any, part: str) -> Any:
    return {"error": ErrorInfo(f'"{part}" not found in consumer orchid').to_map()} if value is None else value
