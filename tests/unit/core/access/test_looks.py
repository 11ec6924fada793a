from __future__ import annotations

from queue_agent.core.access.looks import MAX_ROWS, FromTail, Look
from queue_agent.core.values.refs import CrossClusterRef


def test_looks_are_told_apart_by_all_that_they_want() -> None:
    queue = CrossClusterRef("pythia", "//q")
    assert Look(queue, 0, FromTail(1), MAX_ROWS) == Look(queue, 0, FromTail(1), MAX_ROWS)
    assert Look(queue, 0, FromTail(1), MAX_ROWS) != Look(queue, 0, FromTail(2), MAX_ROWS)
