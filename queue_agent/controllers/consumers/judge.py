"""Keeps the verdicts on one consumer, from pass to pass."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from queue_agent.controllers.consumers.inquiry import Inquiry
from queue_agent.controllers.passes.clusters import fan_out
from queue_agent.controllers.status.context import ControllerContext
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
from queue_agent.core.verdicts.objectives import NO_SECONDS, ObjectiveSeconds
from queue_agent.core.verdicts.owner import OwnersWord
from queue_agent.core.verdicts.price import Price
from queue_agent.core.verdicts.queue_state import Pair, QueueState, observe_queue, without_poll
from queue_agent.core.verdicts.silence import find_silence, is_silent
from queue_agent.core.verdicts.values import Counts, QueueVerdict, Verdict

_CONCURRENT_LEDGERS: Final = 16

_NOBODY: Final = Origin("", 0, 0, "", 0, "0-0-0-0", 0, EPOCH)
"""Of errors in plans that only tell how many rows are held."""


@dataclass(slots=True)
class _Kept:
    """What is known of the consumer in one queue."""

    state: QueueState
    inquiry: Inquiry
    seen: tuple[object, ...] | None = None
    """The partitions of consumer and queue, the trims and the owner's words, from which the verdict is.

    None: it could not be polled.
    """

    durable: QueueState | None = None
    """What outlives this agent, as far as is known; None: nothing."""

    told: Told = field(default_factory=Told)
    """What the record of events knows."""

    price: Price | None = None
    """Of the verdict."""

    seconds: ObjectiveSeconds | None = None
    """Of the objective, as they are published; None: not known yet."""

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
        self.owner = OwnersWord()
        """What is in force."""

    async def prepare(self, registrations: Collection[Registration], *, leading: bool) -> None:
        """Go on from what is kept; of a queue whose ledger cannot be read now, from what is in memory.

        An agent that does not lead the consumer keeps nothing of it. It may lead a queue, though, and then has to know
        of which tablets the offsets of vital consumers are.
        """

        async def open_ledger(queue: CrossClusterRef) -> QueueState | None:
            return await self._ledger.open(Pair(queue, self._ref))

        read = {queue for queue, kept in self._kept.items() if kept.is_read}
        wanted = sorted({one.queue for one in registrations if leading or one.vital} - read)
        for queue, found in (await fan_out(open_ledger, wanted, limit=_CONCURRENT_LEDGERS)).items():
            if not isinstance(found, QueueState):
                continue
            state, told, seconds = found, told_of(found), found.seconds
            if found.last_poll is None and queue in self._kept:
                old = self._kept[queue].state
                seconds = old.seconds if found.seconds == NO_SECONDS else found.seconds
                state, told = replace(old, seconds=seconds), self._kept[queue].told
            self._keep(queue, replace(state, is_kept=leading), told, seconds)
            self._kept[queue].is_read = True

    def _keep(self, queue: CrossClusterRef, state: QueueState, told: Told, seconds: ObjectiveSeconds | None) -> None:
        """Go on from a state."""
        self._forget(queue)
        durable = state if state.is_kept else None
        inquiry = Inquiry(queue, self._ref, self._context)
        self._kept[queue] = _Kept(state, inquiry, durable=durable, told=told, seconds=seconds)

    def _forget(self, queue: CrossClusterRef) -> None:
        if queue in self._kept:
            self._kept.pop(queue).inquiry.close()

    def judge(self, snapshot: ConsumerSnapshot) -> Mapping[CrossClusterRef, QueueVerdict]:
        """Verdicts by queue after a pass; the same mapping while nothing changes."""
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
            is_new = kept.state.positions is not before.positions or kept.state.seconds is not before.seconds
            is_told = kept.state.is_told_dead is not before.is_told_dead
            if kept.state.is_kept and (is_new or is_told):
                self._ledger.note(kept.state, urgent=is_told or _is_urgent(before, kept.state))
        if changed:
            found = {queue: _published(self._kept[queue]) for queue in registrations}
            self._verdicts = {queue: verdict for queue, verdict in found.items() if verdict is not None}
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
        objective = self.owner.objectives.find(registration.queue)
        acknowledged = self.owner.acknowledged.get(registration.queue)
        seen = (position.partitions, position.compared.queue.partitions, queue.trims, objective, acknowledged)
        is_old = kept.seen is not None and all(map(_is, kept.seen, seen)) and not kept.inquiry.is_under_way
        if is_old and now < kept.state.deadline:
            kept.state = kept.state.passed(now)
            return
        kept.seen = None
        if not position.compared.is_in_order:
            self._wait(kept, now)
            return
        trims = self._context.trimming_mode is TrimmingMode.TRIM
        vital = self._vital_consumers(registration.queue)
        readings = read_positions(position, queue, registration, vital, trims=trims)
        known = kept.inquiry.add_trims(kept.state, readings, queue, now, asks=is_leading)
        if known is None:
            self._wait(kept, now)
            return
        period = self._context.config.pass_period.total_seconds()
        kept.seen = seen
        partitions = registered_indexes(position, registration)
        kept.state = observe_queue(kept.state, known, partitions, now, period, objective, acknowledged)

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
