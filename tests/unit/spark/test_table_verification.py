"""What verification finds of an export to static tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from queue_agent.spark.export.documents import Range
from queue_agent.spark.export.row_options import TRANSFORMATION
from queue_agent.spark.export.table_progress import TableProgress
from queue_agent.spark.export.table_verification import ExportedTable, TablesVerdict, verify_tables

PROGRESS = TableProgress("1-2-3-4", 7200, {TRANSFORMATION: ""}, {0: 8, 1: 3})
FIRST = ExportedTable("3600-3600", "1-2-3-4", [Range(0, 2, 5), Range(1, 0, 3)], [], 6)
SECOND = ExportedTable("7200-3600", "1-2-3-4", [Range(0, 6, 8)], [Range(0, 5, 6)], 2)


def verdict(*tables: ExportedTable, progress: TableProgress = PROGRESS, consumed: int = 8) -> TablesVerdict:
    return verify_tables("//home/export", progress, tables, {0: consumed, 1: 3})


def test_tables_whose_rows_follow_one_another_are_whole() -> None:
    found = verdict(FIRST, SECOND)
    assert (found.is_whole, found.rows, found.ranges) == (True, 8, {0: (2, 8), 1: (0, 3)})
    assert found.notes == ["rows 5 to 5 of partition 0 had been trimmed before they were exported (7200-3600)"]
    assert found.to_text().endswith("Not checked: the content of tables")
    assert found.to_json()["ranges"] == {"0": [2, 8], "1": [0, 3]}


@pytest.mark.parametrize(
    ("tables", "fault"),
    [
        ([FIRST], "rows 5 to 7 of partition 0 were exported, and are in no table"),
        ([SECOND], "rows 0 to 2 of partition 1 were exported, and are in no table"),
        ([FIRST, replace(SECOND, gaps=[])], "rows 5 to 5 of partition 0 are in no table"),
        (
            [FIRST, SECOND, replace(SECOND, name="7201-1")],
            "rows 6 to 7 of partition 0 are in more than one table, the last being 7201-1",
        ),
        ([replace(FIRST, row_count=5), SECOND], "3600-3600 has 5 rows where 6 were exported"),
        ([FIRST, replace(SECOND, queue_id="5-6-7-8")], "7200-3600 has rows of another queue, 5-6-7-8"),
    ],
)
def test_what_is_wrong_is_named(tables: Sequence[ExportedTable], fault: str) -> None:
    found = verdict(*tables)
    assert fault in found.faults
    assert f"FAULT: {fault}" in found.to_text()


def test_a_consumer_that_lets_rows_go_is_named() -> None:
    assert verdict(FIRST, SECOND, consumed=9).faults == [
        "the consumer is at row 9 of partition 0, but only rows below 8 are exported"
    ]


def test_rows_that_are_left_out_are_not_missing() -> None:
    changed = replace(PROGRESS, rows={TRANSFORMATION: "--where number > 1"})
    assert verdict(replace(FIRST, row_count=5), SECOND, progress=changed).is_whole
    assert not verdict(replace(FIRST, row_count=7), SECOND, progress=changed).is_whole


def test_tables_may_have_lived_their_time() -> None:
    found = verdict(replace(SECOND, expires=True))
    assert (found.faults, "rows 0 to 2 of partition 1 were exported, and are in no table" in found.notes) == ([], True)


def test_gaps_without_a_table_are_kept_with_the_progress() -> None:
    progress = replace(PROGRESS, next_row_indexes={0: 12, 1: 3}, gaps=[Range(0, 8, 12)])
    assert TableProgress.from_yson(progress.to_yson()) == progress
    found = verdict(FIRST, SECOND, progress=progress)
    assert (found.faults, found.ranges[0]) == ([], (2, 12))
