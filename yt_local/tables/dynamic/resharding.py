"""Changing which tablets a table has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from yt_local.schema.schema import TableSchema
from yt_local.store.model import Node, Tablet
from yt_local.store.state import ClusterState
from yt_local.tables.dynamic.sorted_resharding import Sharding, move_rows, new_pivot_keys
from yt_wire.error import YtError

_MAX_TABLET_COUNT: Final = 10_000
_MAX_START: Final = 2**60
"""Leaves room for rows behind it in 63 bits."""


class Resharding:
    """Part of a change of the state; the tablets concerned are unmounted."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state

    def reshard_sorted(self, table: Node, schema: TableSchema, chosen: Sequence[Tablet], sharding: Sharding) -> None:
        """Replace tablets of a sorted table by others, between other keys."""
        keys = new_pivot_keys(self._state, schema, self._state.tablets.of(table.id), chosen, sharding)
        check_tablet_count(len(keys))
        last_write = max(tablet.last_write_timestamp for tablet in chosen)
        new = [
            replace(new_tablet(self._state, table.id, index), pivot_key=key, last_write_timestamp=last_write)
            for index, key in enumerate(keys, start=chosen[0].index)
        ]
        move_rows(self._state, schema, chosen, [tablet.number for tablet in new], keys)
        for tablet in chosen:
            self._state.tablets.delete(tablet)
        self._renumber(table, chosen[-1].index, len(new) - len(chosen))
        for tablet in new:
            self._state.tablets.put(tablet)

    def grow(self, table: Node, after: int, starts: Sequence[tuple[int, int]]) -> None:
        """Put empty tablets of an ordered table behind the one with index `after`; for `starts` see `tablet_starts`."""
        self._renumber(table, after, len(starts))
        for index, start in enumerate(starts, start=after + 1):
            self._state.tablets.put(new_tablet(self._state, table.id, index, *start))

    def merge(self, table: Node, tablets: Sequence[Tablet]) -> None:
        """Append the rows of all but the first to the first."""
        kept, *dropped = tablets
        for tablet in dropped:
            if 0 < tablet.trimmed_row_count < tablet.total_row_count:
                raise YtError(
                    f"Some chunks of tablet {tablet.id} are not fully trimmed; such a tablet cannot participate in"
                    " resharding"
                )
            moved = tablet.total_row_count - tablet.trimmed_row_count
            if moved:
                self._state.storage.move_ordered_rows(
                    tablet.number, kept.number, kept.total_row_count, kept.cumulative_data_weight
                )
                for segment in self._state.tablets.segments(tablet):
                    self._state.tablets.add_segment(
                        kept, replace(segment, row_index=segment.row_index + kept.total_row_count)
                    )
                weight = kept.cumulative_data_weight + tablet.cumulative_data_weight
                kept = replace(
                    kept,
                    total_row_count=kept.total_row_count + moved,
                    flushed_row_count=kept.total_row_count + moved,
                    cumulative_data_weight=weight,
                    flushed_data_weight=weight,
                    last_write_timestamp=max(kept.last_write_timestamp, tablet.last_write_timestamp),
                )
            self._state.tablets.delete(tablet)
        self._state.tablets.put(kept)
        if dropped:
            self._renumber(table, dropped[-1].index, -len(dropped))

    def renew_ids(self, kept: Sequence[Tablet]) -> None:
        """Give ordered tablets that keep their rows new ids: a master creates all tablets of a range again."""
        for tablet in kept:
            self._state.tablets.put(replace(tablet, id=self._state.ids.next("tablet")))

    def _renumber(self, table: Node, after: int, shift: int) -> None:
        """Move the indexes of all tablets behind `after`, farthest first so that none meet."""
        behind = [tablet for tablet in self._state.tablets.of(table.id) if tablet.index > after]
        for tablet in sorted(behind, key=lambda tablet: tablet.index, reverse=shift > 0):
            self._state.tablets.move(tablet, replace(tablet, index=tablet.index + shift))


def new_tablet(state: ClusterState, table_id: str, index: int, row_index: int = 0, weight: int = 0) -> Tablet:
    """An empty tablet that is not part of the state yet."""
    return Tablet(
        number=state.next_tablet_number(),
        id=state.ids.next("tablet"),
        table_id=table_id,
        index=index,
        state="unmounted",
        cell_id=None,
        total_row_count=row_index,
        flushed_row_count=row_index,
        trimmed_row_count=row_index,
        cumulative_data_weight=weight,
        flushed_data_weight=weight,
    )


def check_tablet_count(count: int) -> None:
    """YtError if no table can have so many tablets."""
    if count < 1:
        raise YtError("Tablet count must be positive")
    if count > _MAX_TABLET_COUNT:
        raise YtError(f"Tablet count cannot exceed the limit of {_MAX_TABLET_COUNT}")


def tablet_starts(
    count: int, row_indexes: Sequence[int] | None, cumulative_data_weights: Sequence[int] | None
) -> list[tuple[int, int]]:
    """First row index and weight so far of each of so many new tablets; 0 unless given."""
    given = {"trimmed_row_counts": row_indexes, "cumulative_data_weights": cumulative_data_weights}
    for name, values in given.items():
        if values is not None and len(values) != count:
            raise YtError(f'"{name}" must have one element for each of the {count} new tablets, got {len(values)}')
        if values is not None and any(not 0 <= value < _MAX_START for value in values):
            raise YtError(f'"{name}" must not be negative or above {_MAX_START}, got {list(values)}')
    return list(zip(row_indexes or [0] * count, cumulative_data_weights or [0] * count, strict=True))
