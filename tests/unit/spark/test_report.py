"""What a report makes of its tables: short names, curves on a grid, plots and a page."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import isnan
from typing import Any

import pytest

from queue_agent.spark.report_data import (
    ReportData,
    bucket_for,
    build_curves,
    cut,
    grid,
    label_queues,
    short_names,
)
from queue_agent.spark.report_page import render_page
from queue_agent.spark.report_plots import draw_plots

SINCE = datetime(2026, 1, 31, 10, 2, tzinfo=UTC)
UNTIL = SINCE + timedelta(hours=2)
MINUTES = timedelta(minutes=1)


def consumer(number: int, queue: str = "//home/shop/orders", **values: Any) -> dict[str, Any]:
    return {
        "cluster": "pythia",
        "queue": queue,
        "consumer": f"pythia://home/shop/$team/reader-{number}",
        "vital": True,
        "lag_rows_last": 3.0,
        "lag_rows_avg": 2.5,
        "lag_rows_max": 12,
        "freshness_last": 7.0,
        "freshness_avg": 3.0,
        "freshness_p95": 6.5,
        "freshness_max": 7.0,
        "read_rate": 1.0,
        "behind_share": 0.5,
        "expired_share": 0.0,
        "error_share": 0.0,
        **values,
    }


def queue(path: str, written_rows: int | None) -> dict[str, Any]:
    return {
        "cluster": "pythia",
        "queue": path,
        "partition_count": 2,
        "written_rows": written_rows,
        "trimmed_rows": 0,
        "stored_rows": 100,
        "write_rate_avg": 0.0 if not written_rows else 5.0,
        "write_rate_max": 9.0,
        "write_byte_rate_avg": 500.0,
        "idle_seconds": 4000.0,
        "error_share": None,
    }


def held(queue_path: str, rows: int | None, subject: str | None = None) -> dict[str, Any]:
    return {
        "cluster": "pythia",
        "queue": queue_path,
        "constraint": "vital_consumer" if subject else "retained_rows",
        "subject": subject,
        "held_rows_last": rows,
        "held_rows_max": rows,
        "partition_count": 1,
        "share": 0.25,
    }


def report(consumer_count: int) -> ReportData:
    bucket = bucket_for(UNTIL - SINCE)
    times = grid(SINCE, UNTIL, bucket)
    consumers = [consumer(number) for number in range(consumer_count)]
    points = [
        {**consumer(number), "ts": time, "lag_rows": number * position, "freshness": float(number)}
        for number in range(consumer_count)
        for position, time in enumerate(times)
        if position != 3
    ]
    queues = [queue("//home/shop/orders", 40), queue("//home/shop/silent", 0)]
    return ReportData(
        since=SINCE,
        until=UNTIL,
        bucket=bucket,
        consumers=consumers,
        queues=queues,
        retention=[
            held("//home/shop/orders", 9, "pythia://home/shop/$team/reader-1"),
            held("//home/shop/orders", 4),
            held("//home/shop/silent", None),
        ],
        problem=[
            {
                "cluster": None,
                "queue": None,
                "consumer": None,
                "alert": "queue_agent_pass_failed",
                "error_code": 3025,
                "error": "it <b>failed</b>",
                "first": SINCE,
                "last": UNTIL,
                "partition_count": 0,
                "minutes": 15,
            }
        ],
        times=times,
        curves=build_curves(consumers, points, times),
        queue_labels=label_queues(queues),
    )


@pytest.mark.parametrize(("period", "bucket"), [(2, 5), (24, 5), (7 * 24, 60), (365 * 24, 7 * 1440)])
def test_there_are_not_too_many_buckets_however_long_the_period(period: int, bucket: int) -> None:
    assert bucket_for(timedelta(hours=period)) == bucket * MINUTES


def test_the_grid_covers_the_period_and_begins_at_a_multiple() -> None:
    times = grid(SINCE, UNTIL, 30 * MINUTES)
    assert [f"{time:%H:%M}" for time in times] == ["10:00", "10:30", "11:00", "11:30", "12:00"]
    assert grid(SINCE, SINCE, 30 * MINUTES) == [times[0]]


def test_names_are_as_short_as_they_can_be_told_apart() -> None:
    assert short_names(["a://home/x/log", "a://home/y/log", "a://home/z/events", "b://home/x/log", "c://log"]) == {
        "a://home/x/log": "a/home/x/log",
        "a://home/y/log": "y/log",
        "a://home/z/events": "events",
        "b://home/x/log": "b/home/x/log",
        "c://log": "c/log",
    }


def test_a_long_label_keeps_both_ends() -> None:
    label = cut("beginning " * 10 + "end")
    assert len(label) == 46
    assert label.startswith("beginning") and label.endswith("end")


def test_a_curve_has_gaps_where_nothing_is_known_and_is_never_below_zero() -> None:
    times = grid(SINCE, UNTIL, 30 * MINUTES)
    points = [
        {**consumer(1), "ts": times[0], "lag_rows": -4, "freshness": None},
        {**consumer(1), "ts": times[2], "lag_rows": 6, "freshness": 1.5},
        {**consumer(1), "ts": UNTIL + timedelta(days=1), "lag_rows": 9, "freshness": 1.5},
    ]
    [curve] = build_curves([consumer(1)], points, times)
    assert curve.label == "reader-1 ← orders"
    assert [None if isnan(value) else value for value in curve.lag_rows] == [0, None, 6, None, None]
    assert [None if isnan(value) else value for value in curve.freshness] == [None, None, 1.5, None, None]


@pytest.mark.parametrize("consumer_count", [1, 70])
def test_there_is_a_plot_of_everything_there_is_something_to_see_of(consumer_count: int) -> None:
    plots = draw_plots(report(consumer_count))
    assert set(plots) == {"lag", "freshness", "queues", "retention"}
    for content in plots.values():
        assert content.startswith(b"\x89PNG")
        # A picture that does not fit into a page is of no use.
        width, height = (int.from_bytes(content[place : place + 4]) for place in (16, 20))
        assert 800 < width < 1600 and height < 2600
    assert draw_plots(ReportData(SINCE, UNTIL, 5 * MINUTES)) == {}


def test_the_page_tells_all_tables_and_escapes_what_others_wrote() -> None:
    page = render_page(report(3), {"lag": b"png"}, "Shop & Co", UNTIL)
    assert "<title>Shop &amp; Co</title>" in page
    assert "it &lt;b&gt;failed&lt;/b&gt;" in page
    assert "pythia://home/shop/$team/reader-2" in page
    assert '<img alt="Consumers" src="data:image/png;base64,cG5n">' in page
    busy, idle = page.index("<h2>Busy queues"), page.index("<h2>Idle queues")
    assert busy < page.index("pythia://home/shop/orders</td>", busy) < idle
    assert idle < page.index("pythia://home/shop/silent")


def test_a_period_without_rows_is_said_to_be_one() -> None:
    page = render_page(ReportData(SINCE, UNTIL, 5 * MINUTES), {}, "Shop", UNTIL)
    assert "has no rows of this period" in page
    assert "<table>" not in page
