"""Timelines of the specification, replayed on a local cluster through the passes of an agent, with both clocks set."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Final

import pytest

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.config.clusters import ClusterConfig
from queue_agent.controllers.rounds.round_member import Controller
from queue_agent.core.queues.snapshots import ConsumerSnapshot
from queue_agent.core.state.rows import Registration
from queue_agent.core.verdicts.ledger import Ledger
from queue_agent.core.verdicts.values import QueueVerdict
from tests.component.change_world import CONSUMERS, NAME, QUEUES, FakeClock, Requests, World
from yt_local.base.clock import Clock as ClusterClock
from yt_local.runner import LocalClusters
from yt_local.security.permissions import UNLIMITED
from yt_wire import yson

QUEUE: Final = QUEUES[0]
CONSUMER: Final = CONSUMERS[0]
WARM_SECONDS: Final = 20


class Life:
    """A partition with one consumer; producers, the reader and trims act, then the agent polls, each second.

    Args:
        world: the cluster, and the controllers.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.offset = 0
        self.verdicts: list[str] = []
        self.truly_lost = 0

    @property
    def bounds(self) -> tuple[int, int]:
        return self.world.bounds(QUEUE, 0)

    def write(self, rows: int) -> None:
        values = [{b"$tablet_index": 0, b"data": b"x"}] * rows
        self.world.cluster.writer.insert_rows(UNLIMITED, QUEUE.path, values)

    def commit(self, offset: int) -> None:
        self.offset = offset
        self.world.write_offset(CONSUMER, QUEUE, 0, offset=yson.Uint64(offset))

    def read(self, rows: int) -> None:
        start, end = self.bounds
        first = max(start, self.offset)
        if end > first:
            self.commit(min(end, first + rows))

    def trim(self, to: int) -> None:
        start, end = self.bounds
        to = min(to, end)
        if to > start:
            self.truly_lost += max(0, to - max(start, self.offset))
            self.world.cluster.tables.trim_rows(UNLIMITED, QUEUE.path, 0, to)

    async def run(self, seconds: int, act: Callable[[int], None] = lambda _: None) -> None:
        for index in range(1, seconds + 1):
            self.world.clock.time += timedelta(seconds=1)
            act(index)
            await self.poll()

    async def poll(self) -> None:
        world = self.world
        world.pass_index += 1
        controllers: list[Controller] = [world.queues[QUEUE], world.consumers[CONSUMER]]
        for controller in controllers:
            await world.do_pass(controller, None)
        word = self.verdict.verdict.value
        if self.verdicts[-1:] != [word]:
            self.verdicts.append(word)

    @property
    def snapshot(self) -> ConsumerSnapshot:
        return self.world.board.all_consumers[CONSUMER]

    @property
    def verdict(self) -> QueueVerdict:
        return self.snapshot.verdicts[QUEUE]

    @property
    def ledger(self) -> Ledger:
        return self.world.consumers[CONSUMER]._judge._kept[QUEUE].state.positions[0].ledger


@pytest.fixture
async def life() -> AsyncIterator[Life]:
    """Twenty seconds of ten rows a second, read at once."""
    clock = FakeClock()
    time = ClusterClock(lambda: clock.now().timestamp())
    async with LocalClusters({NAME: 0}, clock=time) as clusters:
        config = ClusterConfig(proxy=clusters.addresses[NAME], discover_proxies=False)
        async with YtCluster(NAME, config, Requests()) as adapter:
            world = World(clusters, adapter, Requests(), clock)
            life = Life(world)
            await life.run(WARM_SECONDS, steady(life, 10, 100))
            assert life.verdicts[-1] == "ok"
            life.verdicts.clear()
            yield life


def steady(life: Life, written: int, read: int) -> Callable[[int], None]:
    def act(_: int) -> None:
        life.write(written)
        if read:
            life.read(read)

    return act


async def test_a_dead_reader_is_stopped_in_two_minutes_and_alive_at_its_next_commit(life: Life) -> None:
    await life.run(119, steady(life, 10, 0))
    assert life.verdicts == ["ok"]
    await life.run(11, steady(life, 10, 0))
    assert life.verdicts == ["ok", "stopped"]
    reason = life.verdict.whole.reason
    assert reason is not None
    assert reason.startswith("Silent for 2 min")
    assert "usually commits every 1 s" in reason
    await life.run(60, steady(life, 10, 1000))
    assert life.verdicts == ["ok", "stopped", "ok"]


async def test_a_queue_in_which_nothing_happens_confirms_the_last_commit(life: Life) -> None:
    life.world.registrations = {Registration(QUEUE, CONSUMER, vital=False)}
    life.world.put_rows()
    await life.run(3, steady(life, 10, 0))
    await life.run(1, lambda _: life.read(100))
    assert life.ledger.accounted < life.offset
    await life.run(5)
    assert life.ledger.accounted == life.offset


