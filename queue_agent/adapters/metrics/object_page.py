"""Series of all objects led here: brought up to date where something has changed, and kept within their budget."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final

from queue_agent.adapters.metrics.metric_lines import Lines, label_text
from queue_agent.adapters.metrics.object_counters import CounterValues
from queue_agent.adapters.metrics.object_metrics import (
    Choice,
    ObjectSeries,
    consumer_labels,
    find_break,
    find_position,
    lag_seconds,
    missing_consumers,
    pair_series,
    queue_series,
)
from queue_agent.config.serving import MetricsConfig
from queue_agent.core.queues.growth import NO_CONSUMER_GROWTH, NO_QUEUE_GROWTH, registered_partitions
from queue_agent.core.queues.snapshots import ConsumerQueueView, ConsumerSnapshot, QueuePartition, QueueSnapshot, Role
from queue_agent.core.state.rows import Registration
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.series_budget import admit, choose_worst
from queue_agent.errors import UnexpectedError
from queue_agent.isolation import isolate

ObjectKey = tuple[CrossClusterRef | None, CrossClusterRef]
"""A consumer, or None, and a queue."""

PLACE: Final = "metrics"
"""See `isolation`."""

PartitionKey = tuple[ObjectKey, int]


@dataclass(frozen=True, slots=True)
class Objects:
    """What the page is made from."""

    queues: Mapping[CrossClusterRef, QueueSnapshot]
    """Those led, or in error, here."""

    consumers: Mapping[CrossClusterRef, ConsumerSnapshot]
    """Those led, or in error, here."""

    all_queues: Mapping[CrossClusterRef, QueueSnapshot]
    """Those only followed as well."""

    counters: CounterValues = field(default_factory=CounterValues)
    known_consumers: Container[CrossClusterRef] | None = None
    """Those that exist, wherever they are led; None: not known."""


@dataclass(frozen=True, slots=True)
class PageParts:
    """The series that are shown."""

    parts: list[Lines]
    shown: int
    shed: int
    """How many there would be more, were there room."""


@dataclass(slots=True)
class _Entry:
    """What is kept of an object from one page to the next."""

    inputs: tuple[Any, ...]
    """Compared by identity."""

    seen_at: datetime | None
    """What is lagging is older the next time, though nothing has happened; None: there is nothing that ages."""

    scores: list[tuple[Any, PartitionKey]]
    """Of its partitions, the greater the worse; of those with nothing bad about them there are none."""

    choice: Choice | None = None
    series: ObjectSeries | None = None
    """None: to be made."""

    def is_still(self, inputs: tuple[Any, ...], seen_at: datetime | None) -> bool:
        """Whether nothing has changed."""
        return (self.seen_at is None or self.seen_at is seen_at) and all(
            old is new for old, new in zip(self.inputs, inputs, strict=True)
        )


class ObjectPage:
    """Makes the series; to be used by one thread at a time.

    Args:
        config: what is wanted.
    """

    def __init__(self, config: MetricsConfig) -> None:
        self._config = config
        self._pattern = None if config.all_partitions_of is None else re.compile(config.all_partitions_of)
        self._entries: dict[ObjectKey, _Entry] = {}
        self._worst: dict[PartitionKey, None] = {}
        self._admitted: dict[ObjectKey, None] = {}

    def update(self, objects: Objects) -> PageParts:
        """All series as of now."""
        readers = [one for one in objects.consumers.values() if is_shown(one)]
        entries: dict[ObjectKey, _Entry] = {}
        # What is replaced is freed one by one: all of it at once would keep the interpreter from every other thread.
        for queue in objects.queues.values():
            if is_shown(queue):
                key: ObjectKey = (None, queue.ref)
                entry = isolate(PLACE, queue.ref, partial(self._queue_entry, queue, objects))
                if not isinstance(entry, UnexpectedError):
                    entries[key] = self._entries[key] = entry
        for reader in readers:
            for registration in reader.registrations if reader.role is Role.LEADING else ():
                key = (reader.ref, registration.queue)
                entry = isolate(PLACE, reader.ref, partial(self._pair_entry, reader, registration, objects))
                if not isinstance(entry, UnexpectedError):
                    entries[key] = self._entries[key] = entry
        self._entries = entries
        chosen = self._choose_partitions()
        series: dict[ObjectKey, ObjectSeries] = {}
        for key, entry in entries.items():
            choice = self._choice(key, chosen.get(key, ()))
            if entry.series is None or entry.choice != choice:
                made = isolate(PLACE, key[0] or key[1], partial(_make_series, key, entry, choice, objects))
                if isinstance(made, UnexpectedError):
                    continue  # its series are missing
                entry.series, entry.choice = made, choice
            series[key] = entry.series
        lines = [isolate(PLACE, reader.ref, partial(_reader_lines, reader, objects.all_queues)) for reader in readers]
        known = objects.known_consumers
        lines += [isolate(PLACE, one.ref, partial(missing_consumers, one, known)) for one in objects.queues.values()]
        return self._fit(series, [one for one in lines if not isinstance(one, UnexpectedError) and one.count])

    def _queue_entry(self, snapshot: QueueSnapshot, objects: Objects) -> _Entry:
        key: ObjectKey = (None, snapshot.ref)
        view = snapshot.view
        partitions = None if view is None else view.partitions
        growth = objects.counters.queues.get(snapshot.ref, NO_QUEUE_GROWTH)
        inputs = (
            snapshot.row,
            partitions,
            snapshot.registrations,
            snapshot.alerts or None,
            snapshot.exports,
            snapshot.trims,
            growth,
        )
        known = self._entries.get(key)
        if known is not None and known.is_still(inputs, None):
            return known
        scores: list[tuple[Any, PartitionKey]] = [
            ((0, one.available_row_count), (key, index))
            for index, one in enumerate(partitions or ())
            if isinstance(one, QueuePartition) and one.available_row_count
        ]
        return _Entry(inputs, None, scores)

    def _pair_entry(self, snapshot: ConsumerSnapshot, registration: Registration, objects: Objects) -> _Entry:
        pair = snapshot.ref, registration.queue
        key: ObjectKey = pair
        queue = objects.all_queues.get(registration.queue)
        view = None if queue is None else queue.view
        position = find_position(snapshot, registration)
        found = position if isinstance(position, ConsumerQueueView) else None
        inputs = (
            snapshot.row,
            registration,
            None if queue is None else queue.row,
            None if view is None else view.partitions,
            find_break(snapshot, queue) if found is None else found.partitions,
            snapshot.verdicts.get(registration.queue),
            objects.counters.consumers.get(pair, NO_CONSUMER_GROWTH),
        )
        seen_at = None if found is None else found.seen_at
        known = self._entries.get(key)
        if known is not None and known.is_still(inputs, seen_at):
            return known
        scores: list[tuple[Any, PartitionKey]] = []
        if found is not None:
            scores = [
                ((1, lag_seconds(one, found.seen_at) or 0, one.unread_row_count), (key, index))
                for index, one in registered_partitions(found, registration).items()
                if one.unread_row_count > 0
            ]
        return _Entry(inputs, seen_at if scores else None, scores)

    def _choose_partitions(self) -> Mapping[ObjectKey, Sequence[int]]:
        """The worst partitions, by object: first those with rows unread, the oldest of all, then the fullest."""
        if self._config.partitions != "worst":
            return {}
        scores = (score for entry in self._entries.values() for score in entry.scores)
        self._worst = choose_worst(scores, self._worst, self._config.worst_partitions)
        chosen: dict[ObjectKey, list[int]] = {}
        for key, index in self._worst:
            chosen.setdefault(key, []).append(index)
        return {key: sorted(indexes) for key, indexes in chosen.items()}

    def _choice(self, key: ObjectKey, worst: Sequence[int]) -> Choice:
        partitions = None if self._config.partitions == "all" or self._is_chosen(key) else worst
        return Choice(self._config.compatible, partitions, self._config.lag_time_histogram)

    def _is_chosen(self, key: ObjectKey) -> bool:
        return self._pattern is not None and any(ref is not None and self._pattern.search(str(ref)) for ref in key)

    def _fit(self, series: Mapping[ObjectKey, ObjectSeries], readers: Sequence[Lines]) -> PageParts:
        """Keep within the budget: first the aggregates of every object, then partitions, then distributions."""
        parts = list(readers)
        limit = self._config.max_series
        room = limit - sum(part.count for part in parts)
        self._admitted = admit({key: one.aggregates.count for key, one in series.items()}, self._admitted, room)
        parts += [series[key].aggregates for key in self._admitted]
        room -= sum(series[key].aggregates.count for key in self._admitted)
        complete = len(self._admitted) == len(series)
        for details in (
            {key: series[key].partitions for key in self._admitted if complete},
            {key: series[key].histogram for key in self._admitted if complete},
        ):
            fitting = admit({key: lines.count for key, lines in details.items() if lines.count}, (), room)
            parts += [details[key] for key in fitting]
            room -= sum(details[key].count for key in fitting)
        wanted = sum(one.aggregates.count + one.partitions.count + one.histogram.count for one in series.values())
        shown = limit - room
        return PageParts(parts, shown, sum(part.count for part in readers) + wanted - shown)


def is_shown(snapshot: QueueSnapshot | ConsumerSnapshot) -> bool:
    """Of what was not looked at yet nothing is known; what is banned is not looked at."""
    return snapshot.banned_since is None and (snapshot.pass_index > 0 or snapshot.role is Role.ERROR)


def _make_series(key: ObjectKey, entry: _Entry, choice: Choice, objects: Objects) -> ObjectSeries:
    consumer, queue = key
    growth = entry.inputs[-1]
    if consumer is None:
        return queue_series(objects.queues[queue], growth, choice)
    registration = entry.inputs[1]
    return pair_series(objects.consumers[consumer], registration, objects.all_queues.get(queue), growth, choice)


def _reader_lines(snapshot: ConsumerSnapshot, queues: Mapping[CrossClusterRef, QueueSnapshot]) -> Lines:
    lines = Lines()
    readable = snapshot.view is not None and not any(
        isinstance(position, ErrorInfo) and queue in queues and queues[queue].is_whole
        for queue, position in snapshot.view.queues.items()
    )
    lines.add("queue_agent_consumer_readable", label_text(consumer_labels(snapshot)), int(readable))
    return lines
