"""Passes that hang are found; those that fail, wait or have nothing to do are not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import partial

import pytest

from queue_agent.controllers.passes import pass_loop
from queue_agent.controllers.passes.pass_loop import Schedule, longest_silence, run_passes
from queue_agent.controllers.passes.pulse import OBJECTS, Pulse
from queue_agent.controllers.rounds.round_member import FirstAnswer
from queue_agent.controllers.rounds.rounds import Rounds
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, UnexpectedError
from tests.unit.controllers.still_rounds import StillController, StoppedClock
from tests.waiting import until

PERIOD = timedelta(milliseconds=1)
SCHEDULE = Schedule(PERIOD, timedelta(milliseconds=20))
DOWN = ClusterError("the cluster is down")
FAULTS = (
    RuntimeError("can't start new thread"),
    UnexpectedError("a bug"),
    ExceptionGroup("of several", [DOWN, RuntimeError("can't start new thread")]),
)
REF, OTHER = CrossClusterRef("pythia", "//a"), CrossClusterRef("hume", "//b")


class Watched:
    """A pulse whose clock is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pulse = Pulse(timedelta(minutes=5), lambda: self.now)
        self.signs = 0

    def give(self, kind: str, next_within: float) -> None:
        self.signs += 1
        self.pulse.give(kind, next_within)

    async def lives_after_an_hour(self) -> None:
        """An hour goes by, and everybody gives signs again."""
        self.now += 3600
        await until(lambda: not self.pulse.find_hung())

    async def hangs_after_an_hour(self) -> bool:
        """Whether something hangs when an hour has gone by and everybody has had the time to give signs."""
        self.now += 3600
        if not self.pulse.find_hung():
            return False
        seen = self.signs
        with suppress(TimeoutError):
            async with asyncio.timeout(0.3):
                await until(lambda: self.signs >= seen + 3)
        return bool(self.pulse.find_hung())


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    monkeypatch.setattr(pass_loop, "MAX_SLEEP_SECONDS", 0.001)
    return Watched()


class Deaf:
    """Work that no deadline and no cancellation ends; like code that swallows both."""

    def __init__(self) -> None:
        self.release = asyncio.Event()

    async def do(self, *_: object) -> None:
        while not self.release.is_set():
            with suppress(asyncio.CancelledError):
                await self.release.wait()


@asynccontextmanager
async def passes(
    watched: Watched, do_pass: Callable[[int], Awaitable[None]], schedule: Schedule = SCHEDULE
) -> AsyncIterator[None]:
    alive = partial(watched.give, "agent")
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(run_passes(do_pass, lambda: schedule, lambda *_: None, lambda: 1.0, alive=alive))
        await until(lambda: watched.signs > 0)
        yield
        task.cancel()


async def test_a_pass_that_nothing_ends_hangs(watched: Watched) -> None:
    deaf = Deaf()
    async with passes(watched, deaf.do):
        at_first = watched.pulse.find_hung()
        await watched.hangs_after_an_hour()
        later = watched.pulse.find_hung()
        deaf.release.set()
        await until(lambda: not watched.pulse.find_hung())
    assert (at_first, later) == ([], ["agent"])


@pytest.mark.parametrize("error", [DOWN, ExceptionGroup("of several questions", [DOWN]), None])
async def test_passes_that_fail_or_run_into_their_deadline_do_not_hang(
    watched: Watched, error: Exception | None
) -> None:
    begun = 0

    async def do_pass(index: int) -> None:
        nonlocal begun
        begun += 1
        if index and error is not None:
            raise error
        if index:
            await asyncio.Event().wait()

    async with passes(watched, do_pass):
        await until(lambda: begun > 2)
        await watched.lives_after_an_hour()


@pytest.mark.parametrize("fault", FAULTS)
async def test_passes_that_succeeded_and_then_fail_by_faults_of_the_process_hang(
    watched: Watched, fault: Exception
) -> None:
    done = 0
    is_well = False

    async def do_pass(index: int) -> None:
        nonlocal done
        done += 1
        if index and not is_well:
            raise fault

    async with passes(watched, do_pass):
        await until(lambda: done > 2)
        assert await watched.hangs_after_an_hour()
        is_well = True
        await until(lambda: not watched.pulse.find_hung())


async def test_a_fault_that_was_there_from_the_beginning_does_not_end_the_agent(watched: Watched) -> None:
    async def do_pass(_: int) -> None:
        raise RuntimeError("a bug, which a new process has, too")

    async with passes(watched, do_pass):
        await watched.lives_after_an_hour()


async def test_a_loop_that_rests_or_is_disabled_does_not_hang(watched: Watched) -> None:
    async def do_pass(index: int) -> None:
        assert index == 0

    for schedule in (
        Schedule(timedelta(hours=5), SCHEDULE.timeout),
        Schedule(PERIOD, SCHEDULE.timeout, enable=False),
    ):
        async with passes(watched, do_pass, schedule):
            await watched.lives_after_an_hour()


def test_the_longest_silence_is_a_deadline_and_the_longest_delay_after_failures() -> None:
    schedule = Schedule(timedelta(seconds=2), timedelta(seconds=60), max_slowdown=8)
    assert longest_silence(schedule) == 60 + 1.25 * 8 * 2


class Worker(StillController):
    """Its passes end; or they do not, whatever happens."""

    def __init__(self, deaf: Deaf | None = None) -> None:
        super().__init__(REF, Role.LEADING)
        self._deaf = deaf
        self.finished = 0

    async def do_pass(self, pass_index: int, first_answer: FirstAnswer = None) -> None:
        if self._deaf is not None:
            await self._deaf.do()
        raise ClusterError("the cluster is down")

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        self.finished += 1


@asynccontextmanager
async def rounds(watched: Watched) -> AsyncIterator[Rounds]:
    alive = partial(watched.give, OBJECTS)
    async with Rounds.running({}, StoppedClock(), lambda: SCHEDULE, lambda: 1.0, alive) as running:
        yield running


async def test_objects_hang_when_no_pass_of_any_cluster_ends(watched: Watched) -> None:
    deaf = Deaf()
    async with rounds(watched) as running:
        running.add(REF, Worker(deaf))
        running.add(OTHER, Worker(deaf))
        hang = await watched.hangs_after_an_hour()
        deaf.release.set()
        await until(lambda: not watched.pulse.find_hung())
    assert hang


async def test_objects_of_one_cluster_that_hang_are_no_reason_to_end_those_of_the_others(watched: Watched) -> None:
    deaf, other = Deaf(), Worker()
    async with rounds(watched) as running:
        running.add(REF, Worker(deaf))
        running.add(OTHER, other)
        await until(lambda: other.finished > 0)
        hang = await watched.hangs_after_an_hour()
        deaf.release.set()
    assert not hang


async def test_who_has_no_objects_hangs_on_none(watched: Watched) -> None:
    async with rounds(watched) as running:
        await watched.lives_after_an_hour()
        worker = Worker()
        member = running.add(REF, worker)
        await until(lambda: worker.finished > 0)
        await running.remove([member])
        await watched.lives_after_an_hour()
