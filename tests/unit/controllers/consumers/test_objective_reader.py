"""When objectives are read, and what holds while they cannot be."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any, cast

from queue_agent.controllers.consumers.objective_reader import ObjectiveReader
from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.core.state.rows import ConsumerRow
from queue_agent.core.verdicts.objective_config import ATTRIBUTE
from queue_agent.core.verdicts.objectives import Objective
from queue_agent.errors import ClusterError
from queue_agent.ports.cluster import Cluster
from tests.unit.controllers.agent_world import CONSUMER, QUEUE, START

ORIGIN = Origins(Process("agent-1", 1, 2), "Controller:0", random.Random(0)).make(START)
GOOD = {"max_lag_seconds": 300, "target": 0.99}


class Attributes:
    """A cluster that is asked for attributes only."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.questions = 0

    async def get_attributes(self, path: str, names: Collection[str]) -> Mapping[str, Any]:
        assert (path, list(names)) == (CONSUMER.path, [ATTRIBUTE])
        self.questions += 1
        if isinstance(self.value, ClusterError):
            raise self.value
        return {} if self.value is None else {ATTRIBUTE: self.value}


def begun(value: Any) -> tuple[Attributes, ObjectiveReader]:
    cluster = Attributes(value)
    return cluster, ObjectiveReader(CONSUMER, {CONSUMER.cluster: cast("Cluster", cluster)})


async def test_the_attribute_is_read_once_for_a_row() -> None:
    cluster, reader = begun(GOOD)
    row = ConsumerRow(CONSUMER, 1)
    assert reader.is_due(row, START)
    first = await reader.read(row, START, ORIGIN)
    assert first.find(QUEUE) == Objective(300.0, 0.99)
    assert not reader.is_due(row, START + timedelta(days=1))
    assert await reader.read(row, START + timedelta(days=1), ORIGIN) is first
    assert cluster.questions == 1
    assert await reader.read(ConsumerRow(CONSUMER, 2), START, ORIGIN) is first, "another attribute has changed"
    cluster.value = None
    assert (await reader.read(ConsumerRow(CONSUMER, 3), START, ORIGIN)).find(QUEUE) is None


async def test_what_cannot_be_read_is_tried_again_after_a_minute_and_the_old_holds() -> None:
    cluster, reader = begun(ClusterError("busy"))
    row = ConsumerRow(CONSUMER, 1)
    found = await reader.read(row, START, ORIGIN)
    assert not found.is_read
    assert found.error is not None
    later = START + timedelta(seconds=59)
    assert await reader.read(row, later, ORIGIN) is found
    assert cluster.questions == 1
    cluster.value = GOOD
    later = START + timedelta(seconds=60)
    known = await reader.read(row, later, ORIGIN)
    assert known.find(QUEUE) == Objective(300.0, 0.99)
    cluster.value = ClusterError("busy")
    assert await reader.read(ConsumerRow(CONSUMER, 2), later, ORIGIN) is known


async def test_nonsense_ends_the_objective_before() -> None:
    cluster, reader = begun(GOOD)
    await reader.read(ConsumerRow(CONSUMER, 1), START, ORIGIN)
    cluster.value = {"max_lag_seconds": -1, "target": 0.99}
    found = await reader.read(ConsumerRow(CONSUMER, 2), START, ORIGIN)
    assert found.is_read
    assert found.find(QUEUE) is None
    assert found.error is not None
    assert "got -1" in found.error.inner_errors[0].message
