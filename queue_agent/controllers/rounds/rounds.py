"""Passes of all objects of all clusters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from typing import Self

from queue_agent.controllers.passes.clusters import Clusters
from queue_agent.controllers.passes.pass_loop import Schedule, longest_silence
from queue_agent.controllers.rounds.cluster_rounds import ClusterRounds, RoundsSetting
from queue_agent.controllers.rounds.round_member import Controller, Member
from queue_agent.core.status.liveness import NEVER
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.ports.passes import Clock


class Rounds:
    """Passes of the objects of all clusters.

    Objects of a cluster are put into groups of a hundred, and in every period a group has one round: one request tells
    for all of its members whether anything has happened to them. A member to which nothing has happened has had its
    pass with that; the others get passes of their own, a few at a time.
    """

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        clusters: Clusters,
        clock: Clock,
        find_schedule: Callable[[], Schedule],
        jitter: Callable[[], float],
        alive: Callable[[float], None],
    ) -> None:
        self._setting = RoundsSetting(tasks, clusters, clock, find_schedule, jitter, self._passed)
        self._alive = alive
        self._rounds: dict[str, ClusterRounds] = {}
        self._member_count = 0

    @classmethod
    @asynccontextmanager
    async def running(
        cls,
        clusters: Clusters,
        clock: Clock,
        find_schedule: Callable[[], Schedule],
        jitter: Callable[[], float],
        alive: Callable[[float], None] = lambda _: None,
    ) -> AsyncIterator[Self]:
        """Rounds that take place until the end of the context, which waits for all passes to end.

        Args:
            clusters: to be looked at.
            clock: time of day.
            find_schedule: of the passes, as of now.
            jitter: a factor for the delay after a failure.
            alive: hears of passes of any object, and in how many seconds at the latest it will hear next.
        """
        async with asyncio.TaskGroup() as tasks:
            rounds = cls(tasks, clusters, clock, find_schedule, jitter, alive)
            try:
                yield rounds
            finally:
                rounds._stop()

    def add(self, ref: CrossClusterRef, controller: Controller) -> Member:
        """Let an object take part; its first pass comes as soon as there is room."""
        if ref.cluster not in self._rounds:
            self._rounds[ref.cluster] = ClusterRounds(ref.cluster, self._setting)
        member = Member(ref, controller)
        self._member_count += 1
        if self._member_count == 1:
            self._passed()
        self._rounds[ref.cluster].add(member)
        return member

    async def remove(self, members: Collection[Member]) -> None:
        """Let objects take part no longer; returns when their passes have ended."""
        for member in members:
            self._rounds[member.ref.cluster].remove(member)
        self._member_count -= len(members)
        if not self._member_count:
            self._passed()
        running = [member.task for member in members if member.task is not None]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    def _passed(self) -> None:
        self._alive(longest_silence(self._setting.find_schedule()) if self._member_count else NEVER)

    def _stop(self) -> None:
        for rounds in self._rounds.values():
            rounds.stop()
