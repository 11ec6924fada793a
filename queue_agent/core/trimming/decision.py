"""How far the partitions of a queue may be trimmed, and what holds them back."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from queue_agent.core.exports.progress import ExportProgress
from queue_agent.core.queues.snapshots import (
    ConsumerSnapshot,
    QueueSnapshot,
    QueueView,
)
from queue_agent.core.state.replication import REPLICATED_TYPES
from queue_agent.core.state.rows import Registration
from queue_agent.core.state.trim_config import AutoTrimConfig
from queue_agent.core.trimming.bounds import unknown
from queue_agent.core.trimming.errors import TRIM_FAILED_CODE, session_error
from queue_agent.core.trimming.plan import PartitionPlan, TrimPlan
from queue_agent.core.trimming.policies import ConsumerPosition, PartitionFacts, plan_partition
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind


def is_trim_due(pass_index: int, pass_period: timedelta, trimming_period: timedelta | None) -> bool:
    """Whether this pass of a queue trims: the period is counted in passes, rounded up."""
    return trimming_period is None or pass_index % math.ceil(trimming_period / pass_period) == 0


def plan_trims(
    snapshot: QueueSnapshot,
    policy: Mapping[str, Any] | None,
    registrations: Collection[Registration],
    consumers: Mapping[CrossClusterRef, ConsumerSnapshot],
    exports: Mapping[str, ExportProgress],
    origin: Origin,
    replica: QueueSnapshot | None = None,
) -> TrimPlan | None:
    """Say what to trim of a queue that is a plain table, or of one replica of a replicated queue.

    If the plan's config has a lifetime, it is a plan only together with the ages of rows.

    Args:
        snapshot: of this pass.
        policy: `@auto_trim_config`, the queue's own or another.
        registrations: those of the queue, as fresh as there are; those that are not vital are of no account.
        consumers: latest snapshots, of the vital consumers at least.
        exports: progress of each static export of the queue by its name.
        origin: of errors.
        replica: of this pass or the one before, of a table that holds rows of the queue; None: the queue does itself.

    Returns:
        None if the policy is not to trim.
    """
    queue = snapshot.ref
    replica_ref = None if replica is None else replica.ref
    table = snapshot if replica is None else replica
    view = snapshot.view
    if view is None:
        assert snapshot.error is not None
        error = origin.error("Trimming iteration skipped due to queue error", inner_errors=[snapshot.error])
        return TrimPlan(queue, error=error, replica=replica_ref)

    def blocked(kind: ConstraintKind, error: ErrorInfo) -> TrimPlan:
        bounds = [unknown(kind, error)]
        partitions = {index: PartitionPlan(partition, bounds) for index, partition in enumerate(view.partitions)}
        return TrimPlan(queue, partitions=partitions, error=error, replica=replica_ref)

    try:
        config = AutoTrimConfig.parse(policy)
    except ValueError as caught:
        error = origin.error(f'Attribute "auto_trim_config" is invalid, trimming iteration skipped: {caught}')
        return blocked(ConstraintKind.ERROR, error)
    if not config.enable:
        return None
    if (queue_error := _find_queue_error(snapshot, replica, origin)) is not None:
        return blocked(ConstraintKind.ERROR, queue_error)
    if (exports_error := _find_exports_error(snapshot, replica, origin)) is not None:
        return blocked(ConstraintKind.EXPORT, exports_error)
    replica_error = None if replica is None else _find_replica_error(snapshot, view, replica, origin)
    if replica_error is not None:
        of_table = session_error(table.ref, replica_error, origin)
        return replace(blocked(ConstraintKind.ERROR, replica_error), error=of_table)
    positions = _vital_positions(queue, registrations, consumers, origin)
    judged = _find_judged(queue, registrations, consumers)
    plan = _plan_table(snapshot, table, config, positions, judged, exports, origin)
    failed = _find_vital_error(positions, consumers)
    return plan if failed is None else replace(plan, error=session_error(plan.table, failed, origin))


def _find_vital_error(
    positions: Mapping[CrossClusterRef, ConsumerPosition], consumers: Mapping[CrossClusterRef, ConsumerSnapshot]
) -> ErrorInfo | None:
    """The first vital consumer's that has one; one that is looked at for the first time has not failed."""
    for ref, position in positions.items():
        if isinstance(position, ErrorInfo) and (ref not in consumers or consumers[ref].is_processed):
            return position
    return None


def _plan_table(
    snapshot: QueueSnapshot,
    table: QueueSnapshot,
    config: AutoTrimConfig,
    positions: Mapping[CrossClusterRef, ConsumerPosition],
    judged: Collection[tuple[Registration, Mapping[int, str | None]]],
    exports: Mapping[str, ExportProgress],
    origin: Origin,
) -> TrimPlan:
    """The plan for a table that holds the rows of a queue, which both can be read."""
    assert snapshot.view is not None
    assert table.view is not None, "a replica without is an error"
    partitions = {
        index: plan_partition(
            PartitionFacts(
                index,
                partition,
                table.view.partitions[index],
                table.view.has_timestamp_column,
                snapshot.view.created_at,
                config,
                positions,
                dict(_find_doubts(judged, index, partition.tablet_id)),
                exports,
                origin,
            )
        )
        for index, partition in enumerate(snapshot.view.partitions)
    }
    replica = None if table is snapshot else table.ref
    plan = TrimPlan(snapshot.ref, config, partitions, replica=replica, vital_consumers=tuple(positions))
    if not positions and not exports:
        error = origin.error(
            f'Nothing of queue "{snapshot.ref}" is trimmed until it has a vital consumer or a static export',
            TRIM_FAILED_CODE,
        )
        return plan.blocked(ConstraintKind.NO_VITAL_CONSUMER, error)
    return plan


