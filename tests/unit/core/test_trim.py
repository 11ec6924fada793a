"""How far queues are trimmed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.consumer_snapshots import QueueRowAnswers, build_sub_snapshot
from queue_agent.core.error_info import ErrorInfo, Origin
from queue_agent.core.exports import find_exports_error
from queue_agent.core.observed import ConsumerOffset
from queue_agent.core.rates import Counters, EmaCounter
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import ConsumerRow, QueueRow, Registration
from queue_agent.core.snapshots import (
    ConsumerSnapshot,
    ConsumerView,
    FailedQueuePartition,
    QueueMissing,
    QueuePartition,
    QueueSnapshot,
    QueueView,
    Role,
    SubSnapshot,
)
from queue_agent.core.trim import (
    TrimBounds,
    TrimPlan,
    decide_trim,
    find_trim_error,
    is_trim_due,
    keep_last_rows,
    plan_trims,
    trim_alert,
)
from queue_agent.core.trim_config import AutoTrimConfig

NOW = datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)
ORIGIN = Origin("agent-1", 481, 7, "Controller:0", 8, "1-2-3-4", 9, NOW)
QUEUE = CrossClusterRef("pythia", "//tmp/q")
ALICE = CrossClusterRef("hume", "//tmp/alice")
BOB = CrossClusterRef("hume", "//tmp/bob")
BROKEN = ErrorInfo("broken")

bounds = st.builds(
    TrimBounds,
    constraint=st.sampled_from("abcd"),
    wanted=st.none() | st.integers(0, 50),
    allowed=st.none() | st.integers(0, 50),
)


@given(st.integers(0, 50), st.lists(bounds))
def test_a_partition_is_trimmed_forward_only_and_within_every_limit(lower: int, policies: list[TrimBounds]) -> None:
    target = decide_trim(lower, policies).target
    if target is not None:
        assert target > lower
        assert all(target <= one.allowed for one in policies if one.allowed is not None)
        assert all(target <= one.wanted for one in policies if one.wanted is not None)


@given(st.integers(0, 50), st.lists(bounds), st.randoms())
def test_the_order_of_policies_is_of_no_account(lower: int, policies: list[TrimBounds], shuffler: Any) -> None:
    shuffled = list(policies)
    shuffler.shuffle(shuffled)
    assert decide_trim(lower, shuffled) == decide_trim(lower, policies)


@given(st.integers(0, 50), st.lists(bounds))
def test_a_second_trim_finds_nothing(lower: int, policies: list[TrimBounds]) -> None:
    target = decide_trim(lower, policies).target
    if target is not None:
        assert decide_trim(target, policies).target is None


@given(st.integers(0, 50), st.lists(bounds), bounds)
def test_one_more_limit_never_trims_more(lower: int, policies: list[TrimBounds], more: TrimBounds) -> None:
    before = decide_trim(lower, policies).target or lower
    limit = replace(more, wanted=None)
    assert (decide_trim(lower, [*policies, limit]).target or lower) <= before


def test_the_binding_constraint_is_named_even_if_nothing_is_trimmed() -> None:
    policies = [TrimBounds("a", wanted=8), TrimBounds("b", wanted=5), TrimBounds("keep", allowed=7)]
    assert decide_trim(3, policies).constraint == "b"
    held = decide_trim(6, policies)
    assert (held.target, held.constraint) == (None, "b")


def test_limits_alone_never_trim() -> None:
    decision = decide_trim(0, [keep_last_rows(100, 10)])
    assert (decision.target, decision.constraint) == (None, None)


def mounted(lower: int, upper: int, state: str = "mounted") -> QueuePartition:
    return QueuePartition("t", state, None, None, lower, upper, NOW, timedelta(0), Counters())


def unmounted() -> FailedQueuePartition:
    return FailedQueuePartition("t", "unmounted", BROKEN)


def snapshot_of(
    *partitions: QueuePartition | FailedQueuePartition, row: QueueRow | None = None, **config: Any
) -> QueueSnapshot:
    row = row or QueueRow(QUEUE, object_id="1-2-3-4", auto_trim_config={"enable": True, **config})
    view = QueueView(partitions, has_timestamp_column=True, has_cumulative_data_weight_column=True,
                     write_row_count=EmaCounter(), write_data_weight=EmaCounter())  # fmt: skip
    exports_error = find_exports_error(row, Role.LEADING, ORIGIN)
    return QueueSnapshot(row, Role.LEADING, 1, NOW, view, exports_error=exports_error)


def standing(queue: QueueSnapshot, *offsets: int) -> SubSnapshot:
    assert queue.view is not None
    rows = {index: ConsumerOffset(index, offset, 0) for index, offset in enumerate(offsets)}
    return build_sub_snapshot(None, queue.view, rows, QueueRowAnswers(), NOW)


def consumer(ref: CrossClusterRef, content: SubSnapshot | ErrorInfo | None) -> ConsumerSnapshot:
    view = content if isinstance(content, ErrorInfo) else ConsumerView({} if content is None else {QUEUE: content})
    return ConsumerSnapshot(ConsumerRow(ref), Role.LEADING, 1, NOW, view)


def plan(
    queue: QueueSnapshot, standings: Mapping[CrossClusterRef, SubSnapshot], non_vital: tuple[CrossClusterRef, ...] = ()
) -> TrimPlan | ErrorInfo:
    registrations = [Registration(QUEUE, ref, ref not in non_vital) for ref in standings]
    return plan_trims(queue, registrations, {ref: consumer(ref, one) for ref, one in standings.items()}, ORIGIN)


def targets(result: TrimPlan | ErrorInfo) -> Mapping[int, int]:
    assert isinstance(result, TrimPlan)
    assert not result.errors
    return result.targets


def test_the_slowest_vital_consumer_decides() -> None:
    queue = snapshot_of(mounted(3, 20))
    result = plan(queue, {ALICE: standing(queue, 8), BOB: standing(queue, 5)})
    assert targets(result) == {0: 5}
    assert isinstance(result, TrimPlan)
    assert result.decisions[0].constraint == 'vital consumer "hume://tmp/bob"'


def test_a_consumer_that_is_not_vital_is_of_no_account() -> None:
    queue = snapshot_of(mounted(3, 20))
    assert targets(plan(queue, {ALICE: standing(queue, 8), BOB: BROKEN}, non_vital=(BOB,))) == {0: 8}


def test_a_vital_consumer_that_has_read_nothing_holds_everything_without_alert() -> None:
    queue = snapshot_of(mounted(0, 20))
    assert targets(plan(queue, {ALICE: standing(queue, 8), BOB: standing(queue)})) == {}


def test_retained_rows_stay() -> None:
    queue = snapshot_of(mounted(0, 12), retained_rows=5)
    assert targets(plan(queue, {ALICE: standing(queue, 10)})) == {0: 7}
    queue = snapshot_of(mounted(0, 12), retained_rows=12)
    assert targets(plan(queue, {ALICE: standing(queue, 10)})) == {}


def test_a_consumer_ahead_of_the_end_leaves_the_judgement_to_the_tablet() -> None:
    queue = snapshot_of(mounted(0, 12))
    assert targets(plan(queue, {ALICE: standing(queue, 15)})) == {0: 15}


def test_tablets_that_are_not_mounted_are_left_alone_without_alert() -> None:
    queue = snapshot_of(mounted(0, 9), mounted(0, 9, "frozen"), unmounted())
    result = plan(queue, {ALICE: standing(queue, 4, 4, 4)})
    assert targets(result) == {0: 4}
    assert isinstance(result, TrimPlan)
    assert result.skipped[1].message == (
        'Not trimming partition 1 since its tablet is in state "frozen" and is not mounted'
    )
    assert set(result.skipped) == {1, 2}
    assert find_trim_error(QUEUE, result, {}, ORIGIN) is None


def test_a_queue_none_of_whose_partitions_can_be_read_raises_no_alert() -> None:
    queue = snapshot_of(unmounted())
    result = plan(queue, {ALICE: QueueMissing(BROKEN)})
    assert targets(result) == {}
    assert find_trim_error(QUEUE, result, {}, ORIGIN) is None


def test_a_consumer_that_has_not_seen_the_queue_yet_holds_everything_without_alert() -> None:
    queue = snapshot_of(mounted(0, 9))
    assert targets(plan(queue, {ALICE: QueueMissing(BROKEN), BOB: standing(queue, 5)})) == {}


def test_nothing_is_planned_for_a_queue_that_does_not_ask_for_it() -> None:
    queue = snapshot_of(mounted(0, 9), row=QueueRow(QUEUE, object_id="1-2-3-4"))
    assert plan(queue, {}) == TrimPlan()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (BROKEN, "erroneous registered vital consumer"),
        (None, "snapshot not containing information about queue"),
    ],
)
def test_a_vital_consumer_in_error_stops_the_iteration(content: ErrorInfo | None, words: str) -> None:
    registrations = [Registration(QUEUE, ALICE, vital=True)]
    result = plan_trims(snapshot_of(mounted(0, 9)), registrations, {ALICE: consumer(ALICE, content)}, ORIGIN)
    assert isinstance(result, ErrorInfo)
    assert result.message == "Error trimming 1 queue replicas"
    assert words in result.inner_errors[0].message
    assert result.inner_errors[0].attributes["replica"] == "pythia://tmp/q"


def test_a_vital_consumer_without_snapshot_stops_the_iteration() -> None:
    result = plan_trims(snapshot_of(mounted(0, 9)), [Registration(QUEUE, ALICE, vital=True)], {}, ORIGIN)
    assert isinstance(result, ErrorInfo)
    assert result.inner_errors[0].message == (
        'Trimming iteration skipped due to missing registered vital consumer "hume://tmp/alice"'
    )


def test_a_failed_standing_stops_the_iteration() -> None:
    registrations = [Registration(QUEUE, ALICE, vital=True)]
    failed = ConsumerSnapshot(ConsumerRow(ALICE), Role.LEADING, 1, NOW, ConsumerView({QUEUE: BROKEN}))
    result = plan_trims(snapshot_of(mounted(0, 9)), registrations, {ALICE: failed}, ORIGIN)
    assert isinstance(result, ErrorInfo)
    assert "erroneous queue sub-snapshot" in result.inner_errors[0].message
    assert result.inner_errors[0].inner_errors == (BROKEN,)


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        (replace(snapshot_of(), content=BROKEN), "Trimming iteration skipped due to queue error"),
        (snapshot_of(row=QueueRow(QUEUE, auto_trim_config={"enable": True})), "Object id is not known"),
        (snapshot_of(retained_lifetime_duration=1500), "must be a multiple of 1000"),
        (snapshot_of(), "Error trimming 1 queue replicas"),
        (
            snapshot_of(
                row=QueueRow(
                    QUEUE, object_id="1", auto_trim_config={"enable": True}, static_export_config={"daily": {}}
                )
            ),
            "Failed to get aggregate queue exports progress",
        ),
    ],
)
def test_what_is_not_known_for_certain_is_not_trimmed(queue: QueueSnapshot, words: str) -> None:
    result = plan(queue, {})
    assert isinstance(result, ErrorInfo)
    assert words in result.message


def test_a_lifetime_that_can_not_be_honoured_keeps_everything() -> None:
    queue = snapshot_of(mounted(0, 9), retained_lifetime_duration=1000)
    result = plan(queue, {ALICE: standing(queue, 5)})
    assert isinstance(result, ErrorInfo)
    assert "retained_lifetime_duration" in result.inner_errors[0].message


def test_no_vital_consumers_is_an_error() -> None:
    queue = snapshot_of(mounted(0, 9))
    result = plan(queue, {ALICE: standing(queue, 5)}, non_vital=(ALICE,))
    assert isinstance(result, ErrorInfo)
    assert result.inner_errors[0].message == (
        'Attempted trimming iteration on queue "pythia://tmp/q" with no vital consumers and no configured static '
        "table exports"
    )


def test_a_new_partition_the_consumer_has_not_seen_is_an_error_and_the_others_are_trimmed() -> None:
    old = snapshot_of(mounted(0, 9))
    result = plan(snapshot_of(mounted(0, 9), mounted(0, 9)), {ALICE: standing(old, 4)})
    assert isinstance(result, TrimPlan)
    assert result.targets == {0: 4}
    assert "does not contain a snapshot for partition 1" in result.errors[1].message


def test_failed_requests_are_told_by_partition() -> None:
    error = find_trim_error(QUEUE, TrimPlan(), {2: BROKEN, 1: BROKEN}, ORIGIN)
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


@pytest.mark.parametrize(
    "value",
    [
        {"enable": 1},
        {"enable": "yes"},
        {"retained_rows": -1},
        {"retained_rows": True},
        {"retained_rows": 1.5},
        {"retained_lifetime_duration": 1},
    ],
)
def test_a_config_that_makes_no_sense_is_refused(value: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(value))):
        AutoTrimConfig.parse(value)


def test_a_config_that_is_absent_does_not_trim() -> None:
    assert AutoTrimConfig.parse(None) == AutoTrimConfig.parse({}) == AutoTrimConfig(enable=False)
    assert AutoTrimConfig.parse({"enable": True, "retained_rows": None}) == AutoTrimConfig(enable=True)


def test_a_boolean_may_be_written_as_a_word() -> None:
    assert AutoTrimConfig.parse({"enable": "true"}).enable
    assert not AutoTrimConfig.parse({"enable": "false"}).enable
