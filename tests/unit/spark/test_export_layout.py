"""Names in an export, and which periods of time are complete."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from queue_agent.spark.export.completeness import Completion, close, reopened, watermark
from queue_agent.spark.export.documents import Manifest, Plan, Range, Replaced
from queue_agent.spark.export.layout import (
    FileName,
    export_directory,
    is_temporary,
    label_of,
    parse_file_name,
    period_of,
)
from queue_agent.spark.export.state import ExportState, Tally, follow, tallies_of
from tests.unit.spark.test_export_planning import file

SEVEN = datetime(2026, 1, 31, 7, tzinfo=UTC)
SLACK = timedelta(minutes=5)


def stamp(moment: datetime) -> int:
    return int(moment.timestamp()) << 30


def test_names_say_which_rows_a_file_has() -> None:
    name = FileName(3, 140_000, 200_000)
    assert str(name) == "00003-00000000000000140000-00000000000000200000.parquet"
    assert parse_file_name(str(name)) == name
    replacement = FileName(3, 140_000, 200_000, 41)
    assert str(replacement) == "00003-00000000000000140000-00000000000000200000.r000000000041.parquet"
    assert parse_file_name(str(replacement)) == replacement
    for other in ("_SUCCESS", "part-0000.parquet", f".{name}", f"{name}.tmp"):
        assert parse_file_name(other) is None
    assert is_temporary(".owner-1.tmp")
    assert not is_temporary("owner-1.tmp")


def test_the_directory_says_version_and_generation() -> None:
    assert export_directory("pythia", "//home/app/events", 1, 1) == "pythia/home/app/events/v1"
    assert export_directory("pythia", "//home/a=b/../e%", 2, 3) == "pythia/home/a%3Db/%2E%2E/e%25/v2-g3"


def test_labels_are_of_utc_and_lead_back_to_their_period() -> None:
    moment = datetime(2026, 1, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-2)))
    assert label_of(moment, "hour") == "dt=2026-02-01/hour=01"
    assert label_of(moment, "day") == "dt=2026-02-01"
    assert label_of(moment, "none") == ""
    assert period_of("dt=2026-01-31/hour=07") == (SEVEN, SEVEN + timedelta(hours=1))
    assert period_of("dt=2026-01-31")[1] == datetime(2026, 2, 1, tzinfo=UTC)


def test_an_hour_is_complete_when_every_partition_has_a_later_row() -> None:
    state = ExportState(last_timestamps={0: stamp(SEVEN + timedelta(hours=2)), 1: stamp(SEVEN + timedelta(minutes=70))})
    assert watermark(state, [0, 1], {}, SLACK, "hour") == SEVEN + timedelta(hours=1)
    assert watermark(state, [0, 1], {}, SLACK, "day") == datetime(2026, 1, 31, tzinfo=UTC)
    assert watermark(state, [0, 1, 2], {}, SLACK, "hour") is None
    assert watermark(state, [0, 1], {}, SLACK, "none") is None


def test_an_idle_partition_that_is_read_to_its_end_holds_nobody_up_once_the_slack_is_over() -> None:
    state = ExportState(last_timestamps={0: stamp(SEVEN + timedelta(hours=2))})
    at_the_end = SEVEN + timedelta(hours=1)
    assert watermark(state, [0, 1], {1: at_the_end}, SLACK, "hour") == SEVEN
    assert watermark(state, [0, 1], {1: at_the_end + SLACK}, SLACK, "hour") == SEVEN + timedelta(hours=1)


def test_all_hours_are_closed_up_to_the_watermark_the_empty_ones_too() -> None:
    seven, nine = label_of(SEVEN, "hour"), label_of(SEVEN + timedelta(hours=2), "hour")
    state = ExportState(4, tallies={seven: Tally(5, {0: 5}), nine: Tally(2, {0: 7})})
    closed, completions = close(state, SEVEN + timedelta(hours=2), "hour", with_empty=True)
    assert completions == [
        Completion(seven, Tally(5, {0: 5}), 1, 4),
        Completion("dt=2026-01-31/hour=08", Tally(), 1, 4),
    ]
    assert (closed.is_closed(seven), closed.is_closed(nine)) == (True, False)
    assert closed.tallies == {nine: Tally(2, {0: 7})}
    assert close(closed, SEVEN + timedelta(hours=2), "hour", with_empty=True) == (closed, [])
    assert close(ExportState(), SEVEN, "hour", with_empty=True) == (ExportState(), [])


def test_by_times_of_the_rows_only_hours_with_rows_are_closed() -> None:
    old, late = "dt=1970-01-01/hour=00", label_of(SEVEN + timedelta(hours=3), "hour")
    state = ExportState(4, tallies={old: Tally(1, {0: 1}), late: Tally(1, {0: 2})})
    closed, completions = close(state, SEVEN, "hour", with_empty=False)
    assert completions == [Completion(old, Tally(1, {0: 1}), 1, 4)]
    assert (closed.tallies, closed.closed_until) == ({late: Tally(1, {0: 2})}, SEVEN)


def test_rows_that_come_late_open_a_closed_hour_again_once() -> None:
    first = Completion("dt=2026-01-31/hour=07", Tally(5, {0: 5}), 1, 4)
    late = reopened(first, first.label, Tally(2, {0: 9}), 6)
    assert late == Completion(first.label, Tally(7, {0: 9}), 2, 6)
    assert reopened(late, first.label, Tally(2, {0: 9}), 6) == late
    assert reopened(None, first.label, Tally(2, {0: 9}), 6).generation == 1


def test_what_is_replaced_no_longer_counts() -> None:
    one = file(0, 0, 10)
    plan = Plan(1, "replace", [Range(0, 0, 10)], replaces=[Replaced(one.path, 10)])
    manifest = Manifest(plan, "id", [file(0, 0, 7)], "hash", 0, "now")
    assert tallies_of(manifest) == {one.label: Tally(-3, {0: 10})}
    before = follow(ExportState(), Manifest(Plan(0, "export", [Range(0, 0, 10)]), "id", [one], "hash", 0, "now"))
    assert follow(before, manifest).tallies[one.label].row_count == 7


def test_the_state_is_read_as_it_was_written() -> None:
    state = ExportState(
        4, {0: 1}, {0: 9}, {0: stamp(SEVEN)}, {0: "1-2-3-4"}, {"dt=2026-01-31": Tally(5, {0: 9})}, SEVEN
    )
    assert ExportState.from_json(state.to_json()) == state
    with pytest.raises(ValueError, match="format"):
        period_of("other")
