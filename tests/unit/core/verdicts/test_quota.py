"""When accounts are full, and who fills them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from queue_agent.core.verdicts.quota import (
    Account,
    AccountState,
    Amount,
    Holder,
    Quota,
    Readings,
    Resource,
    find_quotas,
    observe,
    parse_amounts,
    with_error,
)
from queue_agent.core.verdicts.values import Forecast

ACCOUNT = Account("hume", "logs")
DISK, CHUNKS = Resource("disk_space", "default"), Resource("chunk_count")
SLOW = Holder("hume://q", "hume://slow")
OTHER = Holder("hume://q2", "daily")


def grown(
    rate: float, held: Mapping[Holder, float] | None = None, *, limit: int = 100_000, passes: int = 60, used: int = 1000
) -> AccountState:
    """An account read every ten seconds, that grows by `rate` bytes a second."""
    state = AccountState(ACCOUNT)
    for step in range(passes):
        now = 10.0 * step
        amounts = {DISK: Amount(used + int(rate * now), limit), CHUNKS: Amount(7, 100)}
        state = observe(state, amounts, {one: each * now for one, each in (held or {}).items()}, now)
    return state


def first(state: AccountState) -> Quota:
    return find_quotas(state)[0]


def test_amounts_are_those_that_have_a_limit_and_make_sense() -> None:
    attributes = {
        "resource_limits": {
            "chunk_count": 10,
            "disk_space_per_medium": {"default": 100, "ssd": 0, "hdd": 5, "odd": "x"},
        },
        "resource_usage": {"chunk_count": 3, "disk_space_per_medium": {"default": 40, "ssd": 0}},
    }
    assert parse_amounts(attributes) == {
        CHUNKS: Amount(3, 10),
        DISK: Amount(40, 100),
        Resource("disk_space", "hdd"): Amount(0, 5),
    }
    assert parse_amounts({"resource_limits": 5}) == {}


def test_time_to_full_is_what_is_left_divided_by_growth() -> None:
    quota = first(grown(10.0))
    assert quota.resource == DISK
    assert quota.growth == pytest.approx(10.0)
    assert quota.time_to_full.cause == "growth"
    # 60 readings: 590 s, 5,900 bytes.
    assert quota.time_to_full.value == pytest.approx((100_000 - 6900) / 10)
    assert quota.time_to_full.earliest == pytest.approx(quota.time_to_full.value)


def test_growth_that_is_not_steady_has_bounds_that_differ() -> None:
    state = AccountState(ACCOUNT)
    for step in range(120):
        state = observe(state, {DISK: Amount(step * step, 100_000)}, {}, 10.0 * step)
    left = first(state).time_to_full
    assert left.earliest is not None
    assert left.value is not None
    assert left.earliest < left.value
    assert left.latest is not None
    assert left.latest > left.value


def test_nothing_is_forecast_before_there_are_enough_readings() -> None:
    assert first(grown(10.0, passes=4)).time_to_full == Forecast(None, "unknown")
    assert first(grown(10.0, passes=7)).time_to_full.value is not None
    quick = AccountState(ACCOUNT)
    for step in range(10):
        quick = observe(quick, {DISK: Amount(step, 100)}, {}, float(step))
    assert first(quick).time_to_full.cause == "unknown"


def test_what_does_not_grow_or_only_in_ages_has_no_time_and_says_why() -> None:
    assert [one.time_to_full.cause for one in find_quotas(grown(-1.0))] == ["not_growing", "not_growing"]
    slow = next(one for one in find_quotas(grown(0.1, limit=10**9)) if one.resource == DISK)
    assert (slow.time_to_full.value, slow.time_to_full.cause) == (None, "none")


def test_a_full_account_is_full_now() -> None:
    full = first(grown(10.0, limit=1000))
    assert (full.time_to_full.value, full.time_to_full.cause) == (0.0, "full")
    assert full.sentence == "Account logs on hume is full: 6,900 of 1,000 bytes of disk space of medium default used"


def test_the_resource_that_is_used_up_first_comes_first() -> None:
    state = AccountState(ACCOUNT)
    for step in range(60):
        state = observe(state, {DISK: Amount(step, 10_000), CHUNKS: Amount(step, 100)}, {}, 10.0 * step)
    assert [one.resource for one in find_quotas(state)] == [CHUNKS, DISK]


def test_growth_is_that_of_the_last_six_hours_however_many_readings_there_are() -> None:
    readings = Readings()
    for minute in range(24 * 60):
        # The first seventeen hours are wild, then one a second.
        readings = readings.after(60.0 * minute, 1e6 * (minute % 7) if minute < 17 * 60 else 60.0 * minute)
    assert readings.growth is not None
    assert readings.growth.mean == pytest.approx(1.0)
    assert len(readings.values) <= 62


def test_a_clock_that_goes_back_adds_nothing() -> None:
    readings = Readings().after(10.0, 5)
    assert readings.after(10.0, 6) is readings
    assert readings.after(9.0, 6) is readings


def test_who_holds_most_of_the_growth_is_named() -> None:
    quota = first(grown(10.0, {SLOW: 6.0, OTHER: 2.0}, limit=20_000))
    assert quota.held_share == pytest.approx(0.8)
    assert quota.holder == SLOW
    assert quota.is_urgent
    assert quota.is_held_by("hume://q")
    assert not quota.is_held_by("hume://q2")
    assert quota.sentence == (
        "Account logs on hume will be full in 21 min 50 s: 6,900 of 20,000 bytes of disk space of medium default used;"
        " hume://slow holds rows of hume://q (80% of the growth is held)"
    )
    assert quota.to_map() == {
        "account": "logs",
        "resource": "disk_space",
        "medium": "default",
        "used": 6900,
        "limit": 20_000,
        "growth_per_second": pytest.approx(10.0),
        "held_share": pytest.approx(0.8),
        "value": pytest.approx(1310.0),
        "earliest": pytest.approx(1310.0),
        "latest": pytest.approx(1310.0),
        "cause": "growth",
        "subject": "hume://slow",
    }


def test_nobody_is_to_blame_for_growth_that_nobody_holds() -> None:
    free = first(grown(10.0, {SLOW: 4.0, OTHER: -1.0}, limit=20_000))
    assert free.held_share == pytest.approx(0.4)
    assert not free.is_urgent
    assert not first(grown(10.0, limit=20_000)).is_urgent
    still = first(grown(0.0, {SLOW: 4.0}))
    assert still.held_share is None
    assert still.sentence == "Account logs on hume is not full: 7 of 100 chunks used"
    assert not first(grown(10.0, {SLOW: 9.0}, limit=10_000_000)).is_urgent, "it takes longer than a day"


def test_an_account_that_cannot_be_read_has_no_forecast_and_goes_on_from_what_was_known() -> None:
    state = with_error(grown(10.0), "denied")
    assert find_quotas(state) == []
    again = observe(state, {DISK: Amount(8000, 100_000)}, {}, 700.0)
    assert again.error is None
    assert first(again).time_to_full.value is not None
