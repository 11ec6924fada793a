"""Rounds in which nothing happens, for fleets whose controllers are of no interest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from queue_agent.controllers.passes.pass_loop import Schedule
from queue_agent.controllers.rounds.fleet import Fleet
from queue_agent.controllers.rounds.round_member import FirstAnswer
from queue_agent.controllers.rounds.rounds import Rounds
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.values.observed import Poll, Watch
from queue_agent.core.values.refs import CrossClusterRef


class StoppedClock:
    def now(self) -> datetime:
        return datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)


class StillController:
    """Its pass never ends."""

    def __init__(self, ref: CrossClusterRef, role: Role) -> None:
        pass

    @property
    def kind(self) -> str:
        return "still_controller"

    def find_watch(self) -> Watch | None:
        return None

    def pass_quietly(self, pass_index: int, poll: Poll, pass_instant: datetime) -> bool:
        return False

    async def do_pass(self, pass_index: int, first_answer: FirstAnswer = None) -> None:
        await asyncio.Event().wait()

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        pass


@asynccontextmanager
async def still_rounds() -> AsyncIterator[Rounds]:
    schedule = Schedule(timedelta(hours=1), timedelta(hours=1))
    async with Rounds.running({}, StoppedClock(), lambda: schedule, lambda: 1.0) as rounds:
        yield rounds


def still_fleet(rounds: Rounds) -> Fleet:
    return Fleet(rounds, StillController)
