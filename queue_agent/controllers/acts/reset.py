"""Moves a consumer in a queue, each partition only from where it was seen to be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from queue_agent.controllers.acts.row_search import check_timestamps, find_first_rows
from queue_agent.controllers.passes.clusters import fan_out
from queue_agent.core.consumers.offset_reset import (
    Bounds,
    Destination,
    Instant,
    Move,
    ResetRefused,
    check_trimmed,
    plan_reset,
)
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.timestamps import instant_of
from queue_agent.errors import ActRefused, ClusterError, ObjectNotFound, OutcomeUnknown
from queue_agent.ports.acts import ActingCluster
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError
from yt_wire.ypath import parse_rich

_READABLE: Final = ("mounted", "frozen")
_CONCURRENT_MOVES: Final = 16
_RECENT: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a reset would do."""

    queue: CrossClusterRef
    """As its registration has it, links followed."""

    consumer: CrossClusterRef
    vital: bool
    moves: Sequence[Move]
    notes: Sequence[str]
    """What people should know before they say yes."""

    @property
    def changes(self) -> Sequence[Move]:
        """Without partitions that stay where they are."""
        return [move for move in self.moves if move.current != move.target]

    def to_map(self, failures: Mapping[int, str] | None = None) -> dict[str, Any]:
        """For programs; without failures nothing was tried."""
        return {
            "queue": str(self.queue),
            "consumer": str(self.consumer),
            "vital": self.vital,
            "notes": list(self.notes),
            "partitions": [
                {
                    "partition_index": move.partition_index,
                    "lower_row_index": move.bounds.lower_row_index,
                    "upper_row_index": move.bounds.upper_row_index,
                    "current": move.current,
                    "target": move.target,
                    "read_again_count": move.read_again_count,
                    "skipped_count": move.skipped_count,
                    **({} if failures is None else {"error": failures.get(move.partition_index)}),
                }
                for move in self.moves
            ],
        }


