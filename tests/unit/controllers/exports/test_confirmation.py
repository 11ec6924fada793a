"""The last look at exports before rows are trimmed."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from queue_agent.config.passes import ControllerConfig
from queue_agent.controllers.exports.confirmation import read_exports_again
from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.status.board import Board
from queue_agent.core.exports.config import parse_exports
from queue_agent.core.exports.progress import ExportProgress, StoredProgress
from queue_agent.core.exports.queue_exports import ExportState
from queue_agent.core.exports.source import ChunkFacts, TabletChunks
from queue_agent.core.state.rows import QueueRow
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.timestamps import COUNTER_BITS
from queue_agent.errors import ClusterError
from tests.unguarded import unguarded_context
from tests.unit.controllers.agent_world import FakeClock, FakeObserver
from tests.unit.controllers.export_fakes import FakeExports

QUEUE = CrossClusterRef("hume", "//tmp/q")
CONFIG = {"e": {"export_directory": "//tmp/d", "export_period": 60_000}}
ROW = QueueRow(QUEUE, object_type="table", object_id="1-2-3-4", static_export_config=CONFIG)
ORIGINS = Origins(Process("agent-1", 481, 7), "Trim:0", random.Random(1))
UNNAMED = {"0": {"last_chunk": "a", "row_count": 5}}
"""Progress as the C++ agent writes it, without the tablet."""


class World:
    """An export whose directory says that 5 rows are exported, and an agent that has looked before."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.cluster = FakeExports()
        self.cluster.tablets, self.cluster.ends = [[TabletChunks("list", ["a", "b"])]], [7]
        self.cluster.tablet_ids = [["t0"]]
        self.cluster.chunks = {"a": ChunkFacts(5, 60 << COUNTER_BITS, 50), "b": ChunkFacts(2, 130 << COUNTER_BITS, 20)}
        self.cluster.stored = {"tablets": UNNAMED}
        board = Board("agent-1", self.clock)
        self.context = unguarded_context(
            board, {}, self.clock, FakeObserver(), ControllerConfig(), export_clusters={"hume": self.cluster}
        )
        known = StoredProgress.parse({"tablets": {"0": {**UNNAMED["0"], "tablet_id": "t0"}}})
        state = ExportState(parse_exports(CONFIG)["e"], known, "1-2-3-4", "d-1")
        board.put_exports(QUEUE, {"e": state})

    async def read(self, row: QueueRow = ROW) -> object:
        origin = ORIGINS.make(self.clock.now())
        return (await read_exports_again(self.context, [row], origin))[row.queue, "e"]


async def test_what_is_known_of_tablets_saves_a_look_at_their_chunks() -> None:
    world = World()
    progress = await world.read()
    assert (progress, world.cluster.list_count) == (ExportProgress({0: 5}), 0)


async def test_progress_that_was_set_back_counts() -> None:
    world = World()
    world.cluster.stored = {"tablets": {}}
    assert await world.read() == ExportProgress({})


async def test_a_config_that_makes_no_sense_is_an_error_of_the_cluster() -> None:
    with pytest.raises(ClusterError, match="Static export config check failed"):
        await World().read(replace(ROW, static_export_config={"e": 5}))


async def test_an_export_that_was_never_looked_at_is_not_known() -> None:
    world = World()
    world.context.board.put_exports(QUEUE, {})
    assert "has not been read yet" in str(await world.read())


async def test_another_directory_of_the_name_is_not_known() -> None:
    world = World()
    world.cluster.destination_id = "d-2"
    assert "is d-2, and was d-1" in str(await world.read())


async def test_a_cluster_nobody_knows_or_that_fails_is_told() -> None:
    world = World()
    lost = CrossClusterRef("nowhere", "//tmp/q")
    assert 'Cluster "nowhere" is not known' in str(await world.read(replace(ROW, queue=lost)))
    world.cluster.failure = ClusterError("no access", 901)
    assert "no access" in str(await world.read())
