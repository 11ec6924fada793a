"""What verdicts are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from queue_agent.core.consumers.consumer_snapshots import QueueRowAnswers, build_sub_snapshot
from queue_agent.core.consumers.readings import explain_unreadable, read_positions
from queue_agent.core.consumers.retention import VitalConsumer, VitalConsumers
from queue_agent.core.queues.snapshots import ConsumerQueueView, OffsetsRead, QueuePartition, QueueSnapshot
from queue_agent.core.state.rows import Registration
from queue_agent.core.values.encoding import EPOCH
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.observed import ConsumerOffset
from queue_agent.core.values.timestamps import timestamp_of
from queue_agent.core.values.trim_constraints import ConstraintKind, PartitionTrim, TrimConstraint
from queue_agent.core.verdicts.advice import Advice, Turn
from queue_agent.core.verdicts.incidents import NOBODY, Blame
from queue_agent.core.verdicts.queue_state import PartitionReading
from queue_agent.core.verdicts.values import LossCause
from tests.unit.core.trimming.plans import ALICE, BOB, BROKEN, NOW, QUEUE, mounted, snapshot_of, unmounted

VITAL = Registration(QUEUE, ALICE, vital=True)
OTHER = Registration(QUEUE, BOB, vital=False)


def _view(queue: QueueSnapshot, offsets: Mapping[int, int]) -> ConsumerQueueView:
    assert queue.view is not None
    stamp = timestamp_of(NOW)
    found = {
        index: ConsumerOffset(index, offset, stamp, {"offset_timestamp": stamp}) for index, offset in offsets.items()
    }
    return build_sub_snapshot(None, queue.view, [OffsetsRead(found, 0)], QueueRowAnswers(), NOW)


def _read(
    queue: QueueSnapshot,
    offsets: Mapping[int, int],
    registration: Registration = OTHER,
    vital: VitalConsumers = None,
    *,
    trims: bool = True,
) -> Mapping[int, PartitionReading]:
    return read_positions(_view(queue, offsets), queue, registration, vital, trims=trims)


def _queue(
    *partitions: QueuePartition, trims: Mapping[int, PartitionTrim] | None = None, **config: Any
) -> QueueSnapshot:
    """The row is about the table that was at this path before."""
    queue = snapshot_of(*partitions)
    assert queue.view is not None
    row = replace(queue.row, auto_trim_config={"enable": True, **config}, object_id="old")
    return replace(queue, row=row, content=replace(queue.view, object_id="o"), trims=trims)


def _trim(kind: ConstraintKind, row_index: int | None = None, subject: str | None = None) -> PartitionTrim:
    return PartitionTrim(None, TrimConstraint(kind, row_index, 7, subject))


def test_a_reading_has_marks_times_and_identities() -> None:
    one = _read(_queue(mounted(3, 10)), {0: 4})[0]
    reading = one.reading
    assert (reading.start, reading.end, reading.offset, reading.drainable) == (3, 10, 4, 6)
    assert (reading.tablet_id, reading.object_id) == ("t", "o")
    assert reading.committed_at == reading.next_row_time == one.written_at == NOW.timestamp()


def test_partitions_that_nobody_asks_for_are_left_out() -> None:
    queue = _queue(mounted(3, 10), mounted(5, 10))
    view = _view(queue, {0: 4, 1: 6})
    assert read_positions(view, queue, OTHER, {}, trims=True, but=[0]).keys() == {1}


def test_what_has_not_happened_has_no_time() -> None:
    one = _read(_queue(replace(mounted(0, 0), last_row_commit_time=EPOCH)), {})[0]
    assert (one.reading.committed_at, one.reading.next_row_time, one.written_at) == (None, None, None)


def test_the_age_of_a_row_that_is_gone_is_not_that_of_the_next() -> None:
    assert _read(_queue(mounted(5, 10)), {0: 4})[0].reading.next_row_time is None


@pytest.mark.parametrize(
    ("trim", "blame"),
    [
        (None, Blame(LossCause.VITAL_TRIMMING)),
        (_trim(ConstraintKind.VITAL_CONSUMER, 5, "x"), Blame(LossCause.VITAL_TRIMMING, "x")),
        (_trim(ConstraintKind.RETAINED_ROWS, 5, "x"), Blame(LossCause.VITAL_TRIMMING)),
        (_trim(ConstraintKind.EXPORT, None, "daily"), Blame(LossCause.EXPORT_TRIMMING, "daily")),
        (_trim(ConstraintKind.VITAL_CONSUMER, 4, "x"), NOBODY),
    ],
)
def test_trims_are_blamed_on_what_constrains_them(trim: PartitionTrim | None, blame: Blame) -> None:
    queue = _queue(mounted(5, 10), trims=None if trim is None else {0: trim})
    assert _read(queue, {0: 4})[0].blame == blame


@pytest.mark.parametrize(
    "trim", [None, _trim(ConstraintKind.RETAINED_ROWS, 5), _trim(ConstraintKind.END_OF_PARTITION, 5)]
)
def test_where_nothing_constrains_trims_the_slowest_vital_consumer_has_let_the_row_go(
    trim: PartitionTrim | None,
) -> None:
    queue = _queue(mounted(5, 10), trims=None if trim is None else {0: trim})
    vital = {"fast": VitalConsumer(_view(queue, {0: 10})), "slow": VitalConsumer(_view(queue, {0: 9}))}
    assert _read(queue, {0: 4}, vital=vital)[0].blame == Blame(LossCause.VITAL_TRIMMING, "slow")


@pytest.mark.parametrize("config", [None, {"enable": False}, {"enable": "perhaps"}])
def test_a_queue_that_is_not_trimmed_loses_nothing_by_this_agent(config: Any) -> None:
    queue = _queue(mounted(5, 10))
    queue = replace(queue, row=replace(queue.row, auto_trim_config=config))
    assert _read(queue, {0: 4})[0].blame == NOBODY
    assert _read(_queue(mounted(5, 10)), {0: 4}, trims=False)[0].blame == NOBODY


def test_a_vital_consumer_is_told_what_it_alone_holds() -> None:
    mine = _queue(mounted(0, 10), trims={0: _trim(ConstraintKind.VITAL_CONSUMER, 4, str(ALICE))})
    assert _read(mine, {0: 4}, VITAL)[0].held_rows == 7
    assert _read(mine, {0: 4}, OTHER)[0].held_rows == 0
    rows = _queue(mounted(0, 10), trims={0: _trim(ConstraintKind.RETAINED_ROWS, 4)})
    assert _read(rows, {0: 4}, VITAL)[0].held_rows == 0


def test_an_unmounted_tablet_is_to_be_mounted() -> None:
    assert explain_unreadable(snapshot_of(mounted(0, 1), unmounted()), VITAL, BROKEN) == (
        "Cannot read partition 1: the tablet is unmounted",
        Advice(Turn.CLUSTER, "yt --proxy pythia mount-table //tmp/q", is_command=True),
    )


def test_the_unmounted_table_of_a_consumer_is_to_be_mounted() -> None:
    error = ErrorInfo("lookup_rows failed", code=1702)
    assert explain_unreadable(snapshot_of(mounted(0, 1)), VITAL, error) == (
        f"Cannot be read: the table of consumer {ALICE} is unmounted",
        Advice(Turn.CLUSTER, f"yt --proxy {ALICE.cluster} mount-table {ALICE.path}", is_command=True),
    )
    queue_first = explain_unreadable(snapshot_of(unmounted()), VITAL, error)[0]
    assert queue_first == "Cannot read partition 0: the tablet is unmounted"


def test_what_cannot_be_read_says_why() -> None:
    mounting = replace(unmounted(), tablet_state="mounting")
    assert explain_unreadable(snapshot_of(mounting), VITAL, BROKEN)[0] == "Cannot read partition 0: broken"
    assert explain_unreadable(snapshot_of(), VITAL, BROKEN)[0] == "Cannot be read: broken"


def test_nothing_that_destroys_is_advised_of_a_queue_that_is_gone() -> None:
    assert explain_unreadable(None, VITAL, BROKEN) == (
        "Queue pythia://tmp/q does not exist, or this stage does not serve it",
        Advice(Turn.OWNER, "create the queue again, or unregister the consumer if the queue is gone for good"),
    )


def test_what_nobody_of_this_stage_has_trimmed_may_have_been_too_old() -> None:
    queue = _queue(mounted(5, 10))
    assert queue.view is not None
    old = replace(queue, content=replace(queue.view, data_ttl=timedelta(hours=1)))
    assert _read(old, {0: 4}, trims=False)[0].blame == Blame(data_ttl=3600.0)
    ours = replace(old, trims={0: _trim(ConstraintKind.VITAL_CONSUMER, 4, "x")})
    assert _read(ours, {0: 4})[0].blame == Blame(data_ttl=3600.0)
