"""Status history: what snapshots say, as rows that can be kept, added up and drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, assert_never

from queue_agent.core.consumers.lag import elapsed, find_lag
from queue_agent.core.consumers.multi_consumers import MultiConsumerSnapshot
from queue_agent.core.queues.snapshots import (
    ConsumerPartition,
    ConsumerQueueView,
    ConsumerSnapshot,
    FailedConsumerPartition,
    FailedQueuePartition,
    QueueMissing,
    QueuePartition,
    QueueSnapshot,
    SubSnapshot,
)
from queue_agent.core.values.encoding import EPOCH, encode_duration
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.rates import EmaCounter
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.scalars import MAX_SIGNED
from queue_agent.core.values.trim_constraints import PartitionTrim

HistoryRow = dict[str, Any]
"""A row by column; null columns are left out."""

REQUIRED_COLUMNS: Final[Mapping[str, str]] = {
    "ts": "timestamp",
    "agent_instance": "string",
    "pass_index": "int64",
    "kind": "string",
}
"""Types by name. `ts` is the instant of the pass, `kind` is `queue`, `consumer` or `alert`."""

OPTIONAL_COLUMNS: Final[Mapping[str, str]] = {
    "cluster": "string",
    "queue": "string",
    "consumer": "string",
    "partition": "int64",
    "alert": "string",
    "lower": "int64",
    "upper": "int64",
    "offset": "int64",
    "lag_rows": "int64",
    "lag_bytes": "int64",
    "lag_ms": "int64",
    "idle_ms": "int64",
    "disposition": "string",
    "vital": "boolean",
    "write_rate": "double",
    "write_byte_rate": "double",
    "read_rate": "double",
    "read_byte_rate": "double",
    "trim_target": "int64",
    "trim_constraint": "string",
    "trim_subject": "string",
    "trim_row_index": "int64",
    "trim_held_rows": "int64",
    "error_code": "int64",
    "error": "string",
}
"""Types by name; `docs/history.md` says what each means."""

COMMIT_TIME_COLUMN: Final = "$timestamp"

RETAINED: Final = timedelta(days=3)
"""Rows that all vital consumers of the history have read still stay so long."""

LIFETIME: Final = timedelta(days=30)
"""Rows go after this time, whoever has not read them."""

MAX_TEXT_LENGTH: Final = 2000
TEXT_REPEATED_AFTER: Final = timedelta(hours=1)


_INTEGERS: Final = frozenset(name for name, kind in {**REQUIRED_COLUMNS, **OPTIONAL_COLUMNS}.items() if kind == "int64")
_DOUBLES: Final = frozenset(name for name, kind in OPTIONAL_COLUMNS.items() if kind == "double")


def fitted(row: HistoryRow) -> HistoryRow:
    """The row without the values that do not fit their columns: the queue would refuse all rows of a push for one.

    Offsets are numbers up to 2^64, and anybody may write one.
    """
    return {
        name: value
        for name, value in row.items()
        if not (
            (name in _INTEGERS and not -MAX_SIGNED <= value <= MAX_SIGNED)
            or (name in _DOUBLES and not math.isfinite(value))
        )
    }


def queue_schema() -> list[dict[str, Any]]:
    """Columns of the queue the history is written to."""
    return [
        *({"name": name, "type": type_name, "required": True} for name, type_name in REQUIRED_COLUMNS.items()),
        *({"name": name, "type": type_name} for name, type_name in OPTIONAL_COLUMNS.items()),
        {"name": COMMIT_TIME_COLUMN, "type": "uint64"},
        {"name": "$cumulative_data_weight", "type": "int64"},
    ]


def queue_attributes() -> dict[str, Any]:
    """Attributes by which rows go in the end, and a policy by which those that were read may go soon.

    The policy is not in force: while nobody has registered a vital consumer, it would be an alert and no more.
    """
    return {
        **_lifetime(LIFETIME),
        "auto_trim_config": {"enable": False, "retained_lifetime_duration": encode_duration(RETAINED)},
    }


def producer_attributes() -> dict[str, Any]:
    """Attributes by which sessions go that nobody has written in for long."""
    return _lifetime(LIFETIME)


def _lifetime(lifetime: timedelta) -> dict[str, Any]:
    return {
        "min_data_versions": 0,
        "max_data_versions": 1,
        "min_data_ttl": 0,
        "max_data_ttl": encode_duration(lifetime),
    }


def queue_rows(snapshot: QueueSnapshot, agent_instance: str) -> Iterator[HistoryRow]:
    """A row for each partition, or one for the queue if it could not be looked at, and one for each alert."""
    head = _head("queue", agent_instance, snapshot.pass_index, snapshot.pass_instant, snapshot.ref)
    if isinstance(snapshot.content, ErrorInfo):
        yield head | _error(snapshot.content)
    else:
        trims = snapshot.trims or {}
        for index, partition in enumerate(snapshot.content.partitions):
            values = _queue_partition(partition, snapshot.content.seen_at) | _trim(trims.get(index))
            yield head | {"partition": index} | values
    for category, alert in snapshot.all_alerts.items():
        yield head | {"kind": "alert", "alert": category} | _error(alert)


def consumer_rows(snapshot: ConsumerSnapshot, agent_instance: str) -> Iterator[HistoryRow]:
    """A row for each registered partition of each queue; one for a queue, or the consumer, that is in error."""
    head = _head("consumer", agent_instance, snapshot.pass_index, snapshot.pass_instant, None)
    head["consumer"] = str(snapshot.ref)
    if isinstance(snapshot.content, ErrorInfo):
        yield head | _error(snapshot.content)
        return
    registrations = {registration.queue: registration for registration in snapshot.registrations}
    for queue, position in snapshot.content.queues.items():
        registration = registrations[queue]
        queue_head = head | {"cluster": queue.cluster, "queue": queue.path, "vital": registration.vital}
        yield from _position_rows(queue_head, position, registration.partitions)


def multi_consumer_rows(snapshot: MultiConsumerSnapshot, agent_instance: str) -> Iterator[HistoryRow]:
    """A row if the table is in error, and one for each alert; the consumers in it have rows of their own."""
    head = _head("consumer", agent_instance, snapshot.pass_index, snapshot.pass_instant, None)
    head["consumer"] = str(snapshot.ref)
    if snapshot.error is not None:
        yield head | _error(snapshot.error)
    for category, alert in snapshot.alerts.items():
        yield head | {"kind": "alert", "alert": category} | _error(alert)


def alert_rows(
    alerts: Mapping[str, Mapping[str, Any]], agent_instance: str, pass_index: int, now: datetime
) -> Iterator[HistoryRow]:
    """A row for each alert of the agent as a whole, given as published."""
    head = _head("alert", agent_instance, pass_index, now, None)
    for category, alert in alerts.items():
        yield head | {"alert": category} | _error(ErrorInfo.from_map(alert))


@dataclass(slots=True)
class SparseTexts:
    """Leaves out texts of errors that were written already: rows are many, and errors last."""

    _told: dict[tuple[Any, ...], tuple[str, int]] = field(default_factory=dict)
    """Text, and the row's `ts` when it was written, by subject."""

    _next: dict[tuple[Any, ...], tuple[str, int]] = field(default_factory=dict)

    def sparse(self, row: HistoryRow) -> HistoryRow:
        """The row, without its text if the previous sample had it less than an hour ago."""
        text = row.get("error")
        if text is None:
            return row
        key = tuple(row.get(name) for name in ("cluster", "queue", "consumer", "partition", "alert"))
        told = self._told.get(key)
        if told is not None and told[0] == text and row["ts"] - told[1] < _microseconds(TEXT_REPEATED_AFTER):
            self._next[key] = told
            return {name: value for name, value in row.items() if name != "error"}
        self._next[key] = text, row["ts"]
        return row

    def finish_sample(self) -> None:
        """What this sample did not have is news in the next."""
        self._told, self._next = self._next, {}

    def forget(self) -> None:
        """Rows were lost, maybe with texts in them: tell all texts again."""
        self._told, self._next = {}, {}


