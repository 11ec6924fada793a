"""Which objects have not been looked at for longest, and how many are in error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from queue_agent.core.encoding import encode_instant
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.snapshots import ConsumerSnapshot, QueueSnapshot, Role

DISPLAY_LIMIT = 10
"""Objects listed of each kind."""

Snapshot = QueueSnapshot | ConsumerSnapshot


def controller_info(
    queues: Mapping[CrossClusterRef, QueueSnapshot], consumers: Mapping[CrossClusterRef, ConsumerSnapshot]
) -> dict[str, Any]:
    """The node `controller_info` of the agent's tree: of all objects here, and for each cluster."""
    clusters = sorted({ref.cluster for ref in (*queues, *consumers)})
    return {
        **_summary(queues.values(), consumers.values()),
        "per_cluster": {
            cluster: _summary(
                [snapshot for ref, snapshot in queues.items() if ref.cluster == cluster],
                [snapshot for ref, snapshot in consumers.items() if ref.cluster == cluster],
            )
            for cluster in clusters
        },
    }


def _summary(queues: Iterable[Snapshot], consumers: Iterable[Snapshot]) -> dict[str, Any]:
    queues, consumers = list(queues), list(consumers)
    return {
        "inactive_objects": {
            "leading_queues": _oldest(queues, Role.LEADING),
            "following_queues": _oldest(queues, Role.FOLLOWING),
            "leading_consumers": _oldest(consumers, Role.LEADING),
            "following_consumers": _oldest(consumers, Role.FOLLOWING),
        },
        "erroneous_objects": {
            "queue_count": sum(snapshot.error is not None for snapshot in queues),
            "consumer_count": sum(snapshot.error is not None for snapshot in consumers),
        },
    }


def _oldest(snapshots: Iterable[Snapshot], role: Role) -> list[dict[str, Any]]:
    chosen = [snapshot for snapshot in snapshots if snapshot.role is role and snapshot.error is None]
    chosen.sort(key=lambda snapshot: (snapshot.pass_instant, snapshot.ref))
    return [
        {"path": str(snapshot.ref), "pass_instant": encode_instant(snapshot.pass_instant)}
        for snapshot in chosen[:DISPLAY_LIMIT]
    ]
