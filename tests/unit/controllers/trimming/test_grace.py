"""The first trim of an agent: whom it waits for, and what it tells."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from queue_agent.core.state.rows import Registration
from queue_agent.core.values.observed import ObjectRevisions
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.terms import Term
from tests.unguarded import NoOtherAgents, RememberEvents
from tests.unit.controllers.agent_world import CONSUMER, CONSUMER_ATTRIBUTES, QUEUE, World

SLOW = CrossClusterRef("hume", "//tmp/slow")


class Leads(NoOtherAgents):
    """`ports.LeadershipGuard` whose clock is set by hand."""

    def __init__(self) -> None:
        self.term = Term(0.0, 0.0)

    def find_term(self, refs: Collection[CrossClusterRef]) -> Term:
        assert refs, "of the queue and of the table to trim"
        return self.term


@pytest.fixture
async def world() -> World:
    """The vital consumer has read 42 of 100 rows, the slow one 5."""
    world = World()
    world.hume.attributes[SLOW.path] = CONSUMER_ATTRIBUTES
    world.hume.revisions = ObjectRevisions({}, {CONSUMER.path: 6, SLOW.path: 6})
    world.hume.offsets[SLOW.path, QUEUE] = {0: 5}
    world.store.registrations.append(Registration(QUEUE, SLOW, vital=False))
    world.context.leadership = Leads()
    await world.synchronize()
    await world.look()
    return world


def leads(world: World) -> Leads:
    assert isinstance(world.context.leadership, Leads)
    return world.context.leadership


def targets(world: World) -> list[int]:
    found = [target for _, _, target in world.pythia.trims]
    world.pythia.trims.clear()
    return found


async def test_it_ends_by_the_clock_that_is_never_set_and_is_told_once(world: World) -> None:
    controller = world.queue_controller()
    events = world.context.events
    assert isinstance(events, RememberEvents)
    for second, found in ((0.0, [5]), (599.0, [5]), (600.0, [42])):
        leads(world).term = Term(0.0, second)
        await controller.do_pass(1)
        assert targets(world) == found
    told = [event for event in events.noted if event.kind == "grace"]
    assert [(event.queue, event.consumer) for event in told] == [(QUEUE, SLOW)]


async def test_it_begins_again_with_the_leadership(world: World) -> None:
    controller = world.queue_controller()
    for second in (0.0, 400.0, 700.0):
        leads(world).term = Term(0.0, second)
        await controller.do_pass(1)
    assert targets(world)[-1] == 42
    leads(world).term = Term(699.0, 701.0)
    await controller.do_pass(1)
    assert targets(world) == [5]


async def test_a_slow_reader_that_cannot_be_read_holds_everything_for_that_time(world: World) -> None:
    controller = world.queue_controller()
    del world.store.consumers[SLOW]
    world.board.put_rows(await world.store.read())
    await controller.do_pass(1)
    assert targets(world) == []
    leads(world).term = Term(0.0, 599.0)
    await controller.do_pass(1)
    assert targets(world) == []
    leads(world).term = Term(0.0, 600.0)
    await controller.do_pass(1)
    assert targets(world) == [42]


async def test_what_could_not_be_confirmed_does_not_use_it_up(world: World) -> None:
    controller = world.queue_controller()
    offsets = world.hume.offsets.pop((CONSUMER.path, QUEUE))
    for second in (0.0, 300.0, 599.0):
        leads(world).term = Term(0.0, second)
        await controller.do_pass(1)
    assert targets(world) == [], "the vital consumer has no offset any more"
    world.hume.offsets[CONSUMER.path, QUEUE] = offsets
    leads(world).term = Term(0.0, 700.0)
    await controller.do_pass(1)
    assert targets(world) == [5]
