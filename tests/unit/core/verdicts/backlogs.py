"""A consumer that is behind: for tests of forecasts."""

from __future__ import annotations

from queue_agent.core.verdicts.forecasts import Backlog
from queue_agent.core.verdicts.values import Rate, Verdict

NOW = 1_750_000_000.0


def rate(rows: float) -> Rate:
    """One that is always the same."""
    return Rate(rows, rows, rows)


BACKLOG = Backlog(
    now=NOW,
    offset=1000,
    end=2000,
    drainable=1000,
    age=100.0,
    activity=Verdict.OK,
    is_losing=False,
    read=rate(50),
    written=rate(100),
    patience=120.0,
)
