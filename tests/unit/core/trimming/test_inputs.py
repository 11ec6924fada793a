"""When a trimming plan need not be made again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from queue_agent.core.exports.queue_exports import QueueExports
from queue_agent.core.queues.snapshots import (
    ConsumerQueueView,
    ConsumerSnapshot,
    ConsumerView,
    QueueSnapshot,
    QueueView,
    Role,
    SubSnapshot,
)
from queue_agent.core.state.rows import ConsumerRow, QueueRow, Registration
from queue_agent.core.trimming.inputs import TrimInputs, find_trim_inputs
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from tests.unit.core.trimming.plans import judged

NOW = datetime(2025, 1, 23, tzinfo=UTC)
QUEUE = CrossClusterRef("pythia", "//tmp/q")
ALICE = CrossClusterRef("hume", "//tmp/alice")
VITAL = Registration(QUEUE, ALICE, vital=True)
QUEUE_PARTITIONS: Sequence[Any] = []
READ: Sequence[Any] = []
ROW = QueueRow(QUEUE, object_id="1-2-3-4", auto_trim_config={"enable": True})


def queue(row: QueueRow = ROW, partitions: Sequence[Any] = QUEUE_PARTITIONS) -> QueueSnapshot:
    view = QueueView(
        partitions, has_timestamp_column=True, has_cumulative_data_weight_column=True, seen_at=NOW, asked=1
    )
    return QueueSnapshot(row, Role.LEADING, 1, NOW, view)


def consumer(position: SubSnapshot | None) -> ConsumerSnapshot:
    queues = {} if position is None else {QUEUE: position}
    return ConsumerSnapshot(ConsumerRow(ALICE), Role.LEADING, 1, NOW, ConsumerView(queues))


def inputs(
    snapshot: QueueSnapshot | None = None,
    read: Sequence[Any] = READ,
    registrations: Sequence[Registration] = (VITAL,),
    tablets: Mapping[int, str | None] | None = None,
) -> TrimInputs:
    seen = consumer(ConsumerQueueView(read, NOW))
    seen = seen if tablets is None else judged(seen, tablets)
    found = find_trim_inputs(snapshot or queue(), registrations, {ALICE: seen})
    assert found is not None
    return found


def test_the_same_partitions_seen_again_are_the_same() -> None:
    assert inputs().is_same(inputs(queue()))
    assert not inputs().is_same(None)
    assert inputs(tablets={0: "t"}).is_same(inputs(tablets={0: "t"}))
    assert not inputs(tablets={0: "t"}).is_same(inputs(tablets={0: None}))


@pytest.mark.parametrize(
    "other",
    [
        {"snapshot": queue(partitions=[])},
        {"read": []},
        {"snapshot": queue(replace(ROW, object_id="5-6-7-8"))},
        {"snapshot": queue(replace(ROW, auto_trim_config={"enable": True, "retained_rows": 1}))},
        {"registrations": ()},
        {"tablets": {}},
    ],
)
def test_whatever_is_different_makes_a_difference(other: Mapping[str, Any]) -> None:
    assert not inputs().is_same(inputs(**other))


@pytest.mark.parametrize("position", [None, ErrorInfo("broken")])
def test_what_is_not_known_is_planned_anew_every_time(position: SubSnapshot | None) -> None:
    assert find_trim_inputs(queue(), [VITAL], {ALICE: consumer(position)}) is None
    assert find_trim_inputs(queue(), [VITAL], {}) is None
    assert find_trim_inputs(replace(queue(), exports=QueueExports(ErrorInfo("broken"))), [], {}) is None
    assert find_trim_inputs(replace(queue(), content=ErrorInfo("broken")), [], {}) is None
