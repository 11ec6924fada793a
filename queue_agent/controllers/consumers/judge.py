"""Keeps the verdicts on one consumer, from pass to pass."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from queue_agent.controllers.passes.clusters import fan_out
from queue_agent.controllers.status.context import ControllerContext
from queue_agent.core.consumers.own_trims import trims_of
from queue_agent.core.consumers.readings import explain_unreadable, read_positions
from queue_agent.core.consumers.retention import VitalConsumer, VitalConsumers
from queue_agent.core.queues.growth import registered_count
from queue_agent.core.queues.snapshots import (
    ConsumerQueueView,
    ConsumerSnapshot,
    QueueMissing,
    QueueSnapshot,
    Role,
)
from queue_agent.core.state.replication import REPLICATED_TYPES, replicas_of
from queue_agent.core.state.rows import Registration
from queue_agent.core.state.trim_config import TrimmingMode
from queue_agent.core.trimming.decision import plan_trims
from queue_agent.core.trimming.price import find_price
from queue_agent.core.values.encoding import EPOCH
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.event_kinds import EventKind
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.changes import Told, find_changes, find_death, told_of
from queue_agent.core.verdicts.ledger import is_unclear
from queue_agent.core.verdicts.objective_config import UNREAD_OBJECTIVES
from queue_agent.core.verdicts.objectives import NO_SECONDS, ObjectiveSeconds
from queue_agent.core.verdicts.price import Price
from queue_agent.core.verdicts.queue_state import Pair, PartitionReading, QueueState, observe_queue, without_poll
from queue_agent.core.verdicts.silence import find_silence
from queue_agent.core.verdicts.values import Counts, QueueVerdict, Turn, Verdict

_CONCURRENT_LEDGERS: Final = 16

_JOURNAL_PATIENCE: Final = 5.0
"""Seconds until what the journal does not tell of a trim counts as done by others; it is written each 2 s."""

_NOBODY: Final = Origin("", 0, 0, "", 0, "0-0-0-0", 0, EPOCH)
"""Of errors in plans that only tell how many rows are held."""

_SETTLED_PASSES: Final = 60
"""Of a queue led here: no trim of its former leader is to be expected any more."""


@dataclass(slots=True)
class _Kept:
    """What is known of the consumer in one queue."""

    state: QueueState
    seen: tuple[object, object, object, object] | None = None
    """The partitions of consumer and queue, the trims and the objective, from which the verdict is.

    None: it could not be polled.
    """

    is_claimed: bool = False
    """A later look at the queue will tell whether rows were there when they were committed."""

    next_question: float = 0.0
    """When the journal may be asked again for records of trims that are not known."""

    told: Told = field(default_factory=Told)
    """What the record of events knows."""

    price: Price | None = None
    """Of the verdict."""

    unclear_since: float | None = None
    """Rows went, and what became of them may be in the journal; None: there are none."""

    seconds: ObjectiveSeconds | None = None
    """Of the objective, as they are published; None: not known yet."""


class ConsumerJudge:
    """Judges one consumer in all of its queues.

    Args:
        ref: the consumer.
        context: what it works with.
    """

    def __init__(self, ref: CrossClusterRef, context: ControllerContext) -> None:
        self._ref = ref
        self._context = context
        self._ledger = context.ledger
        self._kept: dict[CrossClusterRef, _Kept] = {}
        self._verdicts: Mapping[CrossClusterRef, QueueVerdict] = {}
        self.objectives = UNREAD_OBJECTIVES
        """Those in force."""

    async def prepare(self, queues: Collection[CrossClusterRef]) -> None:
        """Go on from what is kept of these queues; of one that cannot be read now, from what is in memory."""

        async def open_ledger(queue: CrossClusterRef) -> QueueState | None:
            return await self._ledger.open(Pair(queue, self._ref))

        wanted = [queue for queue in queues if queue not in self._kept or not self._kept[queue].state.is_kept]
        for queue, found in (await fan_out(open_ledger, wanted, limit=_CONCURRENT_LEDGERS)).items():
            if not isinstance(found, QueueState):
                continue
            if found.last_poll is None and queue in self._kept:
                old = self._kept[queue].state
                seconds = old.seconds if found.seconds == NO_SECONDS else found.seconds
                found = replace(old, is_kept=True, seconds=seconds)
                self._kept[queue] = _Kept(found, told=self._kept[queue].told, seconds=seconds)
                continue
            self._kept[queue] = _Kept(found, told=told_of(found), seconds=found.seconds)

    def judge(self, snapshot: ConsumerSnapshot) -> Mapping[CrossClusterRef, QueueVerdict]:
        """Verdicts by queue after a pass; the same mapping while nothing changes."""
        registrations = {one.queue: one for one in snapshot.registrations}
        for queue in self._kept.keys() - registrations.keys():
            del self._kept[queue]
            self._ledger.close(Pair(queue, self._ref))
        changed = self._verdicts.keys() != registrations.keys()
        for queue, registration in registrations.items():
            if queue not in self._kept:
                self._kept[queue] = _Kept(QueueState(Pair(queue, self._ref)))
            kept = self._kept[queue]
            before = kept.state
            self._poll(kept, registration, snapshot)
            if not self.objectives.is_read:  # maybe there is one: its seconds are counted later
                kept.state = replace(kept.state, seconds=before.seconds)
            if kept.state.verdict is not before.verdict:
                kept.price = self._find_price(kept.state, registration, snapshot)
                self._tell(kept, snapshot)
            self._publish_objective(kept)
            changed = changed or kept.state.verdict is not before.verdict
            is_new = kept.state.positions is not before.positions or kept.state.seconds is not before.seconds
            is_told = kept.state.is_told_dead is not before.is_told_dead
            if kept.state.is_kept and (is_new or is_told):
                self._ledger.note(kept.state, urgent=is_told or _is_urgent(before, kept.state))
        if changed:
            self._verdicts = {
                # Most have no price: one that has not changed stays the same object.
                queue: verdict if (price := self._kept[queue].price) is None else replace(verdict, price=price)
                for queue in registrations
                if (verdict := self._kept[queue].state.verdict) is not None
            }
        return self._verdicts

    def _tell(self, kept: _Kept, snapshot: ConsumerSnapshot) -> None:
        """Note what happened, if it is this agent that has to."""
        if snapshot.role is not Role.LEADING or self._context.leadership.find_hold([self._ref]) is not None:
            return  # what is not reported now is reported once it is certain
        kept.told, changes = find_changes(kept.told, kept.state, snapshot.pass_instant.timestamp())
        death = find_death(kept.state, kept.price)
        if death is not None:
            kept.state = replace(kept.state, is_told_dead=death.kind is EventKind.DEAD)
            changes = [*changes, death]
        for one in changes:
            self._context.events.note(one.kind, one.reason, kept.state.pair.queue, self._ref, one.subject, one.details)

    def _find_price(self, state: QueueState, registration: Registration, snapshot: ConsumerSnapshot) -> Price | None:
        context, ref = self._context, registration.queue
        queue = context.board.find_queue(ref)
        position = None if snapshot.view is None else snapshot.view.queues.get(ref)
        if not registration.vital or context.trimming_mode is TrimmingMode.OFF or queue is None:
            return None
        silent = find_silence(state)
        if silent is None or not isinstance(position, ConsumerQueueView) or position.compared is None:
            return None
        registrations, consumers = context.board.registrations_of_queue(ref), context.board.all_consumers
        plan = plan_trims(
            queue,
            queue.row.auto_trim_config,
            registrations,
            {**consumers, self._ref: snapshot},
            queue.exported,
            _NOBODY,
        )
        return None if plan is None else find_price(plan, self._ref, position, silent, context.config.dead_after)

    def _publish_objective(self, kept: _Kept) -> None:
        """Put the objective into the verdict.

        Seconds are published after they were written. If the agent is killed, the next goes on from what was published:
        a counter that falls would count twice for whoever draws rates from it.
        """
        verdict = kept.state.verdict
        if verdict is None:
            return
        if kept.state.is_kept:
            written = self._ledger.find_written(kept.state.pair)
            kept.seconds = kept.seconds if written is None else written.seconds
        else:
            kept.seconds = kept.state.seconds if self._ledger.is_missing else None
        status = self.objectives.status(kept.state.pair.queue, kept.seconds)
        if status != verdict.objective:
            kept.state = replace(kept.state, verdict=replace(verdict, objective=status))

    def _poll(self, kept: _Kept, registration: Registration, snapshot: ConsumerSnapshot) -> None:
        board = self._context.board
        queue = board.find_queue(registration.queue)
        position = snapshot.error if snapshot.view is None else snapshot.view.queues.get(registration.queue)
        if isinstance(position, ConsumerQueueView) and queue is not None:
            self._observe(kept, registration, position, queue)
            return
        kept.seen = None
        now = snapshot.pass_instant.timestamp()
        objective = self.objectives.find(registration.queue)
        is_served = board.find_queue_row(registration.queue) is not None
        is_early = is_served and (queue is None or (queue.pass_index == 0 and queue.role is not Role.ERROR))
        if snapshot.banned_since is not None:
            kept.state = without_poll(kept.state, Verdict.UNKNOWN, "The consumer is banned", now, objective=objective)
        elif position is None or snapshot.pass_index == 0 or is_early:
            kept.state = without_poll(kept.state, Verdict.UNKNOWN, "Not polled yet", now, objective=objective)
        else:
            error = position.error if isinstance(position, QueueMissing) else position
            assert isinstance(error, ErrorInfo), "positions that can be read were observed"
            reason, turn, action = self._explain(queue, registration, snapshot, error)
            kept.state = without_poll(kept.state, Verdict.UNREADABLE, reason, now, turn, action, objective)

    def _explain(
        self, queue: QueueSnapshot | None, registration: Registration, snapshot: ConsumerSnapshot, error: ErrorInfo
    ) -> tuple[str, Turn, str | None]:
        if snapshot.error is not None:
            return f"Cannot read consumer {self._ref}: {error.message}", Turn.OWNER, None
        return explain_unreadable(queue, registration, error)

    def _observe(
        self, kept: _Kept, registration: Registration, position: ConsumerQueueView, queue: QueueSnapshot
    ) -> None:
        assert position.compared is not None, "made of whole snapshots"
        now = position.seen_at.timestamp()
        objective = self.objectives.find(registration.queue)
        seen = (position.partitions, position.compared.queue.partitions, queue.trims, objective)
        is_old = kept.seen is not None and all(map(_is, kept.seen, seen)) and not kept.is_claimed
        if is_old and now < kept.state.deadline:
            kept.state = kept.state.passed(now)
            return
        trims = self._context.trimming_mode is TrimmingMode.TRIM
        vital = self._vital_consumers(registration.queue)
        readings = read_positions(position, queue, registration, vital, trims=trims)
        readings = self._with_trims(kept.state, readings, queue)
        if self._waits_for_journal(kept, readings, queue, now):
            kept.seen = None
            if kept.state.verdict is None:
                kept.state = without_poll(kept.state, Verdict.UNKNOWN, "Not polled yet", now)
            return
        period = self._context.config.pass_period.total_seconds()
        kept.seen = seen
        count = registered_count(position, registration)
        kept.state = observe_queue(kept.state, readings, count, now, period, objective)
        kept.is_claimed = any(one.ledger.claim is not None for one in kept.state.positions.values())
        self._ask_journal(kept, now)

    def _with_trims(
        self, state: QueueState, readings: Mapping[int, PartitionReading], queue: QueueSnapshot
    ) -> Mapping[int, PartitionReading]:
        """The readings with what is known of trims since the poll before."""
        found = dict(readings)
        for index, one in readings.items():
            old = state.positions.get(index)
            if old is None:
                continue
            # What is not confirmed may have gone before the poll before, by a trim of which nothing was known then.
            gone = range(min(old.reading.start, old.ledger.confirmed), one.reading.start)
            if not gone:
                continue
            records = self._context.trims.find(state.pair.queue, queue.row.object_id, index, gone)
            found[index] = replace(one, trims=trims_of(records, self._ref))
        return found

    def _ask_journal(self, kept: _Kept, now: float) -> None:
        """Have the journal read if it may tell that rows were gone before they were committed."""
        context = self._context
        if not kept.is_claimed or now < kept.next_question:
            return
        if not context.config.trim_journal or context.trimming_mode is not TrimmingMode.TRIM:
            return
        ledgers = [one.ledger for one in kept.state.positions.values()]
        doubts = [one.claim.at for one in ledgers if one.claim is not None and one.reading.start > one.confirmed]
        if doubts:
            kept.next_question = now + _JOURNAL_PATIENCE
            self._want_journal(kept.state.pair.queue, min(doubts))

    def _waits_for_journal(
        self, kept: _Kept, readings: Mapping[int, PartitionReading], queue: QueueSnapshot, now: float
    ) -> bool:
        """Whether another agent, or an earlier process, may still tell what became of rows that are gone."""
        old = kept.state.positions
        unclear = any(
            index in old and is_unclear(old[index].ledger, one.reading, one.trims) for index, one in readings.items()
        )
        context = self._context
        if not unclear or not context.config.trim_journal or context.trimming_mode is not TrimmingMode.TRIM:
            kept.unclear_since = None
            return False
        if kept.unclear_since is None:
            kept.unclear_since = now
        waited = now - kept.unclear_since
        # A trim of this agent is noted when its answer comes, maybe a moment after the rows were seen to be gone.
        is_known = queue.role is Role.LEADING and queue.pass_index > _SETTLED_PASSES and waited > 0
        if is_known or waited >= _JOURNAL_PATIENCE:
            kept.unclear_since = None
            return False
        last = kept.state.last_poll
        self._want_journal(kept.state.pair.queue, now if last is None else last)
        return True

    def _want_journal(self, ref: CrossClusterRef, since: float) -> None:
        """Have the journal of a queue read; that of its replicas, if these hold its rows."""
        board = self._context.board
        queue, mapping = board.find_queue(ref), board.find_mapping(ref)
        is_replicated = queue is not None and queue.row.object_type in REPLICATED_TYPES
        tables = [replica.table for replica in replicas_of(mapping)] if is_replicated and mapping is not None else [ref]
        object_id = None if queue is None else queue.row.object_id
        self._context.trims.want(ref, object_id, tables, datetime.fromtimestamp(since, UTC))

    def _vital_consumers(self, queue: CrossClusterRef) -> VitalConsumers:
        board = self._context.board
        found: dict[str, VitalConsumer] = {}
        for one in board.registrations_of_queue(queue):
            if not one.vital:
                continue
            snapshot = board.all_consumers.get(one.consumer)
            position = None if snapshot is None or snapshot.view is None else snapshot.view.queues.get(queue)
            if not isinstance(position, ConsumerQueueView):
                return None
            assert snapshot is not None, "its position is known"
            found[str(one.consumer)] = VitalConsumer(position, snapshot.verdicts.get(queue))
        return found


def _is_urgent(old: QueueState, new: QueueState) -> bool:
    """Whether a change is to be kept at once: another verdict, or what older marks cannot reproduce."""
    if old.verdict is None or new.verdict is None:
        return True
    before, now = old.verdict.whole, new.verdict.whole
    return before.verdict is not now.verdict or _unrepeatable(before.counts) != _unrepeatable(now.counts)


def _unrepeatable(counts: Counts) -> tuple[int, ...]:
    return counts.lost, counts.possibly_lost, counts.skipped, counts.rewinds


def _is(left: object, right: object) -> bool:
    return left is right
