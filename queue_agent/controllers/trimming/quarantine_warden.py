"""Keeps the quarantines of one queue: announces, starts and ends them, each only once it is written down."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from queue_agent.controllers.status.context import ControllerContext
from queue_agent.controllers.trimming.quarantine_look import InvalidWish, look_at_quarantines
from queue_agent.core.queues.snapshots import QueueSnapshot
from queue_agent.core.state.quarantines import Quarantine, QuarantineTerms
from queue_agent.core.state.trim_config import TrimmingMode
from queue_agent.core.trimming.quarantine import (
    Allowance,
    QuarantineLook,
    Step,
    StepKind,
    find_released,
    find_silent,
    find_steps,
    watched,
)
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.event_kinds import EventKind
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.terms import Term
from queue_agent.core.verdicts.sentences import duration
from queue_agent.errors import ClusterError

_KINDS: Final = {
    StepKind.ANNOUNCED: EventKind.QUARANTINE_ANNOUNCED,
    StepKind.STARTED: EventKind.QUARANTINE_STARTED,
    StepKind.ENDED: EventKind.QUARANTINE_ENDED,
}

_REST_SECONDS: Final = 60.0
"""Most queues do not allow quarantines: nobody has to ask each of them in every pass."""


@dataclass(frozen=True, slots=True)
class Attended:
    """What an iteration has to know of quarantines."""

    quarantines: Sequence[Quarantine] = ()
    released: Sequence[Quarantine] = ()
    """Those that hold nothing."""

    allowed: int = 0
    """Unread rows of these that may go now."""

    error: ErrorInfo | None = None
    """Why nothing is known, so that everybody holds their rows."""


NO_QUARANTINES: Final = Attended()


class QuarantineWarden:
    """The quarantines of one queue.

    Args:
        ref: the queue.
        context: what it works with.
    """

    def __init__(self, ref: CrossClusterRef, context: ControllerContext) -> None:
        self._ref = ref
        self._context = context
        self._known: dict[CrossClusterRef, Quarantine] = {}
        self._led_since: float | None = None
        """Since when this agent leads the queue as it did when `_known` was read; None: it was not read."""

        self._watched_at = 0.0
        self._is_wished = False
        """Whether the owner of the queue allows quarantines, as far as is known."""

        self._rests_until: float | None = None
        """By the clock of terms; None: there was nothing yet that nobody wished."""

        self.allowance = Allowance()

    def is_needed(self) -> bool:
        """Whether there is anything to attend to."""
        terms = self._context.quarantine
        return terms is not None and not self._rests() and bool(self._known or self._find_dead(terms))

    def _rests(self) -> bool:
        """Whether a queue had nothing to attend to a moment ago, though it has a dead consumer."""
        now = self._context.leadership.find_term([self._ref]).now
        return self._rests_until is not None and now < self._rests_until

    async def attend(self, snapshot: QueueSnapshot, mode: TrimmingMode, origin: Origin) -> Attended:
        """What is true of the queue's quarantines in this iteration.

        Args:
            snapshot: of this pass.
            mode: nothing starts while nothing is trimmed.
            origin: of errors.
        """
        terms = self._context.quarantine
        if terms is None or self._rests() or snapshot.view is None:
            return NO_QUARANTINES
        dead = self._find_dead(terms)
        leadership = self._context.leadership
        if not (dead or self._known) or leadership.find_hold([self._ref]) is not None:
            return Attended(list(self._known.values()))
        term = leadership.find_term([self._ref])
        try:
            look = await self._look(snapshot, dead, term, origin)
            now, may_start = self._context.clock.now(), mode is TrimmingMode.TRIM
            for step in find_steps(list(self._known.values()), dead, look, terms, now, may_start=may_start):
                await self._take(step, dead)
        except ClusterError as caught:
            self._watched_at = term.now  # until now nobody could see what the consumers do
            if not self._is_wished and not isinstance(caught, InvalidWish):
                self._rests_until = term.now + _REST_SECONDS
                return NO_QUARANTINES
            error = origin.error("Quarantines are not known", inner_errors=[origin.cluster_error(caught)])
            return Attended(list(self._known.values()), error=error)
        quarantines = list(self._known.values())
        if not quarantines:
            self._rests_until = term.now + _REST_SECONDS
        allowed = self.allowance.grow(term.now, terms.max_rows_per_hour)
        return Attended(quarantines, find_released(quarantines, look, now), allowed)

    async def _look(
        self, snapshot: QueueSnapshot, dead: Collection[CrossClusterRef], term: Term, origin: Origin
    ) -> QuarantineLook:
        """What is known right now; only of a queue whose owner allows quarantines the table is read."""
        context = self._context
        registrations = context.board.registrations_of_queue(self._ref)
        look = await look_at_quarantines(context, snapshot, {*dead, *self._known}, registrations, origin)
        self._is_wished = look.wish.enable
        if self._is_wished and self._led_since != term.since:
            self._known = {one.consumer: one for one in await context.quarantines.read(self._ref)}
            self._led_since, self._watched_at = term.since, term.now
            look = await look_at_quarantines(context, snapshot, {*dead, *self._known}, registrations, origin)
        elapsed, self._watched_at = term.passed_since(self._watched_at), term.now
        self._known = {consumer: watched(one, elapsed) for consumer, one in self._known.items()}
        return look

    async def _take(self, step: Step, dead: Mapping[CrossClusterRef, str]) -> None:
        one, context = step.quarantine, self._context
        with context.leadership.acting([self._ref]) as permit:
            permit.check()
            if step.kind is StepKind.ENDED:
                await context.quarantines.remove(self._ref, one.consumer)
                del self._known[one.consumer]
            else:
                await context.quarantines.write(self._ref, one)
                self._known[one.consumer] = one
        if step.kind in _KINDS:
            reason = step.reason or dead[one.consumer]
            context.events.note(_KINDS[step.kind], reason, self._ref, one.consumer, details=one.to_map())

    def _find_dead(self, terms: QuarantineTerms) -> Mapping[CrossClusterRef, str]:
        """Vital consumers that have been silent for long enough, and what there is to say of each."""
        board = self._context.board
        prices = {}
        for one in board.registrations_of_queue(self._ref):
            snapshot = board.all_consumers.get(one.consumer)
            verdict = None if snapshot is None else snapshot.verdicts.get(self._ref)
            if verdict is not None and verdict.price is not None:
                prices[one.consumer] = verdict.price
        silent = find_silent({consumer: price.silent for consumer, price in prices.items()}, terms)
        return {
            consumer: f"Silent for {duration(prices[consumer].silent)}, and holds {prices[consumer].held_rows:,} rows"
            for consumer in silent
        }
