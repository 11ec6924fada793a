"""Passes of one cluster's objects: a hundred share a look, and only where something has happened is more to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

import structlog

from queue_agent.controllers.passes.clusters import Clusters, get_cluster
from queue_agent.controllers.passes.lane import Lane
from queue_agent.controllers.passes.pass_loop import Schedule, attempt, next_delay, run_passes
from queue_agent.controllers.rounds.round_member import FirstAnswer, Member
from queue_agent.core.values.observed import Poll, Watch
from queue_agent.errors import ClusterError
from queue_agent.isolation import contain, isolate
from queue_agent.ports.passes import Clock

log = structlog.get_logger(__name__)

GROUP_SIZE: Final = 100
"""Objects that share a look."""

PATIENCE_SECONDS: Final = 2.0
"""A common look that takes longer is not waited for: everybody looks alone."""

SLOW_SECONDS: Final = 1.0
"""Whose pass takes longer looks alone the next time, and keeps nobody else waiting."""

_ROUND_TIMEOUT: Final = timedelta(hours=1)
"""Never reached: a look has its own limit. That of passes might be shorter, and nobody would come to look alone."""

_LOOKS_AT_ONCE: Final = 8
"""Requests of groups. With more of them, none would be answered in time when there is too much to do."""

_LONE_LOOKS_AT_ONCE: Final = 200
_PASSES_AT_ONCE: Final = 100
_SLOW_PASSES_AT_ONCE: Final = 100
_OVERDUE: Final = 200
"""Passes, and looks, that others need not wait for any longer."""

_MOST_LATENESS_SECONDS: Final = 0.1
"""What is later does not catch up: that would be a burst."""

_MOST_PERIODS_HELD_BACK: Final = 4
"""How long idle objects wait for those with passes of their own, when there is too much to do for both."""

_ANSWERS_A_TURN: Final = 20
"""Of a common look; whoever wants something of this process waits for a turn of the event loop or two."""


@dataclass(frozen=True, slots=True)
class RoundsSetting:
    """What the rounds of all clusters have in common."""

    tasks: asyncio.TaskGroup
    clusters: Clusters
    clock: Clock
    find_schedule: Callable[[], Schedule]
    jitter: Callable[[], float]
    passed: Callable[[], None]
    """Called when a pass of any object ends."""


@dataclass(slots=True, eq=False)
class _Group:
    """Objects that share a look."""

    members: dict[Member, None] = field(default_factory=dict)
    looking: asyncio.Task[Any] | None = None
    """A round under way."""


class ClusterRounds:
    """Passes of the objects of one cluster; the rounds of its groups are spread evenly over the period."""

    def __init__(self, cluster: str, setting: RoundsSetting) -> None:
        self._cluster = cluster
        self._setting = setting
        self._time = asyncio.get_running_loop().time
        self._groups: dict[Member, _Group] = {}
        self._all_groups: dict[_Group, None] = {}
        self._with_room: dict[_Group, None] = {}
        self._looks = asyncio.Semaphore(_LOOKS_AT_ONCE)
        self._answering = asyncio.Lock()
        self._lone_looks = Lane(setting.tasks, _LONE_LOOKS_AT_ONCE, SLOW_SECONDS, _OVERDUE)
        self._quick = Lane(setting.tasks, _PASSES_AT_ONCE, SLOW_SECONDS, _OVERDUE)
        self._slow = Lane(setting.tasks, _SLOW_PASSES_AT_ONCE, SLOW_SECONDS, 0)
        self._rounds = setting.tasks.create_task(
            run_passes(
                lambda _: self._begin_rounds(),
                lambda: replace(setting.find_schedule(), timeout=_ROUND_TIMEOUT),
                lambda *_: None,
                setting.jitter,
            )
        )

    def add(self, member: Member) -> None:
        group = next(iter(self._with_room), None) or self._new_group()
        group.members[member] = None
        self._groups[member] = group
        if len(group.members) >= GROUP_SIZE:
            del self._with_room[group]
        self._pass_alone(member)

    def remove(self, member: Member) -> None:
        member.removed = True
        group = self._groups.pop(member)
        del group.members[member]
        if group.members:
            self._with_room[group] = None
        else:
            self._with_room.pop(group, None)
            del self._all_groups[group]
            if group.looking is not None:
                group.looking.cancel()

    def _new_group(self) -> _Group:
        group = _Group()
        self._with_room[group] = None
        self._all_groups[group] = None
        return group

    def stop(self) -> None:
        for lane in (self._lone_looks, self._quick, self._slow):
            lane.stop()
        for member in self._groups:
            member.removed = True
            if member.task is not None:
                member.task.cancel()
        self._rounds.cancel()
        for group in self._all_groups:
            if group.looking is not None:
                group.looking.cancel()

    async def _begin_rounds(self) -> None:
        """Begin a round of each group in the course of a period."""
        groups = list(self._all_groups)
        due = self._time()
        for group in groups:
            await asyncio.sleep(due - self._time())
            due = max(due, self._time() - _MOST_LATENESS_SECONDS)
            due += self._setting.find_schedule().period.total_seconds() / len(groups)
            await self._looks.acquire()
            if group.looking is None:
                group.looking = self._setting.tasks.create_task(self._do_round(group))
            else:
                self._looks.release()
        # Otherwise looks alone would take all the time there is, and what they find would wait ever longer.
        with suppress(TimeoutError):
            async with asyncio.timeout(_MOST_PERIODS_HELD_BACK * self._setting.find_schedule().period.total_seconds()):
                await self._quick.caught_up()

    async def _do_round(self, group: _Group) -> None:
        try:
            await self._look_around(group)
        except Exception as error:  # noqa: BLE001 - contained
            contain("rounds", self._cluster, error)
        finally:
            group.looking = None
            self._looks.release()

    async def _look_around(self, group: _Group) -> None:
        started = self._time()
        together: list[tuple[Member, Watch]] = []
        for member in group.members:
            if member.busy or member.not_before > started:
                continue
            watch = isolate("rounds", member.ref, member.controller.find_watch)
            if isinstance(watch, ClusterError):
                self._finish(member, started, watch)
            elif watch is None:
                self._pass_alone(member)
            elif member.slow:
                self._look_alone(member, watch)
            else:
                together.append((member, watch))
        if together:
            await self._look(together)

    async def _look(self, together: Sequence[tuple[Member, Watch]]) -> None:
        """Look at many by one request."""
        pass_instant, started = self._setting.clock.now(), self._time()
        answers = await self._ask_together([watch for _, watch in together])
        if answers is None:
            # Perhaps because of one of them only: side by side they find out.
            for member, watch in together:
                if not member.removed:
                    self._look_alone(member, watch)
            return
        async with self._answering:  # answers to several groups at once would fill a turn, however few of each
            for number, ((member, _), answer) in enumerate(zip(together, answers, strict=True), start=1):
                if not member.removed and not self._pass_quietly(member, answer, pass_instant, started):
                    self._pass_alone(member, answer)
                if number % _ANSWERS_A_TURN == 0:
                    await asyncio.sleep(0)

    async def _ask_together(self, watches: Sequence[Watch]) -> Sequence[Poll | ClusterError] | None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await get_cluster(self._setting.clusters, self._cluster).poll_all(watches)
        except (ClusterError, TimeoutError):
            return None
        except Exception as error:  # noqa: BLE001 - contained
            contain("rounds", self._cluster, error)
            return None

    def _look_alone(self, member: Member, watch: Watch) -> None:
        """Look at one by itself; who does so at the same time is put together by the adapter, and taken apart again."""
        member.busy = True
        self._lone_looks.put(partial(self._run, member, partial(self._look_at_one, member, watch)))

    async def _look_at_one(self, member: Member, watch: Watch) -> None:
        pass_instant, started = self._setting.clock.now(), self._time()
        answer: FirstAnswer = None

        async def poll() -> None:
            nonlocal answer
            try:
                answer = await get_cluster(self._setting.clusters, self._cluster).poll(watch)
            except ClusterError as error:
                answer = error

        failure = await attempt(poll, member.pass_index, self._setting.find_schedule().timeout)
        if failure is not None:
            self._finish(member, started, failure)
        elif not self._pass_quietly(member, answer, pass_instant, started):
            self._pass_alone(member, answer, self._time() - started)

    def _pass_quietly(self, member: Member, answer: FirstAnswer, pass_instant: datetime, started: float) -> bool:
        """Whether the pass is over with the look."""
        if not isinstance(answer, Poll):
            return False
        failure: Exception | None = None
        try:
            if not member.controller.pass_quietly(member.pass_index, answer, pass_instant):
                return False
        except Exception as caught:  # noqa: BLE001 - contained
            failure = contain("rounds", member.ref, caught)
        self._finish(member, started, failure)
        return True

    def _pass_alone(self, member: Member, first_answer: FirstAnswer = None, looked_seconds: float = 0.0) -> None:
        """Give an object a pass of its own, as soon as there is room."""
        member.busy = True
        if isinstance(first_answer, ClusterError):
            # There is nothing more to be asked: the error is to be seen at once, whoever else has to wait.
            work = partial(self._do_pass, member, first_answer, looked_seconds)
            self._setting.tasks.create_task(self._run(member, work))
            return
        lane = self._slow if member.slow else self._quick
        if lane.full:
            first_answer = None  # out of date by the time there is room
        lane.put(partial(self._run, member, partial(self._do_pass, member, first_answer, looked_seconds)))

    async def _do_pass(self, member: Member, first_answer: FirstAnswer, looked_seconds: float) -> None:
        started = self._time()
        do_pass = partial(member.controller.do_pass, member.pass_index, first_answer)
        error = await attempt(do_pass, member.pass_index, self._setting.find_schedule().timeout)
        self._finish(member, started - looked_seconds, error)

    async def _run(self, member: Member, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do something for a member in a task of its own."""
        if member.removed:
            return
        member.task = asyncio.current_task()
        started = self._time()
        try:
            structlog.contextvars.bind_contextvars(**member.log_fields)
            await work()
        except Exception as error:  # noqa: BLE001 - contained: of all objects this task is about one
            self._finish(member, started, contain("rounds", member.ref, error))
        finally:
            member.task = None

    def _finish(self, member: Member, started: float, error: Exception | None) -> None:
        self._setting.passed()
        seconds = self._time() - started
        finished = partial(member.controller.pass_finished, member.pass_index, seconds, error)
        error = isolate("rounds", member.ref, finished) or error
        member.pass_index += 1
        member.failures = member.failures + 1 if error else 0
        if error is not None:
            delay = next_delay(self._setting.find_schedule(), member.failures, seconds)
            member.not_before = started + seconds + self._setting.jitter() * delay
        if member.busy:
            member.slow = seconds >= SLOW_SECONDS
        member.busy = False
