"""Whether the clusters agree with the agent's configuration about their names and the table of registrations."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

import structlog

from queue_agent.controllers.passes.clusters import Clusters, fan_out
from queue_agent.controllers.passes.origins import Origins
from queue_agent.controllers.status.board import Board
from queue_agent.core.state.connections import (
    TABLE_ATTRIBUTES,
    Connection,
    TableFacts,
    find_name_mismatch,
    find_registrations_mismatch,
)
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import AccessDenied, ClusterError, ClusterUnavailable, ObjectNotFound
from queue_agent.ports.passes import Clock, PassObserver
from yt_wire.error import YtError
from yt_wire.ypath import parse_rich

log = structlog.get_logger(__name__)

KIND: Final = "cluster_connections"

PERIOD: Final = timedelta(minutes=1)
"""How often clusters that have answered are asked again."""

IMPATIENT_PERIOD: Final = timedelta(seconds=5)
"""How often, while one has not answered yet."""

TIMEOUT: Final = timedelta(minutes=1)
"""Of a pass. It does not depend on the configuration: it is to be longer than the patience with clusters."""

PATIENCE_SECONDS: Final = 10.0
"""A cluster that takes longer has not answered: the others are used meanwhile."""

MISMATCH: Final = "queue_agent_cluster_connection_mismatch"
"""Category of the alert."""

_SYS_ATTRIBUTES: Final = ("cluster_connection", "cluster_name")
_CONCURRENT_CLUSTERS: Final = 16


class Connections:
    """Knows what clusters said of themselves when they answered last.

    Args:
        clusters: all the agent knows.
        registrations: the table it reads registrations from.
        board: gets alerts.
        clock, origins, observer: of the passes.
    """

    def __init__(
        self,
        clusters: Clusters,
        registrations: CrossClusterRef,
        board: Board,
        clock: Clock,
        origins: Origins,
        observer: PassObserver,
    ) -> None:
        self._clusters = clusters
        self._registrations = registrations
        self._board = board
        self._clock = clock
        self._origins = origins
        self._observer = observer
        self._said: Mapping[str, Connection] = {}
        self._names: Mapping[str, str | None] = {}
        self._tables: Mapping[str, str | None] = {}

    @property
    def period(self) -> timedelta:
        """From one pass to the next."""
        return PERIOD if self._said.keys() == self._clusters.keys() else IMPATIENT_PERIOD

    def find_mismatch(self, clusters: Collection[str], origin: Origin) -> ErrorInfo | None:
        """Why not all vital consumers of a queue may be known here.

        Args:
            clusters: of the queue and its vital consumers.
            origin: of errors.
        """
        for cluster in sorted(set(clusters)):
            if cluster not in self._said:
                return origin.error(
                    f'Trimming iteration skipped since cluster "{cluster}" has not said yet where its proxies keep'
                    " registrations"
                )
        # Whoever knows a queue may be registered with it by the proxies of any cluster.
        mismatches = [*(self._names.get(cluster) for cluster in sorted(set(clusters))), *self._tables.values()]
        mismatch = next((one for one in mismatches if one is not None), None)
        return None if mismatch is None else origin.error(f"Trimming iteration skipped since {mismatch}")

    async def do_pass(self, pass_index: int) -> None:
        """Ask all clusters once; one that does not answer leaves what it said before in force."""
        said = dict(self._said)
        answers = await fan_out(self._read, self._clusters, limit=_CONCURRENT_CLUSTERS)
        for cluster, answer in answers.items():
            if isinstance(answer, ClusterError):
                log.warning("cluster connection not read", cluster=cluster, error=str(answer))
                continue
            if cluster not in self._said and not (answer.read_tables or answer.write_tables):
                log.info("cluster does not tell where its proxies keep registrations", cluster=cluster)
            said[cluster] = answer
        facts = await self._read_tables(
            {table for one in said.values() for table in (*one.read_tables, *one.write_tables)}
        )
        self._judge(said, facts)

    def _judge(self, said: Mapping[str, Connection], facts: Mapping[CrossClusterRef, TableFacts]) -> None:
        """All at once: whoever asks must not find a cluster known, and what is wrong with it not yet."""
        tables = {
            cluster: find_registrations_mismatch(cluster, self._registrations, one, facts)
            for cluster, one in said.items()
        }
        for cluster, mismatch in tables.items():
            if mismatch is not None and mismatch != self._tables.get(cluster):
                log.error("registrations may not be all", cluster=cluster, reason=mismatch)
        self._said, self._tables = said, tables
        self._names = {cluster: find_name_mismatch(cluster, one) for cluster, one in said.items()}
        self._alert()

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """Tell the observer; what clusters said before stays in force."""
        self._observer.pass_finished(KIND, pass_index, seconds, error)

    async def _read(self, cluster: str) -> Connection:
        try:
            attributes = await self._get_attributes(CrossClusterRef(cluster, "//sys"), _SYS_ATTRIBUTES)
        except (ObjectNotFound, AccessDenied):
            return Connection()
        return parse_connection(cluster, attributes)

    async def _read_tables(self, tables: Collection[CrossClusterRef]) -> Mapping[CrossClusterRef, TableFacts]:
        """Of tables on clusters the agent knows; none of those that cannot be asked about."""
        known = sorted(table for table in {*tables, self._registrations} if table.cluster in self._clusters)
        answers = await fan_out(
            lambda table: self._get_attributes(table, TABLE_ATTRIBUTES), known, limit=_CONCURRENT_CLUSTERS
        )
        return {
            table: TableFacts.parse(answer) for table, answer in answers.items() if not isinstance(answer, ClusterError)
        }

    async def _get_attributes(self, node: CrossClusterRef, names: Collection[str]) -> Mapping[str, Any]:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await self._clusters[node.cluster].get_attributes(node.path, names)
        except TimeoutError as error:
            raise ClusterUnavailable(f"{node} was not answered about within {PATIENCE_SECONDS:g} s") from error

    def _alert(self) -> None:
        origin = self._origins.make(self._clock.now())
        mismatches = [one for one in (*self._names.values(), *self._tables.values()) if one is not None]
        alert = origin.error(
            "Clusters and configuration disagree, nothing is trimmed that may be concerned",
            inner_errors=[origin.error(mismatch) for mismatch in mismatches],
        )
        self._board.put_alerts(KIND, {MISMATCH: alert} if mismatches else {})


def parse_connection(cluster: str, attributes: Mapping[str, Any]) -> Connection:
    """Attributes of `//sys`; what is absent or makes no sense counts as not said."""
    connection = _map(attributes.get("cluster_connection"))
    manager = _map(_map(connection.get("queue_agent")).get("queue_consumer_registration_manager"))
    name = connection.get("cluster_name") or attributes.get("cluster_name")
    return Connection(
        cluster_name=name if isinstance(name, str) else None,
        read_tables=_tables(cluster, manager.get("state_read_path")),
        write_tables=_tables(cluster, manager.get("state_write_path")),
    )


def _tables(cluster: str, value: Any) -> Sequence[CrossClusterRef]:
    """The tables of a rich path: on the clusters it names, or on its own."""
    if not isinstance(value, str):
        return ()
    try:
        rich = parse_rich(value)
    except YtError:
        log.warning("path of registrations makes no sense", cluster=cluster, value=repr(value))
        return ()
    clusters = rich.attributes.get("clusters")
    names = [str(name) for name in clusters] if isinstance(clusters, list) else []
    return [CrossClusterRef(name, rich.path) for name in names or [str(rich.cluster or cluster)]]


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
