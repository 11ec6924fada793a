"""How far the partitions of a queue may be trimmed, and what holds them back."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from queue_agent.core.error_info import ErrorInfo, Origin
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import Registration
from queue_agent.core.snapshots import (
    ConsumerQueueView,
    ConsumerSnapshot,
    FailedConsumerPartition,
    FailedQueuePartition,
    QueueMissing,
    QueuePartition,
    QueueSnapshot,
    QueueView,
)
from queue_agent.core.trim_config import AutoTrimConfig

TRIM_FAILED = "queue_agent_queue_controller_trim_failed"
"""Category of the alert."""

TRIM_FAILED_CODE = 3036

RETAINED_ROWS = "retained_rows"
"""Constraint of `keep_last_rows`."""


@dataclass(frozen=True, slots=True, order=True)
class TrimBounds:
    """What one policy says about one partition, as trimmed row counts."""

    constraint: str
    """Names the policy for people, e.g. `vital consumer "hume://tmp/c"`."""

    wanted: int | None = None
    """Trim up to here unless something forbids it; None: no wish."""

    allowed: int | None = None
    """Never trim past here, whoever wishes it; None: no limit."""


@dataclass(frozen=True, slots=True)
class TrimDecision:
    """What is to become of one partition in this pass."""

    target: int | None
    """The new trimmed row count; None: there is nothing to trim."""

    constraint: str | None
    """The policy that keeps the partition from being trimmed further; None: nobody wishes it to be trimmed at all."""


def decide_trim(lower_row_index: int, bounds: Iterable[TrimBounds]) -> TrimDecision:
    """Say up to which row a partition is to be trimmed in this pass.

    The least wish wins, then the least limit cuts it; the order of policies is of no account.

    Args:
        lower_row_index: trimmed row count at the moment.
        bounds: of every policy in force.
    """
    in_force = list(bounds)
    if all(one.wanted is None for one in in_force):
        return TrimDecision(None, None)
    binding, constraint = min(
        (value, one.constraint) for one in in_force for value in (one.wanted, one.allowed) if value is not None
    )
    return TrimDecision(binding if binding > lower_row_index else None, constraint)


def read_by(consumer: CrossClusterRef, next_row_index: int) -> TrimBounds:
    """What a vital consumer has read may go."""
    return TrimBounds(f'vital consumer "{consumer}"', wanted=next_row_index)


def keep_last_rows(upper_row_index: int, retained_rows: int) -> TrimBounds:
    """That many rows stay."""
    return TrimBounds(RETAINED_ROWS, allowed=max(upper_row_index - retained_rows, 0))


@dataclass(frozen=True, slots=True)
class TrimPlan:
    """What is to become of a queue in this pass."""

    decisions: Mapping[int, TrimDecision] = field(default_factory=dict)
    """By partition index; partitions that can not be trimmed now are absent."""

    skipped: Mapping[int, ErrorInfo] = field(default_factory=dict)
    """Partitions that are left alone for a reason that is nobody's fault; by partition index."""

    errors: Mapping[int, ErrorInfo] = field(default_factory=dict)
    """Partitions that are left alone because something is wrong; by partition index."""

    @property
    def targets(self) -> Mapping[int, int]:
        """Trimmed row counts to ask for, by partition index."""
        return {index: decision.target for index, decision in self.decisions.items() if decision.target is not None}


def is_trim_due(pass_index: int, pass_period: timedelta, trimming_period: timedelta | None) -> bool:
    """Whether this pass of a queue trims: the period is counted in passes, rounded up."""
    return trimming_period is None or pass_index % math.ceil(trimming_period / pass_period) == 0


def plan_trims(
    snapshot: QueueSnapshot,
    registrations: Collection[Registration],
    consumers: Mapping[CrossClusterRef, ConsumerSnapshot],
    origin: Origin,
) -> TrimPlan | ErrorInfo:
    """Say what to trim of a queue that is a plain table.

    Args:
        snapshot: of this pass.
        registrations: those of the queue, as fresh as there are; those that are not vital are of no account.
        consumers: latest snapshots, of the vital consumers at least.
        origin: of errors.

    Returns:
        A plan; or the error for which nothing at all is trimmed in this pass.
    """
    view = snapshot.content
    if isinstance(view, ErrorInfo):
        return origin.error("Trimming iteration skipped due to queue error", inner_errors=[view])
    try:
        config = AutoTrimConfig.parse(snapshot.row.auto_trim_config)
    except ValueError as error:
        return origin.error(f'Attribute "auto_trim_config" is invalid, trimming iteration skipped: {error}')
    if not config.enable:
        return TrimPlan()
    if snapshot.row.object_id is None:
        return origin.error(f'Object id is not known for queue replica "{snapshot.ref}", trimming iteration skipped')
    if snapshot.exports_error is not None:
        return origin.error("Failed to get aggregate queue exports progress", inner_errors=[snapshot.exports_error])
    plan = _plan_session(snapshot.ref, view, config, registrations, consumers, origin)
    return _session_error(snapshot.ref, plan, origin) if isinstance(plan, ErrorInfo) else plan


