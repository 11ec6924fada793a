"""A stage in virtual time that counts every row: agents with their real controllers, killed at any await."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection
from typing import Any

from queue_agent.core.state.trim_journal import TrimRecord
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.counts import Counts
from queue_agent.core.verdicts.queue_state import Pair
from queue_agent.errors import ClusterError
from tests.model.stage_agents import Agent
from tests.model.stage_rows import (
    CONSUMERS,
    LOOK,
    PARTITIONS,
    PARTLY,
    QUEUE,
    READER,
    START,
    TABLES,
    VITAL,
    Partition,
    Perils,
    Reader,
    VirtualClock,
)


class World:
    """Clusters, state tables and agents.

    Args:
        seed: of everything that is left to chance.
        perils: what goes wrong.
    """

    def __init__(self, seed: int, perils: Perils) -> None:
        self.dice = random.Random(seed)
        self.perils = perils
        self.clock = VirtualClock()
        self.partitions = [Partition() for _ in range(PARTITIONS)]
        self.journal: dict[tuple[Any, ...], TrimRecord] = {}
        self.ledger: dict[tuple[Pair, int], Any] = {}
        self.agents: list[Agent] = []
        self.homes: dict[CrossClusterRef, Agent] = {}
        self.kills = 0
        self.creations = 1
        self.reshards = 0
        self.is_mounted = True
        self.gone: list[Partition] = []
        """What a reshard took away."""

        self.created_at = START
        self.is_calm = False
        self.published: dict[CrossClusterRef, int] = {}
        self.falls: list[str] = []

    async def delay(self) -> None:
        """Any request takes a moment."""
        await asyncio.sleep(self.dice.uniform(0.0005, 0.02))  # a request takes a while

    def happens(self, probability: float) -> bool:
        return not self.is_calm and self.dice.random() < probability

    def commit(self, ref: CrossClusterRef, index: int, offset: int) -> None:
        reader = self.partitions[index].readers[ref]
        if reader.is_stale and offset >= reader.offset:
            return  # nobody could tell it from one that leaves rows unread, or stays
        if offset == reader.old_offset:
            return  # who has not seen those in between could not tell it from one that stays
        reader.offset, reader.has_begun, reader.is_stale = offset, True, False
        reader.committed = max(reader.committed, offset)
        reader.written_at = asyncio.get_running_loop().time()

    async def run(self) -> None:
        """All that happens, and then time in which nothing goes wrong any more."""
        for partition in self.partitions:
            for ref in CONSUMERS:
                if not self.perils.are_new:
                    self.commit(ref, self.partitions.index(partition), 1)
        for number in range(self.perils.agents):
            await self.start_agent(number)
        for ref in TABLES:
            self.homes[ref] = self.dice.choice(self.agents)
        self.place()
        loop = asyncio.get_running_loop()
        ends = loop.time() + self.perils.seconds
        while loop.time() < ends:
            self.act()
            await asyncio.sleep(0.25)  # virtual time, in which agents act
            if self.perils.rebuild and self.dice.random() < self.perils.rebuild / 4 and self.are_kept:
                await self.create_queue_again()
            if self.perils.reshard and self.dice.random() < self.perils.reshard / 4 and self.are_kept:
                await self.reshard()
        self.is_calm = True
        await asyncio.sleep(self.perils.lease + 40)  # virtual time, for all that is late
        self.watch()
        for agent in list(self.agents):
            agent.die()

    def act(self) -> None:
        """A quarter of a second."""
        dice, perils = self.dice, self.perils
        for index, partition in enumerate(self.partitions):
            if dice.random() < 0.3:
                partition.end += dice.randrange(1, 60)
            if (not perils.haste and self._is_trimming()) or partition.seen_at > asyncio.get_running_loop().time():
                continue
            if dice.random() < 0.08:
                vital = partition.readers[VITAL]
                first = 0 if vital.is_stale else vital.offset
                self.commit(VITAL, index, dice.randrange(first, partition.end + 1))
            for ref in (READER, PARTLY):
                reader = partition.readers[ref]
                if dice.random() < 0.13:
                    first = max(0 if reader.is_stale else reader.offset, partition.start)
                    self.commit(ref, index, min(partition.end, first + dice.randrange(80)))
                elif reader.has_begun and dice.random() < perils.rewind / 4:
                    self.commit(ref, index, dice.randrange(reader.offset + 1))
            if dice.random() < perils.foreign / 4 and self.are_kept:
                partition.trim(dice.randrange(partition.start, partition.end + 1), {})
        if self.agents and dice.random() < perils.kill / 4:
            self.kill(dice.choice(self.agents))
        if self.agents and dice.random() < perils.cancel / 4:
            dice.choice(self.agents).cancel_passes()
        self.watch()

    @property
    def are_kept(self) -> bool:
        """Whether all consumers have ledgers: of what was before, a new agent cannot tell whose rows they were."""
        return {pair.consumer for pair, _ in self.ledger} == {*CONSUMERS}

    async def create_queue_again(self) -> None:
        """What there was has been seen by all before; its leader too may be another one by then."""
        await asyncio.sleep(LOOK)  # virtual time, in which agents look
        self.creations += 1
        self.created_at = self.clock.now()
        for partition in self.partitions:
            partition.create_again(asyncio.get_running_loop().time() + LOOK)

    async def reshard(self) -> None:
        """One partition more, or one less, of which all rows are trimmed, or none: these go to the one before."""
        if len(self.partitions) == PARTITIONS:
            await self._unmount()
            self.partitions.append(self.gone.pop() if self.gone else Partition())
            self.partitions[-1].begin_again(asyncio.get_running_loop().time() + LOOK)
        else:
            last = self.partitions[-1]
            if last.start or self.dice.random() < 0.5:  # its rows go, or else go to the one before
                if last.readers[VITAL].is_stale:
                    self.commit(VITAL, PARTITIONS, 0)
                    await asyncio.sleep(LOOK)  # virtual time, in which agents see that
                self.commit(VITAL, PARTITIONS, last.end)
            await asyncio.sleep(LOOK)  # virtual time, in which agents trim
            before = last.start
            await asyncio.sleep(LOOK)  # virtual time, in which agents look at what was trimmed
            if last.start not in (0, last.end) or last.start > before:
                return
            await self._unmount()
            self.gone.append(self.partitions.pop())
            self.partitions[-1].end += last.end - last.start
            if self.perils.at_once:
                written = last.end + self.dice.randrange(60)
                self.partitions.append(self.gone.pop())
                last.begin_again()
                last.end = written
        self.reshards += 1
        self.is_mounted = True

    async def _unmount(self) -> None:
        """At once, or so that agents see it."""
        self.is_mounted = False
        await asyncio.sleep(self.dice.choice([0, LOOK]))  # virtual time

    @property
    def tablet_states(self) -> list[str]:
        return ["mounted" if self.is_mounted else "unmounted"] * len(self.partitions)

    def check_mounted(self, partition_index: int) -> None:
        """As tablet nodes do."""
        if not self.is_mounted or partition_index >= len(self.partitions):
            raise ClusterError("No such tablet, or it is not mounted", 1702)

    @property
    def object_id(self) -> str:
        return f"{self.creations}-2-3-4"

    def _is_trimming(self) -> bool:
        """Whether an agent may be between its last look and its trim."""
        return any(agent.passes_queue for agent in self.agents)

    def watch(self) -> None:
        """Numbers that are published only grow, as long as they are said to outlive an agent."""
        for ref in CONSUMERS:
            told = self.told(ref)
            if told is None:
                continue
            if told < self.published.get(ref, 0):
                self.falls.append(f"{ref}: {self.published[ref]} -> {told}")
            self.published[ref] = told

    def told(self, ref: CrossClusterRef) -> int | None:
        """What the leader says; None: it does not know, or will forget it."""
        home = self.homes.get(ref)
        snapshot = None if home is None else home.board.all_consumers.get(ref)
        verdict = None if snapshot is None else snapshot.verdicts.get(QUEUE)
        if verdict is None or not verdict.is_kept or not verdict.partitions:
            return None
        return verdict.whole.counts.trimmed_uncommitted

    def counts(self, ref: CrossClusterRef) -> Counts:
        snapshot = self.homes[ref].board.all_consumers[ref]
        return snapshot.verdicts[QUEUE].whole.counts

    def truth(self, ref: CrossClusterRef) -> tuple[int, int]:
        """Least and most that may be told."""
        readers = self.readers(ref)
        if ref == PARTLY:
            readers = readers[PARTITIONS - 1 : PARTITIONS]
        return sum(one.least for one in readers), sum(one.most for one in readers)

    def readers(self, ref: CrossClusterRef) -> list[Reader]:
        """By partition index; offsets stay when a partition goes."""
        return [one.readers[ref] for one in (*self.partitions, *self.gone)]

    async def start_agent(self, number: int) -> None:
        agent = Agent(self, number)
        await agent.boot()
        self.agents.append(agent)

    def kill(self, agent: Agent) -> None:
        """kill -9: others take over after the lease, and another process starts."""
        self.kills += 1
        agent.die()
        self.agents.remove(agent)
        lost = [ref for ref, home in self.homes.items() if home is agent]
        for ref in lost:
            del self.homes[ref]
        loop = asyncio.get_running_loop()
        agent.keep(loop.create_task(self._replace(agent.number, lost)))

    async def _replace(self, number: int, lost: Collection[CrossClusterRef]) -> None:
        await asyncio.sleep(self.dice.choice([0.3, 2.0, 5.0]))  # how long it is away
        await self.start_agent(number)
        for ref in lost:
            self.homes[ref] = self.dice.choice(self.agents)
        self.place()

    def place(self) -> None:
        for agent in self.agents:
            agent.lead([ref for ref in TABLES if self.homes.get(ref) is agent])
