"""Keeps the verdicts on one consumer, from pass to pass."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from queue_agent.controllers.consumers.inquiry import Inquiry
from queue_agent.controllers.consumers.ledger_keeper import ROUTINE
from queue_agent.controllers.passes.clusters import fan_out
from queue_agent.controllers.status.context import ControllerContext
from queue_agent.core.consumers.positions_seen import Seen
from queue_agent.core.consumers.readings import explain_unreadable, read_positions
from queue_agent.core.consumers.retention import VitalConsumer, VitalConsumers
from queue_agent.core.queues.growth import registered_indexes
from queue_agent.core.queues.snapshots import (
    ConsumerQueueView,
    ConsumerSnapshot,
    QueueMissing,
    QueueSnapshot,
    Role,
)
from queue_agent.core.state.rows import Registration
from queue_agent.core.state.trim_config import TrimmingMode
from queue_agent.core.trimming.decision import plan_trims
from queue_agent.core.trimming.price import find_price
from queue_agent.core.values.encoding import EPOCH
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.event_kinds import EventKind
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.advice import Advice, Turn
from queue_agent.core.verdicts.changes import Told, find_changes, find_death, told_of
from queue_agent.core.verdicts.keeping import Written, has_losses_of, is_urgent, is_worth_keeping
from queue_agent.core.verdicts.objectives import NO_SECONDS, ObjectiveSeconds
from queue_agent.core.verdicts.owner import OwnersWord
from queue_agent.core.verdicts.price import Price
from queue_agent.core.verdicts.queue_poll import find_still, observe_queue, without_poll
from queue_agent.core.verdicts.queue_state import Pair, QueueState
from queue_agent.core.verdicts.silence import find_silence, is_silent
from queue_agent.core.verdicts.values import QueueVerdict, Seconds, Verdict

_CONCURRENT_LEDGERS: Final = 16

_STILL_FOR: Final = 600.0
"""Seconds after which the ledger of a consumer that does nothing is written again: the journal is read from then on."""

_NOBODY: Final = Origin("", 0, 0, "", 0, "0-0-0-0", 0, EPOCH)
"""Of errors in plans that only tell how many rows are held."""


@dataclass(slots=True)
class _Kept:
    """What is known of the consumer in one queue."""

    state: QueueState
    inquiry: Inquiry
    seen: Seen | None = None
    """From which the verdict is; None: it could not be polled."""

    polled_at: Seconds | None = None
    """The last poll, if it found nothing new: then nothing else has changed. None: that of the state."""

    durable: Written | None = None
    """What outlives this agent, as far as is known; None: nothing."""

    told: Told = field(default_factory=Told)
    """What the record of events knows."""

    price: Price | None = None
    """Of the verdict."""

    seconds: ObjectiveSeconds | None = None
    """Of the objective, as they are published; None: not known yet."""

    noted_at: Seconds = 0.0
    """When the ledger was last to be written."""

    is_read: bool = False
    """Whether its ledger was."""

    is_open: bool = False
    """Whether all that is kept of it is known: its ledger was read, or there is no place for one."""


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
        self._judged_by: tuple[Sequence[Registration], OwnersWord] | None = None
        """At the last pass."""

        self.owner = OwnersWord()
        """What is in force."""

    async def prepare(self, registrations: Collection[Registration], *, leading: bool) -> None:
        """Go on from what is kept; of a queue whose ledger cannot be read now, from what is in memory.

        An agent that does not lead the consumer keeps nothing of it. It may lead a queue, though, and then has to know
        of which tablets the offsets are.
        """

        async def open_ledger(queue: CrossClusterRef) -> QueueState | None:
            return await self._ledger.open(Pair(queue, self._ref))

        read = {queue for queue, kept in self._kept.items() if kept.is_read}
        wanted = sorted({one.queue for one in registrations} - read)
        for queue, found in (await fan_out(open_ledger, wanted, limit=_CONCURRENT_LEDGERS)).items():
            if not isinstance(found, QueueState):
                continue
            state, told, seconds = found, told_of(found), found.seconds
            if found.last_poll is None and queue in self._kept:
                old, polled_at = self._kept[queue].state, self._kept[queue].polled_at
                old = old if polled_at is None else old.passed(polled_at)
                seconds = old.seconds if found.seconds == NO_SECONDS else found.seconds
                state, told = replace(old, seconds=seconds), self._kept[queue].told
            self._keep(queue, replace(state, is_kept=leading), told, seconds)
            self._kept[queue].is_read = True

    def _keep(self, queue: CrossClusterRef, state: QueueState, told: Told, seconds: ObjectiveSeconds | None) -> None:
        """Go on from a state."""
        self._forget(queue)
        durable = Written.of(state) if state.is_kept else None
        inquiry = Inquiry(queue, self._ref, self._context)
        self._kept[queue] = _Kept(state, inquiry, durable=durable, told=told, seconds=seconds)

    def _forget(self, queue: CrossClusterRef) -> None:
        if queue in self._kept:
            self._kept.pop(queue).inquiry.close()

    def judge(self, snapshot: ConsumerSnapshot) -> Mapping[CrossClusterRef, QueueVerdict]:
        """Verdicts by queue after a pass; the same mapping while nothing changes."""
        if self._is_quiet(snapshot):
            return self._verdicts
        self._judged_by = snapshot.registrations, self.owner
        registrations = {one.queue: one for one in snapshot.registrations}
        for queue in self._kept.keys() - registrations.keys():
            self._forget(queue)
            self._ledger.close(Pair(queue, self._ref))
        changed = self._verdicts.keys() != registrations.keys()
        for queue, registration in registrations.items():
            if queue not in self._kept:
                self._keep(queue, QueueState(Pair(queue, self._ref)), Told(), None)
            kept = self._kept[queue]
            before = kept.state
            self._poll(kept, registration, snapshot)
            if not self.owner.objectives.is_read:  # maybe there is one: its seconds are counted later
                kept.state = replace(kept.state, seconds=before.seconds)
            if kept.state.verdict is not before.verdict:
                kept.price = self._find_price(kept.state, registration, snapshot)
                self._tell(kept, snapshot)
            self._publish_objective(kept)
            written = self._ledger.find_written(kept.state.pair) if kept.state.is_kept else None
            changed = (
                changed
                or kept.state.verdict is not before.verdict
                or (written is not None and written is not kept.durable)
            )
            kept.durable = written or kept.durable
            is_open = kept.is_read or self._ledger.is_missing
            changed, kept.is_open = changed or is_open is not kept.is_open, is_open
            self._note(kept, before, snapshot.pass_instant.timestamp())
        if changed:
            found = {queue: _published(self._kept[queue]) for queue in registrations}
            self._verdicts = {queue: verdict for queue, verdict in found.items() if verdict is not None}
        return self._verdicts

    def _is_quiet(self, snapshot: ConsumerSnapshot) -> bool:
        """Whether nothing is new in any queue, and nothing is due; then only the times of polls are noted."""
        view = snapshot.view
        if view is None or self._judged_by is None:
            return False
        registrations, owner = self._judged_by
        if registrations is not snapshot.registrations or owner is not self.owner:
            return False
        is_missing, passed_at = self._ledger.is_missing, snapshot.pass_instant.timestamp()
        for registration in snapshot.registrations:
            ref = registration.queue
            kept, position, queue = self._kept[ref], view.queues.get(ref), self._context.board.find_queue(ref)
            if not isinstance(position, ConsumerQueueView) or queue is None:
                return False
            written = self._ledger.find_written(kept.state.pair) if kept.state.is_kept else None
            if (
                (written is not None and written is not kept.durable)
                or kept.is_open is not (kept.is_read or is_missing)
                or (kept.state.is_kept and passed_at >= kept.noted_at + _STILL_FOR)
                or not self._finds_nothing(kept, self._see(position, queue, registration), position.seen_at.timestamp())
            ):
                return False
            kept.polled_at = position.seen_at.timestamp()
        return True

    def _see(self, position: ConsumerQueueView, queue: QueueSnapshot, registration: Registration) -> Seen:
        assert position.compared is not None, "made of whole snapshots"
        ref, data_ttl = queue.ref, None if queue.view is None else queue.view.data_ttl
        objective, acknowledged = self.owner.objectives.find(ref), self.owner.acknowledged.get(ref)
        mine, theirs = position.partitions, position.compared.queue.partitions
        marks = [(one.consumer, one.is_started) for one in queue.quarantines]
        return Seen(mine, theirs, queue.trims, queue.row, data_ttl, marks, registration, objective, acknowledged)

    def _finds_nothing(self, kept: _Kept, seen: Seen, now: Seconds) -> bool:
        """Whether nothing has changed since the last poll, and nothing is due."""
        is_same = kept.seen is not None and seen.is_as(kept.seen) and not kept.inquiry.is_under_way
        last = kept.state.last_poll if kept.polled_at is None else kept.polled_at
        return is_same and last is not None and last <= now < kept.state.deadline

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

    def _note(self, kept: _Kept, before: QueueState, now: Seconds) -> None:
        """Have the ledger kept, if there is news. That time has passed is none, for a while."""
        if not kept.state.is_kept or kept.state.last_poll is None:
            return
        is_due = self._is_note_due(kept, now)
        if is_due and kept.polled_at is not None:
            kept.state, kept.polled_at = kept.state.passed(kept.polled_at), None
        state = kept.state
        if is_due or (state is not before and is_worth_keeping(state, before)):
            kept.noted_at = now
            is_told = state.is_told_dead is not before.is_told_dead
            self._ledger.note(state, urgent=is_told or is_urgent(before, state))

    def _is_note_due(self, kept: _Kept, now: Seconds) -> bool:
        """Whether the ledger is to be written though nothing is new; sooner if losses are not published yet."""
        is_written = kept.durable is not None and has_losses_of(kept.durable, kept.state)
        return now >= kept.noted_at + (_STILL_FOR if is_written else ROUTINE.total_seconds())

    def _find_price(self, state: QueueState, registration: Registration, snapshot: ConsumerSnapshot) -> Price | None:
        context, ref = self._context, registration.queue
        queue = context.board.find_queue(ref)
        position = None if snapshot.view is None else snapshot.view.queues.get(ref)
        if not registration.vital or context.trimming_mode is TrimmingMode.OFF or queue is None:
            return None
        silent = find_silence(state)
        if silent is None or not isinstance(position, ConsumerQueueView) or position.compared is None:
            return None
        assert state.verdict is not None, "it is silent by its verdict"
        registrations, consumers = context.board.registrations_of_queue(ref), context.board.all_consumers
        mine = replace(snapshot, verdicts={**snapshot.verdicts, ref: state.verdict})
        plan = plan_trims(
            queue,
            queue.row.auto_trim_config,
            registrations,
            {**consumers, self._ref: mine},
            queue.exported,
            _NOBODY,
        )
        if plan is None:
            return None
        return find_price(plan, self._ref, position, silent, context.config.dead_after, self._find_silent_others(ref))

    def _find_silent_others(self, queue: CrossClusterRef) -> list[CrossClusterRef]:
        board = self._context.board
        found = {
            one.consumer: board.all_consumers[one.consumer].verdicts.get(queue)
            for one in board.registrations_of_queue(queue)
            if one.vital and one.consumer != self._ref and one.consumer in board.all_consumers
        }
        return [consumer for consumer, verdict in found.items() if verdict is not None and is_silent(verdict)]

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
        status = self.owner.objectives.status(kept.state.pair.queue, kept.seconds)
        if status != verdict.objective:
            kept.state = replace(kept.state, verdict=replace(verdict, objective=status))

    def _poll(self, kept: _Kept, registration: Registration, snapshot: ConsumerSnapshot) -> None:
        board = self._context.board
        queue = board.find_queue(registration.queue)
        position = snapshot.error if snapshot.view is None else snapshot.view.queues.get(registration.queue)
        if isinstance(position, ConsumerQueueView) and queue is not None:
            is_leading = snapshot.role is Role.LEADING
            self._observe(kept, registration, position, queue, is_leading=is_leading)
            return
        kept.seen = None
        now = snapshot.pass_instant.timestamp()
        objective = self.owner.objectives.find(registration.queue)
        is_served = board.find_queue_row(registration.queue) is not None
        is_early = is_served and (queue is None or (queue.pass_index == 0 and queue.role is not Role.ERROR))
        if snapshot.banned_since is not None:
            kept.state = without_poll(kept.state, Verdict.UNKNOWN, "The consumer is banned", now, objective=objective)
        elif position is None or snapshot.pass_index == 0 or is_early:
            kept.state = without_poll(kept.state, Verdict.UNKNOWN, "Not polled yet", now, objective=objective)
        else:
            error = position.error if isinstance(position, QueueMissing) else position
            assert isinstance(error, ErrorInfo), "positions that can be read were observed"
            reason, advice = self._explain(queue, registration, snapshot, error)
            kept.state = without_poll(kept.state, Verdict.UNREADABLE, reason, now, advice, objective)

    def _explain(
        self, queue: QueueSnapshot | None, registration: Registration, snapshot: ConsumerSnapshot, error: ErrorInfo
    ) -> tuple[str, Advice]:
        if snapshot.error is not None:
            return f"Cannot read consumer {self._ref}: {error.message}", Advice(Turn.OWNER)
        return explain_unreadable(queue, registration, error)

    def _observe(
        self,
        kept: _Kept,
        registration: Registration,
        position: ConsumerQueueView,
        queue: QueueSnapshot,
        *,
        is_leading: bool,
    ) -> None:
        assert position.compared is not None, "made of whole snapshots"
        now = position.seen_at.timestamp()
        seen = self._see(position, queue, registration)
        if self._finds_nothing(kept, seen, now):
            kept.polled_at = now
            return
        before, kept.seen = kept.seen, None
        if not position.compared.is_in_order:
            self._wait(kept, now)
            return
        if kept.polled_at is not None:
            kept.state = kept.state.passed(kept.polled_at)
        period = self._context.config.pass_period.total_seconds()
        # What the journal is asked about is not settled, and so never still.
        still = () if before is None else find_still(kept.state, seen.find_moved(before), now, period)
        trims = self._context.trimming_mode is TrimmingMode.TRIM
        vital = self._vital_consumers(registration.queue)
        readings = read_positions(position, queue, registration, vital, trims=trims, but=still)
        known = kept.inquiry.add_trims(kept.state, readings, queue, now, asks=is_leading)
        if known is None:
            self._wait(kept, now)
            return
        partitions = registered_indexes(position, registration)
        state = observe_queue(kept.state, known, partitions, now, period, seen.objective, seen.acknowledged, still)
        if state is not kept.state:  # or it is no later than the last poll, and nothing of it counts
            kept.state, kept.seen, kept.polled_at = state, seen, None

    def _wait(self, kept: _Kept, now: float) -> None:
        """The verdict stays as it is until more is known."""
        if kept.state.verdict is None:
            kept.state = without_poll(kept.state, Verdict.UNKNOWN, "Not polled yet", now)

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


def _published(kept: _Kept) -> QueueVerdict | None:
    """The verdict as others see it; most stay the same object as long as they do not change."""
    verdict, durable = kept.state.verdict, kept.durable
    if verdict is None:
        return None
    if not kept.is_open:  # a ledger that could not be read may know of other tablets
        verdict = replace(verdict, tablets={})
    if kept.price is not None:
        verdict = replace(verdict, price=kept.price)
    if durable is None:
        return verdict
    counts = durable.counts
    return verdict if counts == kept.state.counts else verdict.told_as(counts)
