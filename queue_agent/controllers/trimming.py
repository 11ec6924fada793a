"""Trimming one queue: decide, and carry it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from queue_agent.controllers.clusters import get_cluster
from queue_agent.controllers.context import ControllerContext
from queue_agent.controllers.fan_out import fan_out
from queue_agent.controllers.row_ages import RowAgesReader
from queue_agent.controllers.trim_confirmation import TrimConfirmer
from queue_agent.core.error_info import ErrorInfo, Origin
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import QueueRow
from queue_agent.core.snapshots import QueuePartition, QueueSnapshot
from queue_agent.core.trim import TrimPlan, find_trim_error, plan_trims
from queue_agent.core.trim_config import TrimmingMode
from queue_agent.core.trim_constraints import ConstraintKind, PartitionTrim, TrimConstraint
from queue_agent.core.trim_inputs import TrimInputs, find_trim_inputs
from queue_agent.core.trim_journal import TrimRecord
from queue_agent.ports import Cluster

log = structlog.get_logger(__name__)

_CONCURRENT_TRIMS = 16


@dataclass(frozen=True, slots=True)
class TrimOutcome:
    """How an iteration went."""

    trims: Mapping[int, PartitionTrim] | None
    """What was decided, by partition index; None: the queue does not ask for it."""

    error: ErrorInfo | None
    """What went wrong."""


class Trimmer:
    """Does the trimming iterations of one queue.

    Args:
        ref: the queue.
        context: what it works with.
    """

    def __init__(self, ref: CrossClusterRef, context: ControllerContext) -> None:
        self._ref = ref
        self._context = context
        self._ages = RowAgesReader()
        self._confirmer = TrimConfirmer(context)
        self._refusals: dict[int, int] = {}
        self._idle: tuple[TrimInputs, TrimOutcome] | None = None
        self._observed: dict[int, tuple[ConstraintKind, str | None]] = {}
        self._declined: QueueRow | None = None
        """By which the queue does not ask to be trimmed."""

    def rests(self, snapshot: QueueSnapshot) -> bool:
        """Whether an iteration would only come to the conclusion the snapshot shows: that there is nothing to do."""
        if snapshot.view is None:
            return False
        if snapshot.row is self._declined:
            return snapshot.trims is None
        if self._idle is None or snapshot.trims is not self._idle[1].trims:
            return False
        board = self._context.board
        inputs = find_trim_inputs(snapshot, board.registrations_of_queue(self._ref), board.all_consumers)
        return inputs is not None and inputs.is_same(self._idle[0])

    async def do_iteration(self, snapshot: QueueSnapshot, mode: TrimmingMode, origin: Origin) -> TrimOutcome:
        """Decide how far the queue is to be trimmed, and trim it, unless it is only to be observed.

        Args:
            snapshot: of this pass.
            mode: whether to trim or to observe.
            origin: of errors.
        """
        board = self._context.board
        registrations = board.registrations_of_queue(self._ref)
        inputs = find_trim_inputs(snapshot, registrations, board.all_consumers)
        self._declined = None
        if self._idle is not None and inputs is not None and inputs.is_same(self._idle[0]):
            return self._idle[1]
        plan = plan_trims(snapshot, snapshot.row.auto_trim_config, registrations, board.all_consumers, {}, origin)
        if plan is None:
            self._idle, self._declined = None, snapshot.row
            return TrimOutcome(None, None)
        trims, failures = plan.trims, {}
        object_id = snapshot.row.object_id
        is_idle = all(trim.target is None for trim in trims.values())
        if object_id is not None and not is_idle:
            cluster = get_cluster(self._context.clusters, self._ref.cluster)
            plan = await self._ages.hold_back(cluster, object_id, plan, origin)
            plan = await self._confirmer.confirm(plan, snapshot.row, origin)
            trims = plan.trims
            # The configuration may have changed meanwhile.
            if mode is TrimmingMode.TRIM and self._context.trimming_mode is TrimmingMode.TRIM:
                failures = await self._trim(cluster, object_id, plan, trims, origin)
        if mode is TrimmingMode.OBSERVE:
            self._tell_observed(trims)
        outcome = TrimOutcome(trims, find_trim_error(plan, failures, origin))
        self._idle = (inputs, outcome) if inputs is not None and is_idle and outcome.error is None else None
        return outcome

    async def _trim(
        self, cluster: Cluster, object_id: str, plan: TrimPlan, trims: Mapping[int, PartitionTrim], origin: Origin
    ) -> dict[int, ErrorInfo]:
        targets = {index: trim.target for index, trim in trims.items() if trim.target is not None}
        outcomes = await fan_out(
            lambda index: cluster.trim_rows(object_id, index, targets[index]), targets, limit=_CONCURRENT_TRIMS
        )
        failures: dict[int, ErrorInfo] = {}
        for index, outcome in outcomes.items():
            fields = {"partition_index": index, "trimmed_row_count": targets[index], "object_id": object_id}
            if outcome is not None:
                # As long as a tablet refuses for the same reason, once is enough.
                if self._refusals.get(index) != outcome.code:
                    log.warning("partition not trimmed", **fields, error=str(outcome))
                self._refusals[index] = outcome.code
                failures[index] = origin.cluster_error(outcome)
                continue
            log.debug("partition trimmed", **fields, constraint=trims[index].constraint.to_map())
            if self._refusals.pop(index, None) is not None:
                log.info("partition trimmed again", **fields)
            partition = plan.partitions[index].partition
            assert isinstance(partition, QueuePartition), "only what can be read has a target"
            self._note(object_id, index, partition.lower_row_index, targets[index], trims[index].constraint, origin)
        return failures

    def _note(
        self,
        object_id: str,
        index: int,
        lower_row_index: int,
        trimmed_row_count: int,
        constraint: TrimConstraint,
        origin: Origin,
    ) -> None:
        context = self._context
        if context.journal is None or not context.config.trim_journal:
            return
        context.journal.note(
            TrimRecord(
                instant=context.clock.now(),
                agent=f"{origin.host}:{origin.pid}",
                queue=self._ref,
                object_id=object_id,
                partition_index=index,
                lower_row_index=lower_row_index,
                trimmed_row_count=trimmed_row_count,
                constraint=constraint,
            )
        )

    def _tell_observed(self, trims: Mapping[int, PartitionTrim]) -> None:
        for index, trim in trims.items():
            constraint = trim.constraint
            seen = constraint.kind, constraint.subject
            if self._observed.get(index) != seen:
                log.info("trimming observed", partition_index=index, target=trim.target, constraint=constraint.to_map())
            self._observed[index] = seen
        for index in self._observed.keys() - trims.keys():
            del self._observed[index]
