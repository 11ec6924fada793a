"""What a verdict was made from, and what of it has changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from queue_agent.core.consumers.consumer_snapshots import QueueRowAnswers, build_sub_snapshot
from queue_agent.core.consumers.positions_seen import Seen
from queue_agent.core.queues.snapshots import FailedQueuePartition, OffsetsRead, QueuePartition, QueueView
from queue_agent.core.state.rows import QueueRow, Registration
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.observed import ConsumerOffset
from queue_agent.core.values.rates import Counters
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, PartitionTrim, TrimConstraint
from queue_agent.core.verdicts.objectives import Objective

NOW = datetime(2025, 1, 23, tzinfo=UTC)
REGISTRATION = Registration(CrossClusterRef("a", "//q"), CrossClusterRef("a", "//c"), vital=True)


ROW = QueueRow(REGISTRATION.queue)
TTL = timedelta(days=1)


def _theirs(upper: int, tablet_id: str) -> QueuePartition:
    return QueuePartition(tablet_id, "mounted", None, None, 0, upper, NOW, Counters(), None)


def _seen(*offsets: int, upper: int = 30) -> Seen:
    theirs = [_theirs(upper, f"tablet-{index}") for index in range(len(offsets))]
    read = OffsetsRead({index: ConsumerOffset(index, offset, 1) for index, offset in enumerate(offsets)}, 0)
    view = QueueView(theirs, False, False, NOW, 1)
    position = build_sub_snapshot(None, view, [read], QueueRowAnswers(), NOW)
    return Seen(position.partitions, theirs, None, ROW, None, [], REGISTRATION, None, None)


SEEN = _seen(10, 20)
FAILED = FailedQueuePartition("tablet-1", "unmounted", ErrorInfo("broken"))


def _trim(row_index: int) -> PartitionTrim:
    return PartitionTrim(None, TrimConstraint(ConstraintKind.END_OF_PARTITION, row_index))


def test_what_is_the_same_object_has_not_changed() -> None:
    assert SEEN.is_as(Seen(SEEN.mine, SEEN.theirs, None, ROW, None, [], REGISTRATION, None, None))
    assert SEEN.find_moved(SEEN) == set()


@pytest.mark.parametrize(
    "now",
    [
        SEEN._replace(mine=list(SEEN.mine)),
        SEEN._replace(theirs=list(SEEN.theirs)),
        SEEN._replace(trims={}),
        SEEN._replace(queue_row=replace(ROW)),
        SEEN._replace(data_ttl=TTL),
        SEEN._replace(quarantines=[(REGISTRATION.consumer, True)]),
        SEEN._replace(registration=replace(REGISTRATION)),
        SEEN._replace(objective=Objective(max_gap=1.0)),
        SEEN._replace(acknowledged=1.0),
    ],
)
def test_what_is_another_object_may_have_changed(now: Seen) -> None:
    assert not now.is_as(SEEN)


def test_partitions_that_moved_are_found_one_by_one() -> None:
    assert SEEN._replace(mine=[SEEN.mine[0], _seen(10, 25).mine[1]]).find_moved(SEEN) == {1}
    assert SEEN._replace(theirs=[_seen(10, upper=40).theirs[0], SEEN.theirs[1]]).find_moved(SEEN) == {0}
    known = SEEN._replace(trims={0: _trim(10), 1: _trim(20)})
    assert SEEN._replace(trims={0: _trim(10), 1: _trim(25)}).find_moved(known) == {1}
    assert SEEN._replace(trims={0: _trim(10)}).find_moved(known) == {1}


@pytest.mark.parametrize(
    "now",
    [
        SEEN._replace(theirs=[SEEN.theirs[0], _theirs(30, "other")]),
        SEEN._replace(theirs=[SEEN.theirs[0], FAILED]),
        SEEN._replace(mine=SEEN.mine[:1], theirs=SEEN.theirs[:1]),
        SEEN._replace(queue_row=replace(ROW, row_revision=9)),
        SEEN._replace(data_ttl=TTL),
        SEEN._replace(quarantines=[(REGISTRATION.consumer, True)]),
        SEEN._replace(registration=replace(REGISTRATION, partitions=(0,))),
        SEEN._replace(objective=Objective(max_gap=1.0)),
        SEEN._replace(acknowledged=1.0),
    ],
)
def test_a_rebuilt_queue_and_other_wishes_are_about_all_partitions(now: Seen) -> None:
    assert now.find_moved(SEEN) is None