class ConsumerReset:
    """One consumer and one queue.

    Args:
        queue, consumer: as people call them.
        clusters: those of both.
        now: the clock.
        hint: what to add to an error, for a name that was typed and the names there are.
    """

    def __init__(
        self,
        queue: CrossClusterRef,
        consumer: CrossClusterRef,
        clusters: Mapping[str, ActingCluster],
        now: Callable[[], datetime],
        hint: Callable[[str, Sequence[str]], str] | None = None,
    ) -> None:
        self._queue = queue
        self._consumer = consumer
        self._now = now
        self._hint = hint
        self._clusters = clusters

    async def plan(
        self, destination: Destination, partitions: Collection[int], *, lost_rows_are_fine: bool = False
    ) -> Plan:
        """Find out what the reset would do; nothing is changed.

        Args:
            destination: where to.
            partitions: which; all if empty.
            lost_rows_are_fine: see `check_trimmed`.

        Raises:
            ActRefused: it cannot be done.
            ClusterError: a cluster did not tell what has to be known.
        """
        queue, consumer, vital = await self._find_registration()
        table = self._clusters[self._queue.cluster]
        description = await table.get_table(queue.path)
        count = len(description.tablets)
        unknown = sorted(set(partitions) - set(range(count)))
        if unknown:
            raise ActRefused(f"{queue} has {count} partitions, numbered from 0; there is no partition {unknown[0]}")
        wanted = sorted(set(partitions)) or list(range(count))
        for index in wanted:
            if description.tablets[index].state not in _READABLE:
                raise ActRefused(
                    f"partition {index} is {description.tablets[index].state}, so what rows it has is not known; mount"
                    " it, or name the others by --partition"
                )
        # Positions are read first: the end of a partition must not be older than they are.
        read = self._clusters[self._consumer.cluster].read_consumer_offsets
        answer = await read(consumer.path, {queue: count}, with_meta=False, name=consumer.name)
        offsets = {index: one for index, one in answer[queue].items() if index in wanted}
        infos = await table.get_tablet_infos(queue.path, wanted)
        bounds = {index: Bounds(info.trimmed_row_count, info.total_row_count) for index, info in infos.items()}
        found: Mapping[int, int] = {}
        if isinstance(destination, Instant):
            check_timestamps(queue, description)
            found = await find_first_rows(table, queue.path, bounds, destination.instant)
        try:
            moves = plan_reset(destination, bounds, {index: one.offset for index, one in offsets.items()}, found)
            warning = check_trimmed(moves, destination, vital=vital, lost_rows_are_fine=lost_rows_are_fine)
        except ResetRefused as error:
            raise ActRefused(str(error)) from error
        latest = max((instant_of(one.last_write_timestamp) for one in offsets.values()), default=None)
        notes = [*([warning] if warning else []), *_notes(moves, vital)]
        if latest is not None and self._now() - latest < _RECENT:
            notes.append("Its position was changed within the last minute: stop its readers, or they may move it back")
        return Plan(queue, consumer, vital, moves, notes)

    async def carry_out(self, plan: Plan) -> Mapping[int, str]:
        """Move the consumer, each partition by itself and only from where it stood when the plan was made.

        Returns:
            What went wrong, by partition index; all others are where they are to be.
        """
        changes = {move.partition_index: move for move in plan.changes}
        cluster = self._clusters[self._consumer.cluster]

        async def advance(index: int) -> None:
            move = changes[index]
            try:
                await cluster.advance_consumer(plan.consumer, plan.queue, index, move.current, move.target)
            except OutcomeUnknown:
                # Only from where it stood: if it has been moved, this is refused, and tells where it stands now.
                await cluster.advance_consumer(plan.consumer, plan.queue, index, move.current, move.target)

        outcomes = await fan_out(advance, changes, limit=_CONCURRENT_MOVES)
        failures = {
            index: words
            for index, outcome in outcomes.items()
            if isinstance(outcome, ClusterError) and (words := _failure(outcome, changes[index]))
        }
        moved = [index for index in changes if index not in failures]
        lost = await self._find_lost(plan.queue.path, {index: changes[index].target for index in moved})
        return {**failures, **lost}

    async def _find_lost(self, path: str, targets: Mapping[int, int]) -> Mapping[int, str]:
        """The partitions whose rows were trimmed while the consumer was on its way to them."""
        try:
            infos = await self._clusters[self._queue.cluster].get_tablet_infos(path, list(targets))
        except ClusterError as error:
            return dict.fromkeys(targets, f"was moved; whether its rows are still there is not known: {error}")
        return {
            index: f"was moved, but rows before row {info.trimmed_row_count} were trimmed meanwhile"
            for index, info in infos.items()
            if info.trimmed_row_count > targets[index]
        }

    async def _find_registration(self) -> tuple[CrossClusterRef, CrossClusterRef, bool]:
        """Queue and consumer, links followed, and whether the consumer is vital."""
        name = {"queue_consumer_name": self._consumer.name} if self._consumer.name else {}
        queue = yson.with_attributes(self._queue.path, {"cluster": self._queue.cluster})
        consumer = yson.with_attributes(self._consumer.path, {"cluster": self._consumer.cluster, **name})
        try:
            answer = await self._list_registrations(queue_path=queue, consumer_path=consumer)
        except ObjectNotFound as error:
            raise ActRefused(f"{error}{await self._guess(queue, consumer)}") from error
        if not answer:
            hint = await self._guess(queue, consumer)
            raise ActRefused(f"{self._consumer} is not registered with {self._queue}{hint}")
        [registration] = answer
        return (
            _reference(registration["queue_path"]),
            _reference(registration["consumer_path"]),
            bool(registration["vital"]),
        )

    async def _list_registrations(self, **of: Any) -> Any:
        return await self._clusters[self._consumer.cluster].execute("list_queue_consumer_registrations", of)

    async def _guess(self, queue: Any, consumer: Any) -> str:
        """The queue or the consumer that was probably meant, by the registrations of the other."""
        if self._hint is None:
            return ""
        for typed, key, of in (
            (self._queue, "queue_path", {"consumer_path": consumer}),
            (self._consumer, "consumer_path", {"queue_path": queue}),
        ):
            try:
                found = await self._list_registrations(**of)
            except ClusterError:
                continue  # it is an addition to an error
            if hint := self._hint(str(typed), [str(_reference(one[key])) for one in found]):
                return hint
        return ""


def _reference(value: Any) -> CrossClusterRef:
    path = parse_rich(value)
    if path.cluster is None:
        raise ActRefused(f"a registration names no cluster: {path.path}")
    return CrossClusterRef(str(path.cluster), path.path, str(path.attributes.get("queue_consumer_name", "")))


def _notes(moves: Collection[Move], vital: bool) -> list[str]:
    if not vital:
        return []
    skipped, again = sum(move.skipped_count for move in moves), sum(move.read_again_count for move in moves)
    return [
        *(["The consumer is vital: rows it skips may be trimmed at once, for good"] if skipped else []),
        *(["The consumer is vital: nothing is trimmed behind it until it has read on"] if again else []),
    ]


def _failure(error: ClusterError, move: Move) -> str | None:
    """Why a move failed; None if an earlier attempt, whose answer was lost, had done it."""
    conflict = YtError.from_map(error.details or {}).find(ErrorCode.QUEUE_CONSUMER_OFFSET_CONFLICT)
    if conflict is None:
        return str(error)
    current = conflict.attributes.get("current_offset")
    if current == move.target:
        return None
    return f"stands at row {current} and not at row {move.current} any more: somebody else has moved it"
