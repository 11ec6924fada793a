"""What to trim of each replica of a replicated queue."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from queue_agent.core.queues.snapshots import ConsumerSnapshot, QueueSnapshot
from queue_agent.core.state.replication import replicas_of
from queue_agent.core.state.rows import MappingRow, Registration
from queue_agent.core.trimming.decision import plan_trims
from queue_agent.core.trimming.plan import TrimPlan
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind


@dataclass(frozen=True, slots=True)
class ReplicaTrims:
    """What is to become of a replicated queue in one trimming iteration."""

    shown: TrimPlan
    """What is published as that of the queue: of its first synchronous replica, if there is one."""

    by_replica: Mapping[CrossClusterRef, TrimPlan]
    error: ErrorInfo | None = None
    """For which nothing at all is trimmed, in any replica."""


def plan_replica_trims(
    snapshot: QueueSnapshot,
    policy: Mapping[str, Any] | None,
    mapping: MappingRow | None,
    queues: Mapping[CrossClusterRef, QueueSnapshot],
    registrations: Collection[Registration],
    consumers: Mapping[CrossClusterRef, ConsumerSnapshot],
    origin: Origin,
) -> ReplicaTrims | None:
    """Say what to trim of each replica: what vital consumers have read, as far as the replica has it.

    The rows of all replicas must have the same indexes.

    Args:
        snapshot: of the queue, of this pass.
        policy: `@auto_trim_config`, the queue's own or another.
        mapping: its replicas.
        queues: latest snapshots, those of the replicas among them.
        registrations: of the queue.
        consumers: latest snapshots.
        origin: of errors.

    Returns:
        None if the policy is not to trim.
    """
    whole = plan_trims(snapshot, policy, registrations, consumers, {}, origin, replica=snapshot)
    if whole is None:
        return None
    if snapshot.view is None:
        return ReplicaTrims(whole, {}, whole.error)
    tables = _find_tables(snapshot, mapping, queues, origin)
    if isinstance(tables, ErrorInfo):
        return ReplicaTrims(whole.blocked(ConstraintKind.ERROR, tables), {}, tables)
    exports = {export_name(table.ref, name): one for table in tables for name, one in table.exported.items()}
    plans: dict[CrossClusterRef, TrimPlan] = {}
    for table in tables:
        plan = plan_trims(snapshot, policy, registrations, consumers, exports, origin, replica=table)
        assert plan is not None, "the policy is the same"
        if table.row.object_id is None or table.exports.error is not None:
            return ReplicaTrims(plan, {}, plan.error)
        plans[table.ref] = plan
    return ReplicaTrims(plans[tables[0].ref], plans)


def export_name(replica: CrossClusterRef, name: str) -> str:
    """Name in plans of an export of a replica: several may have one of the same name."""
    return f"{name} of {replica}"


def _find_tables(
    snapshot: QueueSnapshot,
    mapping: MappingRow | None,
    queues: Mapping[CrossClusterRef, QueueSnapshot],
    origin: Origin,
) -> Sequence[QueueSnapshot] | ErrorInfo:
    """All replicas, synchronous ones first; why they are not known, or that there are none."""
    if mapping is None:
        return origin.error(
            "Trimming iteration skipped due to missing replicated table mapping row in snapshot for queue of type"
            f' "{snapshot.row.object_type}"'
        )
    tables: list[QueueSnapshot] = []
    for replica in sorted(replicas_of(mapping), key=lambda one: one.mode != "sync"):
        table = queues.get(replica.table)
        if table is None:
            return origin.error(
                f'Trimming iteration skipped due to missing snapshot for queue replica "{replica.table}"'
            )
        tables.append(table)
    if not tables:
        return origin.error(f'Trimming iteration skipped since queue "{snapshot.ref}" has no replicas')
    return tables
