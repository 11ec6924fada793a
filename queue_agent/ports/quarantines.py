"""Where it is written which dead vital consumers have notice, or hold nothing any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from queue_agent.core.state.quarantines import Quarantine
from queue_agent.core.values.refs import CrossClusterRef


class QuarantineStore(Protocol):
    """Raises `ClusterError` like a cluster, `ObjectNotFound` if there is no such place."""

    async def read(self, queue: CrossClusterRef) -> Sequence[Quarantine]:
        """Those of a queue."""
        ...

    async def write(self, queue: CrossClusterRef, quarantine: Quarantine) -> None:
        """Add one, or replace what there was of its consumer."""
        ...

    async def remove(self, queue: CrossClusterRef, consumer: CrossClusterRef) -> None:
        """Remove that of a consumer."""
        ...
