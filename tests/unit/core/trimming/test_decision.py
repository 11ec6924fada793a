"""How far queues are trimmed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.exports.progress import ExportProgress
from queue_agent.core.exports.queue_exports import QueueExports
from queue_agent.core.queues.snapshots import (
    ConsumerSnapshot,
    ConsumerView,
    FailedQueuePartition,
    QueueMissing,
    QueueSnapshot,
    Role,
)
from queue_agent.core.state.rows import ConsumerRow, QueueRow, Registration
from queue_agent.core.trimming.ages import RowAges
from queue_agent.core.trimming.decision import is_trim_due, plan_trims
from queue_agent.core.trimming.errors import find_trim_error, trim_alert
from queue_agent.core.trimming.plan import TrimPlan
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, TrimConstraint
from tests.unit.core.trimming.plans import (
    ALICE,
    BOB,
    BROKEN,
    NOW,
    ORIGIN,
    QUEUE,
    constraint,
    consumer,
    failure,
    good_targets,
    judged,
    kinds,
    mounted,
    plan,
    plan_with,
    position,
    snapshot_of,
    targets,
    unmounted,
)


def test_the_slowest_vital_consumer_decides() -> None:
    queue = snapshot_of(mounted(3, 20))
    result = plan(queue, {ALICE: position(queue, 8), BOB: position(queue, 5)})
    assert good_targets(result) == {0: 5}
    assert constraint(result) == TrimConstraint(ConstraintKind.VITAL_CONSUMER, 5, 3, "hume://tmp/bob")


def test_a_consumer_that_is_not_vital_is_of_no_account() -> None:
    queue = snapshot_of(mounted(3, 20))
    assert good_targets(plan(queue, {ALICE: position(queue, 8), BOB: BROKEN}, non_vital=(BOB,))) == {0: 8}


def test_a_vital_consumer_that_has_read_nothing_holds_everything_without_alert() -> None:
    queue = snapshot_of(mounted(0, 20))
    result = plan(queue, {ALICE: position(queue, 8), BOB: position(queue)})
    assert good_targets(result) == {}
    assert constraint(result) == TrimConstraint(ConstraintKind.NOTHING_READ, 0, 8, "hume://tmp/bob")


def test_retained_rows_stay() -> None:
    queue = snapshot_of(mounted(0, 12), retained_rows=5)
    result = plan(queue, {ALICE: position(queue, 10)})
    assert good_targets(result) == {0: 7}
    assert constraint(result) == TrimConstraint(ConstraintKind.RETAINED_ROWS, 7, 3)
    queue = snapshot_of(mounted(0, 12), retained_rows=12)
    assert good_targets(plan(queue, {ALICE: position(queue, 10)})) == {}


def test_a_consumer_ahead_of_the_end_lets_nothing_go() -> None:
    queue = snapshot_of(mounted(0, 12))
    result = plan(queue, {ALICE: position(queue, 15)})
    assert good_targets(result) == {}
    assert constraint(result) == TrimConstraint(ConstraintKind.CONSUMER_AHEAD, 0, 12, str(ALICE))
    result = plan(queue, {ALICE: position(queue, 15), BOB: position(queue, 5)})
    assert good_targets(result) == {}
    assert constraint(result) == TrimConstraint(ConstraintKind.CONSUMER_AHEAD, 0, 5, str(ALICE))


@pytest.mark.parametrize(
    ("tablets", "partitions", "kind"),
    [
        ({0: "t"}, None, ConstraintKind.VITAL_CONSUMER),
        ({0: "older"}, None, ConstraintKind.UNPROVED_OFFSET),
        ({0: None}, None, ConstraintKind.STALE_OFFSET),
        ({1: "t"}, None, ConstraintKind.UNPROVED_OFFSET),
        (None, None, ConstraintKind.UNPROVED_OFFSET),
        ({0: "older"}, (0, 1), ConstraintKind.UNPROVED_OFFSET),
        ({0: "older"}, (1, 2), ConstraintKind.VITAL_CONSUMER),
    ],
)
def test_an_offset_that_may_be_of_a_tablet_before_a_reshard_lets_nothing_go(
    tablets: Mapping[int, str | None] | None, partitions: tuple[int, ...] | None, kind: ConstraintKind
) -> None:
    """Where it is not registered, nobody judges it any more."""
    queue = snapshot_of(mounted(0, 12))
    seen = consumer(ALICE, position(queue, 8))
    seen = replace(seen, verdicts={}) if tablets is None else judged(seen, tablets)
    result = plan_with(queue, [Registration(QUEUE, ALICE, True, partitions)], {ALICE: seen})
    assert good_targets(result) == ({0: 8} if kind is ConstraintKind.VITAL_CONSUMER else {})
    assert (constraint(result).kind, constraint(result).subject) == (kind, str(ALICE))


def test_tablets_that_are_not_mounted_are_left_alone_without_alert() -> None:
    queue = snapshot_of(mounted(0, 9), mounted(0, 9, "frozen"), unmounted())
    result = plan(queue, {ALICE: position(queue, 4, 4, 4)})
    assert good_targets(result) == {0: 4}
    assert constraint(result, 1) == TrimConstraint(
        ConstraintKind.NOT_MOUNTED,
        row_index=0,
        held_row_count=4,
        message='Not trimming partition 1 since its tablet is in state "frozen" and is not mounted',
    )
    assert constraint(result, 2).kind is ConstraintKind.NOT_MOUNTED
    assert constraint(result, 2).held_row_count is None


def test_a_queue_none_of_whose_partitions_can_be_read_raises_no_alert() -> None:
    queue = snapshot_of(unmounted())
    assert good_targets(plan(queue, {ALICE: QueueMissing(BROKEN)})) == {}


def test_a_consumer_that_has_not_seen_the_queue_yet_holds_everything_without_alert() -> None:
    queue = snapshot_of(mounted(0, 9))
    result = plan(queue, {ALICE: QueueMissing(BROKEN), BOB: position(queue, 5)})
    assert good_targets(result) == {}
    assert constraint(result) == TrimConstraint(ConstraintKind.ERROR, 0, 5, "hume://tmp/alice", "broken")


def test_nothing_is_planned_for_a_queue_that_does_not_ask_for_it() -> None:
    queue = snapshot_of(mounted(0, 9), row=QueueRow(QUEUE, object_id="1-2-3-4"))
    assert plan_trims(queue, queue.row.auto_trim_config, [], {}, {}, ORIGIN) is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (BROKEN, "erroneous registered vital consumer"),
        (None, "snapshot not containing information about queue"),
    ],
)
def test_a_vital_consumer_in_error_stops_the_iteration(content: ErrorInfo | None, words: str) -> None:
    registrations = [Registration(QUEUE, ALICE, vital=True)]
    result = plan_with(snapshot_of(mounted(0, 9)), registrations, {ALICE: consumer(ALICE, content)})
    error = failure(result)
    assert error.message == "Error trimming 1 queue replicas"
    assert words in error.inner_errors[0].message
    assert error.inner_errors[0].attributes["replica"] == "pythia://tmp/q"
    assert targets(result) == {}
    assert (constraint(result).kind, constraint(result).subject) == (ConstraintKind.ERROR, "hume://tmp/alice")


def test_a_vital_consumer_that_was_never_looked_at_is_waited_for_and_no_failure() -> None:
    new = replace(consumer(ALICE, BROKEN), pass_index=0)
    queue = snapshot_of(mounted(0, 9))
    result = plan_with(queue, [Registration(QUEUE, ALICE, vital=True)], {ALICE: new})
    assert targets(result) == {}
    assert "is looked at for the first time" in str(constraint(result).message)
    assert find_trim_error(result, {}, ORIGIN) is None


def test_a_vital_consumer_without_snapshot_stops_the_iteration() -> None:
    error = failure(plan_with(snapshot_of(mounted(0, 9)), [Registration(QUEUE, ALICE, vital=True)], {}))
    assert error.inner_errors[0].message == (
        'Trimming iteration skipped due to missing registered vital consumer "hume://tmp/alice"'
    )


def test_an_unreadable_position_stops_the_iteration() -> None:
    registrations = [Registration(QUEUE, ALICE, vital=True)]
    failed = ConsumerSnapshot(ConsumerRow(ALICE), Role.LEADING, 1, NOW, ConsumerView({QUEUE: BROKEN}))
    error = failure(plan_with(snapshot_of(mounted(0, 9)), registrations, {ALICE: failed}))
    assert "erroneous queue sub-snapshot" in error.inner_errors[0].message
    assert error.inner_errors[0].inner_errors == (BROKEN,)


@pytest.mark.parametrize(
    ("queue", "words", "kind"),
    [
        (
            replace(snapshot_of(), content=BROKEN),
            "Trimming iteration skipped due to queue error",
            None,
        ),
        (
            snapshot_of(mounted(0, 9), row=QueueRow(QUEUE, auto_trim_config={"enable": True})),
            "Object id is not known",
            ConstraintKind.ERROR,
        ),
        (
            snapshot_of(mounted(0, 9), retained_lifetime_duration=1500),
            "must be a multiple of 1000",
            ConstraintKind.ERROR,
        ),
        (snapshot_of(mounted(0, 9)), "is trimmed until it has a vital consumer", ConstraintKind.NO_VITAL_CONSUMER),
        (
            snapshot_of(
                mounted(0, 9),
                row=QueueRow(
                    QUEUE, object_id="1", auto_trim_config={"enable": True}, static_export_config={"daily": {}}
                ),
            ),
            "Failed to get aggregate queue exports progress",
            ConstraintKind.EXPORT,
        ),
        (
            snapshot_of(
                mounted(0, 9),
                row=QueueRow(QUEUE, object_type="replicated_table", auto_trim_config={"enable": True}, object_id="1"),
            ),
            "replicated_table",
            ConstraintKind.ERROR,
        ),
    ],
)
def test_what_is_not_known_for_certain_is_not_trimmed(
    queue: QueueSnapshot, words: str, kind: ConstraintKind | None
) -> None:
    result = plan(queue, {})
    assert words in failure(result).message
    assert targets(result) == {}
    assert kinds(result) == ([] if kind is None else [kind])


def test_an_export_that_claims_more_rows_than_there_were_lets_nothing_go() -> None:
    queue = snapshot_of(mounted(0, 5), mounted(0, 10))
    result = plan(queue, {}, exports={"daily": ExportProgress({0: 6, 1: 6})})
    assert good_targets(result) == {1: 6}
    constraint = result.trims[0].constraint
    assert (constraint.kind, constraint.subject) == (ConstraintKind.EXPORT, "daily")
    assert constraint.message == "Progress has 6 exported rows where there were 5 so far"


def test_exports_hold_back_like_consumers_and_are_enough_without_any() -> None:
    queue = snapshot_of(mounted(0, 9), mounted(0, 9))
    exports = {"daily": ExportProgress({0: 7}), "hourly": ExportProgress({0: 4, 1: 4})}
    result = plan(queue, {}, exports=exports)
    assert good_targets(result) == {0: 4}
    assert constraint(result, 0) == TrimConstraint(ConstraintKind.EXPORT, 4, 3, "hourly")
    assert constraint(result, 1) == TrimConstraint(ConstraintKind.EXPORT, 0, 4, "daily")
    assert good_targets(plan(queue, {ALICE: position(queue, 2, 2)}, exports=exports)) == {0: 2}


def test_rows_without_timestamps_are_never_trimmed_by_age() -> None:
    queue = snapshot_of(mounted(0, 9), mounted(0, 9, "frozen"), retained_lifetime_duration=1000)
    assert queue.view is not None
    queue = replace(queue, content=replace(queue.view, has_timestamp_column=False))
    result = plan(queue, {ALICE: position(queue, 5, 5)})
    assert targets(result) == {}
    assert constraint(result).kind is ConstraintKind.RETAINED_LIFETIME_DURATION
    session = failure(result).inner_errors[0]
    assert [error.attributes["partition_index"] for error in session.inner_errors] == [0]
    assert '"$timestamp"' in session.inner_errors[0].inner_errors[0].message


def test_young_rows_stay() -> None:
    queue = snapshot_of(mounted(0, 9), mounted(0, 9), mounted(0, 9), retained_lifetime_duration=1000)
    result = plan(queue, {ALICE: position(queue, 5, 5)})
    ages = {0: RowAges("t", 100, 3, young_timestamp=100), 1: RowAges("t", 100, 5)}
    result = result.with_ages(ages)
    assert good_targets(result) == {0: 3, 1: 5}
    assert constraint(result, 0) == TrimConstraint(ConstraintKind.RETAINED_LIFETIME_DURATION, 3, 2)
    assert constraint(result, 1).kind is ConstraintKind.VITAL_CONSUMER
    assert constraint(result, 2).kind is ConstraintKind.NOTHING_READ


def test_rows_whose_age_could_not_be_asked_for_stay() -> None:
    queue = snapshot_of(mounted(0, 9), mounted(0, 9), retained_lifetime_duration=1000)
    result = plan(queue, {ALICE: position(queue, 5, 5)}).with_ages({0: BROKEN, 1: RowAges("t", 100, 5)})
    assert targets(result) == {1: 5}
    assert constraint(result).kind is ConstraintKind.RETAINED_LIFETIME_DURATION
    assert failure(result).inner_errors[0].inner_errors[0].message == "broken"


def test_no_vital_consumers_is_an_error() -> None:
    queue = snapshot_of(mounted(0, 9))
    error = failure(plan(queue, {ALICE: position(queue, 5)}, non_vital=(ALICE,)))
    assert error.message == (
        'Nothing of queue "pythia://tmp/q" is trimmed until it has a vital consumer or a static export'
    )
    assert trim_alert(error, ORIGIN) is error


def test_a_new_partition_the_consumer_has_not_seen_is_an_error_and_the_others_are_trimmed() -> None:
    old = snapshot_of(mounted(0, 9))
    result = plan(snapshot_of(mounted(0, 9), mounted(0, 9)), {ALICE: position(old, 4)})
    assert targets(result) == {0: 4}
    [error] = failure(result).inner_errors[0].inner_errors
    assert "does not contain a snapshot for partition 1" in error.message


@given(
    partitions=st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 20), st.sampled_from(["mounted", "frozen", "unmounted"])),
        max_size=4,
    ),
    offsets=st.lists(st.none() | st.lists(st.integers(0, 60), max_size=4), max_size=3),
    exported=st.lists(st.dictionaries(st.integers(0, 3), st.integers(0, 60)), max_size=2),
    retained_rows=st.none() | st.integers(0, 30),
)
def test_no_plan_goes_past_a_vital_consumer_a_floor_an_export_or_the_end(
    partitions: list[tuple[int, int, str]],
    offsets: list[list[int] | None],
    exported: list[dict[int, int]],
    retained_rows: int | None,
) -> None:
    queue = snapshot_of(
        *(
            unmounted() if state == "unmounted" else mounted(lower, lower + count, state)
            for lower, count, state in partitions
        ),
        retained_rows=retained_rows,
    )
    positions = {
        CrossClusterRef("hume", f"//tmp/{number}"): BROKEN if read is None else position(queue, *read)
        for number, read in enumerate(offsets)
    }
    exports = {str(number): ExportProgress(counts) for number, counts in enumerate(exported)}
    result = plan(queue, positions, exports=exports)
    assert result == plan(queue, dict(reversed(positions.items())), exports=dict(reversed(exports.items())))
    assert len(result.trims) == len(partitions)
    for index, target in targets(result).items():
        lower, count, state = partitions[index]
        assert state == "mounted"
        assert lower < target <= lower + count
        assert offsets or exported
        assert all(read is not None and index < len(read) and target <= read[index] for read in offsets)
        assert all(target <= counts.get(index, 0) for counts in exported)
        assert retained_rows is None or target <= lower + count - retained_rows


def test_failed_requests_are_told_by_partition() -> None:
    error = find_trim_error(TrimPlan(QUEUE), {2: BROKEN, 1: BROKEN}, ORIGIN)
    assert error is not None
    session = error.inner_errors[0]
    assert session.message == "Failed to trim 2 partitions"
    assert [one.attributes["partition_index"] for one in session.inner_errors] == [1, 2]
    assert session.inner_errors[0].message == "Error occurred while executing trimming request for partition 1"
    alert = trim_alert(error, ORIGIN)
    assert (alert.code, alert.message, alert.inner_errors) == (3036, "Error while trimming queue", (error,))


def test_the_trimming_period_is_counted_in_passes_rounded_up() -> None:
    second = timedelta(seconds=1)
    assert all(is_trim_due(index, second, None) for index in range(1, 5))
    assert [index for index in range(1, 10) if is_trim_due(index, second, 2.5 * second)] == [3, 6, 9]
    assert all(is_trim_due(index, second, second / 10) for index in range(1, 5))


def test_an_export_that_has_every_row_lets_them_all_go() -> None:
    queue = snapshot_of(mounted(3, 20))
    assert good_targets(plan(queue, {}, exports={"daily": ExportProgress({0: 20})})) == {0: 20}


def test_what_is_wrong_with_a_mounted_partition_is_told() -> None:
    queue = snapshot_of(mounted(3, 20), FailedQueuePartition("t", "mounted", BROKEN))
    readable = snapshot_of(mounted(3, 20), mounted(3, 20))
    result = plan(queue, {ALICE: position(readable, 8, 8)})
    assert targets(result) == {0: 8}
    assert result.partitions[1].error == BROKEN
    assert constraint(result, 1).message == "broken"


def test_a_consumer_that_was_not_compared_with_a_partition_is_named() -> None:
    queue = snapshot_of(mounted(3, 20), mounted(3, 20))
    less = snapshot_of(mounted(3, 20))
    assert constraint(plan(queue, {ALICE: position(less, 8)}), 1).subject == str(ALICE)
    failed = snapshot_of(mounted(3, 20), FailedQueuePartition("t", "mounted", BROKEN))
    assert constraint(plan(queue, {ALICE: position(failed, 8, 8)}), 1).subject == str(ALICE)


def test_an_error_says_what_it_comes_of() -> None:
    queue = snapshot_of(mounted(3, 20))
    unreadable = replace(queue, content=BROKEN)
    assert list(plan(unreadable, {}).error.inner_errors) == [BROKEN]  # type: ignore[union-attr] # there is one
    unknown_exports = replace(queue, exports=QueueExports(BROKEN))
    assert list(failure(plan(unknown_exports, {})).inner_errors) == [BROKEN]
    registrations = [Registration(QUEUE, ALICE, vital=True)]
    result = plan_with(queue, registrations, {ALICE: consumer(ALICE, BROKEN)})
    assert "broken" in str(failure(result).to_map())
