"""A lock that keeps two migrations of the same state tables apart: a node that only one can make."""

from __future__ import annotations

import os
import socket
from datetime import timedelta
from types import TracebackType
from typing import Final, Self

import structlog

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.errors import ClusterError, ObjectNotFound
from yt_wire.error import ErrorCode

log = structlog.get_logger(__name__)

LOCK_NAME: Final = "init_state_lock"
"""Of the node, in the directory of the tables."""

LIFETIME: Final = timedelta(hours=1)
"""A lock nobody has touched for so long is removed by the cluster: whoever made it is gone."""


class StateLock:
    """Held while it is entered; an async context manager. Entering raises ClusterError if somebody else has it.

    Args:
        cluster: where the tables are.
        root: their directory, which must be there.
    """

    def __init__(self, cluster: YtCluster, root: str) -> None:
        self._cluster = cluster
        self._path = f"{root}/{LOCK_NAME}"
        self._node_id: str | None = None

    async def __aenter__(self) -> Self:
        attributes = {
            "expiration_timeout": LIFETIME // timedelta(milliseconds=1),
            "holder": f"{socket.gethostname()}:{os.getpid()}",
        }
        try:
            answer = await self._cluster.execute(
                "create", {"type": "map_node", "path": self._path, "attributes": attributes}
            )
        except ClusterError as error:
            if error.code != ErrorCode.ALREADY_EXISTS:
                raise
            raise ClusterError(
                f"{self._path} is there: the state tables are being changed by {await self._find_holder()}. If that"
                " process is gone, remove the node; the cluster does so an hour after it was last used",
                error.code,
            ) from error
        self._node_id = str(answer["node_id"])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self._cluster.execute("remove", {"path": f"#{self._node_id}"})
        except ClusterError as failure:
            log.warning("lock not removed", path=self._path, error=str(failure))

    async def keep(self) -> None:
        """Prolong the lock; ClusterError if it is lost, and nothing may be changed any more."""
        try:
            await self._cluster.get(f"#{self._node_id}")
        except ObjectNotFound as error:
            raise ClusterError(f"{self._path} was removed while the state tables were being changed") from error

    async def _find_holder(self) -> str:
        try:
            return str(await self._cluster.get(f"{self._path}/@holder"))
        except ObjectNotFound:
            return "somebody"
