"""Forecasts: null where nothing can be known, and the true time where rates are constant."""

from __future__ import annotations

import pytest

from queue_agent.core.verdicts.forecasts import (
    CAUGHT_UP,
    Backlog,
    slowest,
    soonest,
    time_to_catch_up,
)
from queue_agent.core.verdicts.values import Forecast, Rate, Verdict
from tests.unit.core.verdicts.backlogs import BACKLOG, rate


def test_catching_up_takes_what_is_unread_at_the_difference_of_rates() -> None:
    forecast = time_to_catch_up(BACKLOG._replace(read=Rate(110, 105, 120)))
    assert forecast == Forecast(100.0, "reading", 50.0, 200.0)


def test_bounds_that_would_never_come_are_not_given() -> None:
    forecast = time_to_catch_up(BACKLOG._replace(read=Rate(110, 90, 95)))
    assert (forecast.value, forecast.earliest, forecast.latest) == (100.0, None, None)


@pytest.mark.parametrize(
    ("backlog", "forecast"),
    [
        (BACKLOG._replace(drainable=0), CAUGHT_UP),
        (BACKLOG._replace(activity=Verdict.STOPPED, read=rate(900)), Forecast(None, "not_catching_up")),
        (BACKLOG._replace(activity=Verdict.STALLED, read=rate(900)), Forecast(None, "not_catching_up")),
        (BACKLOG._replace(read=None), Forecast(None, "unknown")),
        (BACKLOG._replace(read=rate(101)), Forecast(None, "not_catching_up")),
    ],
)
def test_catching_up_may_be_null(backlog: Backlog, forecast: Forecast) -> None:
    assert time_to_catch_up(backlog) == forecast


def test_a_consumer_needs_as_long_as_its_slowest_partition() -> None:
    skewed = [time_to_catch_up(BACKLOG._replace(drainable=rows, read=rate(140))) for rows in (80_000, *7 * (100,))]
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
