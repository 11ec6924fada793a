"""Dynamic tables that get another schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from yt.wrapper import YtClient, yson

from tests.conformance.harness import QUEUE_SCHEMA, SORTED_SCHEMA, make_queue, make_sorted, refused, rows_of
from yt_wire.error import ErrorCode

KEY, VALUE, OTHER = SORTED_SCHEMA
MORE = {"name": "more", "type": "int64"}
SECOND_KEY = {"name": "second", "type": "string", "sort_order": "ascending"}


@pytest.fixture
def table(client: YtClient, home: str) -> str:
    path = make_sorted(client, f"{home}/t")
    client.insert_rows(path, [{"key": 1, "value": "a"}, {"key": 2, "value": "b"}, {"key": 3, "value": "c"}])
    client.delete_rows(path, [{"key": 3}])
    return path


def alter(client: YtClient, path: str, *schema: Mapping[str, Any]) -> None:
    client.unmount_table(path, sync=True)
    client.alter_table(path, schema=list(schema))
    client.mount_table(path, sync=True)


def test_a_new_value_column_is_null_in_old_rows(client: YtClient, table: str) -> None:
    before = client.get(f"{table}/@attribute_revision")
    alter(client, table, KEY, VALUE, OTHER, MORE)
    assert [column["name"] for column in client.get(f"{table}/@schema")] == ["key", "value", "other", "more"]
    assert client.get(f"{table}/@schema").attributes["unique_keys"]
    assert client.get(f"{table}/@attribute_revision") > before
    client.insert_rows(table, [{"key": 2, "more": 5}], update=True)
    assert rows_of(client, f"* from [{table}]") == [
        {"key": 1, "value": "a", "other": None, "more": None},
        {"key": 2, "value": "b", "other": None, "more": 5},
    ]


def test_value_columns_may_change_places(client: YtClient, table: str) -> None:
    alter(client, table, KEY, OTHER, MORE, VALUE)
    assert rows_of(client, f"* from [{table}]")[0] == {"key": 1, "other": None, "more": None, "value": "a"}


def test_a_new_key_column_is_null_in_old_keys(client: YtClient, table: str) -> None:
    alter(client, table, KEY, SECOND_KEY, VALUE, OTHER)
    client.insert_rows(table, [{"key": 1, "second": "x", "value": "d"}])
    rows = rows_of(client, f"[key], [second], [value] from [{table}]")
    assert rows == [
        {"key": 1, "second": None, "value": "a"},
        {"key": 1, "second": "x", "value": "d"},
        {"key": 2, "second": None, "value": "b"},
    ]
    client.delete_rows(table, [{"key": 1, "second": None}])
    assert [row["second"] for row in client.lookup_rows(table, [{"key": 1, "second": "x"}])] == ["x"]
    assert len(rows_of(client, f"[key] from [{table}]")) == 2


def test_rows_of_a_queue_stay_with_their_times(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    client.insert_rows(path, [{"$tablet_index": 0, "data": "x"}])
    [before] = rows_of(client, f"* from [{path}]")
    alter(client, path, *QUEUE_SCHEMA, MORE)
    [after] = rows_of(client, f"* from [{path}]")
    assert after == {**before, "more": None}


def test_system_columns_that_a_queue_gets_late_are_null_in_old_rows(client: YtClient, home: str) -> None:
    data, timestamp, weight = QUEUE_SCHEMA
    client.create("table", f"{home}/q", attributes={"dynamic": True, "schema": [data], "tablet_count": 2})
    client.mount_table(f"{home}/q", sync=True)
    client.insert_rows(f"{home}/q", [{"$tablet_index": 0, "data": "a"}, {"$tablet_index": 0, "data": "b"}])
    alter(client, f"{home}/q", data, timestamp)
    client.insert_rows(f"{home}/q", [{"$tablet_index": 0, "data": "c"}])
    alter(client, f"{home}/q", data, timestamp, weight)
    client.insert_rows(f"{home}/q", [{"$tablet_index": index, "data": "d"} for index in (0, 1)])
    client.unmount_table(f"{home}/q", sync=True)
    client.reshard_table(f"{home}/q", tablet_count=1, sync=True)
    client.mount_table(f"{home}/q", sync=True)

    def seen(rows: Iterable[Any]) -> list[tuple[Any, ...]]:
        names = ("$timestamp", "$cumulative_data_weight")
        return [(row["data"], *(row[name] != None for name in names)) for row in rows]  # noqa: E711 - an entity

    expected = [("a", False, False), ("b", False, False), ("c", True, False), ("d", True, True), ("d", True, True)]
    assert seen(rows_of(client, f"* from [{home}/q]")) == expected
    assert seen(client.read_table(f"{home}/q")) == expected
    pulled = [client.pull_queue(f"{home}/q", offset=offset, partition_index=0) for offset in range(5)]
    assert [seen(rows)[0] for rows in pulled] == expected
    weights = [row["$cumulative_data_weight"] for row in rows_of(client, f"* from [{home}/q]")][3:]
    assert weights == sorted(weights)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ([KEY, VALUE], 'Cannot remove column "other"'),
        ([KEY, VALUE, OTHER, {**MORE, "required": True}], 'required column "more"'),
        ([KEY, {**VALUE, "type": "int64"}, OTHER], '"value"'),
        ([KEY, {**VALUE, "required": True}, OTHER], '"value"'),
        ([SECOND_KEY, KEY, VALUE, OTHER], "key"),
        ([{"name": "key", "type": "int64"}, VALUE, OTHER], "sorted"),
        ([KEY, SECOND_KEY], "There must be at least one non-key column"),
    ],
)
def test_a_schema_that_old_rows_do_not_fit_is_refused(
    client: YtClient, table: str, schema: list[Mapping[str, Any]], words: str
) -> None:
    client.unmount_table(table, sync=True)
    with refused(ErrorCode.GENERIC, words):
        client.alter_table(table, schema=schema)
    assert [column["name"] for column in client.get(f"{table}/@schema")] == ["key", "value", "other"]


def test_a_mounted_table_can_not_be_altered(client: YtClient, table: str) -> None:
    words = 'Cannot change table schema since not all of its tablets are in "unmounted" state'
    with refused(ErrorCode.INVALID_TABLET_STATE, words):
        client.alter_table(table, schema=[KEY, VALUE, OTHER, MORE])


def test_an_empty_table_becomes_dynamic_and_static_again(client: YtClient, home: str) -> None:
    path = f"{home}/t"
    client.create("table", path, attributes={"schema": SORTED_SCHEMA})
    with refused(ErrorCode.GENERIC, '"unique_keys" cannot be "false"'):
        client.alter_table(path, dynamic=True)
    not_unique = yson.to_yson_type(SORTED_SCHEMA, {"unique_keys": False})
    client.alter_table(path, dynamic=True, schema=not_unique)
    assert client.get(f"{path}/@schema/@unique_keys")
    assert client.get(f"{path}/@tablet_state") == "unmounted"
    client.mount_table(path, sync=True)
    client.unmount_table(path, sync=True)
    client.alter_table(path, dynamic=False)
    assert not client.get(f"{path}/@dynamic")
    assert not client.exists(f"{path}/@tablet_state")
