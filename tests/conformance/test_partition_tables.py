"""Tables divided among readers: every row is in one partition, and none in two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from yt.wrapper import TablePath, YtClient
from yt.yson import to_yson_type

from tests.conformance.harness import make_queue, make_sorted, refused

SCHEMA = to_yson_type([{"name": "k", "type": "int64"}, {"name": "v", "type": "string"}], {"strict": True})
ROWS = [{"k": number, "v": "x" * 10} for number in range(1000)]


def partitions(client: YtClient, paths: Sequence[str], weight: int, **options: Any) -> list[dict[str, Any]]:
    found = client.partition_tables(
        [TablePath(path) for path in paths], partition_mode="ordered", data_weight_per_partition=weight, **options
    )
    return list(found)


def read(client: YtClient, partition: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for path in partition["table_ranges"] for row in client.read_table(TablePath(path))]


@pytest.fixture
def table(client: YtClient, home: str) -> str:
    path = f"{home}/t"
    client.write_table(TablePath(path, schema=SCHEMA), ROWS)
    return path


def test_every_row_of_a_static_table_is_in_one_partition(client: YtClient, table: str) -> None:
    weight = client.get(f"{table}/@data_weight") // 4
    found = partitions(client, [table], weight)
    assert [partition["aggregate_statistics"]["row_count"] for partition in found] == [250] * 4
    assert all(partition["aggregate_statistics"]["data_weight"] <= weight + 1 for partition in found)
    assert [row for partition in found for row in read(client, partition)] == ROWS


def test_ranges_and_columns_stay_as_they_were_chosen(client: YtClient, table: str) -> None:
    found = partitions(client, [f"{table}{{k}}[#10:#20,#500:#510]"], 100)
    rows = [row for partition in found for row in read(client, partition)]
    assert rows == [{"k": number} for number in (*range(10, 20), *range(500, 510))]
    assert len(found) > 2


def test_there_are_no_more_partitions_than_there_may_be(client: YtClient, home: str, table: str) -> None:
    client.write_table(f"{home}/empty", [])
    assert partitions(client, [f"{home}/empty"], 10) == []
    few = partitions(client, [table, table], 4000, max_partition_count=3)
    assert [len(partition["table_ranges"]) for partition in few] == [4, 4, 2]
    assert [row for partition in few for row in read(client, partition)] == ROWS * 2
    with refused(1, "Maximum partition count exceeded"):
        partitions(client, [table], 4000, max_partition_count=3, adjust_data_weight_per_partition=False)
    with refused(500, "nope"):
        partitions(client, [f"{home}/nope"], 200)


def test_dynamic_tables_are_divided_between_tablets(client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q", tablet_count=3)
    client.insert_rows(queue, [{"$tablet_index": number % 2, "data": str(number)} for number in range(10)])
    found = partitions(client, [queue], 1)
    assert [[row["data"] for row in read(client, partition)] for partition in found] == [
        ["0", "2", "4", "6", "8"],
        ["1", "3", "5", "7", "9"],
    ]
    table = make_sorted(client, f"{home}/s")
    client.unmount_table(table, sync=True)
    client.reshard_table(table, pivot_keys=[[], [5], [8]], sync=True)
    client.mount_table(table, sync=True)
    client.insert_rows(table, [{"key": number} for number in (*range(3), 6, 9)])
    found = partitions(client, [table], 1)
    assert [[row["key"] for row in read(client, partition)] for partition in found] == [[0, 1, 2], [6], [9]]