def _position_rows(head: HistoryRow, position: SubSnapshot, registered: Sequence[int] | None) -> Iterator[HistoryRow]:
    match position:
        case ErrorInfo():
            yield head | _error(position)
        case QueueMissing(error):
            yield head | _error(error)
        case ConsumerQueueView():
            bounds = () if position.compared is None else position.compared.queue.partitions
            for index, partition in enumerate(position.partitions):
                if registered is None or index in registered:
                    bound = bounds[index] if index < len(bounds) else None
                    values = _bounds(bound) | _consumer_partition(partition, position.seen_at)
                    yield head | {"partition": index} | values
        case _:
            assert_never(position)


def _head(
    kind: str, agent_instance: str, pass_index: int, instant: datetime, queue: CrossClusterRef | None
) -> HistoryRow:
    head: HistoryRow = {
        "ts": _microseconds(instant - EPOCH),
        "agent_instance": agent_instance,
        "pass_index": pass_index,
        "kind": kind,
    }
    return head if queue is None else head | {"cluster": queue.cluster, "queue": queue.path}


def _queue_partition(partition: QueuePartition | FailedQueuePartition, seen_at: datetime) -> HistoryRow:
    if isinstance(partition, FailedQueuePartition):
        return _error(partition.error)
    counters = partition.counters_at(seen_at)
    return _bounds(partition) | {
        "idle_ms": encode_duration(elapsed(partition.last_row_commit_time, seen_at)),
        "write_rate": _rate(counters.row_count, seen_at),
        "write_byte_rate": _rate(counters.data_weight, seen_at),
    }


