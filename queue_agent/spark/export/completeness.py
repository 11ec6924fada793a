"""Decides which directories of time are complete: nothing will come that belongs into them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from queue_agent.spark.export.layout import Partitioning, label_of, period_of
from queue_agent.spark.export.state import ExportState, Tally, instant_of


@dataclass(frozen=True, slots=True)
class Completion:
    """Says of one directory of time that it is complete."""

    label: str
    tally: Tally
    generation: int
    """Grows when rows came late after all, or were replaced."""

    last_number: int
    """Of the last manifest that counts."""

    def to_json(self) -> dict[str, Any]:
        return {"generation": self.generation, "manifest": self.last_number, **self.tally.to_json()}

    @classmethod
    def from_json(cls, label: str, value: Mapping[str, Any]) -> Completion:
        return cls(label, Tally.from_json(value), int(value["generation"]), int(value["manifest"]))


def watermark(
    state: ExportState,
    partitions: Iterable[int],
    caught_up: Mapping[int, datetime],
    slack: timedelta,
    partitioning: Partitioning,
) -> datetime | None:
    """Up to when nothing more is to come.

    A partition is through with a period of time if a row of a later one has been exported, or if all its rows had been
    when the clock was past the period's end by some slack: an idle partition holds nobody up.

    Args:
        state: what has been exported.
        partitions: all that the queue has.
        caught_up: by partition, when it was last seen to hold no row that is not exported.
        slack: for clocks that differ, and for rows under way.
        partitioning: what a period is.

    Returns:
        The end of the last complete period; None if there is none, or if no partition has ever had a row.
    """
    moments = []
    for index in partitions:
        candidates = []
        if index in state.last_timestamps:
            candidates.append(instant_of(state.last_timestamps[index]))
        if index in caught_up:
            candidates.append(caught_up[index] - slack)
        if not candidates:
            return None
        moments.append(max(candidates))
    if not moments or partitioning == "none":
        return None
    return period_of(label_of(min(moments), partitioning))[0]


def close(
    state: ExportState, until: datetime | None, partitioning: Partitioning, *, with_empty: bool
) -> tuple[ExportState, list[Completion]]:
    """Close all directories of time up to a watermark.

    Args:
        state: what has been exported.
        until: the watermark.
        partitioning: what a period is.
        with_empty: also say of periods without rows that they are complete, from the first with rows on. By times that
            are in the rows themselves, that might be all since 1970.
    """
    begins = {label: period_of(label)[0] for label in state.tallies if label}
    begin = state.closed_until or min(begins.values(), default=None)
    if until is None or begin is None or until <= begin:
        return state, []
    if with_empty:
        labels = list(_labels(begin, until, partitioning))
    else:
        labels = sorted(label for label in begins if period_of(label)[1] <= until)
    closed = [Completion(label, state.tallies.get(label, Tally()), 1, state.last_number) for label in labels]
    tallies = {label: tally for label, tally in state.tallies.items() if label not in labels}
    return replace(state, tallies=tallies, closed_until=until), closed


def reopened(completion: Completion | None, label: str, added: Tally, number: int) -> Completion:
    """What is said of a directory after a manifest brought rows late; the same if it is known already."""
    if completion is None:
        return Completion(label, added, 1, number)
    if completion.last_number >= number:
        return completion
    return Completion(completion.label, completion.tally.plus(added), completion.generation + 1, number)


def _labels(begin: datetime, end: datetime, partitioning: Partitioning) -> Iterator[str]:
    while begin < end:
        label = label_of(begin, partitioning)
        yield label
        begin = period_of(label)[1]
