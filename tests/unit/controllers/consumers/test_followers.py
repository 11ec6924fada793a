"""What an agent knows of consumers that another one leads."""

from __future__ import annotations

from datetime import timedelta

import pytest

from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.rows import Registration
from queue_agent.core.verdicts.queue_state import QueueState
from tests.unit.controllers.agent_world import CONSUMER, QUEUE, World
from tests.unit.controllers.consumers.ledgers import KnownLedger


async def state_after(world: World, role: Role) -> QueueState:
    """As it is once the consumer was judged."""
    await world.synchronize()
    queue, consumer = world.queue_controller(), world.consumer_controller(role)
    for _ in range(3):
        world.clock.time += timedelta(seconds=1)
        await queue.do_pass(1)
        await consumer.do_pass(1)
    return consumer._judge._kept[QUEUE].state


@pytest.mark.parametrize("vital", [True, False])
async def test_ledgers_are_read_and_none_is_written(vital: bool) -> None:
    """The agent may lead the queue, and the ledger knows of a reshard that the agent has not seen."""
    before = World()
    known = await state_after(before, Role.LEADING)
    resharded = known.positions[0]._replace(ledger=known.positions[0].ledger._replace(offset_tablet="older"))
    ledger = KnownLedger(QueueState(known.pair, {0: resharded}, known.pace, known.last_poll, is_kept=True))
    world = World()
    world.clock.time = before.clock.time
    world.store.registrations = [Registration(QUEUE, CONSUMER, vital=vital)]
    world.context.ledger = ledger
    state = await state_after(world, Role.FOLLOWING)
    assert world.board.all_consumers[CONSUMER].verdicts[QUEUE].tablets == {0: "older"}
    assert not state.is_kept
    assert ledger.noted is None
