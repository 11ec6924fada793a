"""Ticks of static exports."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.exports.schedule import ByCron, EveryPeriod, ExportSchedule, TickRange
from queue_agent.core.values.cron import CronExpression

schedules = st.builds(EveryPeriod, st.integers(1, 100_000)) | st.sampled_from(
    ["0 * * * *", "*/7 */5 * * * *", "0 0 * * 5L", "0 12 1,15 * *"]
).map(lambda text: ByCron(CronExpression.parse(text)))
seconds = st.integers(1_600_000_000, 1_900_000_000)


@given(schedules, seconds)
def test_ranges_follow_each_other_without_gaps(schedule: ExportSchedule, second: int) -> None:
    begin, end = schedule.range_at(second)
    assert begin <= second < end
    assert schedule.range_at(begin) == schedule.range_at(end - 1) == (begin, end)
    assert schedule.range_at(end).begin == end


@given(schedules, seconds)
def test_the_period_of_a_tick_is_the_length_of_the_range_before_it(schedule: ExportSchedule, second: int) -> None:
    begin, end = schedule.range_at(second)
    assert schedule.period_before(end) == end - begin


def test_months_are_periods_of_unequal_length() -> None:
    monthly = ByCron(CronExpression.parse("0 0 1 * *"))
    march = 1_709_251_200  # 2024-03-01
    assert monthly.range_at(march - 1) == TickRange(march - 29 * 86_400, march)
    assert monthly.range_at(march) == TickRange(march, march + 31 * 86_400)
    assert monthly.period_before(march) == 29 * 86_400


def test_an_expression_without_moments_has_no_ranges() -> None:
    never = ByCron(CronExpression.parse("0 0 30 2 *"))
    with pytest.raises(ValueError, match="does not exist"):
        never.range_at(1_700_000_000)
    with pytest.raises(ValueError, match="does not exist"):
        never.period_before(1_700_000_000)
