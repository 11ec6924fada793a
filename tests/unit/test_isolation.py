"""Unexpected errors stay with one object, are logged once, and counted."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from queue_agent import isolation
from queue_agent.errors import ClusterError, UnexpectedError
from queue_agent.isolation import contain, contained_errors, isolate


def fail(value: object = None) -> None:
    raise OverflowError(value)


def test_what_is_given_is_given_and_what_is_raised_is_a_value() -> None:
    assert isolate("agent", "//q", lambda: 5) == 5
    error = isolate("agent", "//q", fail)
    assert isinstance(error, UnexpectedError)
    assert isinstance(error, ClusterError), "whoever deals with errors of an object deals with it"
    assert "//q" in error.message and "OverflowError" in error.message
    assert isinstance(error.__cause__, OverflowError)


def test_cancellation_passes() -> None:
    def cancel() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        isolate("agent", "//q", cancel)


def test_a_bug_is_told_with_its_traceback_once_and_then_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "_told", {})
    before = contained_errors()["history"]
    with capture_logs() as logs:
        for number in range(100):
            isolate("history", f"//q{number}", fail)
        monkeypatch.setattr(isolation, "REPEATED_AFTER_SECONDS", 0.0)
        isolate("history", "//last", fail)
    assert [(line["event"], "exc_info" in line, line.get("times")) for line in logs] == [
        ("unexpected error of one object", True, None),
        ("unexpected error of one object again", False, 100),
    ]
    assert contained_errors()["history"] == before + 101


def test_words_of_an_error_are_not_endless() -> None:
    assert len(contain("agent", "//q", OverflowError("x" * 10**6)).message) < 1000
