"""Overview of queues and consumers: a few figures of each, for lists that people read."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, assert_never

from queue_agent.core.consumers.backlog import add_up
from queue_agent.core.consumers.registrations import RegistrationStatus, RegistrationStatuses
from queue_agent.core.queues.snapshots import (
    ConsumerQueueView,
    ConsumerSnapshot,
    QueueMissing,
    QueuePartition,
    QueueSnapshot,
    SubSnapshot,
)
from queue_agent.core.values.encoding import EPOCH, encode_duration, encode_instant
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.verdicts.quota import Quota
from queue_agent.core.verdicts.values import QueueVerdict, Verdict


def queue_overview(
    snapshot: QueueSnapshot, registrations: RegistrationStatuses, now: datetime, quota: Quota | None = None
) -> dict[str, Any]:
    """A queue; figures are of the partitions that can be read, null if they are not known.

    Args:
        snapshot: of the queue.
        registrations: progress of its consumers.
        now: rates are as of then.
        quota: of the account that pays for the queue; None: not known.
    """
    document: dict[str, Any] = {
        "consumer_count": len(snapshot.registrations),
        "vital_consumer_count": sum(one.vital for one in snapshot.registrations),
        "failing_consumer_count": sum(one.error is not None for one in registrations.values()),
        "unreadable_consumers": [one.reason for one in registrations.values() if _is_unreadable(one)],
        "alerts": sorted(snapshot.all_alerts),
        "account_full_soon": quota.sentence if quota is not None and quota.is_held_by(str(snapshot.ref)) else None,
    }
    view = snapshot.view
    if view is None:
        return document
    readable = [one for one in view.partitions if isinstance(one, QueuePartition)]
    weights = [one.available_data_weight if one.available_row_count else 0 for one in readable]
    latest = max((one.last_row_commit_time for one in readable), default=EPOCH)
    held = [one.constraint.held_row_count or 0 for one in (snapshot.trims or {}).values()]
    return document | {
        "partition_count": len(view.partitions),
        "failed_partition_count": len(view.partitions) - len(readable),
        "row_count": sum(one.available_row_count for one in readable) if view.readable else None,
        "data_weight": _total(weights) if view.readable else None,
        "trimmed_row_count": _trimmed(readable) if len(readable) == len(view.partitions) else None,
        "write_row_count_rate": view.write_row_count.served(now)["1m"],
        "write_data_weight_rate": view.write_data_weight.served(now)["1m"],
        "last_row_commit_time": None if latest == EPOCH else encode_instant(latest),
        "trim_held_row_count": None if snapshot.trims is None else sum(held),
    }


def _is_unreadable(consumer: RegistrationStatus) -> bool:
    """Whether it is missing, or cannot be read: only its queue can tell of one that is missing."""
    return consumer.verdict is Verdict.UNREADABLE and None not in (consumer.error, consumer.reason)


def consumer_overview(snapshot: ConsumerSnapshot, now: datetime) -> list[dict[str, Any]]:
    """A consumer: its position in each of its queues, in order of the registrations; rates are as of `now`."""
    view = snapshot.view
    positions = {} if view is None else view.queues
    return [
        {
            "queue": str(one.queue),
            "vital": one.vital,
            **_verdict(snapshot.verdicts.get(one.queue)),
            **_position(positions.get(one.queue), now),
        }
        for one in snapshot.registrations
    ]


def _verdict(verdict: QueueVerdict | None) -> dict[str, Any]:
    return {"verdict": Verdict.UNKNOWN.value, "reason": None} if verdict is None else verdict.to_map()


def _total(values: Collection[int | None]) -> int | None:
    """The sum, if all are known."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _trimmed(partitions: Collection[QueuePartition]) -> int:
    return sum(one.lower_row_index for one in partitions)


def _position(position: SubSnapshot | None, now: datetime) -> dict[str, Any]:
    match position:
        case None:
            return {"error": None}
        case ErrorInfo() | QueueMissing(ErrorInfo()):
            error = position if isinstance(position, ErrorInfo) else position.error
            return {"error": error.to_map()}
        case ConsumerQueueView():
            backlog = add_up(position)
            lag, consumed = backlog.processing_lag, backlog.last_consume_time
            return {
                "error": None,
                "partition_count": len(position.partitions),
                "failed_partition_count": backlog.failed_partition_count,
                "unread_row_count": backlog.unread_row_count,
                "unread_data_weight": backlog.unread_data_weight,
                "ahead_row_count": backlog.ahead_row_count,
                "processing_lag": None if lag is None else encode_duration(lag),
                "last_consume_time": None if consumed is None else encode_instant(consumed),
                "read_row_count_rate": position.read_row_count.served(now)["1m"],
                "read_data_weight_rate": position.read_data_weight.served(now)["1m"],
            }
        case _:
            assert_never(position)
