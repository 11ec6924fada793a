"""Queues with exports, in memory, and the manager of their tasks."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

from queue_agent.config.exports import StaticExports
from queue_agent.config.passes import ControllerConfig
from queue_agent.controllers.exports.exports import ExportManager
from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.status.board import Board
from queue_agent.core.exports.outcome import ExportOutcome
from queue_agent.core.exports.queue_exports import ExportState
from queue_agent.core.exports.source import ChunkFacts, TabletChunks
from queue_agent.core.queues.snapshots import QueueSnapshot, Role
from queue_agent.core.state.rows import QueueRow, StateRows
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.timestamps import COUNTER_BITS
from tests.unguarded import unguarded_context
from tests.unit.controllers.agent_world import FakeClock, FakeObserver
from tests.unit.controllers.export_fakes import FakeExports
from tests.waiting import until

OPTIONS: dict[str, Any] = {
    "queue_exporter": {
        "enable": True,
        "pass_period": 1,
        "retry_backoff": {"min_backoff": 1, "max_backoff": 2, "backoff_jitter": 0},
    }
}
MOST = 8


class World:
    """Queues with an export each, and those who make them."""

    def __init__(
        self,
        rate: float = 1e6,
        static_exports: StaticExports = "allowed",
        min_backoff: int = 1,
        pass_period: int = 1,
    ) -> None:
        self.rate = rate
        self.clock = FakeClock()
        self.board = Board("agent-1", self.clock)
        self.cluster, self.other = FakeExports(), FakeExports()
        self.outcomes: list[ExportOutcome] = []
        self.kept: list[dict[CrossClusterRef, list[str]]] = []
        options = deepcopy(OPTIONS)
        options["queue_exporter"]["pass_period"] = pass_period
        options["queue_exporter"]["retry_backoff"] |= {"min_backoff": min_backoff, "max_backoff": 2 * min_backoff}
        self.context = unguarded_context(
            self.board,
            {},
            self.clock,
            FakeObserver(),
            ControllerConfig.model_validate(options),
            static_exports=static_exports,
            export_clusters={"hume": self.cluster, "primary": self.other},
        )
        origins = Origins(Process("agent-1", 481, 7), "Exports:0", random.Random(1))
        self.manager = ExportManager(self.context, origins, self, lambda: self.rate, lambda: 0.0)
        self._rows: dict[CrossClusterRef, QueueRow] = {}

    def export_finished(self, queue: CrossClusterRef, name: str, outcome: ExportOutcome) -> None:
        self.outcomes.append(outcome)

    def exports_kept(self, exports: Mapping[CrossClusterRef, Collection[str]]) -> None:
        self.kept.append({ref: sorted(names) for ref, names in exports.items()})

    def put(
        self,
        number: int,
        role: Role = Role.LEADING,
        object_id: str = "1-2-3-4",
        cluster: str = "hume",
        exports: Sequence[str] = ("e",),
        **changes: Any,
    ) -> CrossClusterRef:
        """A queue that is led here, unless something else is said."""
        ref = CrossClusterRef(cluster, f"//tmp/q{number}")
        config = {name: {"export_directory": f"//tmp/d{number}{name}", "export_period": 60_000} for name in exports}
        fields = {"object_type": "table", "object_id": object_id, "static_export_config": config, **changes}
        row = QueueRow(ref, **fields)
        self._rows[ref] = row
        self.board.put_rows(StateRows(list(self._rows.values()), [], []))
        self.board.put_queue(QueueSnapshot(row, role, 1, self.clock.now(), ErrorInfo("not looked at")))
        return ref

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.manager.run(lambda: 1.0))
            try:
                yield
            finally:
                task.cancel()


async def passes(world: World, count: int = 5) -> None:
    """Let so many passes go by."""
    observer = world.context.observer
    assert isinstance(observer, FakeObserver)
    wanted = len(observer.passes) + count
    await until(lambda: len(observer.passes) >= wanted)


def fill(cluster: FakeExports) -> None:
    """One tablet of two chunks, due at two ticks; rows 0 to 7."""
    cluster.tablets, cluster.ends, cluster.tablet_ids = [[TabletChunks("list", ["a", "b"])]], [7], [["t0"]]
    cluster.chunks = {"a": ChunkFacts(5, 60 << COUNTER_BITS, 50), "b": ChunkFacts(2, 130 << COUNTER_BITS, 20)}


class Cursed(dict[str, Any]):
    """An export that nobody can read, for a reason nobody thought of."""

    def get(self, *_: Any) -> Any:
        raise RuntimeError("a bug of reading")


async def settled(world: World) -> None:
    """Let passes go by until nothing is under way any more."""
    await passes(world)
    await until(lambda: world.cluster.under_way == world.other.under_way == 0)
    await passes(world)


def only_state(world: World, ref: CrossClusterRef) -> ExportState:
    [state] = world.board.find_exports(ref).values()
    return state
