"""What full passes would publish, and how what was published is compared with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from queue_agent.core.queues.snapshots import (
    ConsumerPartition,
    ConsumerQueueView,
    ConsumerSnapshot,
    ConsumerView,
    QueueRowValues,
    QueueSnapshot,
    SubSnapshot,
)
from queue_agent.core.status import published as status
from queue_agent.core.values.error_info import ErrorInfo


def forget_queue(snapshot: QueueSnapshot) -> QueueSnapshot:
    """A previous snapshot of which only the counters are left."""
    counters = snapshot.counters
    if snapshot.view is not None:
        counters = {index: one.rolled(snapshot.view.seen_at) for index, one in counters.items()}
    return replace(snapshot, content=ErrorInfo("forgotten"), counters=counters)


def forget_consumer(snapshot: ConsumerSnapshot) -> ConsumerSnapshot:
    """A previous snapshot of which only the counters are left."""
    if snapshot.view is None:
        return snapshot
    return replace(
        snapshot, content=ConsumerView({ref: forget(position) for ref, position in snapshot.view.queues.items()})
    )


def forget(position: SubSnapshot) -> SubSnapshot:
    if not isinstance(position, ConsumerQueueView):
        return position
    partitions = [
        replace(one, counters=position.counters_of(one), queue_row_values=QueueRowValues("", -1))
        if isinstance(one, ConsumerPartition)
        else one
        for one in position.partitions
    ]
    return ConsumerQueueView(partitions, position.seen_at, position.compared)


def assert_same_queue(cheap: QueueSnapshot, full: QueueSnapshot, now: datetime) -> None:
    later = now + timedelta(milliseconds=300)
    assert_same(status.queue_node(cheap, "agent-1", later), status.queue_node(full, "agent-1", later), str(cheap.ref))


def assert_same_consumer(cheap: ConsumerSnapshot, full: ConsumerSnapshot, now: datetime) -> None:
    later = now + timedelta(milliseconds=300)
    full = replace(full, verdicts=cheap.verdicts)  # they follow from what is compared here, and from its history
    cheap_node, full_node = (status.consumer_node(one, "agent-1", later) for one in (cheap, full))
    assert_same(cheap_node, full_node, str(cheap.ref))


def assert_same(cheap: Any, full: Any, place: str) -> None:
    """Equal to the last key; rates may be rounded differently, for idle passes are put together."""
    if isinstance(cheap, Mapping) and isinstance(full, Mapping):
        assert cheap.keys() == full.keys(), place
        for key, value in cheap.items():
            assert_same(value, full[key], f"{place}/{key}")
    elif isinstance(cheap, (list, tuple)) and isinstance(full, (list, tuple)):
        assert len(cheap) == len(full), place
        for index, (left, right) in enumerate(zip(cheap, full, strict=True)):
            assert_same(left, right, f"{place}/{index}")
    elif isinstance(cheap, float):
        assert math.isclose(cheap, full, rel_tol=1e-9, abs_tol=1e-12), (place, cheap, full)
    else:
        assert cheap == full, place
