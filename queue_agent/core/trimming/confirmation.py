"""Whether a trimming plan still holds by what was asked right before it is carried out; it only ever gets less."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from queue_agent.core.exports.progress import ExportProgress
from queue_agent.core.state.family import find_queue_row_error
from queue_agent.core.state.replication import replicas_of, synchronous_of
from queue_agent.core.state.rows import MappingRow, QueueRow, Registration
from queue_agent.core.state.trim_config import AutoTrimConfig
from queue_agent.core.trimming.bounds import exported_by, read_by, unknown
from queue_agent.core.trimming.plan import TrimPlan
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind


@dataclass(frozen=True, slots=True)
class FreshLook:
    """What is known of a queue right before it is trimmed."""

    rows: Collection[QueueRow]
    """The queue's: by its attributes, and by the state tables."""

    upper_row_indexes: Mapping[int, int]
    """By partition index; asked for after the offsets, so that none of these is beyond by mere haste."""

    lower_row_indexes: Mapping[int, int]
    """Of the table to trim by partition index, asked for after the offsets too."""

    next_row_indexes: Mapping[CrossClusterRef, Mapping[int, int] | ErrorInfo]
    """Of each vital consumer by partition index, absent where it has read nothing; or why they are not known."""

    exports: Mapping[str, ExportProgress | ErrorInfo]
    """Of each static export, by its name in the plan: its progress, or why it is not known."""

    mapping: MappingRow | None
    """Of a replicated queue: its replicas, by its attributes."""

    replica_rows: Collection[QueueRow]
    """Of a replicated queue: the rows of the replica to trim, like `rows`; empty for any other."""

    tablet_ids: Mapping[int, str]
    """Of the table to trim by partition index, from the same answer as its attributes."""

    aligned_with: Collection[CrossClusterRef]
    """Of a replicated queue: the synchronous replicas that the replica to trim was compared with."""


def partitions_to_trim(plan: TrimPlan) -> list[int]:
    """Indexes of those that have a target."""
    return [index for index, trim in plan.trims.items() if trim.target is not None]


def vital_consumers(registrations: Collection[Registration]) -> list[CrossClusterRef]:
    """In order, each once."""
    return sorted({one.consumer for one in registrations if one.vital})


def confirm_plan(
    plan: TrimPlan,
    planned_row: QueueRow,
    replica_row: QueueRow | None,
    registrations: Collection[Registration],
    look: FreshLook,
    origin: Origin,
) -> TrimPlan:
    """The plan as far as it still holds: no target is higher than before.

    Args:
        plan: made from snapshots, and from the ages of rows if it has to do with them.
        planned_row: the queue's row it was made from.
        replica_row: the row of the replica it was made from; None: the queue is not replicated.
        registrations: those of the queue, as of now.
        look: at everything it depends on; `upper_row_indexes` of the partitions to trim at least.
        origin: of errors.
    """
    pairs = [(planned_row, row) for row in look.rows]
    if replica_row is not None:
        pairs += [(replica_row, row) for row in look.replica_rows]
    for planned, found in pairs:
        error = _find_change(planned, found, look.mapping, origin)
        if error is not None:
            return plan.blocked(ConstraintKind.ERROR, error)
    if plan.replica is not None and not _is_replica(plan.replica, look.mapping):
        error = origin.error(
            f'Trimming iteration skipped since "{plan.replica}" is no replica of queue "{plan.queue}" any more'
        )
        return plan.blocked(ConstraintKind.ERROR, error)
    strange = None if plan.replica is None else _find_strange(plan.replica, look)
    if strange is not None:
        error = origin.error(
            f'Trimming iteration skipped since replica "{plan.replica}" was not compared with "{strange}", which has'
            " just become synchronous"
        )
        return plan.blocked(ConstraintKind.ERROR, error)
    vital = vital_consumers(registrations)
    if not vital and not _exports_of(plan):
        error = origin.error(f'Trimming iteration skipped since queue "{plan.queue}" has no vital consumers any more')
        return plan.blocked(ConstraintKind.NO_VITAL_CONSUMER, error)
    partitions = {
        index: one if index not in look.lower_row_indexes else one.begun_at(look.lower_row_indexes[index])
        for index, one in plan.partitions.items()
    }
    for consumer in vital:
        next_row_indexes = look.next_row_indexes[consumer]
        if isinstance(next_row_indexes, ErrorInfo):
            error = origin.error(
                f'Trimming iteration skipped since offsets of vital consumer "{consumer}" cannot be read',
                inner_errors=[next_row_indexes],
            )
            return plan.blocked(ConstraintKind.ERROR, error)
        for index in partitions_to_trim(plan):
            bounds = read_by(consumer, next_row_indexes.get(index, 0), look.upper_row_indexes[index])
            partitions[index] = partitions[index].narrowed(bounds)
    return _confirm_exports(_confirm_tablets(replace(plan, partitions=partitions), look, origin), look, origin)


