"""What a meta-cluster does for its replicated tables by itself: brings replicas their rows, and chooses their modes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final, NoReturn

import structlog

from yt_local.base.clock import COUNTER_BITS
from yt_local.cypress.settable_attributes import DEFAULT_MIN_REPLICATION_LOG_TTL
from yt_local.security.permissions import UNCHECKED, UNLIMITED
from yt_local.store.model import Node, Tablet
from yt_local.store.replica_tracking import Candidate, TrackerOptions, choose_modes
from yt_local.store.replicated_types import TableReplica
from yt_local.store.state import ClusterState
from yt_local.tables.dynamic.segments import drop_trimmed
from yt_local.tables.replication.directory import ClusterDirectory
from yt_local.tables.replication.replication import Replication
from yt_local.tables.replication.table_replicas import TableReplicas
from yt_wire.error import YtError

_PERIOD_SECONDS: Final = 0.1
_TRACKER_ROUNDS: Final = 5
"""The tracker looks once in so many rounds of replication."""

log = structlog.get_logger(__name__)


class Replicator:
    """Runs as long as its cluster does.

    Args:
        state: of the cluster.
        replication: of the cluster.
        replicas: of its replicated tables.
        directory: where replicas may be.
    """

    def __init__(
        self, state: ClusterState, replication: Replication, replicas: TableReplicas, directory: ClusterDirectory
    ) -> None:
        self._state = state
        self._replication = replication
        self._replicas = replicas
        self._directory = directory

    async def run(self) -> NoReturn:
        """Replicate and track for ever."""
        rounds = 0
        while True:
            await asyncio.sleep(_PERIOD_SECONDS)
            if not self._state.has_replicated_tables:
                continue
            try:
                await self.replicate()
                if rounds % _TRACKER_ROUNDS == 0:
                    self.track()
                    self.trim_logs()
            except Exception:  # a bug, or a disk that is full: the other tables need it next time
                log.exception("replication crashed")
            rounds += 1

    async def replicate(self) -> None:
        """Bring every enabled replica of the tables that are mounted the rows it lacks."""
        for node in self._state.table_replicas():
            for tablet in self._state.tablets.of(TableReplica.of(node).table_id):
                while self._bring(node.id, tablet.table_id, tablet.index):  # noqa: ASYNC110 - commands take turns
                    await asyncio.sleep(0)

    def _bring(self, replica_id: str, table_id: str, tablet_index: int) -> bool:
        """Replicate a batch of a tablet, in the present state; returns whether there may be more."""
        node, tablet = self._state.find_node(replica_id), self._state.tablets.find(table_id, tablet_index)
        if node is None or tablet is None or not tablet.readable:
            return False
        replica = TableReplica.of(node)
        try:
            return replica.enabled and self._replication.advance(replica, tablet) > 0
        except YtError:
            return False  # noted there; the next round tries again

    def track(self) -> None:
        """Choose the modes of the replicas of all tables whose options ask for it."""
        for table_id in sorted({TableReplica.of(node).table_id for node in self._state.table_replicas()}):
            table = self._state.node(table_id)
            options = TrackerOptions.of(table.attributes.get("replicated_table_options", {}))
            if not options.enabled:
                continue
            candidates = [self._candidate(table, replica) for replica in self._replication.replicas(table_id)]
            for replica_id, mode in choose_modes(options, candidates).items():
                log.info("replica mode switched", replica_id=replica_id, mode=mode)
                self._replicas.alter(UNLIMITED, replica_id, {"mode": mode})

    def trim_logs(self) -> None:
        """Forget the rows of logs that all replicas have, once they are old enough."""
        now = self._state.clock.seconds()
        for table_id in sorted({TableReplica.of(node).table_id for node in self._state.table_replicas()}):
            ttl = self._state.node(table_id).attributes.get("min_replication_log_ttl", DEFAULT_MIN_REPLICATION_LOG_TTL)
            for tablet in self._state.tablets.of(table_id):
                end = self._expired(tablet, self._replication.replicated_row_count(tablet), now - ttl / 1000)
                if end > tablet.trimmed_row_count:
                    with self._state.change():
                        trimmed = replace(tablet, trimmed_row_count=end)
                        self._state.tablets.put(trimmed)
                        drop_trimmed(self._state, trimmed)

    def _expired(self, tablet: Tablet, upper: int, horizon: float) -> int:
        """Up to where rows below `upper` are older than a moment in seconds; timestamps grow with the index."""
        lower = tablet.trimmed_row_count
        while lower < upper:
            middle = (lower + upper) // 2
            [row] = self._state.storage.ordered_rows(tablet.number, middle, middle + 1)
            if row.timestamp >> COUNTER_BITS <= horizon:
                lower = middle + 1
            else:
                upper = middle
        return lower

    def _candidate(self, table: Node, replica: TableReplica) -> Candidate:
        tracked = replica.tracked and replica.enabled
        return Candidate(
            replica.id,
            replica.cluster_name,
            replica.mode,
            tracked,
            tracked and self._is_available(table, replica),
            self._replication.table_lag(replica),
        )

    def _is_available(self, table: Node, replica: TableReplica) -> bool:
        """Whether the replica could take part in a write now."""
        try:
            cluster = self._directory.find(replica.cluster_name)
            if cluster is None:
                return False
            copy = cluster.tables.open(replica.replica_path, UNCHECKED)
        except YtError:
            return False
        tablets = cluster.state.tablets.of(copy.node.id)
        return (copy.schema.is_sorted or len(tablets) == len(self._state.tablets.of(table.id))) and all(
            tablet.state == "mounted" for tablet in tablets
        )
