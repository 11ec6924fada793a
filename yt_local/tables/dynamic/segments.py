"""Segments of ordered tablets: when rows become one, when one goes, and which rows one read sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

from yt_local.cypress.settable_attributes import is_queue
from yt_local.schema.retention import before, queue_ttl
from yt_local.store.model import Segment, Tablet
from yt_local.store.state import ClusterState

DEFAULT_FLUSH_PERIOD: Final = 15 * 60 * 1000
"""Milliseconds after which rows are flushed; the attribute `dynamic_store_auto_flush_period`."""

DEFAULT_STORE_ROW_COUNT: Final = 1_000_000
"""Rows beyond which they are flushed; the attribute `max_dynamic_store_row_count`."""


def flush(state: ClusterState, tablet: Tablet) -> Tablet:
    """Make a segment of the rows that are part of none; part of a change. Returns the tablet as it is then."""
    if not tablet.has_unflushed_rows:
        return tablet
    lower, upper = tablet.flushed_row_count, tablet.total_row_count
    first, last = state.storage.timestamps_of(tablet.number, lower, upper)
    segment = Segment(
        chunk_id=state.ids.next("chunk"),
        row_index=lower,
        row_count=upper - lower,
        data_weight=tablet.cumulative_data_weight - tablet.flushed_data_weight,
        min_timestamp=first,
        max_timestamp=last,
    )
    state.tablets.add_segment(tablet, segment)
    tablet = replace(tablet, flushed_row_count=upper, flushed_data_weight=tablet.cumulative_data_weight)
    state.tablets.put(tablet)
    drop_trimmed(state, tablet)
    return tablet


def drop_trimmed(state: ClusterState, tablet: Tablet) -> None:
    """Free the segments all of whose rows are trimmed; part of a change.

    The rows of the others stay, hidden though some may be: a segment goes as a whole.
    """
    segments = state.tablets.segments(tablet)
    kept = [segment for segment in segments if segment.upper_row_index > tablet.trimmed_row_count]
    if len(kept) < len(segments):
        state.tablets.put_segments(tablet, kept)
        state.storage.delete_rows_below(tablet.number, kept[0].row_index if kept else tablet.flushed_row_count)


def drop_unflushed(state: ClusterState, tablet: Tablet) -> Tablet:
    """Lose the rows that are part of no segment; part of a change. Returns the tablet as it is then."""
    if not tablet.has_unflushed_rows:
        return tablet
    kept = tablet.flushed_row_count
    state.storage.delete_rows_from(tablet.number, kept)
    tablet = replace(
        tablet,
        total_row_count=kept,
        trimmed_row_count=min(tablet.trimmed_row_count, kept),
        cumulative_data_weight=tablet.flushed_data_weight,
    )
    state.tablets.put(tablet)
    return tablet


def store_end(segments: Sequence[Segment], tablet: Tablet, row_index: int) -> int:
    """Where the store ends that holds a row: one read does not go beyond it."""
    for segment in segments:
        if row_index < segment.upper_row_index:
            return segment.upper_row_index
    return tablet.total_row_count


def flush_due(state: ClusterState) -> None:
    """Flush the tablets whose rows are old or many enough."""
    now = state.clock.seconds()
    due = [tablet for tablet, since in state.tablets.unflushed() if _is_due(state, tablet, now - since)]
    if due:
        with state.change():
            for tablet in due:
                flush(state, tablet)


def trim_aged(state: ClusterState) -> None:
    """Trim the segments of queues whose newest rows are older than the table's attributes allow."""
    for table in state.aging_tables():
        ttl = queue_ttl(table.attributes)
        if ttl is None or table.type != "table" or not is_queue(table):
            continue
        horizon = before(state.timestamps.present, ttl)
        for tablet in state.tablets.of(table.id):
            end = _aged_end(state.tablets.segments(tablet), horizon)
            if tablet.state == "mounted" and end > tablet.trimmed_row_count:
                with state.change():
                    trimmed = replace(tablet, trimmed_row_count=end)
                    state.tablets.put(trimmed)
                    drop_trimmed(state, trimmed)


def _aged_end(segments: Sequence[Segment], horizon: int) -> int:
    """Behind the last row of the first segments that are wholly older than a timestamp."""
    aged = takewhile(lambda segment: segment.max_timestamp < horizon, segments)
    return max((segment.upper_row_index for segment in aged), default=0)


def _is_due(state: ClusterState, tablet: Tablet, age: float) -> bool:
    if tablet.state != "mounted":
        return False
    attributes = state.node(tablet.table_id).attributes
    row_limit = attributes.get("max_dynamic_store_row_count", DEFAULT_STORE_ROW_COUNT)
    if isinstance(row_limit, int) and tablet.total_row_count - tablet.flushed_row_count >= row_limit:
        return True
    period = attributes.get("dynamic_store_auto_flush_period", DEFAULT_FLUSH_PERIOD)
    return isinstance(period, int) and age >= period / 1000
