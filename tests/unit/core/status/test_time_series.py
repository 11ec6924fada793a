from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from queue_agent.core.status.time_series import BYTES_PER_FIGURE, TimeSeries, TimeSeriesView

START = datetime(2026, 5, 1, 10, 0, 7, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
KEY = "queue"


def recorded(minutes: int, *, start: datetime = START) -> TimeSeries:
    """A figure a minute: 0, 1, 2 ..."""
    series = TimeSeries(10)
    for number in range(minutes):
        series.record(KEY, start + number * MINUTE, {"rows": float(number)})
    return series


def read(series: TimeSeries, now: datetime, hours: int = 24) -> TimeSeriesView:
    view = series.read(KEY, now, hours)
    assert view is not None
    assert {len(values) for values in view.series.values()} == {len(view.times)}
    assert sorted(set(view.times)) == list(view.times)
    return view


def test_figures_come_back_by_the_minute() -> None:
    view = read(recorded(3), START + 2 * MINUTE)
    assert view.times == [datetime(2026, 5, 1, 10, minute, tzinfo=UTC) for minute in range(3)]
    assert view.series == {"rows": [0.0, 1.0, 2.0]}


def test_an_object_that_nobody_has_seen_has_none() -> None:
    assert TimeSeries(10).read(KEY, START, 24) is None


def test_minutes_in_which_nobody_looked_are_gaps() -> None:
    series = recorded(2)
    series.record(KEY, START + 4 * MINUTE, {"rows": None})
    series.record(KEY, START + 5 * MINUTE, {"rows": 5.0})
    assert read(series, START + 5 * MINUTE).series["rows"] == [0.0, 1.0, None, None, None, 5.0]
    assert read(series, START + 7 * MINUTE).series["rows"] == [0.0, 1.0, None, None, None, 5.0]
    assert read(series, START + 9 * MINUTE).series["rows"] == [0.0, 1.0, None, None, None, 5.0, None, None]


def test_what_is_two_hours_old_is_an_average_of_ten_minutes() -> None:
    view = read(recorded(180), START + 179 * MINUTE)
    assert view.series["rows"] == [4.5, 14.5, 24.5, 34.5, 44.5, 54.5, *(float(minute) for minute in range(60, 180))]
    assert view.times[:2] == [datetime(2026, 5, 1, 10, minute, tzinfo=UTC) for minute in (0, 10)]
    assert view.times[6] == datetime(2026, 5, 1, 11, 0, tzinfo=UTC)


@pytest.mark.parametrize("minutes", [119, 120, 121, 129, 130, 131, 139, 1439, 1440, 1441, 1600, 3000])
@pytest.mark.parametrize("offset", [0, 3, 9])
def test_every_minute_of_a_day_is_told_once(minutes: int, offset: int) -> None:
    start = START + offset * MINUTE
    view = read(recorded(minutes, start=start), start + (minutes - 1) * MINUTE)
    values = view.series["rows"]
    assert None not in values
    for time, value in zip(view.times, values, strict=True):
        at = (time - start.replace(second=0)) / MINUTE
        assert value is not None
        # A minute itself, or the middle of ten; the first ten may have begun before the object was there.
        assert value in (at, at + 4.5) or (at < 0 and 0 <= value < 10)
    last_day = start + (minutes - 1440) * MINUTE
    assert view.times[0] <= max(start, last_day + MINUTE)
    assert view.times[0] > last_day - 10 * MINUTE


def test_averages_are_of_what_is_known() -> None:
    series = TimeSeries(10)
    for number in range(300):
        known = number < 10 or number in (12, 14)
        series.record(KEY, START + number * MINUTE, {"rows": float(number) if known else None})
    assert read(series, START + 299 * MINUTE).series["rows"][:3] == [4.5, 13.0, None]


def test_only_the_hours_that_are_asked_for_come() -> None:
    series = recorded(600)
    assert read(series, START + 599 * MINUTE, hours=1).series["rows"] == [float(one) for one in range(540, 600)]
    assert len(read(series, START + 599 * MINUTE, hours=5).times) == 18 + 120


def test_after_a_day_without_a_look_all_begins_anew() -> None:
    series = recorded(200)
    now = START + timedelta(days=3)
    series.record(KEY, now, {"rows": 7.0})
    assert read(series, now) == TimeSeriesView([now.replace(second=0)], {"rows": [7.0]})


def test_a_pause_of_hours_is_a_gap() -> None:
    series = recorded(30)
    now = START + timedelta(hours=10)
    series.record(KEY, now, {"rows": 7.0})
    values = read(series, now).series["rows"]
    assert values[:3] == [4.5, 14.5, 24.5]
    assert set(values[3:-1]) == {None}
    assert values[-1] == 7.0


def test_a_clock_that_is_set_back_changes_nothing() -> None:
    series = recorded(5)
    series.record(KEY, START + MINUTE, {"rows": 100.0})
    assert read(series, START + 4 * MINUTE).series["rows"] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_the_last_figure_of_a_minute_holds() -> None:
    series = recorded(1)
    series.record(KEY, START + timedelta(seconds=30), {"rows": 9.0})
    assert read(series, START).series["rows"] == [9.0]


def test_memory_is_bounded_and_comes_free() -> None:
    series = TimeSeries(2)
    for key in "abc":
        series.record(key, START, {"rows": 1.0, "rate": 2.0})
    assert series.read("c", START, 24) is None
    assert series.held_bytes == 4 * BYTES_PER_FIGURE
    series.keep({"b", "c"})
    series.record("c", START, {"rows": 1.0, "rate": 2.0})
    assert series.read("a", START, 24) is None
    assert series.read("c", START, 24) is not None
    assert series.held_bytes == 4 * BYTES_PER_FIGURE


def test_a_spark_is_every_other_minute_of_the_last_hour() -> None:
    assert recorded(90).read_spark(KEY, "rows") == [float(one) for one in range(31, 90, 2)]
    assert recorded(4).read_spark(KEY, "rows") == [0.0, 2.0]
    assert recorded(0).read_spark(KEY, "rows") == []
