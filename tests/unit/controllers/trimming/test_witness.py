"""Consumers that hold nothing back: asked before a trim, and never waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from queue_agent.controllers.trimming import witness
from queue_agent.core.trimming.losers import Suspects, Witnessed
from queue_agent.core.trimming.plan import TrimPlan
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError
from tests.unit.controllers.agent_world import CONSUMER, QUEUE, World
from tests.unit.core.trimming.plans import ALICE, ORIGIN, mounted, plan, position, snapshot_of

SUSPECTS = Suspects({CONSUMER: [0]})


def planned() -> TrimPlan:
    queue = snapshot_of(mounted(3, 20))
    return plan(queue, {ALICE: position(queue, 8)})


async def look(world: World, suspects: Suspects = SUSPECTS) -> Witnessed:
    return await witness.Witness(world.context).look(planned(), "1-2-3-4", suspects, ORIGIN)


@pytest.fixture
async def world() -> World:
    world = World()
    world.hume.offsets[CONSUMER.path, QUEUE] = {0: 5}
    await world.synchronize()
    return world


async def test_offsets_are_read_as_they_are_now(world: World) -> None:
    assert (await look(world)).offsets == {CONSUMER: {0: 5}}


async def test_a_consumer_that_does_not_answer_delays_a_trim_by_a_moment_only(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(
        consumer_path: str, queue: CrossClusterRef, partition_count: int, *, name: str = ""
    ) -> Mapping[int, int]:
        await asyncio.Event().wait()
        return {}

    monkeypatch.setattr(witness, "PATIENCE_SECONDS", 0.01)
    world.hume.read_next_row_indexes = hang  # type: ignore[method-assign] # it never answers
    assert await look(world) == Witnessed({CONSUMER: None})


async def test_a_consumer_that_cannot_be_read_is_told_as_such(world: World) -> None:
    async def fail(
        consumer_path: str, queue: CrossClusterRef, partition_count: int, *, name: str = ""
    ) -> Mapping[int, int]:
        raise ClusterError("no such table")

    world.hume.read_next_row_indexes = fail  # type: ignore[method-assign] # it refuses
    assert (await look(world)).offsets == {CONSUMER: None}
    gone = CrossClusterRef("hume", "//tmp/gone")
    assert (await look(world, Suspects({gone: [0]}))).offsets == {gone: None}


async def test_who_is_not_known_anyway_is_not_asked(world: World) -> None:
    assert await look(world, Suspects({CONSUMER: [0]}, [CONSUMER])) == Witnessed()
