"""What was asked right before a trim can only make it less."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.exports.progress import ExportProgress
from queue_agent.core.state.rows import MappingRow, QueueRow, Registration
from queue_agent.core.trimming.confirmation import FreshLook, confirm_plan
from queue_agent.core.trimming.errors import find_trim_error
from queue_agent.core.trimming.plan import TrimPlan
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind
from tests.unit.core.trimming.plans import ALICE, BOB, BROKEN, ORIGIN, QUEUE, mounted, plan, position, snapshot_of

ROW = QueueRow(
    QUEUE,
    row_revision=1,
    object_type="table",
    dynamic=True,
    sorted=False,
    auto_trim_config={"enable": True},
    queue_agent_stage="production",
    object_id="1-2-3-4",
)
VITAL_ALICE = Registration(QUEUE, ALICE, vital=True)
VITAL_BOB = Registration(QUEUE, BOB, vital=True)
SAME_TABLETS = dict.fromkeys(range(5), "t")

Offsets = Mapping[CrossClusterRef, Mapping[int, int] | ErrorInfo]


def planned(*offsets: int, upper: int = 20, exports: Mapping[str, ExportProgress] | None = None) -> TrimPlan:
    """By what Alice has read of partitions that begin at 3; without offsets there is no Alice."""
    queue = snapshot_of(*[mounted(3, upper)] * max(len(offsets), 1), row=ROW)
    return plan(queue, {ALICE: position(queue, *offsets)} if offsets else {}, exports=exports)


def confirmed(
    before: TrimPlan,
    offsets: Offsets,
    *registrations: Registration,
    row: QueueRow = ROW,
    upper: int = 20,
    exports: Mapping[str, ExportProgress | ErrorInfo] | None = None,
    tablet_ids: Mapping[int, str] = SAME_TABLETS,
) -> TrimPlan:
    look = FreshLook(
        [row],
        dict.fromkeys(range(5), upper),
        {},
        offsets,
        exports=exports or {},
        mapping=None,
        replica_rows=[],
        tablet_ids=tablet_ids,
        aligned_with=[],
    )
    return confirm_plan(before, ROW, None, registrations or [VITAL_ALICE], look, ORIGIN)


def target(result: TrimPlan, index: int = 0) -> int | None:
    return result.trims[index].target


def message(result: TrimPlan) -> str:
    error = find_trim_error(result, {}, ORIGIN)
    assert error is not None
    return error.message


def test_what_has_not_changed_is_confirmed_as_it_was() -> None:
    before = planned(8)
    after = confirmed(before, {ALICE: {0: 8}})
    assert after.trims == before.trims
    assert find_trim_error(after, {}, ORIGIN) is None


def test_an_offset_that_went_back_holds_and_one_that_went_on_waits_for_the_next_pass() -> None:
    back = confirmed(planned(8), {ALICE: {0: 5}})
    assert (target(back), back.trims[0].constraint.held_row_count) == (5, 15)
    onward = confirmed(planned(8), {ALICE: {0: 12}})
    assert (target(onward), onward.trims[0].constraint.held_row_count) == (8, 12)
    assert target(confirmed(planned(8), {ALICE: {}})) is None


def test_a_consumer_that_is_ahead_by_now_is_not_believed_unless_rows_came_too() -> None:
    after = confirmed(planned(8), {ALICE: {0: 30}})
    assert (target(after), after.trims[0].constraint.kind) == (None, ConstraintKind.CONSUMER_AHEAD)
    assert target(confirmed(planned(8), {ALICE: {0: 30}}, upper=30)) == 8


def test_a_consumer_that_became_vital_counts_at_once() -> None:
    after = confirmed(planned(8), {ALICE: {0: 8}, BOB: {0: 4}}, VITAL_ALICE, VITAL_BOB)
    assert (target(after), after.trims[0].constraint.subject) == (4, str(BOB))


def test_a_consumer_that_is_vital_no_more_still_counts_in_this_pass() -> None:
    after = confirmed(planned(8), {BOB: {0: 19}}, VITAL_BOB)
    assert target(after) == 8


def test_without_any_vital_consumer_left_nothing_goes_unless_there_are_exports() -> None:
    nobody = Registration(QUEUE, ALICE, vital=False)
    assert "no vital consumers any more" in message(confirmed(planned(8), {}, nobody))
    exports = {"daily": ExportProgress({0: 6})}
    assert target(confirmed(planned(exports=exports), {}, nobody, exports=exports)) == 6


def test_progress_that_went_back_holds_and_what_went_on_waits_for_the_next_pass() -> None:
    before = planned(8, 9, exports={"daily": ExportProgress({0: 6, 1: 7})})
    after = confirmed(before, {ALICE: {0: 8, 1: 9}}, exports={"daily": ExportProgress({0: 5, 1: 12})})
    assert [target(after, index) for index in (0, 1)] == [5, 7]
    assert (after.trims[0].constraint.kind, after.trims[0].constraint.subject) == (ConstraintKind.EXPORT, "daily")
    assert find_trim_error(after, {}, ORIGIN) is None
    empty = confirmed(before, {ALICE: {0: 8, 1: 9}}, exports={"daily": ExportProgress({})})
    assert [target(empty, index) for index in (0, 1)] == [None, None]


def test_an_export_that_has_just_come_counts_at_once() -> None:
    after = confirmed(planned(8), {ALICE: {0: 8}}, exports={"daily": ExportProgress({0: 4})})
    assert target(after) == 4


@pytest.mark.parametrize(
    ("exports", "words"),
    [
        ({"daily": BROKEN}, BROKEN.message),
        ({}, "not configured any more"),
        ({"daily": ExportProgress({0: 21, 1: 21})}, None),
    ],
)
def test_progress_that_is_not_known_or_makes_no_sense_holds_everything(
    exports: Mapping[str, ExportProgress | ErrorInfo], words: str | None
) -> None:
    before = planned(8, 9, exports={"daily": ExportProgress({0: 6, 1: 7})})
    after = confirmed(before, {ALICE: {0: 8, 1: 9}}, exports=exports)
    assert [target(after, index) for index in (0, 1)] == [None, None]
    assert (after.trims[0].constraint.kind, after.trims[0].constraint.subject) == (ConstraintKind.EXPORT, "daily")
    if words is not None:
        error = find_trim_error(after, {}, ORIGIN)
        assert error is not None
        assert words in str(error.to_map())


def test_offsets_that_can_not_be_read_stop_everything() -> None:
    after = confirmed(planned(8, 9), {ALICE: BROKEN})
    assert [target(after, index) for index in (0, 1)] == [None, None]
    assert f'offsets of vital consumer "{ALICE}" cannot be read' in message(after)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"object_id": "5-6-7-8"}, "is 5-6-7-8, and not 1-2-3-4"),
        ({"auto_trim_config": {"enable": False}}, "the state tables said: auto_trim_config"),
        ({"auto_trim_config": {"enable": True, "retained_rows": 5}}, "the state tables said: auto_trim_config"),
        ({"auto_trim_config": None}, "the state tables said: auto_trim_config"),
        ({"static_export_config": {"daily": {}}}, "the state tables said: static_export_config"),
        ({"queue_agent_banned": True}, "the state tables said: queue_agent_banned"),
        ({"queue_agent_stage": "testing"}, "the state tables said: queue_agent_stage"),
        ({"sorted": True}, "due to attributes of queue"),
        ({"synchronization_error": {"code": 1, "message": "nonsense"}}, "due to attributes of queue"),
    ],
)
def test_a_queue_that_is_another_by_now_is_left_alone(change: Mapping[str, Any], words: str) -> None:
    after = confirmed(planned(8), {ALICE: {0: 8}}, row=replace(ROW, **change))
    assert target(after) is None
    assert words in message(after)


@pytest.mark.parametrize(
    "same",
    [
        {"auto_trim_config": {"enable": "true"}},
        {"auto_trim_config": {"enable": True, "retained_rows": None, "retained_lifetime_duration": None}},
        {"static_export_config": {}},
        {"queue_agent_banned": False},
        {"row_revision": 7},
    ],
)
def test_what_means_the_same_is_no_change(same: Mapping[str, Any]) -> None:
    assert target(confirmed(planned(8), {ALICE: {0: 8}}, row=replace(ROW, **same))) == 8


@given(
    st.lists(st.integers(0, 25), min_size=1, max_size=4),
    st.lists(st.integers(0, 25), min_size=4, max_size=4),
    st.lists(st.integers(0, 25), min_size=4, max_size=4),
    st.booleans(),
)
def test_no_target_is_ever_beyond_the_plan_or_an_offset(
    old: list[int], alice: list[int], bob: list[int], bob_is_vital: bool
) -> None:
    before = planned(*old)
    offsets = {ALICE: dict(enumerate(alice)), BOB: dict(enumerate(bob))}
    after = confirmed(before, offsets, VITAL_ALICE, Registration(QUEUE, BOB, bob_is_vital))
    for index in before.trims:
        bound = min(alice[index], bob[index] if bob_is_vital else 25, target(before, index) or 0)
        assert (target(after, index) or 0) <= bound


@pytest.mark.parametrize(("before", "after"), [("//d1", "//d2"), ("//d1", None)])
def test_an_export_to_another_directory_makes_a_plan_void(before: str, after: str | None) -> None:
    old = replace(ROW, static_export_config={"daily": {"export_directory": before}})
    new = replace(ROW, static_export_config={"daily": {"export_directory": after} if after else "nonsense"})
    look = FreshLook(
        [new],
        {0: 20},
        {0: 3},
        {ALICE: {0: 8}},
        exports={},
        mapping=None,
        replica_rows=[],
        tablet_ids=SAME_TABLETS,
        aligned_with=[],
    )
    result = confirm_plan(planned(8), old, None, [VITAL_ALICE], look, ORIGIN)
    assert target(result) is None
    assert message(result).endswith("are not what the state tables said: static_export_config")


def test_a_partition_of_which_one_row_might_be_read_is_kept_while_none_is() -> None:
    assert target(confirmed(planned(8, upper=9), {ALICE: {}})) is None
    queue = snapshot_of(mounted(0, 20), row=ROW)
    assert target(confirmed(plan(queue, {ALICE: position(queue, 8)}), {ALICE: {}})) is None


@pytest.mark.parametrize("found", [{0: "t", 1: "another"}, {0: "t"}])
def test_a_partition_that_is_another_tablet_by_now_is_left_alone(found: Mapping[int, str]) -> None:
    result = confirmed(planned(8, 9), {ALICE: {0: 8, 1: 9}}, tablet_ids=found)
    assert (target(result, 0), target(result, 1)) == (8, None)
    assert "the table was resharded" in str(find_trim_error(result, {}, ORIGIN))


@pytest.mark.parametrize("changed", ["queue", "replica"])
def test_a_change_of_the_queue_counts_as_one_of_its_replica_does(changed: str) -> None:
    replica = replace(ROW, queue=CrossClusterRef("hume", "//tmp/replica"), object_id="5-6-7-8")
    rows = {"queue": ROW, "replica": replica}
    rows[changed] = replace(rows[changed], queue_agent_banned=True)
    look = FreshLook(
        [rows["queue"]],
        {0: 20},
        {0: 3},
        {ALICE: {0: 8}},
        exports={},
        mapping=None,
        replica_rows=[rows["replica"]],
        tablet_ids=SAME_TABLETS,
        aligned_with=[],
    )
    result = confirm_plan(planned(8), ROW, replica, [VITAL_ALICE], look, ORIGIN)
    assert target(result) is None
    assert message(result).endswith("are not what the state tables said: queue_agent_banned")


NEAR, FAR = CrossClusterRef("hume", "//tmp/near"), CrossClusterRef("pythia", "//tmp/far")
REPLICATED = replace(ROW, object_type="replicated_table")


def confirmed_replica(modes: Mapping[CrossClusterRef, str], *aligned_with: CrossClusterRef) -> TrimPlan:
    """A plan to trim the replica far away, while there are these replicas."""
    replicas = {
        f"1-2-3-{number}": {"cluster_name": ref.cluster, "replica_path": ref.path, "mode": mode}
        for number, (ref, mode) in enumerate(modes.items())
    }
    look = FreshLook(
        [REPLICATED],
        {0: 20},
        {0: 3},
        {ALICE: {0: 8}},
        exports={},
        mapping=MappingRow(QUEUE, None, REPLICATED.object_type, {"replicated_table_meta": {"replicas": replicas}}),
        replica_rows=[replace(ROW, queue=FAR)],
        tablet_ids=SAME_TABLETS,
        aligned_with=aligned_with,
    )
    before = replace(planned(8), replica=FAR)
    return confirm_plan(before, REPLICATED, replace(ROW, queue=FAR), [VITAL_ALICE], look, ORIGIN)


def test_a_table_that_is_no_replica_any_more_is_left_alone() -> None:
    assert target(confirmed_replica({NEAR: "sync", FAR: "async"}, NEAR)) == 8
    result = confirmed_replica({NEAR: "sync"}, NEAR)
    assert target(result) is None
    assert "is no replica of queue" in message(result)


def test_a_replica_is_left_alone_once_there_is_a_synchronous_one_it_was_not_compared_with() -> None:
    other = CrossClusterRef("delphi", "//tmp/other")
    result = confirmed_replica({NEAR: "sync", FAR: "sync", other: "sync"}, NEAR)
    assert target(result) is None
    assert f'was not compared with "{other}", which has just become synchronous' in message(result)
    assert target(confirmed_replica({NEAR: "sync", FAR: "sync", other: "async"}, NEAR)) == 8


@pytest.mark.parametrize("config", [{"enable": "yes"}, {"enable": True, "retained_rows": -1}])
def test_a_policy_that_makes_no_sense_any_more_makes_a_plan_void(config: Mapping[str, Any]) -> None:
    result = confirmed(planned(8), {ALICE: {0: 8}}, row=replace(ROW, auto_trim_config=config))
    assert target(result) is None
    assert message(result).endswith("are not what the state tables said: auto_trim_config")
