from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from queue_agent.core.access.sessions import SWEEP, Login, Session, SessionLimits, Sessions, SessionsFull

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
LIMITS = SessionLimits(lifetime=8 * HOUR, idle=HOUR, count=4, count_per_user=2)


def session_of(user: str, now: datetime = START) -> Session[str]:
    return Session("csrf", {"pythia": Login(user, "secret-token", now)}, now, now)


@pytest.fixture
def sessions() -> Sessions[str]:
    return Sessions(LIMITS)


def test_a_session_is_found_by_its_key_alone(sessions: Sessions[str]) -> None:
    session = session_of("ann")
    sessions.open(b"key", session, START)
    assert sessions.find(b"key", START) is session
    assert sessions.find(b"other", START) is None
    sessions.close(b"key")
    sessions.close(b"key")
    assert sessions.find(b"key", START) is None


def test_a_session_that_is_not_used_ends(sessions: Sessions[str]) -> None:
    sessions.open(b"key", session_of("ann"), START)
    assert sessions.find(b"key", START + HOUR - SECOND) is not None
    assert sessions.find(b"key", START + 2 * HOUR - 2 * SECOND) is not None
    assert sessions.find(b"key", START + 3 * HOUR) is None
    assert len(sessions) == 0


def test_a_session_ends_however_much_it_is_used(sessions: Sessions[str]) -> None:
    sessions.open(b"key", session_of("ann"), START)
    for half_hours in range(1, 16):
        assert sessions.find(b"key", START + half_hours * HOUR / 2) is not None
    assert sessions.find(b"key", START + 8 * HOUR) is None


def test_a_session_that_is_over_is_not_found_between_sweeps(sessions: Sessions[str]) -> None:
    sessions.open(b"key", session_of("ann"), START)
    last = START + HOUR - SECOND
    assert sessions.find(b"other", last) is None
    assert last + SECOND - last < SWEEP
    assert sessions.find(b"key", last + SECOND) is None


def test_tokens_of_those_who_have_left_are_forgotten(sessions: Sessions[str]) -> None:
    sessions.open(b"key", session_of("ann"), START)
    assert sessions.find(b"other", START + 2 * HOUR) is None
    assert len(sessions) == 0


def test_a_user_with_too_many_sessions_loses_the_one_used_least_recently(sessions: Sessions[str]) -> None:
    for number, key in enumerate((b"1", b"2")):
        sessions.open(key, session_of("ann", START + number * SECOND), START)
    assert sessions.find(b"1", START + 5 * SECOND) is not None
    sessions.open(b"3", session_of("ann"), START + 6 * SECOND)
    assert sessions.find(b"2", START + 6 * SECOND) is None
    assert sessions.find(b"1", START + 6 * SECOND) is not None


def test_others_lose_no_session_to_a_newcomer(sessions: Sessions[str]) -> None:
    for number in range(4):
        sessions.open(bytes([number]), session_of(f"user {number}"), START)
    with pytest.raises(SessionsFull):
        sessions.open(b"key", session_of("ann"), START)
    assert len(sessions) == 4
    sessions.open(b"key", session_of("ann", START + HOUR), START + HOUR)  # all others have ended
    assert len(sessions) == 1


def test_nothing_that_is_printed_holds_a_token() -> None:
    assert "secret" not in repr(session_of("ann"))
    assert session_of("ann").user == "ann"
