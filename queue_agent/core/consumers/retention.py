"""What removes the rows of a queue and what keeps them, as forecasts need it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from queue_agent.core.exports.config import InvalidSchedule
from queue_agent.core.exports.queue_exports import ExportState
from queue_agent.core.queues.snapshots import ConsumerPartition, ConsumerQueueView, QueueSnapshot, Role
from queue_agent.core.state.rows import Registration
from queue_agent.core.state.trim_config import AutoTrimConfig
from queue_agent.core.values.encoding import EPOCH
from queue_agent.core.values.trim_constraints import OFFSETS_OF_NO_ROW, ConstraintKind
from queue_agent.core.verdicts.time_to_loss import ExportTask, Retention, VitalOffset
from queue_agent.core.verdicts.values import QueueVerdict, Seconds

_SOON_OVER: Final = frozenset({ConstraintKind.HAND_OVER, ConstraintKind.GRACE})


@dataclass(frozen=True, slots=True)
class VitalConsumer:
    """A vital consumer of the queue in question."""

    position: ConsumerQueueView
    verdict: QueueVerdict | None = None
    """None: there is none yet, so its pace is not known."""


VitalConsumers = Mapping[str, VitalConsumer] | None
"""Of a queue, by name; None: one of them is not known."""


def find_trim_config(queue: QueueSnapshot) -> AutoTrimConfig | None:
    """What the owner wishes; None if that is not to trim, or makes no sense."""
    try:
        config = AutoTrimConfig.parse(queue.row.auto_trim_config)
    except ValueError:
        return None
    return config if config.enable else None


def find_retention(
    index: int,
    mine: ConsumerPartition,
    queue: QueueSnapshot,
    registration: Registration,
    vital: VitalConsumers,
    *,
    is_ours: bool,
) -> Retention:
    """What removes rows of a partition, and what keeps them.

    Args:
        index: of the partition.
        mine: the position of the consumer in question.
        queue: latest snapshot.
        registration: of the consumer for the queue.
        vital: the queue's vital consumers, this one included if it is one.
        is_ours: this agent may trim.
    """
    ttl = None if queue.view is None or queue.view.data_ttl is None else queue.view.data_ttl.total_seconds()
    config = find_trim_config(queue)
    exports = _find_exports(index, mine, queue)
    nobody_wishes = vital == {} and exports == ()
    # Where rows go by age, a trim point that moves tells nothing of others who trim.
    is_still = _is_blocked(index, queue) if is_ours else ttl is not None
    if config is None or nobody_wishes or is_still:
        return Retention(is_vital=registration.vital, data_ttl=ttl)
    lifetime = config.retained_lifetime_duration
    return Retention(
        is_vital=registration.vital,
        trims=True,
        is_ours=is_ours,
        vitals=None if vital is None else tuple(_vital_offsets(index, _holding(vital, queue, registration))),
        exports=exports,
        retained_rows=config.retained_rows,
        retained_lifetime=None if lifetime is None else lifetime.total_seconds(),
        data_ttl=ttl,
        grace_end=_find_grace_end(index, queue),
        released_at=_find_release(queue, registration),
    )


def _find_release(queue: QueueSnapshot, registration: Registration) -> Seconds | None:
    """When the consumer's rows may go, if it is in quarantine."""
    left = [one.left for one in queue.quarantines if one.consumer == registration.consumer]
    return (queue.pass_instant + left[0]).timestamp() if left and registration.vital else None


def _holding(
    vital: Mapping[str, VitalConsumer], queue: QueueSnapshot, registration: Registration
) -> Mapping[str, VitalConsumer]:
    """Those that keep rows of the consumer: not itself, if it is in quarantine, and nobody else who is."""
    gone = {str(one.consumer) for one in queue.quarantines if one.is_started or one.consumer == registration.consumer}
    return {name: one for name, one in vital.items() if name not in gone}


def _find_grace_end(index: int, queue: QueueSnapshot) -> Seconds | None:
    trim = None if queue.trims is None else queue.trims.get(index)
    if trim is None or trim.constraint.kind is not ConstraintKind.GRACE or trim.constraint.until is None:
        return None
    return trim.constraint.until.timestamp()


def _is_blocked(index: int, queue: QueueSnapshot) -> bool:
    """Whether something is wrong, so that nothing is trimmed as long as that stays."""
    if queue.role is Role.LEADING and queue.exports.error is not None:
        return True
    trim = None if queue.trims is None else queue.trims.get(index)
    if trim is None or trim.constraint.kind in _SOON_OVER:
        return False
    return trim.constraint.message is not None or trim.constraint.kind in OFFSETS_OF_NO_ROW


def _vital_offsets(index: int, vital: Mapping[str, VitalConsumer]) -> Iterator[VitalOffset]:
    for name, one in vital.items():
        if index < len(one.position.partitions):
            verdict = None if one.verdict is None else one.verdict.partitions.get(index)
            offset = one.position.partitions[index].next_row_index
            yield VitalOffset(name, offset, None if verdict is None else verdict.read)


def _find_exports(index: int, mine: ConsumerPartition, queue: QueueSnapshot) -> Sequence[ExportTask] | None:
    if queue.role is not Role.LEADING:  # the agent that leads the queue knows how far they are
        return None if queue.row.static_export_config else ()
    exporters = queue.exports.exporters
    return tuple(ExportTask(name, _due(name, state, index, mine, queue)) for name, state in exporters.items())


def _due(name: str, state: ExportState, index: int, mine: ConsumerPartition, queue: QueueSnapshot) -> Seconds | None:
    """When an export has the consumer's next row: at the tick after the row was written, plus the usual delay."""
    if queue.exported[name].row_count(index) > mine.next_row_index:
        return 0.0
    schedule = state.config.schedule
    if state.error is not None or isinstance(schedule, InvalidSchedule):
        return inf
    finished = state.progress.last_successful_export_task_instant
    if mine.next_row_commit_time is None or finished == EPOCH:
        return None
    try:
        tick = schedule.range_at(int(mine.next_row_commit_time.timestamp())).end
        delay = finished.timestamp() - schedule.range_at(int(finished.timestamp())).begin
    except ValueError:  # there is no tick for years
        return inf
    return tick + delay
