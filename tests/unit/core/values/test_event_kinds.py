from __future__ import annotations

from pathlib import Path

from queue_agent.core.values.event_kinds import EventKind

PAGE = Path(__file__).parents[4] / "docs" / "http-api.md"


def test_every_kind_is_on_the_page_of_the_api() -> None:
    rows = [line.split("|")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert all(any(f"`{kind.value}`" in row for row in rows) for kind in EventKind)
