"""Queues and consumers in a few figures."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from queue_agent.core.consumers.consumer_snapshots import QueueRowAnswers, build_sub_snapshot
from queue_agent.core.consumers.registrations import RegistrationStatus
from queue_agent.core.queues.snapshots import (
    ConsumerSnapshot,
    ConsumerView,
    OffsetsRead,
    QueueMissing,
    Role,
    SubSnapshot,
)
from queue_agent.core.state.rows import ConsumerRow, Registration
from queue_agent.core.status.overview import consumer_overview, queue_overview
from queue_agent.core.values.encoding import EPOCH
from queue_agent.core.values.observed import ConsumerOffset
from queue_agent.core.values.timestamps import timestamp_of
from queue_agent.core.values.trim_constraints import ConstraintKind, PartitionTrim, TrimConstraint
from queue_agent.core.verdicts.queue_poll import without_poll
from queue_agent.core.verdicts.queue_state import Pair, QueueState
from queue_agent.core.verdicts.values import Verdict
from tests.unit.core.status.quotas import quota
from tests.unit.core.trimming.plans import ALICE, BOB, BROKEN, NOW, QUEUE, mounted, snapshot_of, unmounted

REGISTRATIONS = [Registration(QUEUE, ALICE, True), Registration(QUEUE, BOB, False)]
READ_AT = NOW - timedelta(hours=3)


def overview_of(content: SubSnapshot | None) -> dict[str, Any]:
    view = ConsumerView({} if content is None else {QUEUE: content})
    snapshot = ConsumerSnapshot(ConsumerRow(ALICE), Role.LEADING, 1, NOW, view, REGISTRATIONS[:1])
    [overview] = consumer_overview(snapshot, NOW)
    assert (overview.pop("queue"), overview.pop("vital")) == ("pythia://tmp/q", True)
    return overview


def test_figures_of_a_queue_are_of_the_partitions_that_can_be_read() -> None:
    weighed = replace(mounted(3, 10), cumulative_data_weight=100, trimmed_data_weight=40)
    snapshot = replace(snapshot_of(weighed, unmounted(), mounted(5, 5)), registrations=REGISTRATIONS)
    assert queue_overview(
        replace(snapshot, alerts={"b": BROKEN, "a": BROKEN}),
        {BOB: RegistrationStatus(Verdict.UNREADABLE, "broken", BROKEN)},
        NOW,
    ) == {
        "consumer_count": 2,
        "vital_consumer_count": 1,
        "failing_consumer_count": 1,
        "unreadable_consumers": ["broken"],
        "alerts": ["a", "b"],
        "account_full_soon": None,
        "partition_count": 3,
        "failed_partition_count": 1,
        "row_count": 7,
        "data_weight": 60,
        "trimmed_row_count": None,
        "write_row_count_rate": 0.0,
        "write_data_weight_rate": 0.0,
        "last_row_commit_time": "2025-01-23T13:42:21.000000Z",
        "trim_held_row_count": None,
    }


def test_a_consumer_is_not_unreadable_because_its_queue_is_or_because_it_has_stopped() -> None:
    statuses = {
        ALICE: RegistrationStatus(Verdict.UNREADABLE, "the queue is not mounted"),
        BOB: RegistrationStatus(Verdict.STOPPED, "silent", BROKEN),
    }
    overview = queue_overview(snapshot_of(mounted(5, 5)), statuses, NOW)
    assert (overview["unreadable_consumers"], overview["failing_consumer_count"]) == ([], 1)


def test_a_weight_that_one_partition_does_not_know_is_not_known() -> None:
    weighed = replace(mounted(3, 10), cumulative_data_weight=100, trimmed_data_weight=40)
    assert queue_overview(snapshot_of(weighed, mounted(3, 10)), {}, NOW)["data_weight"] is None


def test_a_queue_that_was_never_written_has_no_last_row_and_one_that_can_not_be_read_no_rows() -> None:
    empty = queue_overview(snapshot_of(replace(mounted(0, 0), last_row_commit_time=EPOCH)), {}, NOW)
    assert (empty["row_count"], empty["data_weight"], empty["last_row_commit_time"]) == (0, 0, None)
    unreadable = queue_overview(snapshot_of(unmounted()), {}, NOW)
    assert queue_overview(snapshot_of(mounted(3, 5), mounted(4, 5)), {}, NOW)["trimmed_row_count"] == 7
    assert (unreadable["row_count"], unreadable["data_weight"], unreadable["failed_partition_count"]) == (None, None, 1)


def test_a_queue_in_error_has_consumers_and_alerts_alone() -> None:
    snapshot = replace(snapshot_of(mounted(0, 1)), content=BROKEN, registrations=REGISTRATIONS)
    assert queue_overview(snapshot, {}, NOW) == {
        "consumer_count": 2,
        "vital_consumer_count": 1,
        "failing_consumer_count": 0,
        "unreadable_consumers": [],
        "alerts": [],
        "account_full_soon": None,
    }


def test_rows_held_back_from_trimming_are_those_that_are_known() -> None:
    trims = {
        index: PartitionTrim(None, TrimConstraint(ConstraintKind.VITAL_CONSUMER, 3, held))
        for index, held in enumerate([4, None, 5])
    }
    snapshot = replace(snapshot_of(mounted(0, 9)), trims=trims)
    assert queue_overview(snapshot, {}, NOW)["trim_held_row_count"] == 9


def test_the_position_of_a_consumer_is_told_in_figures() -> None:
    queue = snapshot_of(mounted(0, 10), unmounted())
    assert queue.view is not None
    offsets = {0: ConsumerOffset(0, 4, timestamp_of(READ_AT), {"offset_timestamp": timestamp_of(READ_AT)})}
    assert overview_of(build_sub_snapshot(None, queue.view, [OffsetsRead(offsets, 0)], QueueRowAnswers(), NOW)) == {
        "verdict": "unknown",
        "reason": None,
        "error": None,
        "partition_count": 2,
        "failed_partition_count": 1,
        "unread_row_count": 6,
        "unread_data_weight": None,
        "ahead_row_count": 0,
        "processing_lag": 3 * 60 * 60 * 1000,
        "last_consume_time": "2025-01-23T10:42:21.000000Z",
        "read_row_count_rate": 0.0,
        "read_data_weight_rate": 0.0,
    }


def test_the_verdict_is_the_one_of_the_consumers_pass() -> None:
    state = without_poll(QueueState(Pair(QUEUE, ALICE)), Verdict.UNREADABLE, "no such tablet", 0.0)
    assert state.verdict is not None
    snapshot = ConsumerSnapshot(ConsumerRow(ALICE), Role.LEADING, 1, NOW, ConsumerView({}), REGISTRATIONS[:1])
    [overview] = consumer_overview(replace(snapshot, verdicts={QUEUE: state.verdict}), NOW)
    assert overview == {"queue": "pythia://tmp/q", "vital": True, "error": None, **state.verdict.to_map()}


def test_a_lag_or_a_time_that_is_not_known_is_null() -> None:
    queue = snapshot_of(mounted(0, 10))
    assert queue.view is not None
    overview = overview_of(build_sub_snapshot(None, queue.view, [OffsetsRead({}, 0)], QueueRowAnswers(), NOW))
    assert (overview["processing_lag"], overview["last_consume_time"]) == (None, None)


@pytest.mark.parametrize(
    ("content", "error"), [(None, None), (BROKEN, BROKEN.to_map()), (QueueMissing(BROKEN), BROKEN.to_map())]
)
def test_without_a_view_of_the_queue_there_are_no_figures(content: SubSnapshot | None, error: Any) -> None:
    assert overview_of(content) == {"verdict": "unknown", "reason": None, "error": error}


def test_a_consumer_in_error_knows_nothing_of_any_queue() -> None:
    snapshot = ConsumerSnapshot(ConsumerRow(ALICE), Role.LEADING, 1, NOW, BROKEN, REGISTRATIONS)
    assert [one["verdict"] for one in consumer_overview(snapshot, NOW)] == ["unknown", "unknown"]


def test_the_queue_whose_rows_fill_an_account_tells_of_it() -> None:
    snapshot = snapshot_of(mounted(0, 5))
    assert queue_overview(snapshot, {}, NOW, quota(3600.0))["account_full_soon"] == quota(3600.0).sentence
    assert queue_overview(snapshot, {}, NOW, quota(10 * 86400.0))["account_full_soon"] is None
