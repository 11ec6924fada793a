from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from queue_agent.core.consumers.destinations import parse_destination
from queue_agent.core.consumers.offset_reset import Destination, Earliest, Instant, Latest, RowIndex

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "destination"),
    [
        ("earliest", Earliest()),
        ("latest", Latest()),
        ("42", RowIndex(42)),
        ("90s", Instant(START - timedelta(seconds=90))),
        ("2h", Instant(datetime(2026, 3, 1, 10, tzinfo=UTC))),
        ("2026-03-01T10:00:00Z", Instant(datetime(2026, 3, 1, 10, tzinfo=UTC))),
    ],
)
def test_destinations_are_read(text: str, destination: Destination) -> None:
    assert parse_destination(text, START) == destination


@pytest.mark.parametrize(
    "text", ["", "-5", "yesterday", "2026-03-01T10:00:00", "99999999999d", "9" * 30, "\u0664\u0662"]
)
def test_what_is_no_destination_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="destination"):
        parse_destination(text, START)
