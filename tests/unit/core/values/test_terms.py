"""For how long an agent has led something."""

from __future__ import annotations

from queue_agent.core.values.terms import Term


def test_time_passes_by_the_clock_of_the_term() -> None:
    assert Term(1.0, 5.0).passed_since(3.5) == 1.5
