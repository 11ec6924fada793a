"""Sorted dynamic tables as consumers and producers need them."""

from __future__ import annotations

from typing import Any

import pytest
from yt.wrapper import TablePath, YtClient
from yt.wrapper import YtError as YtClientError
from yt.yson import to_yson_type

from tests.conformance.harness import make_sorted, refused, rows_of
from yt_wire import yson


def look_up(client: YtClient, path: str, *keys: int, **options: Any) -> list[Any]:
    return list(client.lookup_rows(path, [{"key": key} for key in keys], **options))


@pytest.fixture
def table(client: YtClient, home: str) -> str:
    path = make_sorted(client, f"{home}/t")
    client.insert_rows(path, [{"key": key, "value": f"v{key}"} for key in (3, 1, 2)])
    return path


def test_rows_are_kept_in_the_order_of_their_keys(client: YtClient, table: str) -> None:
    client.insert_rows(table, [{"key": -5, "value": "minus"}])
    assert [row["key"] for row in rows_of(client, f"* from [{table}]")] == [-5, 1, 2, 3]
    assert list(rows_of(client, f"* from [{table}]")[0]) == ["key", "value", "other"]


def test_a_row_with_the_same_key_replaces_the_old_one(client: YtClient, table: str) -> None:
    client.insert_rows(table, [{"key": 2, "other": {"a": 1}}])
    assert look_up(client, table, 2) == [{"key": 2, "value": None, "other": {"a": 1}}]


def test_an_update_keeps_the_columns_it_does_not_name(client: YtClient, table: str) -> None:
    client.insert_rows(table, [{"key": 2, "other": 5}, {"key": 9, "other": 6}], update=True)
    assert look_up(client, table, 2, 9) == [
        {"key": 2, "value": "v2", "other": 5},
        {"key": 9, "value": None, "other": 6},
    ]
    client.insert_rows(table, [{"key": 2, "value": None}], update=True)
    assert look_up(client, table, 2) == [{"key": 2, "value": None, "other": 5}]


def test_the_last_of_several_rows_with_one_key_wins(client: YtClient, table: str) -> None:
    client.insert_rows(table, [{"key": 7, "value": "first"}, {"key": 7, "value": "second"}])
    assert look_up(client, table, 7)[0]["value"] == "second"
    client.insert_rows(table, [{"key": 7, "value": "third"}, {"key": 7, "other": 1}], update=True)
    assert look_up(client, table, 7) == [{"key": 7, "value": "third", "other": 1}]


def test_lookup_answers_in_the_order_of_the_keys(client: YtClient, table: str) -> None:
    assert [row["value"] for row in look_up(client, table, 3, 1)] == ["v3", "v1"]
    assert [row["key"] for row in look_up(client, table, 8, 2)] == [2]
    kept = look_up(client, table, 8, 2, keep_missing_rows=True)
    assert kept[0] == None  # noqa: E711 - the bindings have an entity of their own
    assert kept[1]["key"] == 2


def test_lookup_reads_chosen_columns(client: YtClient, table: str) -> None:
    assert look_up(client, table, 1, column_names=["value"]) == [{"value": "v1"}]
    with refused(1, "nope"):
        look_up(client, table, 1, column_names=["nope"])
    with refused(1, "column_names"):
        look_up(client, f"{table}{{value}}", 1)
    with refused(1, "Ranges"):
        look_up(client, f"{table}[1:2]", 1)


def test_lookup_can_look_back(client: YtClient, table: str) -> None:
    before = client.generate_timestamp()
    client.insert_rows(table, [{"key": 1, "value": "new"}])
    client.delete_rows(table, [{"key": 2}])
    assert [row["value"] for row in look_up(client, table, 1, 2, timestamp=before)] == ["v1", "v2"]
    assert [row["value"] for row in look_up(client, table, 1, 2)] == ["new"]
    assert len(list(client.select_rows(f"* from [{table}]", timestamp=before))) == 3


def test_a_versioned_lookup_tells_the_history_of_a_row(client: YtClient, table: str) -> None:
    client.insert_rows(table, [{"key": 1, "other": 5}], update=True)
    client.delete_rows(table, [{"key": 1}])
    between = client.generate_timestamp()
    client.insert_rows(table, [{"key": 1, "value": "new"}])
    (row,) = look_up(client, table, 1, versioned=True)
    new, updated, first = row.attributes["write_timestamps"]
    (deleted,) = row.attributes["delete_timestamps"]
    assert new > between > deleted > updated > first
    assert row["key"] == 1
    assert row["value"] == [to_yson_type("new", {"timestamp": new}), to_yson_type("v1", {"timestamp": first})]
    assert [value.attributes["timestamp"] for value in row["other"]] == [new, updated, first]
    assert row["other"][1] == to_yson_type(5, {"timestamp": updated})
    (then,) = look_up(client, table, 1, versioned=True, timestamp=between, column_names=["other"])
    assert list(then) == ["other"]
    assert then.attributes["delete_timestamps"] == [deleted]
    assert look_up(client, table, 77, versioned=True) == []


def test_deleted_rows_are_gone(client: YtClient, table: str) -> None:
    client.delete_rows(table, [{"key": 2}, {"key": 77}])
    assert [row["key"] for row in rows_of(client, f"* from [{table}]")] == [1, 3]
    client.insert_rows(table, [{"key": 2, "other": 1}], update=True)
    assert look_up(client, table, 2) == [{"key": 2, "value": None, "other": 1}]


