"""Which objects have not been looked at for longest, and how many are in error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from queue_agent.core.consumers.multi_consumers import MultiConsumerSnapshot
from queue_agent.core.queues.snapshots import ConsumerSnapshot, QueueSnapshot, Role
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.refs import CrossClusterRef

Snapshot = QueueSnapshot | ConsumerSnapshot | MultiConsumerSnapshot

_ROLES: Final = (Role.LEADING, Role.FOLLOWING)


def controller_info(
    queues: Mapping[CrossClusterRef, QueueSnapshot],
    consumers: Mapping[CrossClusterRef, ConsumerSnapshot],
    multi_consumers: Mapping[CrossClusterRef, MultiConsumerSnapshot],
    display_limit: int,
) -> dict[str, Any]:
    """The node `controller_info` of the agent's tree: of all objects here, and for each cluster.

    Args:
        queues, consumers, multi_consumers: latest snapshots.
        display_limit: how many objects each list holds at most, those not looked at for longest first.
    """
    kinds: dict[str, list[Snapshot]] = {
        "queue": list(queues.values()),
        "consumer": list(consumers.values()),
        "multi_consumer": list(multi_consumers.values()),
    }
    clusters = sorted({snapshot.ref.cluster for snapshots in kinds.values() for snapshot in snapshots})
    return {
        **_summary(kinds, display_limit),
        "per_cluster": {
            cluster: _summary(
                {
                    kind: [snapshot for snapshot in snapshots if snapshot.ref.cluster == cluster]
                    for kind, snapshots in kinds.items()
                },
                display_limit,
            )
            for cluster in clusters
        },
    }


def _summary(kinds: Mapping[str, list[Snapshot]], limit: int) -> dict[str, Any]:
    return {
        "inactive_objects": {
            f"{role.value}_{kind}s": _oldest(snapshots, role, limit)
            for kind, snapshots in kinds.items()
            for role in _ROLES
        },
        "erroneous_objects": {
            f"{kind}_count": sum(snapshot.error is not None for snapshot in snapshots)
            for kind, snapshots in kinds.items()
        },
    }


def _oldest(snapshots: Iterable[Snapshot], role: Role, limit: int) -> list[dict[str, Any]]:
    chosen = [snapshot for snapshot in snapshots if snapshot.role is role and snapshot.error is None]
    chosen.sort(key=lambda snapshot: (snapshot.pass_instant, snapshot.ref))
    return [
        {"path": str(snapshot.ref), "pass_instant": encode_instant(snapshot.pass_instant)}
        for snapshot in chosen[:limit]
    ]