def _confirm_tablets(plan: TrimPlan, look: FreshLook, origin: Origin) -> TrimPlan:
    """The plan without the partitions that have become other tablets, whose rows have nothing to do with the plan."""
    partitions = dict(plan.partitions)
    for index in partitions_to_trim(plan):
        planned, found = partitions[index].partition.tablet_id, look.tablet_ids.get(index)
        if found != planned:
            error = origin.error(
                f'Partition {index} of "{plan.table}" is not trimmed in this pass since it is tablet {found}, and was'
                f" {planned}: the table was resharded"
            )
            partitions[index] = partitions[index].held(unknown(ConstraintKind.ERROR, error), error)
    return replace(plan, partitions=partitions)


def _confirm_exports(plan: TrimPlan, look: FreshLook, origin: Origin) -> TrimPlan:
    """The plan without what exports have not got; one whose progress is not known holds every partition."""
    partitions = dict(plan.partitions)
    for name in sorted({*look.exports, *_exports_of(plan)}):
        progress = look.exports.get(name, origin.error("It is not configured any more"))
        for index in partitions_to_trim(plan):
            if isinstance(progress, ErrorInfo):
                error = origin.error(f'Progress of static export "{name}" is not known', inner_errors=[progress])
                partitions[index] = partitions[index].held(unknown(ConstraintKind.EXPORT, error, name), error)
            else:
                bounds = exported_by(name, progress, index, look.upper_row_indexes[index], origin)
                partitions[index] = partitions[index].narrowed(bounds)
    return replace(plan, partitions=partitions)


def _exports_of(plan: TrimPlan) -> set[str]:
    """Names of the exports that the plan goes by."""
    return {
        bounds.subject
        for one in plan.partitions.values()
        for bounds in one.bounds
        if bounds.kind is ConstraintKind.EXPORT and bounds.subject is not None
    }


def _is_replica(table: CrossClusterRef, mapping: MappingRow | None) -> bool:
    return mapping is not None and any(replica.table == table for replica in replicas_of(mapping))


def _find_strange(replica: CrossClusterRef, look: FreshLook) -> CrossClusterRef | None:
    """A synchronous replica whose rows may have other indexes than those of the replica to trim."""
    synchronous = [] if look.mapping is None else synchronous_of(look.mapping)
    return next((one for one in synchronous if one != replica and one not in look.aligned_with), None)


def _find_change(planned: QueueRow, found: QueueRow, mapping: MappingRow | None, origin: Origin) -> ErrorInfo | None:
    """What makes a plan void, though it was right for the row it was made from."""
    error = find_queue_row_error(found, origin, mapping)
    if error is not None:
        return origin.error(
            f'Trimming iteration skipped due to attributes of queue "{found.queue}"', inner_errors=[error]
        )
    if found.object_id != planned.object_id:
        return origin.error(
            f"Trimming iteration skipped since the table at {planned.queue} is {found.object_id}, and not"
            f" {planned.object_id}, which the state tables name"
        )
    old, new = _trimming_attributes(planned), _trimming_attributes(found)
    changed = [name for name in old if old[name] != new[name]]
    if not changed:
        return None
    return origin.error(
        f'Trimming iteration skipped since attributes of queue "{planned.queue}" are not what the state tables said:'
        f" {', '.join(changed)}"
    )


def _trimming_attributes(row: QueueRow) -> dict[str, Any]:
    """What trimming depends on, in a form that does not depend on who wrote it down."""
    try:
        policy: AutoTrimConfig | None = AutoTrimConfig.parse(row.auto_trim_config)
    except ValueError:
        policy = None
    return {
        "auto_trim_config": policy,
        "static_export_config": {
            name: one.get("export_directory") if isinstance(one, Mapping) else None
            for name, one in (row.static_export_config or {}).items()
        },
        "queue_agent_stage": row.queue_agent_stage,
        "queue_agent_banned": bool(row.queue_agent_banned),
    }
