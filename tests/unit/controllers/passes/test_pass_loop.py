"""The heartbeat, asking many at once, and matching tasks to objects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from queue_agent.controllers.passes import pass_loop
from queue_agent.controllers.passes.clusters import fan_out
from queue_agent.controllers.passes.pass_loop import MAX_SLOWDOWN, Schedule, next_delay, run_passes
from queue_agent.controllers.rounds.fleet import Fleet
from queue_agent.controllers.rounds.round_member import FirstAnswer
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, QueueAgentError, UnexpectedError
from tests.unit.controllers.still_rounds import StillController, still_rounds
from tests.waiting import LIMIT_SECONDS

QUICK = Schedule(period=timedelta(milliseconds=1), timeout=timedelta(milliseconds=50))
SLOW = Schedule(period=timedelta(hours=1), timeout=timedelta(hours=1))
A, B = CrossClusterRef("pythia", "//a"), CrossClusterRef("pythia", "//b")


class Stop(BaseException):
    """Ends a loop from inside."""


async def run(
    do_pass: Callable[[int], object], schedule: Schedule, wake: asyncio.Event | None = None
) -> list[tuple[int, type[Exception] | None]]:
    """Run passes until one raises Stop; indexes and errors of the finished ones."""
    seen: list[tuple[int, type[Exception] | None]] = []

    async def one(index: int) -> None:
        result = do_pass(index)
        if asyncio.iscoroutine(result):
            await result

    def finished(index: int, seconds: float, error: Exception | None) -> None:
        seen.append((index, None if error is None else type(error)))

    with pytest.raises(Stop):
        async with asyncio.timeout(LIMIT_SECONDS):
            await run_passes(one, lambda: schedule, finished, lambda: 1.0, wake)
    return seen


def test_the_period_runs_from_start_to_start() -> None:
    schedule = Schedule(timedelta(seconds=1), timedelta(seconds=60))
    assert next_delay(schedule, 0, 0.25) == 0.75
    assert next_delay(schedule, 0, 3.0) == 0.0


def test_failures_slow_down_up_to_a_limit() -> None:
    schedule = Schedule(timedelta(seconds=1), timedelta(seconds=60))
    assert [next_delay(schedule, failures, 0.0) for failures in range(5)] == [1, 2, 4, 8, 8]
    assert next_delay(schedule, 10**6, 0.0) == MAX_SLOWDOWN


async def test_passes_go_on_after_expected_errors_bugs_and_deadlines() -> None:
    async def do_pass(index: int) -> None:
        match index:
            case 0:
                raise ClusterError("no answer")
            case 1:
                raise ZeroDivisionError
            case 2:
                await asyncio.Event().wait()
            case 4:
                raise Stop

    assert await run(do_pass, QUICK) == [(0, ClusterError), (1, ZeroDivisionError), (2, TimeoutError), (3, None)]


async def test_waking_starts_the_next_pass_early_and_once() -> None:
    wake = asyncio.Event()

    async def do_pass(index: int) -> None:
        if index == 2:
            raise Stop
        wake.set()

    assert await run(do_pass, SLOW, wake) == [(0, None), (1, None)]


async def test_a_shorter_period_counts_at_once() -> None:
    schedule = SLOW

    async def do_pass(index: int) -> None:
        if index == 1:
            raise Stop

    def shorten(index: int, seconds: float, error: Exception | None) -> None:
        asyncio.get_running_loop().call_later(0.01, change)

    def change() -> None:
        nonlocal schedule
        schedule = QUICK

    with pytest.raises(Stop):
        async with asyncio.timeout(LIMIT_SECONDS):
            await run_passes(do_pass, lambda: schedule, shorten, lambda: 1.0)


async def test_a_loop_that_is_disabled_does_nothing_until_it_is_enabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pass_loop, "MAX_SLEEP_SECONDS", 0.001)
    events: list[str] = []

    def find_schedule() -> Schedule:
        return Schedule(QUICK.period, QUICK.timeout, enable=events[:1] == [] or events.count("disabled") >= 2)

    async def do_pass(index: int) -> None:
        events.append(f"pass {index}")
        if index == 1:
            raise Stop

    with pytest.raises(Stop):
        async with asyncio.timeout(LIMIT_SECONDS):
            await run_passes(
                do_pass, find_schedule, lambda *_: None, lambda: 1.0, disabled=lambda: events.append("disabled")
            )
    assert events == ["pass 0", "disabled", "disabled", "pass 1"]


async def test_a_failed_question_is_a_value_and_the_others_are_answered() -> None:
    async def ask(key: int) -> int:
        if key == 2:
            raise ClusterError("no answer")
        return key * 10

    answers = await fan_out(ask, [1, 2, 3], limit=2)
    assert (answers[1], answers[3]) == (10, 30)
    assert isinstance(answers[2], ClusterError)


async def test_no_more_questions_than_allowed_are_open_at_once() -> None:
    open_now = most = 0

    async def ask(key: int) -> None:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await asyncio.sleep(0)
        open_now -= 1

    await fan_out(ask, range(10), limit=3)
    assert most == 3


async def test_a_bug_is_the_answer_to_its_question_alone() -> None:
    async def ask(key: int) -> float:
        return 1 / key

    for keys in ([0], [0, 1, 2]):
        answers = await fan_out(ask, keys, limit=2)
        assert isinstance(answers.pop(0), UnexpectedError)
        assert answers == {key: 1 / key for key in keys if key}


async def test_what_the_agent_refuses_ends_the_whole_call() -> None:
    async def ask(key: int) -> None:
        raise QueueAgentError("not now")

    with pytest.raises(ExceptionGroup):
        await fan_out(ask, [1, 2], limit=1)


async def test_a_fleet_runs_what_is_wanted_and_never_two_of_one() -> None:
    running: list[tuple[CrossClusterRef, Role]] = []

    class Controller(StillController):
        def __init__(self, ref: CrossClusterRef, role: Role) -> None:
            self.me = ref, role

        async def do_pass(self, pass_index: int, first_answer: FirstAnswer = None) -> None:
            assert all(other != self.me[0] for other, _ in running)
            running.append(self.me)
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                running.remove(self.me)

    async with still_rounds() as rounds:
        fleet = Fleet(rounds, Controller)
        await fleet.match({A: Role.LEADING, B: Role.FOLLOWING})
        await asyncio.sleep(0)
        assert running == [(A, Role.LEADING), (B, Role.FOLLOWING)]
        await fleet.match({A: Role.LEADING, B: Role.LEADING})
        await asyncio.sleep(0)
        assert running == [(A, Role.LEADING), (B, Role.LEADING)]
        await fleet.match({A: Role.ERROR})
        assert running == []
        assert fleet.running == {}
