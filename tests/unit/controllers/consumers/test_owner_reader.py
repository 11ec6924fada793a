"""When the words of owners are read, and what holds while they cannot be."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any, cast

from queue_agent.controllers.consumers.owner_reader import OwnerReader
from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.core.state.rows import ConsumerRow
from queue_agent.core.verdicts.objective_config import ATTRIBUTE
from queue_agent.core.verdicts.objectives import Objective
from queue_agent.core.verdicts.owner import ACKNOWLEDGED
from queue_agent.errors import ClusterError
from queue_agent.ports.cluster import Cluster
from tests.unit.controllers.agent_world import CONSUMER, QUEUE, START

ORIGIN = Origins(Process("agent-1", 1, 2), "Controller:0", random.Random(0)).make(START)
GOOD = {"max_lag_seconds": 300, "target": 0.99}


class Attributes:
    """A cluster that is asked for attributes only."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.acknowledged: Any = None
        self.questions = 0

    async def get_attributes(self, path: str, names: Collection[str]) -> Mapping[str, Any]:
        assert (path, list(names)) == (CONSUMER.path, [ATTRIBUTE, ACKNOWLEDGED])
        self.questions += 1
        if isinstance(self.value, ClusterError):
            raise self.value
        found = {ATTRIBUTE: self.value, ACKNOWLEDGED: self.acknowledged}
        return {name: value for name, value in found.items() if value is not None}


def begun(value: Any) -> tuple[Attributes, OwnerReader]:
    cluster = Attributes(value)
    return cluster, OwnerReader(CONSUMER, {CONSUMER.cluster: cast("Cluster", cluster)})


async def test_the_attribute_is_read_once_for_a_row() -> None:
    cluster, reader = begun(GOOD)
    row = ConsumerRow(CONSUMER, 1)
    assert reader.is_due(row, START)
    first = await reader.read(row, START, ORIGIN)
    assert first.objectives.find(QUEUE) == Objective(300.0, 0.99)
    assert not reader.is_due(row, START + timedelta(days=1))
    assert await reader.read(row, START + timedelta(days=1), ORIGIN) is first
    assert cluster.questions == 1
    assert await reader.read(ConsumerRow(CONSUMER, 2), START, ORIGIN) is first, "another attribute has changed"
    cluster.value = None
    assert (await reader.read(ConsumerRow(CONSUMER, 3), START, ORIGIN)).objectives.find(QUEUE) is None


async def test_what_cannot_be_read_is_tried_again_after_a_minute_and_the_old_holds() -> None:
    cluster, reader = begun(ClusterError("busy"))
    row = ConsumerRow(CONSUMER, 1)
    found = await reader.read(row, START, ORIGIN)
    assert not found.objectives.is_read
    assert found.objectives.error is not None
    later = START + timedelta(seconds=59)
    assert await reader.read(row, later, ORIGIN) is found
    assert cluster.questions == 1
    cluster.value = GOOD
    later = START + timedelta(seconds=60)
    known = await reader.read(row, later, ORIGIN)
    assert known.objectives.find(QUEUE) == Objective(300.0, 0.99)
    cluster.value = ClusterError("busy")
    assert await reader.read(ConsumerRow(CONSUMER, 2), later, ORIGIN) is known


async def test_nonsense_ends_the_objective_before() -> None:
    cluster, reader = begun(GOOD)
    await reader.read(ConsumerRow(CONSUMER, 1), START, ORIGIN)
    cluster.value = {"max_lag_seconds": -1, "target": 0.99}
    found = await reader.read(ConsumerRow(CONSUMER, 2), START, ORIGIN)
    assert found.objectives.is_read
    assert found.objectives.find(QUEUE) is None
    assert found.objectives.error is not None
    assert "got -1" in found.objectives.error.inner_errors[0].message


async def test_what_is_acknowledged_is_read_as_well_and_nonsense_ends_nothing_else() -> None:
    cluster, reader = begun(GOOD)
    cluster.acknowledged = {str(QUEUE): START.isoformat()}
    found = await reader.read(ConsumerRow(CONSUMER, 1), START, ORIGIN)
    assert list(found.acknowledged) == [QUEUE]
    cluster.acknowledged = {str(QUEUE): (START + timedelta(days=1)).isoformat()}
    found = await reader.read(ConsumerRow(CONSUMER, 2), START, ORIGIN)
    assert found.acknowledged == {}, "it would hide what is lost tomorrow"
    assert found.objectives.find(QUEUE) == Objective(300.0, 0.99)
