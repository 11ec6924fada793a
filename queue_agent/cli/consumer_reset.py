"""`queue-agent consumer reset`: moves a consumer in a queue, each partition only from where it was seen to stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.cli.errors import CommandError
from queue_agent.config.clusters import ClusterConfig
from queue_agent.config.file import load_config
from queue_agent.controllers.passes.clusters import fan_out
from queue_agent.core.consumers.offset_reset import (
    Bounds,
    Destination,
    Earliest,
    Instant,
    Latest,
    Move,
    ResetRefused,
    RowIndex,
    Search,
    check_trimmed,
    plan_reset,
)
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.timestamps import instant_of, timestamp_of
from queue_agent.errors import ClusterError, OutcomeUnknown
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError
from yt_wire.ypath import parse_rich

_AGE: Final = re.compile(r"([0-9]+)(s|m|h|d)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_ROW: Final = re.compile(r"[0-9]+")
_TIMESTAMP: Final = "$timestamp"
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


def parse_destination(text: str, now: datetime) -> Destination:
    """Read `earliest`, `latest`, a row index, an age such as `2h`, or an instant with its zone."""
    if text == "earliest":
        return Earliest()
    if text == "latest":
        return Latest()
    if _ROW.fullmatch(text):
        return RowIndex(int(text))
    if age := _AGE.fullmatch(text):
        try:
            return Instant(now - timedelta(seconds=int(age[1]) * _SECONDS[age[2]]))
        except OverflowError as error:
            raise CommandError(f"--to {text} is before the beginning of time") from error
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandError(
            f"--to takes earliest, latest, a row index, an age such as 90s, 30m, 2h or 7d, or an instant such as"
            f" 2026-03-01T12:00:00Z; got {text!r}"
        ) from error
    if instant.tzinfo is None:
        raise CommandError(f"--to {text} does not say in which zone, as 2026-03-01T12:00:00Z or +03:00 in place of Z")
    return Instant(instant)


def clusters_of(config_file: Path | None, proxies: Sequence[str], token_file: Path | None) -> dict[str, ClusterConfig]:
    """How to reach clusters: as an agent does, or by `NAME=ADDRESS` each.

    Raises:
        CommandError: neither or both are given, or an option makes no sense.
        ConfigError: see `load_config`.
    """
    if config_file is not None:
        if proxies or token_file is not None:
            raise CommandError("either --config or --proxy, with or without --token-file, says where clusters are")
        return dict(load_config(config_file).clusters)
    if not proxies:
        raise CommandError("--config FILE or --proxy NAME=ADDRESS has to say where clusters are")
    clusters: dict[str, ClusterConfig] = {}
    for option in proxies:
        name, equals, address = option.partition("=")
        if not (name and equals and address) or name in clusters:
            raise CommandError(f"--proxy takes NAME=ADDRESS, each name once; got {option!r}")
        clusters[name] = ClusterConfig(proxy=address, token_file=token_file)
    return clusters


class ConsumerReset:
    """One consumer and one queue; an async context manager.

    Args:
        queue, consumer: as people call them.
        clusters: how to reach those of both.
        now: the clock.
    """

    def __init__(
        self,
        queue: CrossClusterRef,
        consumer: CrossClusterRef,
        clusters: Mapping[str, ClusterConfig],
        now: Callable[[], datetime],
    ) -> None:
        for ref in (queue, consumer):
            if ref.cluster not in clusters:
                raise CommandError(f"where cluster {ref.cluster} of {ref} is, is not said")
        self._queue = queue
        self._consumer = consumer
        self._now = now
        self._clusters = {name: YtCluster(name, clusters[name]) for name in {queue.cluster, consumer.cluster}}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> ConsumerReset:
        async with AsyncExitStack() as stack:
            for cluster in self._clusters.values():
                await stack.enter_async_context(cluster)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._stack.aclose()

    async def plan(
        self, destination: Destination, partitions: Collection[int], *, lost_rows_are_fine: bool = False
    ) -> Plan:
        """Find out what the reset would do; nothing is changed.

        Args:
            destination: where to.
            partitions: which; all if empty.
            lost_rows_are_fine: see `check_trimmed`.

        Raises:
            CommandError: it can not be done.
            ClusterError: a cluster did not tell what has to be known.
        """
        queue, consumer, vital = await self._find_registration()
        table = self._clusters[self._queue.cluster]
        description = await table.get_table(queue.path)
        count = len(description.tablets)
        unknown = sorted(set(partitions) - set(range(count)))
        if unknown:
            raise CommandError(f"{queue} has {count} partitions, numbered from 0; there is no partition {unknown[0]}")
        wanted = sorted(set(partitions)) or list(range(count))
        for index in wanted:
            if description.tablets[index].state not in _READABLE:
                raise CommandError(
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
            if _TIMESTAMP not in {column.name for column in description.columns}:
                raise CommandError(f"{queue} has no column {_TIMESTAMP}, so when its rows were written is not known")
            found = await self._find_rows(queue.path, bounds, destination.instant)
        try:
            moves = plan_reset(destination, bounds, {index: one.offset for index, one in offsets.items()}, found)
            warning = check_trimmed(moves, destination, vital=vital, lost_rows_are_fine=lost_rows_are_fine)
        except ResetRefused as error:
            raise CommandError(str(error)) from error
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
        answer: Any = await self._clusters[self._consumer.cluster].execute(
            "list_queue_consumer_registrations",
            {
                "queue_path": yson.with_attributes(self._queue.path, {"cluster": self._queue.cluster}),
                "consumer_path": yson.with_attributes(self._consumer.path, {"cluster": self._consumer.cluster, **name}),
            },
        )
        if not answer:
            raise CommandError(f"{self._consumer} is not registered with {self._queue}")
        [registration] = answer
        return (
            _reference(registration["queue_path"]),
            _reference(registration["consumer_path"]),
            bool(registration["vital"]),
        )

    async def _find_rows(self, path: str, bounds: Mapping[int, Bounds], instant: datetime) -> Mapping[int, int]:
        """The first row of each partition that was committed at an instant or later."""
        limit = timestamp_of(instant)
        searches = {index: Search(one.lower_row_index, one.upper_row_index) for index, one in bounds.items()}
        while rows := {(i, row) for i, search in searches.items() if (row := search.row_index) is not None}:
            answer = await self._clusters[self._queue.cluster].select_row_values(path, [_TIMESTAMP], rows)
            for index, row in rows:
                searches[index] = searches[index].after(answer[_TIMESTAMP].get((index, row)), limit)
        return {index: search.low for index, search in searches.items()}


def _reference(value: Any) -> CrossClusterRef:
    path = parse_rich(value)
    if path.cluster is None:
        raise CommandError(f"a registration names no cluster: {path.path}")
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
