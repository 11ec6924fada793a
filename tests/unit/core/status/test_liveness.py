"""Which passes hang."""

from __future__ import annotations

from queue_agent.core.status.liveness import NEVER, Sign, find_hung

PATIENCE = 300.0


def hung(sign: Sign, now: float) -> bool:
    return find_hung({"agent": sign}, now, PATIENCE) == ["agent"]


def test_passes_hang_when_their_next_sign_is_overdue_by_more_than_the_patience() -> None:
    sign = Sign(given_at=1000.0, next_within=60.0)
    assert not hung(sign, 1000.0)
    assert not hung(sign, 1360.0)
    assert hung(sign, 1360.5)


def test_where_nothing_is_to_be_done_nothing_hangs() -> None:
    assert not hung(Sign(given_at=0.0, next_within=NEVER), 1e9)


def test_each_kind_is_judged_by_itself() -> None:
    signs = {"objects": Sign(0.0, 60.0), "agent": Sign(0.0, 1.0), "membership": Sign(500.0, 1.0)}
    assert find_hung(signs, 600.0, PATIENCE) == ["agent", "objects"]
    assert find_hung({}, 600.0, PATIENCE) == []
