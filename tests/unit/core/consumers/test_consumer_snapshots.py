"""Snapshots of consumers, and their published form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.consumers.consumer_snapshots import (
    QueueRowAnswers,
    banned_consumer_snapshot,
    build_consumer_snapshot,
    build_sub_snapshot,
    find_readings,
    find_view_of_queue,
    idle_sub_snapshot,
    rows_to_read,
    unprocessed_consumer_snapshot,
)
from queue_agent.core.consumers.lag import processing_lag
from queue_agent.core.queues.snapshots import (
    ConsumerPartition,
    ConsumerQueueView,
    Disposition,
    FailedConsumerPartition,
    FailedQueuePartition,
    OffsetsRead,
    QueueMissing,
    QueuePartition,
    QueueSnapshot,
    QueueView,
    Role,
    SubSnapshot,
)
from queue_agent.core.state.rows import ConsumerRow, QueueRow, Registration
from queue_agent.core.status import published as status
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.observed import ConsumerOffset
from queue_agent.core.values.rates import Counters
from queue_agent.core.values.refs import CrossClusterRef

NOW = datetime(2025, 1, 23, 13, 42, 21, 839124, tzinfo=UTC)
SECOND = timedelta(seconds=1)
QUEUE = CrossClusterRef("pythia", "//tmp/q")
CONSUMER = CrossClusterRef("hume", "//tmp/c")
REGISTRATION = Registration(QUEUE, CONSUMER, vital=True)
ORIGIN = Origin("agent-1", 481, 7, "Controller:0", 8, "1-2-3-4", 9, NOW)
UNMOUNTED = ErrorInfo("Tablet t is not mounted or frozen")


def stamp(seconds_ago: int) -> int:
    return int(NOW.timestamp()) - seconds_ago << 30


def readable(lower: int, upper: int, weight: int | None = None, tablet_id: str = "t") -> QueuePartition:
    return QueuePartition(tablet_id, "mounted", "cell", None, lower, upper, NOW, Counters(), weight)


def view(*partitions: QueuePartition | FailedQueuePartition, columns: bool = True) -> QueueView:
    return QueueView(partitions, columns, columns, NOW, 1)


def offset(index: int, value: int, **meta: int) -> Mapping[int, ConsumerOffset]:
    return {index: ConsumerOffset(index, value, stamp(5), meta)}


def read(offsets: Mapping[int, ConsumerOffset], moment: int = 0) -> Sequence[OffsetsRead]:
    return [OffsetsRead(offsets, moment)]


def look(
    queue: QueueView,
    offsets: Mapping[int, ConsumerOffset],
    previous: SubSnapshot | None = None,
    now: datetime = NOW,
    **answers: Mapping[tuple[int, int], int],
) -> ConsumerQueueView:
    return build_sub_snapshot(previous, queue, [OffsetsRead(offsets, 0)], QueueRowAnswers(**answers), now)


def only(position: ConsumerQueueView) -> ConsumerPartition:
    (partition,) = position.partitions
    assert isinstance(partition, ConsumerPartition)
    return partition


def test_a_consumer_without_a_row_has_read_nothing() -> None:
    seen = only(look(view(readable(0, 0)), {}))
    assert (seen.next_row_index, seen.disposition, seen.unread_row_count) == (0, Disposition.UP_TO_DATE, 0)
    assert seen.last_consume_time == datetime(1970, 1, 1, tzinfo=UTC)
    assert seen.unread_data_weight is None


def test_a_position_is_described_by_unread_and_available_rows() -> None:
    queue = view(readable(10, 20))
    expected = {
        25: (Disposition.AHEAD, -5),
        20: (Disposition.UP_TO_DATE, 0),
        10: (Disposition.PENDING_CONSUMPTION, 10),
        9: (Disposition.EXPIRED, 11),
    }
    for value, (disposition, unread) in expected.items():
        seen = only(look(queue, offset(0, value)))
        assert (seen.disposition, seen.unread_row_count) == (disposition, unread)


def lag(seen: ConsumerPartition) -> timedelta:
    return processing_lag(seen.next_row_commit_time, NOW)


def test_a_pending_consumer_asks_for_the_next_row_and_the_one_before() -> None:
    queue = view(readable(10, 20, weight=500))
    asked = rows_to_read(None, queue, offset(0, 12))
    assert (asked.timestamps, asked.data_weights) == ({(0, 12)}, {(0, 11)})
    seen = only(look(queue, offset(0, 12), timestamps={(0, 12): stamp(30)}, data_weights={(0, 11): 200}))
    assert lag(seen) == timedelta(seconds=30, microseconds=839124)
    assert (seen.cumulative_data_weight, seen.unread_data_weight) == (200, 300)


def test_rows_that_tell_nothing_are_not_asked_for() -> None:
    up_to_date = rows_to_read(None, view(readable(10, 20)), offset(0, 20))
    assert (up_to_date.timestamps, up_to_date.data_weights) == (set(), {(0, 19)})
    at_first_row = rows_to_read(None, view(readable(10, 20)), offset(0, 10))
    assert (at_first_row.timestamps, at_first_row.data_weights) == ({(0, 10)}, set())
    plain = rows_to_read(None, view(readable(10, 20), columns=False), offset(0, 15))
    assert not plain.timestamps | plain.data_weights


def test_meta_stands_in_for_what_the_queue_does_not_tell() -> None:
    offsets = offset(0, 5, cumulative_data_weight=70, offset_timestamp=stamp(60))
    expired = only(look(view(readable(10, 20, weight=500)), offsets))
    assert expired.disposition is Disposition.EXPIRED
    assert (expired.cumulative_data_weight, expired.unread_data_weight) == (70, 430)
    assert lag(expired) > 60 * SECOND


def test_the_queue_knows_the_commit_time_better_than_meta_and_meta_the_weight() -> None:
    offsets = offset(0, 15, cumulative_data_weight=70, offset_timestamp=stamp(60))
    queue = view(readable(10, 20))
    assert rows_to_read(None, queue, offsets).data_weights == set()
    seen = only(look(queue, offsets, timestamps={(0, 15): stamp(10)}))
    assert lag(seen) < 11 * SECOND
    assert seen.cumulative_data_weight == 70


@given(st.tuples(*[st.integers(0, 8)] * 2), st.tuples(*[st.integers(0, 8)] * 2), st.tuples(*[st.integers(0, 12)] * 2))
def test_values_known_from_before_are_what_a_full_pass_would_have_read(
    lowers: tuple[int, int], lengths: tuple[int, int], offset_values: tuple[int, int]
) -> None:
    timestamps = {(0, index): stamp(100 - index) for index in range(30)}
    weights = {(0, index): 10 * (index + 1) for index in range(30)}

    def look_at(queue: QueueView, value: int, previous: SubSnapshot | None, now: datetime) -> ConsumerQueueView:
        partition = queue.partitions[0]
        assert isinstance(partition, QueuePartition)
        there = range(partition.lower_row_index, partition.upper_row_index)
        asked = rows_to_read(previous, queue, offset(0, value))
        return look(
            queue,
            offset(0, value),
            previous,
            now,
            timestamps={row: timestamps[row] for row in asked.timestamps if row[1] in there},
            data_weights={row: weights[row] for row in asked.data_weights if row[1] in there},
        )

    lower = sorted(lowers)
    queues = [view(readable(lower[i], lower[1] + sum(lengths[: i + 1]), weight=1000)) for i in range(2)]
    old = look_at(queues[0], offset_values[0], None, NOW)
    cheap = only(look_at(queues[1], offset_values[1], old, NOW + SECOND))
    full = only(look_at(queues[1], offset_values[1], None, NOW + SECOND))
    assert replace(cheap, counters=full.counters) == full


def test_values_of_a_recreated_queue_are_read_again() -> None:
    queue = view(readable(0, 20))
    old = look(queue, offset(0, 5), timestamps={(0, 5): stamp(1)}, data_weights={(0, 4): 50})
    again = rows_to_read(old, queue, offset(0, 5))
    assert not again.timestamps | again.data_weights
    recreated = rows_to_read(old, view(readable(0, 20, tablet_id="new")), offset(0, 5))
    assert (recreated.timestamps, recreated.data_weights) == ({(0, 5)}, {(0, 4)})


def test_a_failed_partition_keeps_offset_and_counts_on() -> None:
    failed = FailedQueuePartition("t", "unmounted", UNMOUNTED)
    old = look(view(failed, readable(0, 9)), {**offset(0, 5), **offset(1, 3)})
    position = look(view(failed, readable(0, 9)), {**offset(0, 9), **offset(1, 4)}, old, NOW + SECOND)
    first = position.partitions[0]
    assert isinstance(first, FailedConsumerPartition)
    assert (first.error, first.next_row_index) == (UNMOUNTED, 9)
    assert position.read_row_count.immediate_rate == 5.0


def test_offsets_of_partitions_the_queue_does_not_have_are_ignored() -> None:
    assert len(look(view(readable(0, 9)), {**offset(0, 1), **offset(7, 5)}).partitions) == 1


def test_a_queue_without_snapshot_or_readable_partitions_is_missing() -> None:
    unreadable = QueueSnapshot(
        QueueRow(QUEUE), Role.LEADING, 1, NOW, view(FailedQueuePartition("t", "unmounted", UNMOUNTED))
    )
    for snapshot in (None, unreadable):
        found = find_view_of_queue(QUEUE, snapshot, ORIGIN)
        assert isinstance(found, QueueMissing)
        assert (found.error.message, found.error.code) == ('Queue "pythia://tmp/q" snapshot is missing', 1)


def test_a_queue_in_error_lends_its_error_and_one_without_partitions_is_fine() -> None:
    broken = QueueSnapshot(QueueRow(QUEUE), Role.LEADING, 1, NOW, UNMOUNTED)
    assert find_view_of_queue(QUEUE, broken, ORIGIN) == UNMOUNTED
    empty = QueueSnapshot(QueueRow(QUEUE), Role.LEADING, 1, NOW, view())
    assert isinstance(find_view_of_queue(QUEUE, empty, ORIGIN), QueueView)


def published(content: Any) -> tuple[Any, Any]:
    previous = unprocessed_consumer_snapshot(ConsumerRow(CONSUMER), Role.LEADING, NOW, ORIGIN)
    snapshot = build_consumer_snapshot(previous, previous.row, [REGISTRATION], NOW, content)
    return status.consumer_status(snapshot, "agent-1", NOW), status.consumer_partitions(snapshot, NOW)


def test_a_missing_queue_is_published_as_the_listing_shows_it() -> None:
    consumer_status, partitions = published({QUEUE: find_view_of_queue(QUEUE, None, ORIGIN)})
    error = consumer_status["queues"]["pythia://tmp/q"]["error"]
    assert set(error) == {"attributes", "code", "message"}
    assert set(consumer_status) == {"queues", "registrations", "queue_agent_host"}
    assert partitions == {"pythia://tmp/q": []}


def test_a_healthy_position_is_published_with_all_keys() -> None:
    consumer_status, partitions = published({QUEUE: look(view(readable(0, 0)), {})})
    zero = {"1m_raw": 0.0, "1h": 0.0, "current": 0.0, "1d": 0.0, "1m": 0.0}
    assert consumer_status["queues"] == {
        "pythia://tmp/q": {"read_data_weight_rate": zero, "read_row_count_rate": zero, "partition_count": 1}
    }
    assert partitions == {
        "pythia://tmp/q": [
            {
                "next_row_index": 0,
                "last_consume_time": "1970-01-01T00:00:00.000000Z",
                "disposition": "up_to_date",
                "unread_row_count": 0,
                "unread_data_weight": None,
                "next_row_commit_time": None,
                "processing_lag": 0,
                "consume_idle_time": 1737639741839,
                "cumulative_data_weight": None,
                "read_row_count_rate": zero,
                "read_data_weight_rate": zero,
            }
        ]
    }


def test_a_consumer_in_error_publishes_an_empty_list_of_partitions() -> None:
    consumer_status, partitions = published(ErrorInfo("broken"))
    assert set(consumer_status) == {"queue_agent_host", "error"}
    assert partitions == []


def test_a_banned_consumer_says_since_when() -> None:
    first = unprocessed_consumer_snapshot(ConsumerRow(CONSUMER), Role.LEADING, NOW, ORIGIN)
    banned = banned_consumer_snapshot(first, first.row, NOW, ORIGIN)
    banned = banned_consumer_snapshot(banned, first.row, NOW + SECOND, ORIGIN)
    assert banned.error is not None
    assert banned.error.message.endswith("(BannedSince: 2025-01-23T13:42:21.839124Z)")


def settled_view(offset_value: int = 20) -> tuple[QueueView, ConsumerQueueView]:
    """A queue, and a consumer of it of which nothing more is to be asked."""
    queue = view(readable(0, 20))
    return queue, look(queue, offset(0, offset_value), data_weights={(0, offset_value - 1): 50})


def test_what_has_not_changed_is_not_built_anew_and_equals_what_would_be() -> None:
    queue, seen = settled_view()
    idle = idle_sub_snapshot(seen, queue, read(offset(0, 20)), NOW + SECOND)
    assert idle == look(queue, offset(0, 20), seen, NOW + SECOND)
    assert idle is not None
    assert idle.partitions is seen.partitions


def test_an_idle_position_knows_the_latest_look_at_its_queue() -> None:
    queue, seen = settled_view()
    later = replace(queue, asked=2)
    idle = idle_sub_snapshot(seen, later, read(offset(0, 20)), NOW + SECOND)
    assert idle is not None
    assert idle.compared is not None
    assert idle.compared.queue is later


def test_whatever_changes_is_built_anew() -> None:
    queue, seen = settled_view()
    assert idle_sub_snapshot(None, queue, read(offset(0, 20)), NOW) is None
    assert idle_sub_snapshot(seen, queue, read(offset(0, 19)), NOW) is None
    assert idle_sub_snapshot(seen, view(readable(0, 21)), read(offset(0, 20)), NOW) is None
    assert idle_sub_snapshot(seen, replace(queue, has_timestamp_column=False), read(offset(0, 20)), NOW) is None
    assert idle_sub_snapshot(seen, queue, read(offset(0, 20)), NOW - SECOND) is None
    assert idle_sub_snapshot(replace(seen, settled=False), queue, read(offset(0, 20)), NOW) is None


def test_a_partition_in_which_nothing_changed_stays_as_it_is_beside_one_that_did() -> None:
    still, both = readable(0, 20), {**offset(0, 20), **offset(1, 20)}
    weights = {(0, 19): 50, (1, 19): 50, (1, 20): 55}
    old = look(view(still, readable(0, 20)), both, data_weights=weights)
    new = look(view(still, readable(0, 21)), {**both, **offset(1, 21)}, old, NOW + SECOND, data_weights=weights)
    assert new.partitions[0] is old.partitions[0]
    assert new.partitions[1] is not old.partitions[1]


def test_a_partition_is_looked_at_again_when_the_queue_gets_a_column_or_the_clock_goes_back() -> None:
    queue, seen = settled_view()
    assert only(look(queue, offset(0, 20), seen, NOW - SECOND)) is not seen.partitions[0]
    without = replace(queue, has_cumulative_data_weight_column=False)
    assert only(look(without, offset(0, 20), seen)) is not seen.partitions[0]


def test_offsets_are_known_as_long_as_the_queue_has_no_more_partitions() -> None:
    queue, seen = settled_view()
    assert find_readings(seen, queue) == read(offset(0, 20))
    assert find_readings(seen, view(readable(0, 20), readable(0, 20))) == []
    for failed in (None, QueueMissing(UNMOUNTED), UNMOUNTED, replace(seen, compared=None)):
        assert find_readings(failed, queue) == []


def test_the_newest_offsets_that_were_read_before_the_queue_was_asked_are_compared() -> None:
    """What they commit and is there then was there when it was committed."""
    early, late, latest = (OffsetsRead(offset(0, value), moment) for value, moment in ((5, 1), (9, 3), (12, 5)))
    queue = replace(view(readable(0, 20)), asked=2)
    first = build_sub_snapshot(None, queue, find_readings(None, queue, late), QueueRowAnswers(), NOW)
    assert first.compared is not None
    assert not first.compared.is_in_order
    seen = build_sub_snapshot(None, queue, find_readings(None, queue, early), QueueRowAnswers(), NOW)
    assert seen.compared is not None
    assert seen.compared.is_in_order
    assert find_readings(seen, queue, late) == [early, late]
    waiting = build_sub_snapshot(seen, queue, [early, late], QueueRowAnswers(), NOW)
    assert find_readings(waiting, replace(queue, asked=4), latest) == [late, latest]
    assert find_readings(waiting, replace(queue, asked=6), latest) == [latest]


def test_offsets_that_wait_for_a_queue_that_cannot_be_read_do_not_pile_up() -> None:
    queue = replace(view(readable(0, 20)), asked=2)
    seen = build_sub_snapshot(None, queue, read(offset(0, 1), 1), QueueRowAnswers(), NOW)
    for moment in range(3, 50):
        readings = find_readings(seen, queue, OffsetsRead(offset(0, moment), moment))
        seen = build_sub_snapshot(seen, queue, readings, QueueRowAnswers(), NOW)
    assert [one.moment for one in readings] == [1, 3, 49]
