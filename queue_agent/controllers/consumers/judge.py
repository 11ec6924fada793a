"""Keeps the verdicts on one consumer, from pass to pass."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from queue_agent.controllers.passes.clusters import fan_out
from queue_agent.controllers.status.context import ControllerContext
from queue_agent.core.consumers.own_trims import trims_of
from queue_agent.core.consumers.readings import VitalPositions, explain_unreadable, read_positions
from queue_agent.core.queues.growth import registered_count
from queue_agent.core.queues.snapshots import (
    ConsumerQueueView,
    ConsumerSnapshot,
    QueueMissing,
    QueueSnapshot,
    Role,
)
from queue_agent.core.state.rows import Registration
from queue_agent.core.state.trim_config import TrimmingMode
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.ledger import is_unclear
from queue_agent.core.verdicts.queue_state import Pair, PartitionReading, QueueState, observe_queue, without_poll
from queue_agent.core.verdicts.values import QueueVerdict, Turn, Verdict

_CONCURRENT_LEDGERS: Final = 16

_JOURNAL_PATIENCE: Final = 5.0
"""Seconds until what the journal does not tell of a trim counts as done by others; it is written each 2 s."""

_SETTLED_PASSES: Final = 60
"""Of a queue led here: no trim of its former leader is to be expected any more."""


@dataclass(slots=True)
class _Kept:
    """What is known of the consumer in one queue."""

    state: QueueState
    seen: tuple[object, object, object] | None = None
    """The partitions of consumer and queue, and the trims, from which the verdict is; None: it could not be polled."""

    unclear_since: float | None = None
    """Rows went, and what became of them may be in the journal; None: there are none."""


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

    async def prepare(self, queues: Collection[CrossClusterRef]) -> None:
        """Go on from what is kept of these queues; of one that can not be read now, from what is in memory."""

        async def open_ledger(queue: CrossClusterRef) -> QueueState | None:
            return await self._ledger.open(Pair(queue, self._ref))

        wanted = [queue for queue in queues if queue not in self._kept or not self._kept[queue].state.is_kept]
        for queue, found in (await fan_out(open_ledger, wanted, limit=_CONCURRENT_LEDGERS)).items():
            if not isinstance(found, QueueState):
                continue
            if found.last_poll is None and queue in self._kept:
                found = replace(self._kept[queue].state, is_kept=True)
            self._kept[queue] = _Kept(found)

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
            changed = changed or kept.state.verdict is not before.verdict
            if kept.state.is_kept and kept.state.positions is not before.positions:
                self._ledger.note(kept.state, urgent=_is_urgent(before, kept.state))
        if changed:
            found = {queue: self._kept[queue].state.verdict for queue in registrations}
            self._verdicts = {queue: verdict for queue, verdict in found.items() if verdict is not None}
        return self._verdicts

    def _poll(self, kept: _Kept, registration: Registration, snapshot: ConsumerSnapshot) -> None:
        board = self._context.board
        queue = board.find_queue(registration.queue)
        position = snapshot.error if snapshot.view is None else snapshot.view.queues.get(registration.queue)
        if isinstance(position, ConsumerQueueView) and queue is not None:
            self._observe(kept, registration, position, queue)
            return
        kept.seen = None
        now = snapshot.pass_instant.timestamp()
        is_served = board.find_queue_row(registration.queue) is not None
        is_early = is_served and (queue is None or (queue.pass_index == 0 and queue.role is not Role.ERROR))
        if snapshot.banned_since is not None:
            kept.state = without_poll(kept.state, Verdict.UNKNOWN, "The consumer is banned", now)
        elif position is None or snapshot.pass_index == 0 or is_early:
            kept.state = without_poll(kept.state, Verdict.UNKNOWN, "Not polled yet", now)
        else:
            error = position.error if isinstance(position, QueueMissing) else position
            assert isinstance(error, ErrorInfo), "positions that can be read were observed"
            reason, turn, action = self._explain(queue, registration, snapshot, error)
            kept.state = without_poll(kept.state, Verdict.UNREADABLE, reason, now, turn, action)

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
        seen = (position.partitions, position.compared.queue.partitions, queue.trims)
        if kept.seen is not None and all(map(_is, kept.seen, seen)) and now < kept.state.deadline:
            kept.state = kept.state.passed(now)
            return
        trims = self._context.trimming_mode is TrimmingMode.TRIM
        vital = self._vital_positions(registration.queue) if trims else None
        readings = read_positions(position, queue, registration, vital, trims=trims)
        readings = self._with_trims(kept.state, readings, queue)
        if self._waits_for_journal(kept, readings, queue, now):
            kept.seen = None
            if kept.state.verdict is None:
                kept.state = without_poll(kept.state, Verdict.UNKNOWN, "Not polled yet", now)
            return
        period = self._context.config.pass_period.total_seconds()
        kept.seen = seen
        kept.state = observe_queue(kept.state, readings, registered_count(position, registration), now, period)

    def _with_trims(
        self, state: QueueState, readings: Mapping[int, PartitionReading], queue: QueueSnapshot
    ) -> Mapping[int, PartitionReading]:
        """The readings with what is known of trims since the poll before."""
        found = dict(readings)
        for index, one in readings.items():
            old = state.positions.get(index)
            if old is None or one.reading.start <= old.reading.start:
                continue
            gone = range(old.reading.start, one.reading.start)
            records = self._context.trims.find(state.pair.queue, queue.row.object_id, index, gone)
            found[index] = replace(one, trims=trims_of(records, self._ref))
        return found

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
        context.trims.want(kept.state.pair.queue, datetime.fromtimestamp(now if last is None else last, UTC))
        return True

    def _vital_positions(self, queue: CrossClusterRef) -> VitalPositions:
        board = self._context.board
        found: dict[str, ConsumerQueueView] = {}
        for one in board.registrations_of_queue(queue):
            if not one.vital:
                continue
            snapshot = board.all_consumers.get(one.consumer)
            position = None if snapshot is None or snapshot.view is None else snapshot.view.queues.get(queue)
            if not isinstance(position, ConsumerQueueView):
                return None
            found[str(one.consumer)] = position
        return found


def _is_urgent(old: QueueState, new: QueueState) -> bool:
    """Whether a change is to be kept at once: a loss, a skip, or another verdict."""
    if old.verdict is None or new.verdict is None:
        return True
    before, now = old.verdict.whole, new.verdict.whole
    lost = before.counts.lost, before.counts.skipped
    return before.verdict is not now.verdict or lost != (now.counts.lost, now.counts.skipped)


def _is(left: object, right: object) -> bool:
    return left is right
