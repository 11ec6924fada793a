"""The console's overview of the whole stage, kept up to date while somebody looks.

Each agent makes the rows of what it leads (`overview_feed`). Whoever is looked at asks itself and all others, each time
only for what is new.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Any, Final

from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.overview_feed import (
    LEAST_SECONDS,
    MOST_SECONDS,
    ROWS_PER_SECOND,
    SHARE,
    OverviewFeed,
)
from queue_agent.core.group.questions import Answers, Missing, Question
from queue_agent.core.status.overview_rows import Key
from queue_agent.core.status.stage_lists import by_urgency, name_agent, tell
from queue_agent.core.status.stage_rows import RowsAnswer, StageRows, read_rows
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.ports.group import StageAnswers
from queue_agent.ports.passes import Clock

QUESTION: Final = "show_overview"

SPARKS_SECONDS: Final = 120.0
"""A page that opens gets sparklines no older than that."""


class StageOverview:
    """Tells of the queues and consumers of the stage.

    Args:
        own: rows of what is led here.
        stage: the other agents.
        board: who leads what.
        clock: versions begin with the time, so that those of another run of the agent are not taken for ours.
    """

    def __init__(self, own: OverviewFeed, stage: StageAnswers, board: Board, clock: Clock) -> None:
        self._own = own
        self._stage = stage
        self._board = board
        self._clock = clock
        self.version = int(clock.now().timestamp() * 1000)
        self._rows = StageRows(self.version)
        self._problems: list[Mapping[str, Any]] = []
        self._problems_version = self.version
        self._missing: tuple[Missing, ...] = ()
        self._missing_version = self.version
        self._due = 0.0
        self._looking = asyncio.Lock()

    async def wait(self, since: int | None, seconds: float) -> None:
        """Return once there is something newer than a version, or the time is over."""
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        while True:
            async with self._looking:
                if clock() >= self._due:
                    await self._look(wants_sparks=since is None)
            if since != self.version or clock() >= end:
                return
            await asyncio.sleep(max(0.0, min(self._due, end) - clock()))

    def changes(self, since: int) -> Mapping[str, Any] | None:
        """What is newer than a version; None if nobody can tell any more."""
        changes = self._rows.changes(since) if since <= self.version else None
        if changes is None:
            return None
        return {
            "version": self.version,
            **changes,
            **({"problems": self._problems} if self._problems_version > since else {}),
            **(tell(self._missing) if self._missing_version > since else {}),
        }

    async def everything(self) -> Mapping[str, Any]:
        """All rows, with sparklines."""
        return {
            "version": self.version,
            "generated_at": encode_instant(self._clock.now()),
            "problems": self._problems,
            **self._rows.everything(),
            **tell(self._missing),
        }

    async def _look(self, wants_sparks: bool) -> None:
        clock = asyncio.get_running_loop().time
        patience = SPARKS_SECONDS if wants_sparks else float("inf")
        own_address = self._stage.address
        await self._own.wait(None, 0)
        own, others = await self._tell_own(own_address, patience), await self._ask_others(patience)
        is_first, version, changed, busy = not self._rows.is_known, self.version + 1, 0, 0.0
        for agent, answer in [(own_address, own), *others.by_agent.items()]:
            started = clock()
            changed += self._rows.put(version, agent, answer, clock(), self._find_leader)
            busy += clock() - started
            await asyncio.sleep(0)
        started = clock()
        known = {own_address, *others.by_agent, *(one.agent for one in others.missing if one.agent is not None)}
        changed += self._rows.keep(version, known, self._find_leader)
        changed += self._renew_problems(version)
        if others.missing != self._missing:
            self._missing, self._missing_version = others.missing, version
            changed += 1
        if changed:
            self.version = version
        busy += clock() - started
        # What nobody has heard of yet comes to everybody in one piece, and not as news.
        news = 0 if is_first else changed
        self._due = clock() + max(LEAST_SECONDS, min(SHARE * busy, MOST_SECONDS), news / ROWS_PER_SECOND)

    async def _tell_own(self, address: str, patience: float) -> RowsAnswer:
        since = self._rows.version_of(address, asyncio.get_running_loop().time(), patience)
        changes = None if since is None else self._own.changes(since)
        return read_rows({**await self._own.everything(), "full": True} if changes is None else changes)

    async def _ask_others(self, patience: float) -> Answers:
        now = asyncio.get_running_loop().time()

        def question_for(agent: str) -> Question:
            since = self._rows.version_of(agent, now, patience)
            return Question(QUESTION, {} if since is None else {"since": str(since)})

        return await self._stage.ask_each(question_for, read_rows)

    def _renew_problems(self, version: int) -> int:
        told = self._rows.problems()
        several = len(told) > 1
        found = [one for agent, some in told.items() for one in (name_agent(some, agent) if several else some)]
        problems = _without_repeated(sorted(found, key=by_urgency))
        if problems == self._problems:
            return 0
        self._problems, self._problems_version = problems, version
        return max(1, len(problems))  # all of them travel

    def _find_leader(self, key: Key) -> str | None:
        return self._board.placement.find_host(CrossClusterRef(key[0], key[1]))


def _without_repeated(problems: Collection[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Each problem once, though an object that is being handed over may be known to two agents."""
    seen: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for one in problems:
        seen.setdefault(tuple(one.get(key) for key in ("kind", "agent", "consumer", "queue", "category")), one)
    return list(seen.values())
