"""Forecasts of accounts for tests."""

from __future__ import annotations

from queue_agent.core.verdicts.quota import Account, Amount, Holder, Quota, Resource
from queue_agent.core.verdicts.values import Forecast
from tests.unit.core.trimming.plans import QUEUE


def quota(seconds: float | None, held_share: float | None = 0.9) -> Quota:
    """An account that is filled by rows of `QUEUE`, in so many seconds."""
    return Quota(
        Account("pythia", "logs"),
        Resource("disk_space", "default"),
        Amount(50, 100),
        1.0,
        Forecast(seconds, "growth"),
        held_share,
        Holder(str(QUEUE), "pythia://tmp/slow"),
    )
