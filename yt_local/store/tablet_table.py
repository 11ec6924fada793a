"""The tablets of one cluster, and the segments of ordered ones: in memory, written through to the storage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

from yt_local.base.clock import COUNTER_BITS
from yt_local.store.model import Segment, Tablet
from yt_local.store.storage import Storage

T = TypeVar("T")


class TabletTable:
    """Tablets by table and index.

    Args:
        storage: what was there before, and where changes go.
        changes: how to undo the change that is under way.
    """

    def __init__(self, storage: Storage, changes: Callable[[], list[Callable[[], None]]]) -> None:
        self._storage = storage
        self._changes = changes
        self._tablets: defaultdict[str, dict[int, Tablet]] = defaultdict(dict)
        self._segments: dict[int, tuple[Segment, ...]] = {}
        self._unflushed: dict[int, tuple[Tablet, int]] = {}
        self._measured: dict[int, tuple[Tablet, Any]] = {}
        for record in storage.tablets():
            tablet = Tablet.decode(record)
            self._tablets[tablet.table_id][tablet.index] = tablet
            self._watch(tablet)
        for number, records in groupby(storage.segments(), key=itemgetter(0)):
            self._segments[number] = tuple(Segment.decode(record) for _, record in records)

    def of(self, table_id: str) -> Sequence[Tablet]:
        """In the order of their indexes."""
        tablets = self._tablets.get(table_id, {})
        return [tablets[index] for index in sorted(tablets)]

    def find(self, table_id: str, index: int) -> Tablet | None:
        return self._tablets[table_id].get(index) if table_id in self._tablets else None

    def put(self, tablet: Tablet) -> None:
        tablets = self._tablets[tablet.table_id]
        old = tablets.get(tablet.index)
        self._storage.put_tablet(tablet.number, tablet.encode())

        def restore() -> None:
            if old:
                tablets[tablet.index] = old
                self._watch(old)
            else:
                del tablets[tablet.index]
                self._unflushed.pop(tablet.number, None)

        self._changes().append(restore)
        tablets[tablet.index] = tablet
        self._watch(tablet)

    def move(self, tablet: Tablet, moved: Tablet) -> None:
        """Give a tablet another table or index."""
        assert moved.number == tablet.number and self.find(moved.table_id, moved.index) is None
        self._forget(tablet)
        self.put(moved)

    def delete(self, tablet: Tablet) -> None:
        self._storage.delete_tablet(tablet.number)
        self._measured.pop(tablet.number, None)
        self._replace_segments(tablet.number, ())
        self._forget(tablet)

    def unflushed(self) -> Sequence[tuple[Tablet, int]]:
        """Ordered tablets with rows that are not part of a segment, and since when, in seconds since the epoch."""
        return list(self._unflushed.values())

    def segments(self, tablet: Tablet) -> Sequence[Segment]:
        """Of an ordered tablet, in the order of their rows."""
        return self._segments.get(tablet.number, ())

    def measured(self, tablet: Tablet, measure: Callable[[Tablet], T]) -> T:
        """What was measured of a tablet's rows, or is now if they have changed: its record changes with them."""
        known = self._measured.get(tablet.number)
        if known is None or known[0] is not tablet:
            known = self._measured[tablet.number] = tablet, measure(tablet)
        found: T = known[1]
        return found

    def add_segment(self, tablet: Tablet, segment: Segment) -> None:
        """Put a segment behind those the tablet has."""
        self._storage.put_segment(tablet.number, segment.row_index, segment.encode())
        self._replace_segments(tablet.number, (*self.segments(tablet), segment))

    def put_segments(self, tablet: Tablet, segments: Iterable[Segment]) -> None:
        """Give a tablet these segments and no others."""
        segments = tuple(segments)
        self._storage.delete_segments(tablet.number)
        for segment in segments:
            self._storage.put_segment(tablet.number, segment.row_index, segment.encode())
        self._replace_segments(tablet.number, segments)

    def _forget(self, tablet: Tablet) -> None:
        tablets = self._tablets[tablet.table_id]

        def restore() -> None:
            tablets[tablet.index] = tablet
            self._watch(tablet)

        self._changes().append(restore)
        del tablets[tablet.index]
        self._unflushed.pop(tablet.number, None)

    def _watch(self, tablet: Tablet) -> None:
        if tablet.has_unflushed_rows:
            _, since = self._unflushed.get(tablet.number, (None, tablet.last_write_timestamp >> COUNTER_BITS))
            self._unflushed[tablet.number] = tablet, since
        else:
            self._unflushed.pop(tablet.number, None)

    def _replace_segments(self, number: int, segments: tuple[Segment, ...]) -> None:
        old = self._segments.get(number, ())

        def give(kept: tuple[Segment, ...]) -> None:
            if kept:
                self._segments[number] = kept
            else:
                self._segments.pop(number, None)

        self._changes().append(lambda: give(old))
        give(segments)
