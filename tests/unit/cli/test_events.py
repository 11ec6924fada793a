"""`queue-agent consumer events`: what is asked, and how it is shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from typer.testing import CliRunner

from queue_agent.cli.errors import CommandError
from queue_agent.cli.events import parse_since, render_events
from queue_agent.cli.main import application

NOW = datetime(2026, 5, 2, tzinfo=UTC)
EVENT: dict[str, Any] = {
    "instant": "2026-05-01T10:00:00.123456Z",
    "id": "1-2",
    "kind": "loss",
    "queue": "a://q",
    "consumer": None,
    "actor": "host:1",
    "subject": None,
    "reason": "Loses\n5 rows",
    "details": {},
}


def test_since_is_an_age_or_an_instant_with_its_zone() -> None:
    assert parse_since("1d", NOW) == datetime(2026, 5, 1, tzinfo=UTC)
    assert parse_since("2026-05-01T03:00:00+03:00", NOW) == datetime(2026, 5, 1, tzinfo=UTC)
    for wrong in ("yesterday", "2026-05-01T03:00:00", "5w", "9999999d"):
        with pytest.raises(CommandError, match="--since"):
            parse_since(wrong, NOW)


def test_events_are_lines_with_the_newest_last() -> None:
    older = {**EVENT, "instant": "2026-05-01T09:00:00.000000Z", "kind": "verdict", "consumer": "a://c"}
    lines = list(render_events({"events": [EVENT, older], "next": None, "persisted": True}))
    assert lines[1:] == [
        "2026-05-01T09:00:00Z  verdict  a://q  a://c     host:1  Loses 5 rows",
        "2026-05-01T10:00:00Z  loss     a://q  -         host:1  Loses 5 rows",
    ]
    assert list(render_events({"events": [], "next": None, "persisted": True})) == ["nothing happened"]
    notes = list(render_events({"events": [EVENT], "next": "x", "persisted": False}))[:2]
    assert "cannot be read" in notes[0]
    assert "--limit" in notes[1]


def test_what_cannot_be_asked_changes_nothing_and_says_so() -> None:
    answer = CliRunner().invoke(application, ["consumer", "events", "nowhere", "--agent", "http://127.0.0.1:1"])
    assert answer.exit_code == 2
    assert "does not name a cluster" in answer.output
