"""Segments of queues: what is flushed when, what one pull sees, and what a trim frees."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import Clients, ClusterThread, make_queue, rows_of, wait_for
from yt_local.base.clock import Clock


def flush(client: YtClient, path: str) -> None:
    client.freeze_table(path, sync=True)
    client.unfreeze_table(path, sync=True)


def add(client: YtClient, path: str, *values: str) -> None:
    client.insert_rows(path, [{"data": value, "$tablet_index": 0} for value in values])


def pulled(client: YtClient, path: str, offset: int, **limits: int) -> list[int]:
    """Row indexes of one pull."""
    rows = client.pull_queue(path, offset=offset, partition_index=0, **limits)
    return [row["$row_index"] for row in rows]


def described(client: YtClient, path: str) -> dict[str, Any]:
    tablet: dict[str, Any] = client.get(f"{path}/@tablets/0")
    return tablet


@pytest.fixture
def queue(client: YtClient, home: str) -> str:
    return make_queue(client, f"{home}/q")


def test_freezing_makes_one_chunk_of_what_was_written_and_none_of_nothing(client: YtClient, queue: str) -> None:
    assert client.get(f"{queue}/@chunk_ids") == []
    flush(client, queue)
    assert client.get(f"{queue}/@chunk_count") == 0
    add(client, queue, "a", "b")
    add(client, queue, "c")
    assert described(client, queue)["flushed_row_count"] == 0
    flush(client, queue)
    assert client.get(f"{queue}/@chunk_count") == 1
    assert described(client, queue)["flushed_row_count"] == 3
    (chunk_id,) = client.get(f"{queue}/@chunk_ids")
    flush(client, queue)
    assert client.get(f"{queue}/@chunk_ids") == [chunk_id]


def test_unmounting_flushes_too(client: YtClient, queue: str) -> None:
    add(client, queue, "a")
    client.unmount_table(queue, sync=True)
    assert client.get(f"{queue}/@chunk_count") == 1
    client.mount_table(queue, sync=True)
    add(client, queue, "b")
    client.unmount_table(queue, sync=True)
    assert client.get(f"{queue}/@chunk_count") == 2
    assert described(client, queue)["flushed_row_count"] == 2


def test_an_unmount_by_force_loses_what_was_not_flushed(client: YtClient, queue: str) -> None:
    add(client, queue, "a")
    flush(client, queue)
    add(client, queue, "b", "c")
    client.trim_rows(queue, 0, 2)
    client.unmount_table(queue, force=True, sync=True)
    assert (described(client, queue)["flushed_row_count"], described(client, queue)["trimmed_row_count"]) == (1, 1)
    client.mount_table(queue, sync=True)
    add(client, queue, "d")
    (row,) = client.pull_queue(queue, offset=0, partition_index=0)
    assert (row["data"], row["$row_index"], row["$cumulative_data_weight"]) == ("d", 1, 36)


def test_a_chunk_tells_its_rows_weight_and_timestamps(client: YtClient, queue: str) -> None:
    before = client.generate_timestamp()
    add(client, queue, "a", "b")
    add(client, queue, "ccc")
    flush(client, queue)
    (chunk_id,) = client.get(f"{queue}/@chunk_ids")
    stamps = [row["$timestamp"] for row in rows_of(client, f"[$timestamp] from [{queue}]")]
    assert client.get(f"#{chunk_id}/@row_count") == 3
    assert client.get(f"#{chunk_id}/@type") == "chunk"
    assert before < client.get(f"#{chunk_id}/@min_timestamp") == stamps[0]
    assert client.get(f"#{chunk_id}/@max_timestamp") == stamps[-1]
    assert client.get(f"#{chunk_id}/@data_weight") == 18 + 18 + 20
    assert client.get(f"#{chunk_id}/@owning_nodes") == [queue]


def test_one_pull_reads_one_segment(client: YtClient, queue: str) -> None:
    add(client, queue, "a", "b")
    flush(client, queue)
    add(client, queue, "c")
    flush(client, queue)
    add(client, queue, "d", "e")
    assert pulled(client, queue, 0) == [0, 1]
    assert pulled(client, queue, 1) == [1]
    assert pulled(client, queue, 2) == [2]
    assert pulled(client, queue, 3) == [3, 4]
    assert pulled(client, queue, 5) == []
    assert pulled(client, queue, 0, max_row_count=1) == [0]
    assert pulled(client, queue, 3, max_data_weight=1) == [3]
    assert [row["data"] for row in rows_of(client, f"data from [{queue}]")] == ["a", "b", "c", "d", "e"]


def test_a_pull_from_below_the_trimmed_rows_starts_in_the_segment_that_is_left(client: YtClient, queue: str) -> None:
    for value in "abc":
        add(client, queue, value, value)
        flush(client, queue)
    client.trim_rows(queue, 0, 3)
    assert pulled(client, queue, 0) == [3]
    client.trim_rows(queue, 0, 4)
    assert pulled(client, queue, 0) == [4, 5]


def test_a_trim_is_exact_to_readers_and_frees_whole_chunks(client: YtClient, queue: str) -> None:
    for value in "ab":
        add(client, queue, value, value)
        flush(client, queue)
    first, second = client.get(f"{queue}/@chunk_ids")
    client.trim_rows(queue, 0, 1)
    assert client.get(f"{queue}/@chunk_ids") == [first, second]
    assert described(client, queue)["trimmed_row_count"] == 1
    assert [row["$row_index"] for row in rows_of(client, f"[$row_index] from [{queue}]")] == [1, 2, 3]
    client.trim_rows(queue, 0, 2)
    assert client.get(f"{queue}/@chunk_ids") == [second]
    assert client.get(f"{queue}/@chunk_row_count") == 2
    client.trim_rows(queue, 0, 4)
    assert client.get(f"{queue}/@chunk_ids") == []
    assert (described(client, queue)["flushed_row_count"], described(client, queue)["trimmed_row_count"]) == (4, 4)
    add(client, queue, "c")
    assert pulled(client, queue, 0) == [4]


def test_rows_trimmed_before_they_are_flushed_leave_no_chunk(client: YtClient, queue: str) -> None:
    add(client, queue, "a", "b")
    client.trim_rows(queue, 0, 2)
    flush(client, queue)
    assert client.get(f"{queue}/@chunk_count") == 0
    assert described(client, queue)["flushed_row_count"] == 2
    add(client, queue, "c")
    client.trim_rows(queue, 0, 2)
    flush(client, queue)
    assert client.get(f"{queue}/@chunk_row_count") == 1


def test_a_copy_has_the_same_chunks_and_numbers(client: YtClient, home: str, queue: str) -> None:
    add(client, queue, "a", "b")
    flush(client, queue)
    add(client, queue, "c")
    client.trim_rows(queue, 0, 1)
    client.freeze_table(queue, sync=True)
    client.copy(queue, f"{home}/copy")
    assert client.get(f"{home}/copy/@chunk_ids") == client.get(f"{queue}/@chunk_ids")
    assert described(client, f"{home}/copy")["flushed_row_count"] == 3
    client.mount_table(f"{home}/copy", sync=True)
    assert pulled(client, f"{home}/copy", 0) == [1]
    assert pulled(client, f"{home}/copy", 2) == [2]
    chunk_id = client.get(f"{queue}/@chunk_ids/0")
    assert sorted(client.get(f"#{chunk_id}/@owning_nodes")) == sorted([queue, f"{home}/copy"])


def test_merged_tablets_keep_their_chunks(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q", tablet_count=2)
    for index in (0, 1):
        client.insert_rows(path, [{"data": str(number), "$tablet_index": index} for number in range(2)])
    client.unmount_table(path, sync=True)
    chunk_ids = client.get(f"{path}/@chunk_ids")
    client.reshard_table(path, tablet_count=1, sync=True)
    client.mount_table(path, sync=True)
    assert client.get(f"{path}/@chunk_ids") == chunk_ids
    assert described(client, path)["flushed_row_count"] == 4
    assert pulled(client, path, 0) == [0, 1]
    assert pulled(client, path, 2) == [2, 3]


@pytest.fixture
def moved_clock() -> Iterator[tuple[YtClient, Clock]]:
    clients = Clients()
    clock = Clock()
    with ClusterThread(clock=clock) as thread:
        yield clients.make(thread.address("pythia")), clock
        clients.close()


@pytest.mark.local_only
def test_rows_are_flushed_when_their_time_has_come(moved_clock: tuple[YtClient, Clock]) -> None:
    client, clock = moved_clock
    slow, quick, never = "//tmp/slow", "//tmp/quick", "//tmp/never"
    make_queue(client, slow)
    make_queue(client, quick, dynamic_store_auto_flush_period=60_000)
    make_queue(client, never, dynamic_store_auto_flush_period=None)
    for path in (slow, quick, never):
        add(client, path, "a")

    def flushed() -> list[int]:
        return [described(client, path)["flushed_row_count"] for path in (slow, quick, never)]

    clock.advance(timedelta(seconds=50))
    assert flushed() == [0, 0, 0]
    clock.advance(timedelta(seconds=12))
    assert flushed() == [0, 1, 0]
    clock.advance(timedelta(minutes=15))
    assert flushed() == [1, 1, 0]
    add(client, quick, "b")
    assert flushed() == [1, 1, 0]
    clock.advance(timedelta(minutes=2))
    assert flushed() == [1, 2, 0]


@pytest.mark.local_only
def test_rows_are_flushed_when_there_are_many(moved_clock: tuple[YtClient, Clock]) -> None:
    client, _ = moved_clock
    path = make_queue(client, "//tmp/q", max_dynamic_store_row_count=3)
    add(client, path, "a", "b")
    assert described(client, path)["flushed_row_count"] == 0
    add(client, path, "c")
    wait_for(lambda: described(client, path)["flushed_row_count"] == 3)


@pytest.mark.local_only
@pytest.mark.parametrize(
    "attributes",
    [
        {"min_data_versions": 0, "max_data_ttl": 3_600_000},
        {"max_data_versions": 0, "min_data_ttl": 3_600_000},
        {"min_data_versions": 0, "max_data_ttl": 7_200_000, "max_data_versions": 0, "min_data_ttl": 3_600_000},
    ],
)
def test_segments_that_are_too_old_are_trimmed(moved_clock: tuple[YtClient, Clock], attributes: dict[str, int]) -> None:
    client, clock = moved_clock
    path = make_queue(client, "//tmp/q", **attributes)
    add(client, path, "a", "b")
    clock.advance(timedelta(minutes=30))
    add(client, path, "c", "d")
    clock.advance(timedelta(minutes=35))
    add(client, path, "e")
    assert described(client, path)["trimmed_row_count"] == 2  # wholly, as the fresh rows of the first segment age
    assert pulled(client, path, 0) == [2, 3]
    clock.advance(timedelta(minutes=50))
    assert (described(client, path)["trimmed_row_count"], pulled(client, path, 0)) == (4, [4])
    client.freeze_table(path, sync=True)
    clock.advance(timedelta(days=1))
    assert pulled(client, path, 0) == [4]
    client.unfreeze_table(path, sync=True)
    clock.advance(timedelta(seconds=2))
    assert pulled(client, path, 0) == []
    assert described(client, path)["trimmed_row_count"] == 5


@pytest.mark.local_only
def test_by_default_segments_stay_for_ever(moved_clock: tuple[YtClient, Clock]) -> None:
    client, clock = moved_clock
    paths = [
        make_queue(client, "//tmp/usual"),
        make_queue(client, "//tmp/kept", max_data_ttl=1000),
        make_queue(client, "//tmp/without_ttl", min_data_versions=0),
    ]
    for path in paths:
        add(client, path, "a")
    clock.advance(timedelta(days=400))
    assert [pulled(client, path, 0) for path in paths] == [[0]] * 3