def test_an_unmounted_table_is_closed_and_a_frozen_one_read_only(client: YtClient, table: str) -> None:
    client.freeze_table(table, sync=True)
    assert len(look_up(client, table, 1)) == 1
    with refused(1702, table):
        client.insert_rows(table, [{"key": 1}])
    with refused(1702, table):
        client.delete_rows(table, [{"key": 1}])
    client.unmount_table(table, sync=True)
    with refused(1702, table):
        look_up(client, table, 1)
    client.mount_table(table, sync=True)
    assert len(rows_of(client, f"* from [{table}]")) == 3


@pytest.mark.parametrize(
    ("row", "culprit"),
    [
        ({"key": "text", "other": 1}, "key"),
        ({"key": 1, "value": 5}, "value"),
        ({"key": 1, "nope": 5}, "nope"),
    ],
)
def test_rows_against_the_schema_are_refused(client: YtClient, table: str, row: Any, culprit: str) -> None:
    before = rows_of(client, f"* from [{table}]")
    for update in (False, True):
        with refused(307, f'"{culprit}"'):
            client.insert_rows(table, [{"key": 50, "value": "x"}, row], update=update)
    assert rows_of(client, f"* from [{table}]") == before


def test_required_columns_are_required(client: YtClient, home: str) -> None:
    path = f"{home}/r"
    schema = [
        {"name": "key", "type": "string", "sort_order": "ascending", "required": True},
        {"name": "value", "type": "uint64", "required": True},
    ]
    client.create("table", path, attributes={"dynamic": True, "schema": schema})
    client.mount_table(path, sync=True)
    client.insert_rows(path, [{"key": "a", "value": 1}])
    for row in ({"key": "b"}, {"key": "b", "value": None}, {"key": None, "value": 1}, {"key": "b", "value": -1}):
        for update in (False, True):
            with pytest.raises(YtClientError):
                client.insert_rows(path, [row], update=update)
    (found,) = rows_of(client, f"* from [{path}]")
    assert isinstance(found["value"], yson.Uint64)


def test_ordered_tables_know_no_keys(client: YtClient, home: str) -> None:
    path = f"{home}/q"
    client.create("table", path, attributes={"dynamic": True, "schema": [{"name": "a", "type": "string"}]})
    client.mount_table(path, sync=True)
    with refused(1716, path, "not sorted"):
        client.delete_rows(path, [{"a": "x"}])
    with refused(1716, path, "not sorted"):
        list(client.lookup_rows(path, [{"a": "x"}]))
    with refused(1, "update"):
        client.insert_rows(path, [{"a": "x"}], update=True)


def test_tablet_infos_work_for_sorted_tables_too(client: YtClient, table: str) -> None:
    (info,) = client.get_tablet_infos(table, [0])["tablets"]
    assert info["last_write_timestamp"] > 0


def test_a_copy_has_the_rows(client: YtClient, table: str, home: str) -> None:
    client.unmount_table(table, sync=True)
    client.copy(table, f"{home}/copy")
    client.move(table, f"{home}/moved")
    for path in (f"{home}/copy", f"{home}/moved"):
        client.mount_table(path, sync=True)
        assert [row["key"] for row in rows_of(client, f"* from [{path}]")] == [1, 2, 3]
    client.delete_rows(f"{home}/copy", [{"key": 1}])
    assert len(rows_of(client, f"* from [{home}/moved]")) == 3


def test_values_older_than_a_retention_timestamp_are_not_there(client: YtClient, home: str) -> None:
    path = make_sorted(client, f"{home}/t")
    client.insert_rows(path, [{"key": 1, "value": "old", "other": 1}, {"key": 2, "value": "old"}])
    client.insert_rows(path, [{"key": 3, "value": "old"}])
    client.delete_rows(path, [{"key": 3}])
    between = client.generate_timestamp()
    client.insert_rows(path, [{"key": 1, "value": "new"}], update=True)
    client.insert_rows(path, [{"key": 3, "other": 3}], update=True)
    after = client.generate_timestamp()
    expected = [
        {"key": 1, "value": "new", "other": None},
        {"key": 3, "value": None, "other": 3},
    ]

    def read(retention: int, timestamp: int) -> list[list[dict[str, Any]]]:
        options = {"timestamp": timestamp, "retention_timestamp": retention}
        keys = [{"key": 1}, {"key": 2}, {"key": 3}]
        looked_up = client.lookup_rows(path, keys, timestamp=timestamp, retention_timestamp=retention)
        selected = client.select_rows(f"* from [{path}]", timestamp=timestamp, retention_timestamp=retention)
        return [
            list(map(dict, rows))
            for rows in (looked_up, selected, client.read_table(TablePath(path, attributes=options)))
        ]

    assert read(between, after) == [expected] * 3
    assert read(after, after) == [[], [], []]
    assert [row["value"] for row in read(1, between)[0]] == ["old", "old"]


def test_versioned_lookups_take_no_retention_timestamp(client: YtClient, table: str) -> None:
    with refused(1, "retention_config"):
        look_up(client, table, 1, retention_timestamp=1, versioned=True)


def test_sums_have_no_age(client: YtClient, home: str) -> None:
    schema = [
        {"name": "key", "type": "int64", "sort_order": "ascending"},
        {"name": "n", "type": "int64", "aggregate": "sum"},
    ]
    client.create("table", f"{home}/t", attributes={"dynamic": True, "schema": schema})
    client.mount_table(f"{home}/t", sync=True)
    client.insert_rows(f"{home}/t", [{"key": 1, "n": 1}], aggregate=True)
    with refused(1, "aggregate"):
        list(client.lookup_rows(f"{home}/t", [{"key": 1}], retention_timestamp=1))
