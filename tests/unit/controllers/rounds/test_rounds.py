"""Common looks, passes of one's own, and who has to wait for whom."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from queue_agent.controllers.passes import lane
from queue_agent.controllers.passes.lane import LEAST_WIDTH
from queue_agent.controllers.passes.pass_loop import Schedule
from queue_agent.controllers.rounds import cluster_rounds
from queue_agent.controllers.rounds.round_member import FirstAnswer, Member
from queue_agent.controllers.rounds.rounds import Rounds
from queue_agent.core.values.observed import Poll, TableFacts, Watch
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, ClusterUnavailable, UnexpectedError
from queue_agent.ports.cluster import Cluster
from tests.unit.controllers.still_rounds import StoppedClock
from tests.waiting import until

CLUSTER = "hume"
PERIOD = timedelta(milliseconds=10)


@dataclass
class FakeCluster:
    """Says of every table how often it was touched."""

    touched: dict[str, int] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    failing: dict[str, ClusterError] = field(default_factory=dict)
    failing_together: Exception | None = None
    together: list[list[str]] = field(default_factory=list)
    alone: list[str] = field(default_factory=list)

    async def poll_all(self, watches: Sequence[Watch]) -> list[Poll | ClusterError]:
        paths = [watch.path for watch in watches]
        self.together.append(paths)
        if self.silent & set(paths):
            await asyncio.Event().wait()
        if self.failing_together is not None:
            raise self.failing_together
        return [self.failing.get(path) or self._poll(path) for path in paths]

    async def poll(self, watch: Watch) -> Poll:
        self.alone.append(watch.path)
        if watch.path in self.silent:
            await asyncio.Event().wait()
        if watch.path in self.failing:
            raise self.failing[watch.path]
        await asyncio.sleep(0)
        return self._poll(watch.path)

    def _poll(self, path: str) -> Poll:
        return Poll(TableFacts(path, self.touched.get(path, 0), {}), {})


class FakeController:
    """Takes notes; a pass is quiet as long as the table is untouched."""

    kind = "fake_controller"

    def __init__(self, path: str, *, watched: bool = True) -> None:
        self.path = path
        self.watched = watched
        self.seen = 0
        self.own_passes: list[tuple[int, FirstAnswer]] = []
        self.quiet_passes: list[int] = []
        self.finished: list[tuple[int, type[Exception] | None]] = []
        self.fail: Exception | None = None
        self.bug: Exception | None = None
        self.holding: asyncio.Event | None = None
        self.inside = 0

    def find_watch(self) -> Watch | None:
        return Watch(self.path) if self.watched else None

    def pass_quietly(self, pass_index: int, poll: Poll, pass_instant: datetime) -> bool:
        assert self.inside == 0
        if self.bug is not None:
            raise self.bug
        if not self.own_passes or self.fail is not None or poll.facts.attribute_revision != self.seen:
            return False
        self.quiet_passes.append(pass_index)
        return True

    async def do_pass(self, pass_index: int, first_answer: FirstAnswer = None) -> None:
        self.own_passes.append((pass_index, first_answer))
        assert self.inside == 0
        self.inside += 1
        try:
            if self.holding is not None:
                await self.holding.wait()
            if self.fail is not None:
                raise self.fail
            if isinstance(first_answer, Poll):
                self.seen = first_answer.facts.attribute_revision
        finally:
            self.inside -= 1

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        assert seconds >= 0
        self.finished.append((pass_index, None if error is None else type(error)))


@dataclass
class World:
    cluster: FakeCluster
    rounds: Rounds

    def add(self, path: str, **options: Any) -> tuple[FakeController, Member]:
        controller = FakeController(path, **options)
        return controller, self.rounds.add(CrossClusterRef(CLUSTER, path), controller)

    def add_all(self, *paths: str) -> list[FakeController]:
        return [self.add(path)[0] for path in paths]


@asynccontextmanager
async def running_world() -> AsyncIterator[World]:
    cluster = FakeCluster()
    schedule = Schedule(PERIOD, timedelta(seconds=5))
    clusters: dict[str, Cluster] = {CLUSTER: cluster}  # type: ignore[dict-item] # it has what is asked
    async with Rounds.running(clusters, StoppedClock(), lambda: schedule, lambda: 1.0) as rounds:
        yield World(cluster, rounds)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with running_world() as world:
        yield world


async def some_periods() -> None:
    """Let several pass, as rounds that nothing holds up show."""
    async with running_world() as other:
        witness, _ = other.add("//witness")
        await until(lambda: len(witness.quiet_passes) > 5)


async def test_after_a_pass_of_its_own_an_idle_object_has_quiet_ones(world: World) -> None:
    controllers = world.add_all("//a", "//b", "//c")
    await until(lambda: all(len(one.quiet_passes) > 5 for one in controllers))
    for one in controllers:
        assert one.own_passes == [(0, None)]
        assert one.finished == [(index, None) for index in range(len(one.finished))]
        assert one.quiet_passes[0] == 1
    assert world.cluster.together[-1] == ["//a", "//b", "//c"]
    assert not world.cluster.alone


async def test_an_object_to_which_something_happened_has_a_pass_of_its_own(world: World) -> None:
    first, second = world.add_all("//a", "//b")
    await until(lambda: len(first.quiet_passes) > 2)
    world.cluster.touched["//b"] = 7
    await until(lambda: len(second.own_passes) == 2)
    index, answer = second.own_passes[1]
    assert isinstance(answer, Poll)
    assert answer.facts.attribute_revision == 7
    quiet = len(second.quiet_passes)
    await until(lambda: len(second.quiet_passes) > quiet)
    assert index not in second.quiet_passes
    assert len(first.own_passes) == 1


async def test_a_hundred_share_a_request_and_groups_do_not_march_in_step(world: World) -> None:
    controllers = world.add_all(*(f"//{number}" for number in range(250)))
    await until(lambda: all(len(one.quiet_passes) > 2 for one in controllers))
    sizes = {len(paths) for paths in world.cluster.together[-6:]}
    assert sizes == {100, 50}


async def test_what_can_not_be_watched_has_only_passes_of_its_own(world: World) -> None:
    controller, _ = world.add("//a", watched=False)
    await until(lambda: len(controller.own_passes) > 3)
    assert {answer for _, answer in controller.own_passes} == {None}
    assert not world.cluster.together


async def test_an_error_of_one_object_is_handed_to_it_at_once(world: World) -> None:
    sick, healthy = world.add_all("//sick", "//healthy")
    await until(lambda: len(healthy.quiet_passes) > 2)
    error = world.cluster.failing["//sick"] = ClusterError("gone")
    await until(lambda: (len(sick.finished) - 1, error) in sick.own_passes)
    quiet = len(healthy.quiet_passes)
    await until(lambda: len(healthy.quiet_passes) > quiet + 3)
    assert len(healthy.own_passes) == 1


async def test_when_a_request_fails_as_a_whole_everybody_looks_alone(world: World) -> None:
    sick, healthy = world.add_all("//sick", "//healthy")
    await until(lambda: len(healthy.quiet_passes) > 2)
    world.cluster.failing_together = ClusterUnavailable("no")
    error = world.cluster.failing["//sick"] = ClusterError("gone")
    await until(lambda: any(answer is error for _, answer in sick.own_passes))
    quiet = len(healthy.quiet_passes)
    await until(lambda: len(healthy.quiet_passes) > quiet + 3)
    assert len(healthy.own_passes) == 1
    world.cluster.failing.clear()
    world.cluster.failing_together = None
    quiet = len(sick.quiet_passes)
    await until(lambda: len(sick.quiet_passes) > quiet + 3)


async def test_a_table_that_does_not_answer_keeps_others_waiting_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_rounds, "PATIENCE_SECONDS", 0.1)
    silent, healthy = world.add_all("//silent", "//healthy")
    await until(lambda: len(healthy.quiet_passes) > 2)
    world.cluster.silent.add("//silent")
    await until(lambda: "//silent" in world.cluster.alone)
    requests = len(world.cluster.together)
    quiet = len(healthy.quiet_passes)
    await until(lambda: len(healthy.quiet_passes) > quiet + 10)
    assert all(paths == ["//healthy"] for paths in world.cluster.together[requests + 1 :])
    assert len(healthy.own_passes) == 1
    assert len(silent.own_passes) == 1, "it still waits for its answer"


async def test_who_was_slow_looks_alone_until_it_is_quick_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_rounds, "SLOW_SECONDS", 0.05)
    slow, quick = world.add_all("//slow", "//quick")
    await until(lambda: len(quick.quiet_passes) > 2)
    slow.holding = asyncio.Event()
    world.cluster.touched["//slow"] = 1
    await until(lambda: slow.inside > 0)
    await asyncio.sleep(1.2 * cluster_rounds.SLOW_SECONDS)  # how long the pass takes; longer is as good
    slow.holding.set()
    await until(lambda: "//slow" in world.cluster.alone)
    together = len(world.cluster.together)
    await until(lambda: any("//slow" in paths for paths in world.cluster.together[together:]))
    assert len(slow.own_passes) == 2


async def test_a_failed_pass_is_told_and_delays_the_next(world: World) -> None:
    controller, _ = world.add("//a")
    controller.fail = ClusterUnavailable("no")
    await until(lambda: len(controller.finished) >= 4)
    assert controller.finished[:4] == [(index, ClusterUnavailable) for index in range(4)]
    controller.fail = None
    await until(lambda: len(controller.quiet_passes) > 2)


async def test_a_bug_in_one_object_is_told_and_concerns_no_other(world: World) -> None:
    sick, healthy = world.add_all("//sick", "//healthy")
    await until(lambda: len(sick.quiet_passes) > 1)
    sick.bug = ZeroDivisionError()
    await until(lambda: sick.finished[-1][1] is UnexpectedError)
    quiet = len(healthy.quiet_passes)
    await until(lambda: len(healthy.quiet_passes) > quiet + 3)
    sick.bug = None
    quiet = len(sick.quiet_passes)
    await until(lambda: len(sick.quiet_passes) > quiet)


async def test_what_goes_wrong_outside_of_a_pass_ends_no_other_passes(world: World) -> None:
    class Unnamed(FakeController):
        @property
        def kind(self) -> str:  # type: ignore[override] # it is asked for just before a pass
            raise ZeroDivisionError

    [healthy] = world.add_all("//healthy")
    sick = Unnamed("//sick")
    world.rounds.add(CrossClusterRef(CLUSTER, "//sick"), sick)
    await until(lambda: len(sick.finished) > 1)
    assert {error for _, error in sick.finished} == {UnexpectedError}
    quiet = len(healthy.quiet_passes)
    await until(lambda: len(healthy.quiet_passes) > quiet + 1)


async def test_a_bug_in_a_common_look_sends_everybody_to_look_alone(world: World) -> None:
    controllers = world.add_all("//a", "//b")
    await until(lambda: all(one.quiet_passes for one in controllers))
    world.cluster.failing_together = KeyError("id")
    quiet = [len(one.quiet_passes) for one in controllers]
    await until(lambda: all(len(one.quiet_passes) > before + 3 for one, before in zip(controllers, quiet, strict=True)))
    assert {"//a", "//b"} <= set(world.cluster.alone)


async def test_a_table_that_does_not_answer_is_told_of_however_short_passes_have_to_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster_rounds, "PATIENCE_SECONDS", 0.1)
    cluster = FakeCluster()
    schedule = Schedule(timedelta(milliseconds=10), timedelta(milliseconds=50))
    clusters: dict[str, Cluster] = {CLUSTER: cluster}  # type: ignore[dict-item] # it has what is asked
    async with Rounds.running(clusters, StoppedClock(), lambda: schedule, lambda: 1.0) as rounds:
        silent, healthy = World(cluster, rounds).add_all("//silent", "//healthy")
        await until(lambda: bool(healthy.quiet_passes and silent.quiet_passes))
        cluster.silent.add("//silent")
        await until(lambda: silent.finished[-1][1] is TimeoutError)
        quiet = len(healthy.quiet_passes)
        await until(lambda: len(healthy.quiet_passes) > quiet)


async def test_a_burst_of_passes_comes_a_few_at_a_time_and_later_ones_look_anew(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = asyncio.Event()
    controllers = world.add_all(*(f"//{number}" for number in range(60)))
    await until(lambda: all(one.quiet_passes for one in controllers))
    monkeypatch.setattr(lane, "LONG_TURN_SECONDS", 0)
    for one in controllers:
        one.holding = hold
        world.cluster.touched[one.path] = 1
    await until(lambda: sum(one.inside for one in controllers) >= LEAST_WIDTH)
    begun = sum(one.inside for one in controllers)
    await some_periods()
    waiting = [one for one in controllers if len(one.own_passes) == 1]
    assert len(waiting) == 60 - begun > 0
    hold.set()
    await until(lambda: all(len(one.own_passes) >= 2 for one in waiting))
    assert all(one.own_passes[1][1] is None for one in waiting)


async def test_while_there_is_too_much_to_do_idle_objects_wait_with_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_rounds, "GROUP_SIZE", 30)
    monkeypatch.setattr(cluster_rounds, "_MOST_PERIODS_HELD_BACK", 10_000)
    async with running_world() as world:
        idle, moving = world.add_all(*(f"//idle/{n}" for n in range(30))), world.add_all(*(f"//{n}" for n in range(30)))
        await until(lambda: all(one.quiet_passes for one in (*idle, *moving)))
        monkeypatch.setattr(lane, "LONG_TURN_SECONDS", 0)
        hold = asyncio.Event()
        for one in moving:
            one.holding = hold
            world.cluster.touched[one.path] = 1
        await until(lambda: any(one.inside for one in moving))
        await some_periods()  # a round that had begun comes to its end
        quiet = len(idle[0].quiet_passes)
        await some_periods()
        assert len(idle[0].quiet_passes) == quiet
        hold.set()
        await until(lambda: len(idle[0].quiet_passes) > quiet)


async def test_who_is_removed_has_ended_whatever_it_was_doing(world: World) -> None:
    busy, busy_member = world.add("//busy", watched=False)
    idle, idle_member = world.add("//idle")
    await until(lambda: len(idle.quiet_passes) > 1)
    busy.holding = asyncio.Event()
    await until(lambda: busy.inside == 1)
    await world.rounds.remove([busy_member, idle_member])
    assert busy.inside == 0
    before = len(busy.own_passes), len(idle.quiet_passes)
    again, _ = world.add("//again")
    await until(lambda: len(again.quiet_passes) > 3)
    assert (len(busy.own_passes), len(idle.quiet_passes)) == before
    assert world.cluster.together[-1] == ["//again"]


async def test_one_that_is_removed_before_its_first_pass_has_none(world: World) -> None:
    controller, member = world.add("//a")
    await world.rounds.remove([member])
    other, _ = world.add("//b")
    await until(lambda: len(other.quiet_passes) > 1)
    assert not controller.own_passes


async def test_at_the_end_all_that_is_under_way_is_cancelled() -> None:
    schedule = Schedule(PERIOD, timedelta(seconds=5))
    async with Rounds.running({}, StoppedClock(), lambda: schedule, lambda: 1.0) as rounds:
        controllers = [FakeController(f"//{number}") for number in range(100)]
        for one in controllers:
            one.holding = asyncio.Event()
            rounds.add(CrossClusterRef(CLUSTER, one.path), one)
        await until(lambda: any(one.inside for one in controllers))
    assert not any(one.inside for one in controllers)


async def test_a_cluster_nobody_knows_is_an_error_of_its_objects() -> None:
    schedule = Schedule(PERIOD, timedelta(seconds=5))
    async with Rounds.running({}, StoppedClock(), lambda: schedule, lambda: 1.0) as rounds:
        controller = FakeController("//a")
        rounds.add(CrossClusterRef("nowhere", "//a"), controller)
        await until(lambda: isinstance(controller.own_passes[-1][1] if controller.own_passes else None, ClusterError))