def _bounds(partition: QueuePartition | FailedQueuePartition | None) -> HistoryRow:
    if not isinstance(partition, QueuePartition):
        return {}
    return {"lower": partition.lower_row_index, "upper": partition.upper_row_index}


def _consumer_partition(partition: ConsumerPartition | FailedConsumerPartition, seen_at: datetime) -> HistoryRow:
    common = {
        "offset": partition.next_row_index,
        "idle_ms": encode_duration(elapsed(partition.last_consume_time, seen_at)),
    }
    if isinstance(partition, FailedConsumerPartition):
        return common | _error(partition.error)
    counters = partition.counters_at(seen_at)
    lag = find_lag(partition.unread_row_count, partition.next_row_commit_time, seen_at)
    values = {
        **common,
        "lag_rows": partition.unread_row_count,
        "lag_bytes": partition.unread_data_weight,
        "lag_ms": None if lag is None else encode_duration(lag),
        "disposition": partition.disposition.value,
        "read_rate": _rate(counters.row_count, seen_at),
        "read_byte_rate": _rate(counters.data_weight, seen_at),
    }
    return _without_nulls(values)


def _trim(trim: PartitionTrim | None) -> HistoryRow:
    if trim is None:
        return {}
    return _without_nulls(
        {
            "trim_target": trim.target,
            "trim_constraint": trim.constraint.kind.value,
            "trim_subject": trim.constraint.subject,
            "trim_row_index": trim.constraint.row_index,
            "trim_held_rows": trim.constraint.held_row_count,
        }
    )


def _rate(counter: EmaCounter, seen_at: datetime) -> float:
    return counter.served(seen_at)["1m"]


def _error(error: ErrorInfo) -> HistoryRow:
    """Code, and the words of the error and of the first errors inside it."""
    words = [error.message]
    inner = error.inner_errors
    while inner:
        words.append(inner[0].message)
        inner = inner[0].inner_errors
    return {"error_code": error.code, "error": ": ".join(words)[:MAX_TEXT_LENGTH]}


def _without_nulls(row: HistoryRow) -> HistoryRow:
    return {name: value for name, value in row.items() if value is not None}


def _microseconds(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1)
