"""Trimming one queue: decide, and carry it out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import structlog

from queue_agent.controllers.passes.clusters import fan_out, get_cluster
from queue_agent.controllers.status.context import ControllerContext
from queue_agent.controllers.trimming.confirmation import Confirmed, TrimConfirmer
from queue_agent.controllers.trimming.quarantine_warden import NO_QUARANTINES, Attended, QuarantineWarden
from queue_agent.controllers.trimming.row_ages import RowAgesReader
from queue_agent.core.queues.snapshots import QueuePartition, QueueSnapshot
from queue_agent.core.state.quarantines import Quarantine
from queue_agent.core.state.replication import REPLICATED
from queue_agent.core.state.rows import QueueRow
from queue_agent.core.state.trim_config import TrimmingMode
from queue_agent.core.state.trim_journal import TrimRecord
from queue_agent.core.trimming.confirmation import partitions_to_trim
from queue_agent.core.trimming.decision import plan_trims
from queue_agent.core.trimming.errors import find_trim_error, join_session_errors
from queue_agent.core.trimming.grace import Activity, find_graces, spare_slow_readers
from queue_agent.core.trimming.inputs import TrimInputs, find_trim_inputs
from queue_agent.core.trimming.losers import Suspects, find_losers
from queue_agent.core.trimming.plan import TrimPlan
from queue_agent.core.trimming.quarantine import count_unread, demote, limit_release
from queue_agent.core.trimming.replica_trims import plan_replica_trims
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.event_kinds import EventKind
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, PartitionTrim
from queue_agent.errors import ActionRefused, ClusterError, OutcomeUnknown
from queue_agent.ports.cluster import Cluster

log = structlog.get_logger(__name__)

_CONCURRENT_TRIMS = 16

_TOLD_AGAIN_AFTER: Final = timedelta(minutes=10)
"""From one event about rows taken from a consumer to the next."""


@dataclass(frozen=True, slots=True)
class TrimOutcome:
    """How an iteration went."""

    trims: Mapping[int, PartitionTrim] | None
    """What was decided, by partition index; None: the queue does not ask for it."""

    error: ErrorInfo | None
    """What went wrong."""

    quarantines: Sequence[Quarantine] = ()
    """Of the queue."""

    quarantine_error: ErrorInfo | None = None
    """Why nobody is released from holding rows who might be."""


class Trimmer:
    """Does the trimming iterations of one queue.

    Args:
        ref: the queue.
        context: what it works with.
    """

    def __init__(self, ref: CrossClusterRef, context: ControllerContext) -> None:
        self._ref = ref
        self._context = context
        self._ages: defaultdict[CrossClusterRef, RowAgesReader] = defaultdict(RowAgesReader)
        self._confirmer = TrimConfirmer(context)
        self._warden = QuarantineWarden(ref, context)
        self._refusals: dict[tuple[CrossClusterRef, int], int] = {}
        self._idle: tuple[TrimInputs, TrimOutcome] | None = None
        self._observed: dict[int, tuple[ConstraintKind, str | None]] = {}
        self._told_losers: dict[CrossClusterRef, datetime] = {}
        self._told_grace: dict[tuple[CrossClusterRef, CrossClusterRef], float] = {}
        """Beginning of the activity that was told last, by table and consumer."""

        self._declined: QueueRow | None = None
        """By which the queue does not ask to be trimmed."""

    def rests(self, snapshot: QueueSnapshot) -> bool:
        """Whether an iteration would only come to the conclusion the snapshot shows: that there is nothing to do."""
        if snapshot.view is None or self._warden.is_needed():
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
        if snapshot.row.object_type == REPLICATED:
            return await self._do_replicas(snapshot, mode, origin)
        board = self._context.board
        attended = await self._warden.attend(snapshot, mode, origin)
        released = [one.consumer for one in attended.released]
        registrations = demote(board.registrations_of_queue(self._ref), released)
        inputs = None if released else find_trim_inputs(snapshot, registrations, board.all_consumers)
        self._declined = None
        if self._idle is not None and inputs is not None and inputs.is_same(self._idle[0]):
            return replace(self._idle[1], quarantines=attended.quarantines, quarantine_error=attended.error)
        plan = plan_trims(
            snapshot,
            snapshot.row.auto_trim_config,
            registrations,
            board.all_consumers,
            snapshot.exported,
            origin,
        )
        if plan is None:
            self._idle, self._declined = None, snapshot.row
            return TrimOutcome(None, None, attended.quarantines, attended.error)
        is_idle = all(trim.target is None for trim in plan.trims.values())
        plan, failures = await self._carry_out(plan, snapshot.row, None, attended, mode, origin)
        trims = plan.trims
        if mode is TrimmingMode.OBSERVE:
            self._tell_observed(trims)
        error = find_trim_error(plan, failures, origin)
        outcome = TrimOutcome(trims, error, attended.quarantines, attended.error)
        self._idle = (inputs, outcome) if inputs is not None and is_idle and outcome.error is None else None
        return outcome

    async def _do_replicas(self, snapshot: QueueSnapshot, mode: TrimmingMode, origin: Origin) -> TrimOutcome:
        """An iteration of a replicated queue: each replica is trimmed by itself, whatever becomes of the others."""
        board = self._context.board
        plans = plan_replica_trims(
            snapshot,
            snapshot.row.auto_trim_config,
            board.find_mapping(self._ref),
            board.all_queues,
            board.registrations_of_queue(self._ref),
            board.all_consumers,
            origin,
        )
        if plans is None:
            return TrimOutcome(None, None)
        if plans.error is not None:
            return TrimOutcome(plans.shown.trims, plans.error)
        carried_out = await fan_out(
            lambda plan_ref: self._carry_out(
                plans.by_replica[plan_ref], snapshot.row, board.all_queues[plan_ref].row, NO_QUARANTINES, mode, origin
            ),
            plans.by_replica,
            limit=_CONCURRENT_TRIMS,
        )
        errors: dict[CrossClusterRef, ErrorInfo] = {}
        shown = plans.shown
        for ref, answer in carried_out.items():
            if isinstance(answer, ClusterError):
                errors[ref] = origin.cluster_error(answer)
                continue
            plan, failures = answer
            if ref == plans.shown.table:
                shown = plan
            error = find_trim_error(plan, failures, origin)
            if error is not None:
                errors[ref] = error
        if mode is TrimmingMode.OBSERVE:
            self._tell_observed(shown.trims)
        return TrimOutcome(shown.trims, join_session_errors(errors, origin))

    async def _carry_out(
        self,
        plan: TrimPlan,
        row: QueueRow,
        replica_row: QueueRow | None,
        attended: Attended,
        mode: TrimmingMode,
        origin: Origin,
    ) -> tuple[TrimPlan, Mapping[int, ErrorInfo]]:
        """Confirm a plan and trim by it.

        Returns:
            What the plan has come to, and the requests that failed, by partition index.
        """
        object_id = (replica_row or row).object_id
        if object_id is None or all(trim.target is None for trim in plan.trims.values()):
            return plan, {}
        hold = self._context.leadership.find_hold(self._concerned(plan))
        if hold is not None and mode is TrimmingMode.TRIM:
            return plan.paused(ConstraintKind.HAND_OVER, origin.error(f"Not trimmed since {hold.reason}")), {}
        cluster = get_cluster(self._context.clusters, plan.table.cluster)
        plan = await self._ages[plan.table].hold_back(cluster, object_id, plan, origin)
        plan = limit_release(plan, attended.released, attended.allowed)
        confirmed = await self._confirmer.confirm(plan, row, replica_row, attended.released, origin)
        plan = self._grant_grace(confirmed)
        # The configuration may have changed meanwhile.
        if mode is not TrimmingMode.TRIM or self._context.trimming_mode is not TrimmingMode.TRIM:
            return plan, {}
        records = {
            index: self._make_record(plan, object_id, index, confirmed, origin) for index in partitions_to_trim(plan)
        }
        await self._announce(row, records)
        self._warden.allowance.spend(count_unread(plan, attended.released))
        trimmed, failures = await self._trim(cluster, object_id, plan, plan.trims, origin)
        for index, record in records.items():
            if index not in trimmed:
                self._context.journal.take_back(record)
            elif index not in failures:
                self._tell_losers(record)
        return plan, failures

    async def _announce(self, row: QueueRow, records: Mapping[int, TrimRecord]) -> None:
        """Have it known who is about to lose what: whoever counts sees the rows gone only after this."""
        context = self._context
        for record in records.values():
            context.trims.note(self._ref, row.object_id, record)
        if context.config.trim_journal and records:
            await context.journal.announce(records.values())

    def _grant_grace(self, confirmed: Confirmed) -> TrimPlan:
        """The plan without what consumers that hold nothing back have not read, as long as they have time for it."""
        plan, suspects = confirmed.plan, confirmed.suspects
        if not partitions_to_trim(plan):
            return plan
        context = self._context
        term, terms = context.leadership.find_term(self._concerned(plan)), context.grace_terms
        activity = context.graces.begin_or_go_on(plan.table, term, context.clock.now(), terms)
        end = activity.find_end(term, terms)
        if end is None:
            return plan
        plan = spare_slow_readers(plan, suspects, confirmed.seen, end)
        self._tell_grace(plan, suspects, activity, end)
        return plan

    async def _trim(
        self, cluster: Cluster, object_id: str, plan: TrimPlan, trims: Mapping[int, PartitionTrim], origin: Origin
    ) -> tuple[list[int], dict[int, ErrorInfo]]:
        """Trim partitions.

        Returns:
            Indexes of those that were or may have been trimmed, and the requests that failed.
        """
        targets = {index: trim.target for index, trim in trims.items() if trim.target is not None}
        with self._context.leadership.acting(self._concerned(plan)) as permit:
            outcomes = await fan_out(
                lambda index: cluster.trim_rows(object_id, index, targets[index], permit),
                targets,
                limit=_CONCURRENT_TRIMS,
            )
        failures: dict[int, ErrorInfo] = {}
        trimmed: list[int] = []
        for index, outcome in outcomes.items():
            fields = {"partition_index": index, "trimmed_row_count": targets[index], "object_id": object_id}
            if isinstance(outcome, ActionRefused):
                log.info("partition left alone", **fields, reason=outcome.message)
                continue
            if outcome is not None:
                # As long as a tablet refuses for the same reason, once is enough.
                if self._refusals.get((plan.table, index)) != outcome.code:
                    log.warning("partition not trimmed", **fields, error=str(outcome))
                self._refusals[plan.table, index] = outcome.code
                failures[index] = origin.cluster_error(outcome)
                if not isinstance(outcome, OutcomeUnknown):
                    continue  # what may have been trimmed is in the journal too
            else:
                log.debug("partition trimmed", **fields, constraint=trims[index].constraint.to_map())
                if self._refusals.pop((plan.table, index), None) is not None:
                    log.info("partition trimmed again", **fields)
            trimmed.append(index)
        return trimmed, failures

    def _concerned(self, plan: TrimPlan) -> Collection[CrossClusterRef]:
        """The queue, and the table to trim: another agent may lead a replica, and trim it for its own consumers."""
        return dict.fromkeys((self._ref, plan.table))

    def _make_record(
        self, plan: TrimPlan, object_id: str, index: int, confirmed: Confirmed, origin: Origin
    ) -> TrimRecord:
        partition, trim = plan.partitions[index].partition, plan.partitions[index].trim
        assert isinstance(partition, QueuePartition), "only what can be read has a target"
        assert trim.target is not None, "it is to be trimmed"
        return TrimRecord(
            instant=self._context.clock.now(),
            agent=f"{origin.host}:{origin.pid}",
            queue=plan.table,
            object_id=object_id,
            partition_index=index,
            lower_row_index=partition.lower_row_index,
            trimmed_row_count=trim.target,
            constraint=trim.constraint,
            losers=find_losers(plan.partitions[index], index, confirmed.suspects, confirmed.seen, confirmed.released),
            tablet_id=partition.tablet_id,
        )

    def _tell_losers(self, record: TrimRecord) -> None:
        """An event for each consumer that a trim took rows from, once in a while: the journal has every trim."""
        for loser in record.losers or ():
            if loser.offset is not None and loser.offset >= record.trimmed_row_count:
                continue  # the one who judges it knows whether it is an offset of these rows
            told_at = self._told_losers.get(loser.consumer)
            if told_at is not None and timedelta(0) <= record.instant - told_at < _TOLD_AGAIN_AFTER:
                continue
            self._told_losers[loser.consumer] = record.instant
            count = record.trimmed_row_count - max(record.lower_row_index, loser.offset or 0)
            words = f"had not committed {count:,} rows" if loser.offset is not None else "may not have committed rows"
            self._context.events.note(
                EventKind.TRIM,
                f"{loser.consumer} {words} of partition {record.partition_index} that an agent trimmed",
                self._ref,
                loser.consumer,
                loser.subject,
                {
                    "partition_index": record.partition_index,
                    "lower_row_index": record.lower_row_index,
                    "trimmed_row_count": record.trimmed_row_count,
                    "offset": loser.offset,
                    "data_weight": loser.data_weight,
                },
            )

    def _tell_grace(self, plan: TrimPlan, suspects: Suspects, activity: Activity, end: datetime) -> None:
        """An event for each consumer that gets time."""
        spared = {one.subject for partition in plan.partitions.values() for one in find_graces(partition)}
        for consumer in suspects.indexes:
            place = plan.table, consumer
            if str(consumer) not in spared or self._told_grace.get(place) == activity.begun:
                continue
            self._told_grace[place] = activity.begun
            until = encode_instant(end)
            self._context.events.note(
                EventKind.GRACE,
                f"An agent begins to trim the queue. Rows that {consumer} has not read stay until {until}",
                self._ref,
                consumer,
                details={"until": until},
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