def _vital_positions(
    queue: CrossClusterRef,
    registrations: Collection[Registration],
    consumers: Mapping[CrossClusterRef, ConsumerSnapshot],
    origin: Origin,
) -> Mapping[CrossClusterRef, ConsumerPosition]:
    return {
        registration.consumer: _position(queue, registration.consumer, consumers.get(registration.consumer), origin)
        for registration in sorted(registrations)
        if registration.vital
    }


def _find_judged(
    queue: CrossClusterRef,
    registrations: Collection[Registration],
    consumers: Mapping[CrossClusterRef, ConsumerSnapshot],
) -> Collection[tuple[Registration, Mapping[int, str | None]]]:
    """Vital consumers, with the tablets whose rows their offsets are of; of one that is not judged yet, none."""
    vital = [one for one in registrations if one.vital and one.consumer in consumers]
    verdicts = [(one, consumers[one.consumer].verdicts.get(queue)) for one in vital]
    return [(one, {} if verdict is None else verdict.tablets) for one, verdict in verdicts]


def _find_doubts(
    judged: Collection[tuple[Registration, Mapping[int, str | None]]], index: int, tablet_id: str
) -> Iterator[tuple[CrossClusterRef, ConstraintKind]]:
    """Those whose offset in a partition is one of another tablet, or was one when they were judged."""
    for one, tablets in judged:
        is_registered = not one.partitions or index in one.partitions
        known = tablets.get(index, "")
        if is_registered and known != tablet_id:
            yield one.consumer, ConstraintKind.STALE_OFFSET if known is None else ConstraintKind.UNPROVED_OFFSET


def _find_queue_error(snapshot: QueueSnapshot, replica: QueueSnapshot | None, origin: Origin) -> ErrorInfo | None:
    """Why a queue of this kind is not trimmed, or not by what is known of its table."""
    if snapshot.row.object_type in REPLICATED_TYPES and replica is None:
        # Of chaos tables no replica may be trimmed beyond what all the others have got, which HTTP does not tell.
        return origin.error(f'Trimming queues of type "{snapshot.row.object_type}" is not supported by this agent')
    table = snapshot if replica is None else replica
    if table.row.object_id is None:
        return origin.error(f'Object id is not known for queue replica "{table.ref}", trimming iteration skipped')
    return None


def _find_exports_error(snapshot: QueueSnapshot, replica: QueueSnapshot | None, origin: Origin) -> ErrorInfo | None:
    """Why it is not known how far the exports of a queue are, if it has any; exports are those of replicas."""
    if snapshot.exports.error is not None:
        return origin.error("Failed to get aggregate queue exports progress", inner_errors=[snapshot.exports.error])
    if replica is not None and replica.exports.error is not None:
        inner = origin.error(
            f"Failed to get queue exports progress for {replica.ref}", inner_errors=[replica.exports.error]
        )
        return origin.error(
            "Trimming iteration skipped due to missing exports progress for some replicas", inner_errors=[inner]
        )
    return None


def _find_replica_error(
    snapshot: QueueSnapshot, view: QueueView, replica: QueueSnapshot, origin: Origin
) -> ErrorInfo | None:
    """Why a replica cannot be trimmed by what is known of the queue as a whole."""
    if replica.view is None:
        assert replica.error is not None
        return origin.error("Trimming iteration skipped due to queue replica error", inner_errors=[replica.error])
    count, replica_count = len(view.partitions), len(replica.view.partitions)
    if count != replica_count:
        return origin.error(
            f'Cannot perform trimming iteration, control queue "{snapshot.ref}" and replica queue "{replica.ref}" do'
            f" not have the same number of partitions: {count} vs {replica_count}, respectively; this is probably a"
            " misconfiguration"
        )
    return None


def _position(
    queue: CrossClusterRef, consumer: CrossClusterRef, snapshot: ConsumerSnapshot | None, origin: Origin
) -> ConsumerPosition:
    """Where a vital consumer stands in the queue; an error if that is not known."""
    if snapshot is None:
        return origin.error(f'Trimming iteration skipped due to missing registered vital consumer "{consumer}"')
    if not snapshot.is_processed:
        return origin.error(f'Not trimmed before vital consumer "{consumer}" is looked at for the first time')
    if isinstance(snapshot.content, ErrorInfo):
        return origin.error(
            f'Trimming iteration skipped due to erroneous registered vital consumer "{consumer}"',
            inner_errors=[snapshot.content],
        )
    position = snapshot.content.queues.get(queue)
    if position is None:
        return origin.error(
            f'Trimming iteration skipped due to vital consumer "{consumer}" snapshot not containing information '
            "about queue"
        )
    if isinstance(position, ErrorInfo):
        return origin.error(
            f'Trimming iteration skipped due to erroneous queue sub-snapshot in registered vital consumer "{consumer}"',
            inner_errors=[position],
        )
    return position
