"""Queues, consumers and the plans that are made for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from queue_agent.core.consumers.consumer_snapshots import QueueRowAnswers, build_sub_snapshot
from queue_agent.core.exports.progress import ExportProgress
from queue_agent.core.exports.queue_exports import NO_STATES
from queue_agent.core.queues.exports import find_exports
from queue_agent.core.queues.snapshots import (
    ConsumerQueueView,
    ConsumerSnapshot,
    ConsumerView,
    FailedQueuePartition,
    OffsetsRead,
    QueuePartition,
    QueueSnapshot,
    QueueView,
    Role,
    SubSnapshot,
)
from queue_agent.core.state.rows import ConsumerRow, QueueRow, Registration
from queue_agent.core.trimming.decision import plan_trims
from queue_agent.core.trimming.errors import find_trim_error
from queue_agent.core.trimming.plan import TrimPlan
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.observed import ConsumerOffset
from queue_agent.core.values.rates import Counters
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, TrimConstraint
from queue_agent.core.verdicts.queue_poll import without_poll
from queue_agent.core.verdicts.queue_state import Pair, QueueState
from queue_agent.core.verdicts.values import Verdict

NOW = datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)


ORIGIN = Origin("agent-1", 481, 7, "Controller:0", 8, "1-2-3-4", 9, NOW)


QUEUE = CrossClusterRef("pythia", "//tmp/q")


ALICE = CrossClusterRef("hume", "//tmp/alice")


BOB = CrossClusterRef("hume", "//tmp/bob")


BROKEN = ErrorInfo("broken")


TABLET = "t"


def mounted(lower: int, upper: int, state: str = "mounted") -> QueuePartition:
    return QueuePartition(TABLET, state, None, None, lower, upper, NOW, Counters())


def unmounted() -> FailedQueuePartition:
    return FailedQueuePartition(TABLET, "unmounted", BROKEN)


def snapshot_of(
    *partitions: QueuePartition | FailedQueuePartition, row: QueueRow | None = None, **config: Any
) -> QueueSnapshot:
    row = row or QueueRow(QUEUE, object_id="1-2-3-4", auto_trim_config={"enable": True, **config})
    view = QueueView(
        partitions, has_timestamp_column=True, has_cumulative_data_weight_column=True, seen_at=NOW, asked=1
    )
    return QueueSnapshot(row, Role.LEADING, 1, NOW, view, exports=find_exports(row, Role.LEADING, NO_STATES, ORIGIN))


def position(queue: QueueSnapshot, *offsets: int, committed_at: datetime | None = None) -> SubSnapshot:
    """Of who committed when the queue had been there for long, if nothing else is said."""
    assert queue.view is not None
    timestamp = 0 if committed_at is None else int(committed_at.timestamp()) << 30
    rows = {index: ConsumerOffset(index, offset, timestamp) for index, offset in enumerate(offsets)}
    return build_sub_snapshot(None, queue.view, [OffsetsRead(rows, 0)], QueueRowAnswers(), NOW)


def consumer(ref: CrossClusterRef, content: SubSnapshot | ErrorInfo | None) -> ConsumerSnapshot:
    """One that is judged, if it could be read, and was never in other tablets than those of the queue."""
    view = content if isinstance(content, ErrorInfo) else ConsumerView({} if content is None else {QUEUE: content})
    seen = ConsumerSnapshot(ConsumerRow(ref), Role.LEADING, 1, NOW, view)
    if not isinstance(content, ConsumerQueueView):
        return seen
    return judged(seen, dict.fromkeys(range(len(content.partitions)), TABLET))


def plan(
    queue: QueueSnapshot,
    positions: Mapping[CrossClusterRef, SubSnapshot],
    non_vital: tuple[CrossClusterRef, ...] = (),
    exports: Mapping[str, ExportProgress] | None = None,
) -> TrimPlan:
    registrations = [Registration(QUEUE, ref, ref not in non_vital) for ref in positions]
    consumers = {ref: consumer(ref, one) for ref, one in positions.items()}
    result = plan_trims(queue, queue.row.auto_trim_config, registrations, consumers, exports or {}, ORIGIN)
    assert result is not None
    return result


def plan_with(
    queue: QueueSnapshot, registrations: list[Registration], consumers: Mapping[CrossClusterRef, ConsumerSnapshot]
) -> TrimPlan:
    result = plan_trims(queue, queue.row.auto_trim_config, registrations, consumers, {}, ORIGIN)
    assert result is not None
    return result


def targets(result: TrimPlan) -> Mapping[int, int]:
    return {index: trim.target for index, trim in result.trims.items() if trim.target is not None}


def good_targets(result: TrimPlan) -> Mapping[int, int]:
    assert find_trim_error(result, {}, ORIGIN) is None
    return targets(result)


def constraint(result: TrimPlan, index: int = 0) -> TrimConstraint:
    return result.trims[index].constraint


def kinds(result: TrimPlan) -> list[ConstraintKind]:
    return [trim.constraint.kind for _, trim in sorted(result.trims.items())]


def failure(result: TrimPlan) -> ErrorInfo:
    error = find_trim_error(result, {}, ORIGIN)
    assert error is not None
    return error


def judged(seen: ConsumerSnapshot, tablets: Mapping[int, str | None]) -> ConsumerSnapshot:
    """By partition index, of whose rows the offsets are."""
    verdict = without_poll(QueueState(Pair(QUEUE, ALICE)), Verdict.OK, "as of a test", 0.0).verdict
    assert verdict is not None
    return replace(seen, verdicts={QUEUE: replace(verdict, tablets=tablets)})