async def test_a_reader_that_commits_the_same_row_is_stalled(life: Life) -> None:
    def act(_: int) -> None:
        life.write(10)
        life.commit(life.offset)

    await life.run(130, act)
    assert life.verdicts == ["ok", "stalled"]


async def test_rows_trimmed_ahead_of_a_reader_are_counted_within_bounds(life: Life) -> None:
    def act(index: int) -> None:
        life.write(50)
        if index % 2 == 0:
            life.read(80)
        life.trim(life.bounds[1] - 10)

    await life.run(60, act)
    assert life.verdicts == ["ok", "losing"]
    counts = life.verdict.whole.counts
    assert 0 < counts.lost <= life.truly_lost <= counts.lost + counts.possibly_lost
    assert life.verdict.whole.time_to_loss.value == 0
    await life.run(30, steady(life, 10, 1000))
    assert life.verdict.whole.counts.lost == counts.lost, "a jump of the reader takes nothing back"
    assert life.verdicts == ["ok", "losing"]


async def test_a_step_back_loses_nothing(life: Life) -> None:
    life.commit(0)
    await life.run(30, steady(life, 10, 60))
    assert life.verdict.whole.counts.rewinds == 1
    assert life.verdict.whole.counts.lost == 0
    assert set(life.verdicts) <= {"ok", "catching_up"}


async def test_an_unmounted_queue_is_unreadable_and_says_how_to_mount_it(life: Life) -> None:
    tablets = life.world.cluster.tablets
    tablets.unmount(UNLIMITED, QUEUE.path)
    await life.run(30)
    assert life.verdicts == ["unreadable"]
    assert life.verdict.advice.text == f"yt --proxy {NAME} mount-table {QUEUE.path}"
    tablets.mount(UNLIMITED, QUEUE.path)
    await life.run(30, steady(life, 10, 100))
    assert life.verdicts == ["unreadable", "ok"]


async def test_an_idle_queue_makes_an_idle_consumer(life: Life) -> None:
    life.world.clock.time += timedelta(hours=2)
    await life.run(30)
    assert life.verdicts == ["idle"]


async def test_time_that_goes_back_changes_nothing(life: Life) -> None:
    before = life.verdict
    life.world.clock.time -= timedelta(minutes=10)
    life.write(1000)
    await life.run(5)
    assert life.verdict is before


async def test_an_idle_reader_whose_rows_are_trimmed_is_losing_and_not_stopped(life: Life) -> None:
    """Case 20, after a shorter warm time."""
    await life.run(5, steady(life, 100, 0))
    life.trim(life.bounds[1])
    await life.run(300)
    assert life.verdicts == ["ok", "losing"]
    assert life.verdict.whole.counts.lost <= life.truly_lost
    assert life.verdict.whole.drainable == 0
    life.world.clock.time += timedelta(minutes=10)
    await life.run(2)
    assert life.verdicts == ["ok", "losing", "lost"]


async def test_offsets_that_are_read_a_moment_after_the_end_are_not_ahead(life: Life) -> None:
    """Case 22."""

    def act(index: int) -> None:
        life.write(10)
        end = life.bounds[1]
        life.commit(end + 5 if index % 3 == 0 else end)

    await life.run(120, act)
    assert life.verdicts == ["ok"]


async def test_a_dead_reader_whose_rows_are_trimmed_is_losing_and_would_be_stopped(life: Life) -> None:
    """Case 19: all rows between the offset and the trim point are counted."""

    def act(_: int) -> None:
        life.write(10)
        life.trim(life.bounds[1] - 5)

    await life.run(140, act)
    assert life.verdicts == ["ok", "losing"]
    assert life.verdict.whole.activity.value == "stopped"
    counts = life.verdict.whole.counts
    assert counts.lost <= life.truly_lost <= counts.lost + counts.possibly_lost


async def test_rows_in_flight_while_they_are_trimmed_are_only_possibly_lost(life: Life) -> None:
    """Case 18: pulled, trimmed, then committed. That the reader races trimming is said; a loss is not proved."""

    def act(_: int) -> None:
        pulled = life.bounds[1]
        life.write(50)
        life.trim(life.bounds[1] - 60)
        life.commit(pulled)

    await life.run(60, act)
    assert life.verdicts == ["ok", "racing"]
    counts = life.verdict.whole.counts
    assert counts.lost == 0
    assert counts.trimmed_uncommitted >= life.truly_lost


async def test_a_million_rows_at_once_are_caught_up_with(life: Life) -> None:
    """Case 25, smaller: the age of the next row grows, while the number of unread rows falls."""
    life.write(20_000)
    await life.run(120, steady(life, 10, 300))
    assert set(life.verdicts) <= {"ok", "catching_up"}
