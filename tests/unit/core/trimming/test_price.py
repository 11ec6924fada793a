"""What a vital consumer costs, by the plan that would trim its queue."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from queue_agent.core.exports.progress import ExportProgress
from queue_agent.core.queues.snapshots import (
    ConsumerPartition,
    ConsumerQueueView,
    FailedConsumerPartition,
    QueuePartition,
    QueueSnapshot,
    SubSnapshot,
)
from queue_agent.core.trimming.price import find_price, held_rows
from queue_agent.core.values.encoding import EPOCH
from queue_agent.core.values.rates import Counters
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.price import Price
from tests.unit.core.trimming.plans import ALICE, BOB, BROKEN, mounted, plan, position, snapshot_of, unmounted

DAY = timedelta(days=1)


def weighty(lower: int, upper: int) -> QueuePartition:
    """Each row weighs ten bytes."""
    first = 10 * min(lower + 1, upper)
    return replace(mounted(lower, upper), cumulative_data_weight=10 * upper, trimmed_data_weight=first)


def price(
    queue: QueueSnapshot,
    positions: dict[CrossClusterRef, SubSnapshot],
    *,
    silent: float = 86400.0,
    silent_others: Collection[CrossClusterRef] = (),
    **others: Any,
) -> Price | None:
    view = positions[ALICE]
    assert isinstance(view, ConsumerQueueView)
    return find_price(plan(queue, positions, **others), ALICE, view, silent, DAY, silent_others)


def held(queue: QueueSnapshot, positions: dict[CrossClusterRef, SubSnapshot], **others: Any) -> int:
    found = price(queue, positions, **others)
    return 0 if found is None else found.held_rows


def test_the_only_vital_consumer_holds_all_that_it_has_not_read() -> None:
    queue = snapshot_of(mounted(0, 100), mounted(10, 50))
    assert held(queue, {ALICE: position(queue, 30, 0)}) == 70 + 40


def test_what_others_keep_is_not_held_by_it() -> None:
    queue = snapshot_of(mounted(0, 100))
    assert held(queue, {ALICE: position(queue, 30), BOB: position(queue, 45)}) == 15
    assert held(queue, {ALICE: position(queue, 45), BOB: position(queue, 30)}) == 0
    assert held(queue, {ALICE: position(queue, 30), BOB: position(queue, 45)}, non_vital=(BOB,)) == 70
    keeping = snapshot_of(mounted(0, 100), retained_rows=60)
    assert held(keeping, {ALICE: position(keeping, 30)}) == 10
    assert held(snapshot_of(mounted(0, 100)), {ALICE: position(queue, 30)}, exports={"e": ExportProgress({0: 30})}) == 0


def test_two_that_do_not_read_do_not_hide_each_other() -> None:
    queue = snapshot_of(mounted(0, 100), mounted(0, 10))
    positions: dict[CrossClusterRef, SubSnapshot] = {ALICE: position(queue, 45, 10), BOB: position(queue, 30, 0)}
    both = price(queue, positions, silent_others=[BOB])
    assert both is not None
    assert (both.held_rows, both.also_held_by) == (55, [str(BOB)])
    ahead: dict[CrossClusterRef, SubSnapshot] = {ALICE: position(queue, 45, 10), BOB: position(queue, 100, 0)}
    alone = price(queue, ahead, silent_others=[BOB])
    assert alone is not None
    assert (alone.held_rows, alone.also_held_by) == (55, []), "what the other holds is elsewhere"
    third = CrossClusterRef("pythia", "//carol")
    reads: dict[CrossClusterRef, SubSnapshot] = {**positions, third: position(queue, 50, 0)}
    limited = price(queue, reads, silent_others=[BOB])
    assert limited is not None
    assert limited.held_rows == 5, "the third one, which reads, keeps the others"


def test_nothing_is_held_where_nothing_would_be_trimmed() -> None:
    queue = snapshot_of(unmounted())
    assert held_rows(plan(queue, {ALICE: position(queue, 0)}).partitions[0], ALICE) == 0
    broken = snapshot_of(mounted(0, 100))
    assert held(broken, {ALICE: position(broken, 30), BOB: BROKEN}) == 0
    assert held_rows(plan(broken, {BOB: position(broken, 30)}).partitions[0], ALICE) == 0


def test_it_is_dead_after_a_day_and_not_before() -> None:
    queue = snapshot_of(mounted(0, 100))
    alone = {ALICE: position(queue, 30)}
    dead, alive = price(queue, alone), price(queue, alone, silent=86399.0)
    assert dead is not None
    assert alive is not None
    assert (dead.is_dead, alive.is_dead) == (True, False)


@pytest.mark.parametrize(("offset", "bob", "expected"), [(0, None, 1000), (40, None, 600), (40, 70, 300)])
def test_bytes_are_those_of_unread_rows(offset: int, bob: int | None, expected: int) -> None:
    queue = snapshot_of(weighty(0, 100))
    view = position(queue, offset)
    assert isinstance(view, ConsumerQueueView)
    mine = view.partitions[0]
    assert isinstance(mine, ConsumerPartition)
    others = {} if bob is None else {BOB: position(queue, bob)}
    for unread in (10 * (100 - offset), None):
        known = replace(view, partitions=[replace(mine, unread_data_weight=unread)])
        found = price(queue, {ALICE: known, **others})
        assert found is not None
        assert found.held_bytes == expected


def test_a_consumer_whose_rows_are_gone_holds_those_that_are_there() -> None:
    queue = snapshot_of(weighty(20, 100))
    view = position(queue, 5)
    assert isinstance(view, ConsumerQueueView)
    found = price(queue, {ALICE: view})
    assert found is not None
    assert (found.held_rows, found.held_bytes) == (80, 800)
    last = snapshot_of(weighty(99, 100))
    one = position(last, 5)
    assert isinstance(one, ConsumerQueueView)
    single = price(last, {ALICE: one})
    assert single is not None
    assert (single.held_rows, single.held_bytes) == (1, None)


def test_bytes_and_age_that_are_not_known_are_null() -> None:
    queue = snapshot_of(mounted(0, 100), mounted(0, 100))
    view = position(queue, 30, 40)
    assert isinstance(view, ConsumerQueueView)
    bare = price(queue, {ALICE: view})
    assert bare is not None
    assert (bare.held_bytes, bare.oldest_row_age) == (None, None)
    first, second = view.partitions
    assert isinstance(first, ConsumerPartition)
    assert view.seen_at is not None
    aged = replace(first, next_row_commit_time=view.seen_at - timedelta(hours=5))
    old = price(queue, {ALICE: replace(view, partitions=[aged, second])})
    assert old is not None
    assert old.oldest_row_age == 5 * 3600


def test_growth_is_not_known_in_bytes_without_the_column() -> None:
    queue = snapshot_of(mounted(0, 100))
    assert queue.view is not None
    bare = replace(queue, content=replace(queue.view, has_cumulative_data_weight_column=False))
    with_column, without = price(queue, {ALICE: position(queue, 3)}), price(bare, {ALICE: position(bare, 3)})
    assert with_column is not None
    assert without is not None
    assert (with_column.growth_bytes_per_day, without.growth_bytes_per_day) == (0, None)
    assert without.growth_rows_per_day == 0


def test_a_position_that_cannot_be_read_in_a_partition_has_no_weight_there() -> None:
    """The plan may be older than the position, or newer."""
    queue = snapshot_of(weighty(0, 100), weighty(0, 100))
    whole = position(queue, 30, 30)
    assert isinstance(whole, ConsumerQueueView)
    failed = FailedConsumerPartition(BROKEN, 30, EPOCH, Counters())
    for partitions in ([whole.partitions[0]], [whole.partitions[0], failed]):
        found = find_price(plan(queue, {ALICE: whole}), ALICE, replace(whole, partitions=partitions), 5.0, DAY)
        assert found is not None
        assert found.held_bytes is None