def find_trim_error(
    queue: CrossClusterRef, plan: TrimPlan | ErrorInfo, failures: Mapping[int, ErrorInfo], origin: Origin
) -> ErrorInfo | None:
    """What went wrong with a plan and with carrying it out; None if all is well.

    Args:
        queue: the queue.
        plan: as it was made.
        failures: requests that failed, by partition index.
        origin: of errors.
    """
    if isinstance(plan, ErrorInfo):
        return plan
    errors = dict(plan.errors)
    for index, failure in failures.items():
        errors[index] = origin.error(
            f"Error occurred while executing trimming request for partition {index}", inner_errors=[failure]
        )
    if not errors:
        return None
    inner = [
        ErrorInfo(error.message, error.code, {**error.attributes, "partition_index": index}, error.inner_errors)
        for index, error in sorted(errors.items())
    ]
    return _session_error(queue, origin.error(f"Failed to trim {len(inner)} partitions", inner_errors=inner), origin)


def trim_alert(error: ErrorInfo, origin: Origin) -> ErrorInfo:
    """The alert that tells of a failed trimming iteration."""
    return origin.error("Error while trimming queue", TRIM_FAILED_CODE, inner_errors=[error])


def _session_error(queue: CrossClusterRef, error: ErrorInfo, origin: Origin) -> ErrorInfo:
    """A queue that is a plain table is its own only replica."""
    named = ErrorInfo(error.message, error.code, {**error.attributes, "replica": str(queue)}, error.inner_errors)
    return origin.error("Error trimming 1 queue replicas", inner_errors=[named])


def _plan_session(
    queue: CrossClusterRef,
    view: QueueView,
    config: AutoTrimConfig,
    registrations: Collection[Registration],
    consumers: Mapping[CrossClusterRef, ConsumerSnapshot],
    origin: Origin,
) -> TrimPlan | ErrorInfo:
    vital = sorted(registration.consumer for registration in registrations if registration.vital)
    if not vital:
        return origin.error(
            f'Attempted trimming iteration on queue "{queue}" with no vital consumers and no configured static '
            "table exports"
        )
    if config.retained_lifetime_duration is not None:
        # Which rows are old enough is not known here, and trimming a younger one can not be undone.
        return origin.error(
            '"retained_lifetime_duration" is not supported by this agent yet, trimming iteration skipped'
        )
    standings: dict[CrossClusterRef, ConsumerQueueView] = {}
    missing: QueueMissing | None = None
    for consumer in vital:
        standing = _standing(queue, consumer, consumers.get(consumer), origin)
        if isinstance(standing, ErrorInfo):
            return standing
        if isinstance(standing, QueueMissing):
            missing = standing
        else:
            standings[consumer] = standing
    if missing is not None:
        # A consumer could not be compared with this queue when it was looked at last: the next pass will tell.
        return TrimPlan(skipped=dict.fromkeys(range(len(view.partitions)), missing.error))
    decisions: dict[int, TrimDecision] = {}
    skipped: dict[int, ErrorInfo] = {}
    errors: dict[int, ErrorInfo] = {}
    for index, partition in enumerate(view.partitions):
        if partition.tablet_state != "mounted":
            skipped[index] = origin.error(
                f'Not trimming partition {index} since its tablet is in state "{partition.tablet_state}" '
                "and is not mounted"
            )
        elif isinstance(partition, FailedQueuePartition):
            errors[index] = partition.error
        else:
            decision = _decide_partition(index, partition, config, standings, origin)
            if isinstance(decision, ErrorInfo):
                errors[index] = decision
            else:
                decisions[index] = decision
    return TrimPlan(decisions, skipped, errors)


def _decide_partition(
    index: int,
    partition: QueuePartition,
    config: AutoTrimConfig,
    standings: Mapping[CrossClusterRef, ConsumerQueueView],
    origin: Origin,
) -> TrimDecision | ErrorInfo:
    bounds: list[TrimBounds] = []
    for consumer, standing in standings.items():
        if index >= len(standing.partitions):
            return origin.error(
                f'Queue sub-snapshot for consumer "{consumer}" does not contain a snapshot for partition {index}'
            )
        read = standing.partitions[index]
        if isinstance(read, FailedConsumerPartition):
            return read.error
        bounds.append(read_by(consumer, read.next_row_index))
    if config.retained_rows is not None:
        bounds.append(keep_last_rows(partition.upper_row_index, config.retained_rows))
    return decide_trim(partition.lower_row_index, bounds)


def _standing(
    queue: CrossClusterRef, consumer: CrossClusterRef, snapshot: ConsumerSnapshot | None, origin: Origin
) -> ConsumerQueueView | QueueMissing | ErrorInfo:
    """Where a vital consumer stands in the queue; an error if that is not known."""
    if snapshot is None:
        return origin.error(f'Trimming iteration skipped due to missing registered vital consumer "{consumer}"')
    if isinstance(snapshot.content, ErrorInfo):
        return origin.error(
            f'Trimming iteration skipped due to erroneous registered vital consumer "{consumer}"',
            inner_errors=[snapshot.content],
        )
    standing = snapshot.content.queues.get(queue)
    if standing is None:
        return origin.error(
            f'Trimming iteration skipped due to vital consumer "{consumer}" snapshot not containing information '
            "about queue"
        )
    if isinstance(standing, ErrorInfo):
        return origin.error(
            f'Trimming iteration skipped due to erroneous queue sub-snapshot in registered vital consumer "{consumer}"',
            inner_errors=[standing],
        )
    return standing
