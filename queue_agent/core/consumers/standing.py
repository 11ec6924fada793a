"""How a consumer gets on with a queue, in one word and with the reason; what is wrong shows as a badge beside it."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from queue_agent.core.consumers.lag import elapsed
from queue_agent.core.queues.snapshots import ConsumerPartition, ConsumerQueueView, ConsumerSnapshot, QueuePartition
from queue_agent.core.state.rows import Registration
from queue_agent.core.values.encoding import EPOCH, encode_instant
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef

PATIENCE: Final = timedelta(hours=1)
"""Whoever reads nothing for so long, while rows have waited as long, has stopped."""

SETTLED_AFTER: Final = timedelta(minutes=1)
"""A position is read later than the end of its partition: one that is younger may have been the end meanwhile."""

_SHOWN_PARTITIONS: Final = 5


class Verdict(enum.Enum):
    """One word; where several are true, the first of these."""

    UNKNOWN = "unknown"
    """No partition can be read."""

    NOT_STARTED = "not_started"
    """Nothing was ever read, though there is something to read."""

    EXPIRED = "expired"
    """Rows were trimmed before they were read."""

    AHEAD = "ahead"
    """A position has been behind the last row for a while: the queue was made anew, or the position is wrong."""

    STOPPED = "stopped"
    """Rows wait, and nothing has been read for long."""

    READING = "reading"
    """Rows wait, and have not waited for too long."""

    UP_TO_DATE = "up_to_date"
    """There is nothing to read."""


ALARMING: Final = frozenset({Verdict.EXPIRED, Verdict.AHEAD, Verdict.STOPPED})
"""Something is wrong with the consumer itself, and somebody should look."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A consumer and a queue, all partitions taken together that can be read."""

    verdict: Verdict
    reason: str | None
    """Why, where it is alarming."""

    failed_partition_count: int
    """Those that could not be read."""

    unread_row_count: int
    """Rows that wait and can still be read; partitions in which the consumer is ahead do not make it less."""

    lost_row_count: int
    """Rows that were trimmed before they were read, by a consumer that had begun to read there."""

    ahead_row_count: int
    """By how much positions are behind the ends, taken together; those that are not just settling."""

    processing_lag: timedelta | None
    """Age of the oldest row that waits; zero if none waits, None if it is not known."""

    last_consume_time: datetime | None
    """The latest of all partitions; None: nothing was ever read."""


def judge(view: ConsumerQueueView) -> Standing:
    """Take the partitions of a consumer's standing together, as of when they were seen."""
    readable = {index: one for index, one in enumerate(view.partitions) if isinstance(one, ConsumerPartition)}
    available = {index: min(one.unread_row_count, _available(view, index)) for index, one in readable.items()}
    waiting = {index: rows for index, rows in available.items() if rows > 0}
    lost = {
        index: one.unread_row_count - available[index]
        for index, one in readable.items()
        if one.unread_row_count > available[index] and _has_begun(one)
    }
    ahead = {
        index: -one.unread_row_count
        for index, one in readable.items()
        if one.unread_row_count < 0 and elapsed(one.last_consume_time, view.seen_at) >= SETTLED_AFTER
    }
    lag = _lag([readable[index].next_row_commit_time for index in waiting], view.seen_at)
    latest = max((one.last_consume_time for one in view.partitions), default=EPOCH)
    last_consume_time = None if latest == EPOCH else latest
    has_begun = any(one.next_row_index > 0 or one.last_consume_time != EPOCH for one in view.partitions)
    reason: str | None = None
    if view.partitions and not readable:
        verdict = Verdict.UNKNOWN
    elif not has_begun:
        verdict = Verdict.NOT_STARTED if waiting else Verdict.UP_TO_DATE
    elif lost:
        verdict = Verdict.EXPIRED
        reason = f"Consumer has lost {_rows(lost)}: trimmed before they were read"
    elif ahead:
        verdict = Verdict.AHEAD
        reason = f"Consumer is ahead of the queue by {_rows(ahead)}"
    elif last_consume_time and lag and min(lag, elapsed(last_consume_time, view.seen_at)) >= PATIENCE:
        verdict = Verdict.STOPPED
        reason = (
            f"Consumer has read nothing since {encode_instant(last_consume_time)}, while {_rows(waiting)} wait,"
            f" the oldest since {encode_instant(view.seen_at - lag)}"
        )
    else:
        verdict = Verdict.READING if waiting else Verdict.UP_TO_DATE
    return Standing(
        verdict,
        reason,
        failed_partition_count=len(view.partitions) - len(readable),
        unread_row_count=sum(waiting.values()),
        lost_row_count=sum(lost.values()),
        ahead_row_count=sum(ahead.values()),
        processing_lag=lag,
        last_consume_time=last_consume_time,
    )


def _available(view: ConsumerQueueView, index: int) -> int:
    """Rows there are in a partition of the queue."""
    assert view.compared is not None, "only a standing made of whole snapshots can be judged"
    partition = view.compared.queue.partitions[index]
    assert isinstance(partition, QueuePartition), "what could be compared can be read"
    return partition.available_row_count


def _has_begun(partition: ConsumerPartition) -> bool:
    """Whether the consumer has a position there; without one it has missed nothing."""
    return partition.next_row_index > 0 or partition.last_consume_time != EPOCH


def _lag(commit_times: Collection[datetime | None], now: datetime) -> timedelta | None:
    known = [one for one in commit_times if one is not None]
    if len(known) < len(commit_times):
        return None
    return elapsed(min(known), now) if known else timedelta(0)


def _rows(counts: Mapping[int, int]) -> str:
    total = sum(counts.values())
    rows = "1 row" if total == 1 else f"{total} rows"
    partitions = "partition" if len(counts) == 1 else "partitions"
    shown = ", ".join(map(str, list(counts)[:_SHOWN_PARTITIONS]))
    more = ", ..." if len(counts) > _SHOWN_PARTITIONS else ""
    return f"{rows} in {partitions} {shown}{more}"


_NO_SUCH_NODE: Final = 500


def find_registration_errors(
    registrations: Collection[Registration],
    known: Collection[CrossClusterRef],
    snapshots: Mapping[CrossClusterRef, ConsumerSnapshot],
) -> Mapping[CrossClusterRef, ErrorInfo]:
    """By consumer; those with whom all is well, or of whom nothing is known yet, are absent.

    Args:
        registrations: those of one queue.
        known: the consumers there are rows of in the state tables.
        snapshots: of consumers that are looked at here; others may be led by another agent.
    """
    errors = {one.consumer: _find_error(one, known, snapshots.get(one.consumer)) for one in registrations}
    return {consumer: error for consumer, error in errors.items() if error is not None}


def _find_error(
    registration: Registration, known: Collection[CrossClusterRef], snapshot: ConsumerSnapshot | None
) -> ErrorInfo | None:
    if registration.consumer not in known:
        return ErrorInfo(
            f'Consumer "{registration.consumer}" is registered, but there is no such consumer in the state tables: it'
            " was removed, or is not looked after",
            _NO_SUCH_NODE,
        )
    if snapshot is None or snapshot.pass_index == 0:
        return None
    view = snapshot.view
    if view is None:
        return snapshot.error
    standing = view.queues.get(registration.queue)
    if not isinstance(standing, ConsumerQueueView):
        return None  # that the queue can not be read is told by the queue
    judged = judge(standing)
    return ErrorInfo(judged.reason) if judged.verdict in ALARMING and judged.reason is not None else None
