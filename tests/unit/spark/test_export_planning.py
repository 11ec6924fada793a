"""Which rows a batch is to export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from queue_agent.spark.export.documents import ExportFile, Manifest, Plan, Range, decode, encode
from queue_agent.spark.export.errors import RangeRefused, SourceChanged, TargetDamaged
from queue_agent.spark.export.planning import (
    BatchLimits,
    plan_again,
    plan_backfill,
    plan_export,
    plan_replacement,
)
from queue_agent.spark.export.schemas import find_incompatibility
from queue_agent.spark.export.state import ExportState, follow
from queue_agent.spark.offsets import PartitionBounds

LIMITS = BatchLimits(100, 40)


def bounds(*pairs: tuple[int, int] | None) -> dict[int, PartitionBounds | None]:
    return {index: None if pair is None else PartitionBounds(*pair) for index, pair in enumerate(pairs)}


def state(first: Mapping[int, int], following: Mapping[int, int]) -> ExportState:
    return ExportState(last_number=4, first_row_indexes=first, next_row_indexes=following)


def file(index: int, begin: int, end: int, label: str = "dt=2026-01-31/hour=07", size: int = 100) -> ExportFile:
    name = f"{index:05}-{begin:020}-{end:020}.parquet"
    return ExportFile(f"{label}/{name}", Range(index, begin, end), end - begin, size, "sha256:0", 1, 2)


def test_a_first_batch_begins_at_the_lowest_rows() -> None:
    plan = plan_export(ExportState(), bounds((5, 20), (0, 500)), {0: 20, 1: 500}, LIMITS, "fail", {})
    assert plan is not None
    assert (plan.number, plan.ranges, plan.new_partitions) == (0, [Range(0, 5, 20), Range(1, 0, 100)], [])


def test_the_next_batch_begins_where_the_last_ended_and_stays_below_the_target() -> None:
    plan = plan_export(state({0: 0}, {0: 7}), bounds((0, 50)), {0: 30}, LIMITS, "fail", {})
    assert plan is not None
    assert (plan.number, plan.ranges) == (5, [Range(0, 7, 30)])
    assert plan_export(state({0: 0}, {0: 30}), bounds((0, 50)), {0: 30}, LIMITS, "fail", {}) is None


def test_an_unmounted_partition_is_left_for_later() -> None:
    plan = plan_export(state({0: 0, 1: 0}, {0: 7, 1: 3}), bounds(None, (0, 9)), {0: 9, 1: 9}, LIMITS, "fail", {})
    assert plan is not None
    assert plan.ranges == [Range(1, 3, 9)]


def test_trimmed_rows_stop_the_export_or_leave_a_gap_that_is_written_down() -> None:
    with pytest.raises(SourceChanged, match="rows 7 to 9 of partition 0 were trimmed"):
        plan_export(state({0: 0}, {0: 7}), bounds((10, 50)), {0: 50}, LIMITS, "fail", {})
    plan = plan_export(state({0: 0}, {0: 7}), bounds((10, 50)), {0: 50}, LIMITS, "skip", {})
    assert plan is not None
    assert (plan.gaps, plan.ranges) == ([Range(0, 7, 10)], [Range(0, 10, 50)])
    nothing_left = plan_export(state({0: 0}, {0: 7}), bounds((50, 50)), {0: 50}, LIMITS, "skip", {})
    assert nothing_left is not None
    assert (nothing_left.gaps, nothing_left.ranges) == ([Range(0, 7, 50)], [])


def test_new_partitions_are_marked() -> None:
    plan = plan_export(state({0: 0}, {0: 7}), bounds((0, 7), (0, 3)), {0: 7, 1: 3}, LIMITS, "fail", {})
    assert plan is not None
    assert (plan.ranges, plan.new_partitions) == ([Range(1, 0, 3)], [1])


def test_a_queue_that_lost_rows_or_partitions_is_another_queue() -> None:
    with pytest.raises(SourceChanged, match="ends at row 5"):
        plan_export(state({0: 0}, {0: 7}), bounds((0, 5)), {0: 5}, LIMITS, "fail", {})
    with pytest.raises(SourceChanged, match=r"partitions \[1\]"):
        plan_export(state({0: 0, 1: 0}, {0: 7, 1: 7}), bounds((0, 9)), {0: 9}, LIMITS, "fail", {})


def test_a_version_goes_on_where_the_one_before_ended() -> None:
    plan = plan_export(ExportState(), bounds((0, 50)), {0: 50}, LIMITS, "fail", {0: 30})
    assert plan is not None
    assert plan.ranges == [Range(0, 30, 50)]


def test_a_batch_that_was_begun_is_planned_the_same_again() -> None:
    plan = Plan(3, "export", [Range(0, 7, 30)], [], rows_per_task=40)
    assert plan_again(plan, bounds((0, 90)), "fail") == plan
    with pytest.raises(SourceChanged, match="trimmed"):
        plan_again(plan, bounds((10, 90)), "fail")
    cut = plan_again(plan, bounds((10, 90)), "skip")
    assert (cut.ranges, cut.gaps) == ([Range(0, 10, 30)], [Range(0, 7, 10)])
    with pytest.raises(SourceChanged, match="ends at row 20"):
        plan_again(plan, bounds((0, 20)), "fail")


def test_rows_of_before_are_brought_in_from_their_end_so_that_no_hole_is_left() -> None:
    plans = plan_backfill(state({0: 250}, {0: 300}), [Range(0, 20, 250)], bounds((0, 400)), LIMITS)
    assert [plan.ranges for plan in plans] == [[Range(0, 220, 250)], [Range(0, 120, 220)], [Range(0, 20, 120)]]
    now = state({0: 250}, {0: 300})
    for plan in plans:
        now = follow(now, Manifest(plan, "id", [], "hash", 0, "now"))
    assert (now.first_row_indexes, now.next_row_indexes) == ({0: 20}, {0: 300})


def test_an_empty_export_can_begin_with_any_rows() -> None:
    plans = plan_backfill(ExportState(), [Range(0, 20, 150), Range(1, 5, 9)], bounds((0, 400), (0, 9)), LIMITS)
    assert [plan.ranges for plan in plans] == [[Range(0, 20, 120), Range(1, 5, 9)], [Range(0, 120, 150)]]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (Range(0, 240, 260), "overlap"),
        (Range(0, 250, 300), "overlap"),
        (Range(0, 10, 200), "do not adjoin"),
        (Range(0, 300, 310), "do not adjoin"),
        (Range(0, 0, 250), "not all in the queue"),
        (Range(0, 390, 410), "not all in the queue"),
        (Range(2, 0, 1), "no partition 2"),
        (Range(1, 0, 1), "mounted"),
    ],
)
def test_other_rows_are_refused(wanted: Range, words: str) -> None:
    with pytest.raises(RangeRefused, match=words):
        plan_backfill(state({0: 250}, {0: 300}), [wanted], bounds((5, 400), None), LIMITS)


def test_files_are_replaced_as_a_whole() -> None:
    live = [file(0, 0, 10), file(0, 10, 20), file(0, 20, 30), file(1, 0, 10)]
    plan = plan_replacement(state({0: 0}, {0: 30}), live, [Range(0, 12, 21)], bounds((0, 30), (0, 10)), LIMITS)
    assert (plan.kind, plan.ranges) == ("replace", [Range(0, 10, 30)])
    assert [replaced.path for replaced in plan.replaces] == [live[1].path, live[2].path]
    assert [replaced.row_count for replaced in plan.replaces] == [10, 10]


def test_what_is_not_there_can_not_be_replaced() -> None:
    live = [file(0, 0, 10)]
    with pytest.raises(RangeRefused, match="no file"):
        plan_replacement(state({0: 0}, {0: 10}), live, [Range(0, 10, 12)], bounds((0, 30)), LIMITS)
    with pytest.raises(RangeRefused, match="not all in the queue"):
        plan_replacement(state({0: 0}, {0: 10}), live, [Range(0, 8, 9)], bounds((3, 30)), LIMITS)


def test_manifests_follow_one_another_without_a_hole() -> None:
    after = follow(ExportState(), Manifest(Plan(0, "export", [Range(0, 0, 5)]), "id", [], "hash", 0, "now"))
    assert after.next_row_indexes == {0: 5}
    for plan in (Plan(1, "export", [Range(0, 6, 9)]), Plan(1, "export", [Range(0, 4, 9)]), Plan(2, "export", [])):
        with pytest.raises(TargetDamaged):
            follow(after, Manifest(plan, "id", [], "hash", 0, "now"))


def test_documents_are_read_as_they_were_written() -> None:
    plan = plan_replacement(state({0: 0}, {0: 10}), [file(0, 0, 10)], [Range(0, 1, 2)], bounds((0, 30)), LIMITS)
    plan = replace(plan, gaps=[Range(0, 0, 1)], new_partitions=[0])
    manifest = Manifest(plan, "id", [file(0, 0, 10)], "hash", 3, "now")
    assert Manifest.from_json(decode(encode(manifest.to_json()), "path")) == manifest
    with pytest.raises(TargetDamaged, match="path"):
        decode(b"{", "path")


STRING = {"name": "text", "type": "string", "type_v3": {"type_name": "optional", "item": "string"}}


def test_columns_may_be_added_that_may_be_null_and_nothing_else_may_change() -> None:
    number = {"name": "number", "type": "int64", "required": False}
    assert find_incompatibility([number], [number]) is None
    assert find_incompatibility([number], [STRING, number]) is None
    assert find_incompatibility([number, STRING], [number]) == 'column "text" is gone'
    assert "was" in str(find_incompatibility([number], [{**number, "type": "uint64"}]))
    assert "has to have a value" in str(find_incompatibility([number], [number, {**STRING, "required": True}]))
