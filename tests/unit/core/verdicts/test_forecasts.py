"""Forecasts: null where nothing can be known, and the true time where rates are constant."""

from __future__ import annotations

from dataclasses import replace

import pytest

from queue_agent.core.verdicts.forecasts import (
    CAUGHT_UP,
    Backlog,
    Retention,
    slowest,
    soonest,
    time_to_catch_up,
    time_to_loss,
)
from queue_agent.core.verdicts.recent import Rate
from queue_agent.core.verdicts.values import Forecast, Verdict


def _rate(rows: float) -> Rate:
    return Rate(rows, rows, rows)


BACKLOG = Backlog(
    offset=1000,
    end=2000,
    drainable=1000,
    age=100.0,
    activity=Verdict.OK,
    is_losing=False,
    read=_rate(50),
    written=_rate(100),
    patience=120.0,
)
TRIMMED = Retention(trims=True, is_vital=False, slowest_vital=1500, slowest_vital_name="//v")


def test_catching_up_takes_what_is_unread_at_the_difference_of_rates() -> None:
    forecast = time_to_catch_up(replace(BACKLOG, read=Rate(110, 105, 120)))
    assert forecast == Forecast(100.0, "reading", 50.0, 200.0)


def test_bounds_that_would_never_come_are_not_given() -> None:
    forecast = time_to_catch_up(replace(BACKLOG, read=Rate(110, 90, 95)))
    assert (forecast.value, forecast.earliest, forecast.latest) == (100.0, None, None)


@pytest.mark.parametrize(
    ("backlog", "forecast"),
    [
        (replace(BACKLOG, drainable=0), CAUGHT_UP),
        (replace(BACKLOG, activity=Verdict.STOPPED, read=_rate(900)), Forecast(None, "not_catching_up")),
        (replace(BACKLOG, activity=Verdict.STALLED, read=_rate(900)), Forecast(None, "not_catching_up")),
        (replace(BACKLOG, read=None), Forecast(None, "unknown")),
        (replace(BACKLOG, read=_rate(101)), Forecast(None, "not_catching_up")),
    ],
)
def test_catching_up_may_be_null(backlog: Backlog, forecast: Forecast) -> None:
    assert time_to_catch_up(backlog) == forecast


def test_a_consumer_needs_as_long_as_its_slowest_partition() -> None:
    skewed = [time_to_catch_up(replace(BACKLOG, drainable=rows, read=_rate(140))) for rows in (80_000, *7 * (100,))]
    assert slowest(skewed).value == 2000.0
    assert slowest([*skewed, Forecast(None, "unknown")]).value is None
    assert slowest([]) == CAUGHT_UP


def test_loss_is_as_near_as_in_the_worst_partition() -> None:
    soon, late = Forecast(10.0, "retained_rows"), Forecast(20.0, "retained_rows")
    unknown, none = Forecast(None, "unknown"), Forecast(None, "none")
    assert soonest([late, none, soon, unknown]) is soon
    assert soonest([none, unknown]) is unknown
    assert soonest([none]) is none
    assert soonest([]) == none


@pytest.mark.parametrize(
    ("backlog", "retention", "cause"),
    [
        (replace(BACKLOG, drainable=0), TRIMMED, "none"),
        (BACKLOG, replace(TRIMMED, is_vital=True), "protected"),
        (BACKLOG, replace(TRIMMED, trims=False), "none"),
        (BACKLOG, replace(TRIMMED, slowest_vital=None), "unknown"),
        (BACKLOG, replace(TRIMMED, slowest_vital=900), "unknown"),
        (BACKLOG, replace(TRIMMED, has_exports=True), "unknown"),
        (replace(BACKLOG, read=None), replace(TRIMMED, retained_rows=5000), "unknown"),
        (replace(BACKLOG, age=None), replace(TRIMMED, retained_lifetime=5000.0), "unknown"),
        (replace(BACKLOG, read=_rate(100)), replace(TRIMMED, retained_rows=5000), "none"),
        (replace(BACKLOG, read=_rate(100)), replace(TRIMMED, retained_lifetime=5000.0), "none"),
        (replace(BACKLOG, read=_rate(1), written=_rate(0)), replace(TRIMMED, retained_lifetime=5000.0), "none"),
        (BACKLOG, replace(TRIMMED, retained_rows=10**9), "none"),
    ],
)
def test_time_to_loss_may_be_null(backlog: Backlog, retention: Retention, cause: str) -> None:
    assert time_to_loss(backlog, retention) == Forecast(None, cause)


@pytest.mark.parametrize(
    ("backlog", "retention", "value", "cause"),
    [
        (replace(BACKLOG, is_losing=True), TRIMMED, 0.0, "losing"),
        (BACKLOG, TRIMMED, 0.0, "vital_trimming"),
        (BACKLOG, replace(TRIMMED, retained_rows=500), 0.0, "vital_trimming"),
        (BACKLOG, replace(TRIMMED, retained_rows=6000), 100.0, "retained_rows"),
        (BACKLOG, replace(TRIMMED, retained_lifetime=600.0), 1000.0, "retained_lifetime_duration"),
        (
            replace(BACKLOG, read=_rate(0)),
            replace(TRIMMED, retained_lifetime=600.0),
            500.0,
            "retained_lifetime_duration",
        ),
        (BACKLOG, replace(TRIMMED, retained_rows=6000, retained_lifetime=600.0), 1000.0, "retained_lifetime_duration"),
    ],
)
def test_all_that_keeps_a_row_has_to_give_way(backlog: Backlog, retention: Retention, value: float, cause: str) -> None:
    forecast = time_to_loss(backlog, retention)
    assert (forecast.value, forecast.cause) == (value, cause)


def test_bounds_come_from_high_and_low_rates() -> None:
    backlog = replace(BACKLOG, read=Rate(50, 20, 90), written=Rate(100, 95, 120))
    forecast = time_to_loss(backlog, replace(TRIMMED, retained_rows=6000))
    assert forecast == Forecast(100.0, "retained_rows", 5000 / 120, 1000.0)


def test_a_batch_reader_may_read_nothing_before_its_turn() -> None:
    backlog = replace(BACKLOG, read=_rate(100), patience=3600.0)
    near = time_to_loss(replace(backlog, written=Rate(101, 100, 101)), replace(TRIMMED, retained_rows=6000))
    assert near.earliest == 5000 / 101
    assert near.latest is None
