from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from queue_agent.core.access.attempts import AT_ONCE, INTERVAL, FailedLogins

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def failing(failed: FailedLogins, address: str, now: datetime, count: int = AT_ONCE) -> None:
    for _ in range(count):
        assert failed.begin(address, now) is None


@pytest.fixture
def failed() -> FailedLogins:
    return FailedLogins()


def test_an_address_that_fails_too_often_waits_and_no_other_does(failed: FailedLogins) -> None:
    failing(failed, "10.0.0.1", START)
    assert failed.begin("10.0.0.1", START) == INTERVAL
    assert failed.begin("10.0.0.1", START + INTERVAL - SECOND) == SECOND
    assert failed.begin("10.0.0.2", START) is None


def test_who_waits_may_try_once_and_after_a_while_as_often_as_before(failed: FailedLogins) -> None:
    failing(failed, "10.0.0.1", START)
    failing(failed, "10.0.0.1", START + INTERVAL, 1)
    assert failed.begin("10.0.0.1", START + INTERVAL) == INTERVAL
    failing(failed, "10.0.0.1", START + INTERVAL + AT_ONCE * INTERVAL)


def test_being_refused_does_not_make_the_wait_longer(failed: FailedLogins) -> None:
    failing(failed, "10.0.0.1", START)
    for _ in range(1000):
        assert failed.begin("10.0.0.1", START) == INTERVAL


def test_logins_that_succeed_are_not_counted(failed: FailedLogins) -> None:
    for _ in range(5 * AT_ONCE):
        assert failed.begin("10.0.0.1", START) is None
        failed.forgive("10.0.0.1")
    failed.forgive("10.0.0.9")
    assert len(failed) == 1


def test_one_network_of_ipv6_is_one_address(failed: FailedLogins) -> None:
    for index in range(AT_ONCE):
        assert failed.begin(f"2001:db8::{index + 1:x}", START) is None
    assert failed.begin("2001:db8::ffff", START) == INTERVAL
    assert failed.begin("2001:db8:0:1::1", START) is None


def test_memory_is_bounded_and_those_with_most_failures_are_remembered() -> None:
    failed = FailedLogins(most=3)
    failing(failed, "10.0.0.1", START)
    for index in range(2, 200):
        assert failed.begin(f"10.0.0.{index}", START) is None
        assert len(failed) <= 3
    assert failed.begin("10.0.0.1", START) == INTERVAL


def test_addresses_are_forgotten_with_their_failures() -> None:
    failed = FailedLogins(most=3)
    for index in range(3):
        failing(failed, f"10.0.0.{index}", START, 1)
    failing(failed, "10.0.0.9", START + INTERVAL, 1)
    assert len(failed) == 1


def test_a_clock_that_is_set_back_keeps_nobody_out_for_longer(failed: FailedLogins) -> None:
    failing(failed, "10.0.0.1", START)
    assert failed.begin("10.0.0.1", START - timedelta(days=1)) == INTERVAL
    assert failed.begin("10.0.0.1", START - timedelta(days=1) + INTERVAL) is None
