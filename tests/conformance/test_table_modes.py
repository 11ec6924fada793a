"""Dynamic tables read like static ones, and tables that become the one or the other."""

from __future__ import annotations

import pytest
from yt.wrapper import TablePath, YsonFormat, YtClient
from yt.yson.yson_types import YsonUint64

from tests.conformance.harness import make_queue, make_sorted, refused
from tests.conformance.static_tables import KEYED, read, table, unique


@pytest.fixture
def path(home: str) -> str:
    return f"{home}/t"


def test_queues_are_read_whatever_state_they_are_in(client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q", tablet_count=2)
    client.insert_rows(
        queue, [{"data": f"{tablet}{row}", "$tablet_index": tablet} for tablet in (0, 1) for row in range(3)]
    )
    rows = read(client, queue)
    assert [row["data"] for row in rows] == ["00", "01", "02", "10", "11", "12"]
    assert list(rows[0]) == ["data", "$timestamp", "$cumulative_data_weight"]
    client.unmount_table(queue, sync=True)
    assert read(client, queue) == rows

    def found(lower: dict[str, int], upper: dict[str, int]) -> list[str]:
        ranges = [{"lower_limit": lower, "upper_limit": upper}]
        return [row["data"] for row in read(client, TablePath(queue, ranges=ranges))]

    assert found({"tablet_index": 0, "row_index": 1}, {"tablet_index": 1, "row_index": 1}) == ["01", "02", "10"]
    assert found({"tablet_index": 1}, {"tablet_index": 2}) == ["10", "11", "12"]
    control = {"enable_tablet_index": True, "enable_row_index": True}
    stream = client.read_table(queue + "{data}", control_attributes=control, raw=True, format=YsonFormat(format="text"))
    assert stream.read() == (
        b'<"tablet_index"=0;>#;\n<"row_index"=0;>#;\n{"data"="00";};\n{"data"="01";};\n{"data"="02";};\n'
        b'<"tablet_index"=1;>#;\n<"row_index"=0;>#;\n{"data"="10";};\n{"data"="11";};\n{"data"="12";};\n'
    )
    with refused(1, "tablet index selector"):
        read(client, f"{queue}[#1:]")
    with refused(1, "Key selectors"):
        read(client, f"{queue}[a:]")


def test_rows_of_a_segment_that_is_trimmed_in_part_are_read_with_it(client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q")
    client.insert_rows(queue, [{"data": "a"}, {"data": "b"}])
    client.freeze_table(queue, sync=True)
    client.unfreeze_table(queue, sync=True)
    client.insert_rows(queue, [{"data": "c"}])
    client.trim_rows(queue, 0, 1)
    assert [row["data"] for row in read(client, queue)] == ["a", "b", "c"]
    client.trim_rows(queue, 0, 2)
    assert [row["data"] for row in read(client, queue)] == ["c"]


def test_sorted_dynamic_tables_are_read_as_of_now_or_of_a_timestamp(client: YtClient, home: str) -> None:
    path = make_sorted(client, f"{home}/s")
    client.insert_rows(path, [{"key": key, "value": str(key), "other": [key]} for key in range(5)])
    then = client.generate_timestamp()
    client.delete_rows(path, [{"key": 2}])
    assert [row["key"] for row in read(client, path)] == [0, 1, 3, 4]
    assert [row["key"] for row in read(client, f"<timestamp={then}>{path}")] == [0, 1, 2, 3, 4]
    assert read(client, f"{path}{{other}}[1:4]") == [{"other": [1]}, {"other": [3]}]
    assert [row["key"] for row in read(client, TablePath(path, exact_key=[3]))] == [3]
    with refused(1, "Row index"):
        read(client, f"{path}[#1:]")


def test_a_queue_becomes_a_static_table_with_the_same_chunks_and_back(client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q", tablet_count=2)
    for tablet in (1, 0):
        client.insert_rows(queue, [{"data": f"{tablet}{row}", "$tablet_index": tablet} for row in range(2)])
    client.trim_rows(queue, 1, 1)
    rows = read(client, queue)
    client.unmount_table(queue, sync=True)
    chunk_ids = client.get(f"{queue}/@chunk_ids")
    schema = client.get(f"{queue}/@schema")
    client.alter_table(queue, dynamic=False)
    assert not client.get(f"{queue}/@dynamic")
    assert client.get(f"{queue}/@chunk_ids") == chunk_ids
    assert client.get(f"{queue}/@schema") == schema
    assert client.get(f"{queue}/@row_count") == 4
    assert [row["data"] for row in read(client, queue)] == ["00", "01", "10", "11"]
    assert read(client, f"{queue}[#0:#2]") == rows[:2]
    client.alter_table(queue, dynamic=True)
    client.mount_table(queue, sync=True)
    assert client.get(f"{queue}/@chunk_ids") == chunk_ids
    pulled = [row for offset in (0, 2) for row in client.pull_queue(queue, offset=offset, partition_index=0)]
    assert [(row["$row_index"], row["data"]) for row in pulled] == [(0, "00"), (1, "01"), (2, "10"), (3, "11")]
    assert [row["$timestamp"] for row in pulled][:2] == [row["$timestamp"] for row in rows][:2]
    client.insert_rows(queue, [{"data": "new"}])
    assert [row["$row_index"] for row in client.pull_queue(queue, offset=4, partition_index=0)] == [4]


def test_a_sorted_static_table_becomes_dynamic_if_its_keys_are_unique(client: YtClient, home: str, path: str) -> None:
    columns = [*KEYED, {"name": "u", "type": "uint64"}, {"name": "y", "type": "any"}]
    table(client, path, unique(columns))
    rows = [{"key": key, "value": str(key), "u": YsonUint64(key), "y": {"a": [key]}} for key in range(3)]
    client.write_table(path, rows)
    client.alter_table(path, dynamic=True)
    client.mount_table(path, sync=True)
    assert [dict(row) for row in client.select_rows(f"* from [{path}]")] == rows
    client.insert_rows(path, [{"key": 1, "value": "new"}])
    client.unmount_table(path, sync=True)
    client.alter_table(path, dynamic=False)
    assert [row["value"] for row in read(client, path)] == ["0", "new", "2"]
    other = table(client, f"{home}/other", KEYED)
    client.write_table(other, [{"key": 1}, {"key": 1}])
    with refused(1, "unique_keys"):
        client.alter_table(other, dynamic=True)
