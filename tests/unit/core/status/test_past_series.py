"""Figures of the history, joined with what is remembered."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from queue_agent.core.status.past_series import PastTotals, Sample, consumer_samples, join_past, queue_samples
from queue_agent.core.status.time_series import TimeSeriesView

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
DAY = NOW - timedelta(days=1)
MINUTE = timedelta(minutes=1)


def totals(minutes: float, trimmed: float | None, *, is_whole: bool = True) -> PastTotals:
    sums = {"backlog": 7.0, "trimmed": trimmed, "write_rate": 2.0, "write_byte_rate": 20.0}
    return PastTotals(NOW + minutes * MINUTE, is_whole, sums)


def sample(minutes: float, value: float | None) -> Sample:
    return Sample(NOW + minutes * MINUTE, {"rows": value})


def test_figures_of_a_queue_have_the_rate_of_trimming_between_passes() -> None:
    [first, second] = queue_samples([totals(0, 10), totals(1, 70)])
    assert first.figures["trim_rows_rate"] is None
    assert second.figures == {
        "write_rows_rate": 2.0,
        "write_bytes_rate": 20.0,
        "trim_rows_rate": 1.0,
        "backlog_rows": 7.0,
    }
    assert queue_samples([]) == []


@pytest.mark.parametrize(
    "second", [totals(1, 5), totals(4, 70), totals(1, None), totals(1, 70, is_whole=False), totals(0, 70)]
)
def test_the_rate_of_trimming_is_unknown_after_a_gap_and_for_a_queue_made_again(second: PastTotals) -> None:
    assert queue_samples([totals(0, 10), second])[1].figures["trim_rows_rate"] is None


def test_passes_that_could_not_read_all_partitions_are_gaps() -> None:
    [only] = queue_samples([totals(0, 10, is_whole=False)])
    assert set(only.figures.values()) == {None}


@pytest.mark.parametrize(("lag", "seconds"), [(1500.0, 1.5), (None, None)])
def test_figures_of_a_consumer_do_not_tell_the_time_to_loss(lag: float | None, seconds: float | None) -> None:
    [only] = consumer_samples([PastTotals(NOW, True, {"lag_rows": 3.0, "lag_ms": lag, "read_rate": 1.0})])
    assert only.figures == {"lag_rows": 3.0, "lag_time": seconds, "read_rows_rate": 1.0, "time_to_loss": None}


def test_the_past_ends_where_memory_begins_and_gaps_stay_gaps() -> None:
    view = TimeSeriesView([NOW - MINUTE], {"rows": [9.0]})
    some = [sample(-4.5, 1), sample(-4.2, 2), sample(-2, None), sample(-1, 5)]
    joined = join_past(some, view, DAY, NOW)
    assert joined.times == [NOW + minutes * MINUTE for minutes in (-5, -4, -3, -2, -1)]
    assert joined.series == {"rows": [1.5, None, None, None, 9.0]}


def test_what_is_older_than_two_hours_is_averages_of_ten_minutes() -> None:
    joined = join_past([sample(-200, 1), sample(-195, 3), sample(-2, 7)], None, DAY, NOW)
    assert joined.times[:2] == [NOW - 200 * MINUTE, NOW - 190 * MINUTE]
    assert joined.series["rows"][:2] == [2.0, None]
    assert joined.times[-2:] == [NOW - 2 * MINUTE, NOW - MINUTE]
    assert joined.series["rows"][-2:] == [7.0, None]
    assert joined.times == sorted(set(joined.times))


def test_without_a_past_memory_is_all_there_is() -> None:
    view = TimeSeriesView([NOW - MINUTE], {"rows": [9.0]})
    assert join_past([], view, DAY, NOW) is view
    assert join_past([sample(-2000, 1)], view, DAY, NOW) is view
    assert join_past([], None, DAY, NOW) == TimeSeriesView([], {})
    assert join_past([sample(-1, 4)], TimeSeriesView([], {"rows": []}), DAY, NOW).series == {"rows": [4.0]}
