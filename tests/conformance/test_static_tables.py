"""Static tables through ytsaurus-client and the `yt` command: written, appended to, put together."""

from __future__ import annotations

from typing import Any

import pytest
from yt.wrapper import TablePath, YsonFormat, YtClient
from yt.wrapper.errors import YtResolveError
from yt.yson.yson_types import YsonUint64

from tests.conformance.harness import RawHttp, make_queue, refused
from tests.conformance.static_tables import KEYED, numbers, read, table, unique
from yt_wire import yson


@pytest.fixture
def path(home: str) -> str:
    return f"{home}/t"


def test_rows_without_a_schema_come_back_as_they_were_written(client: YtClient, path: str) -> None:
    rows = [{"b": "hello"}, {"b": "2", "a": 1}, {"x": YsonUint64(10), "y": [1, {"z": None}], "a": 1.5}, {"n": None}, {}]
    client.write_table(path, rows)
    assert read(client, path) == rows
    assert client.get(f"{path}/@schema_mode") == "weak"
    assert client.get(f"{path}/@row_count") == 5
    assert client.get(f"{path}/@chunk_count") == len(client.get(f"{path}/@chunk_ids")) == 1


def test_a_write_replaces_what_was_there_unless_it_appends(client: YtClient, path: str) -> None:
    client.write_table(path, [{"key": 1}])
    client.write_table(path, [{"key": 2}])
    assert numbers(client, path) == [2]
    client.write_table(f"<append=%true>{path}", [{"key": 3}, {"key": 4}])
    assert numbers(client, path) == [2, 3, 4]
    assert client.get(f"{path}/@chunk_count") == 2
    assert client.get(f"{path}/@data_weight") == 3 * 9
    client.write_table(path, [])
    assert numbers(client, path) == []
    assert client.get(f"{path}/@chunk_count") == 0


def test_nothing_is_written_where_no_table_is(client: YtClient, home: str) -> None:
    client.create("map_node", f"{home}/m")
    with refused(1, "map_node"):
        client.write_table(f"{home}/m", [{"a": 1}], force_create=False)
    with refused(500, "nowhere"):
        client.write_table(f"{home}/nowhere", [{"a": 1}], force_create=False)
    queue = make_queue(client, f"{home}/q")
    with refused(1, "dynamic"):
        client.write_table(queue, [{"data": "a"}], force_create=False)


@pytest.mark.parametrize(
    ("column", "value", "code"),
    [
        ({"type": "int64"}, b"text", 307),
        ({"type": "int64"}, 1.5, 307),
        ({"type": "string"}, 1, 307),
        ({"type": "boolean"}, 0, 307),
        ({"type": "uint8"}, YsonUint64(256), 307),
        ({"type": "utf8"}, b"\xff", 307),
        ({"type": "int64", "required": True}, None, 307),
    ],
)
def test_a_value_of_a_wrong_type_is_refused(
    client: YtClient, path: str, column: dict[str, Any], value: Any, code: int
) -> None:
    table(client, path, [{"name": "v", **column}])
    with refused(code, '"v"'):
        client.write_table(path, [{b"v": value}], format=YsonFormat(encoding=None))
    assert client.get(f"{path}/@row_count") == 0


def test_a_strict_schema_takes_its_own_columns_only_and_fills_in_nulls(client: YtClient, path: str) -> None:
    table(client, path, KEYED)
    with refused(307, "other"):
        client.write_table(path, [{"key": 1, "other": 2}])
    client.write_table(path, [{"key": 1}])
    assert read(client, path) == [{"key": 1, "value": None}]
    assert client.get(f"{path}/@schema_mode") == "strong"


def test_a_schema_that_is_not_strict_takes_more(client: YtClient, path: str) -> None:
    table(client, path, yson.with_attributes([{"name": "key", "type": "int64"}], {"strict": False}))
    client.write_table(path, [{"key": 1, "more": "x"}, {"key": 2}])
    assert read(client, path) == [{"key": 1, "more": "x"}, {"key": 2}]
    with refused(307, "key"):
        client.write_table(path, [{"key": "no"}])


def test_rows_of_a_sorted_table_have_to_be_in_order(client: YtClient, path: str) -> None:
    table(client, path, KEYED)
    client.write_table(path, [{"key": 1}, {"key": 1}, {"key": 3}])
    assert client.get(f"{path}/@sorted")
    assert client.get(f"{path}/@boundary_keys") == {"min_key": [1], "max_key": [3]}
    with refused(301, "Sort order violation"):
        client.write_table(path, [{"key": 2}, {"key": 1}])
    with refused(301, "Sort order violation"):
        client.write_table(f"<append=%true>{path}", [{"key": 2}])
    client.write_table(f"<append=%true>{path}", [{"key": 3}, {"key": 4}])
    assert numbers(client, path) == [1, 1, 3, 3, 4]


def test_unique_keys_are_unique(client: YtClient, path: str) -> None:
    table(client, path, unique(KEYED))
    client.write_table(path, [{"key": 1}, {"key": 2}])
    with refused(306, "Duplicate key"):
        client.write_table(path, [{"key": 1}, {"key": 1}])
    with refused(306, "Duplicate key"):
        client.write_table(f"<append=%true>{path}", [{"key": 2}])
    assert numbers(client, path) == [1, 2]


def test_descending_order_is_an_order_too(client: YtClient, path: str) -> None:
    table(client, path, [{"name": "key", "type": "int64", "sort_order": "descending"}])
    client.write_table(path, [{"key": 3}, {"key": 1}])
    with refused(301):
        client.write_table(path, [{"key": 1}, {"key": 3}])
    assert numbers(client, f"{path}[2:]") == [1]


def test_computed_columns_are_computed(client: YtClient, path: str) -> None:
    hashed = {"name": "hash", "type": "int64", "sort_order": "ascending", "expression": "key % 4", "required": True}
    with refused(1, "Non-key"):
        table(client, path, [{"name": "hash", "type": "int64", "expression": "1"}])
    table(client, path, [hashed, *KEYED])
    keys = sorted(range(40), key=lambda key: (key % 4, key))
    client.write_table(path, [{"key": key} for key in keys])
    assert [(row["hash"], row["key"]) for row in read(client, path)] == [(key % 4, key) for key in keys]
    with refused(307, "hash"):
        client.write_table(path, [{"hash": 0, "key": 1}])
    with refused(301):
        client.write_table(path, [{"key": key} for key in reversed(keys)])


def test_a_path_can_name_the_order(client: YtClient, path: str) -> None:
    table(client, path)
    client.write_table(TablePath(path, sorted_by=["a", "b"]), [{"a": 0, "b": 1}, {"a": 1, "b": 0}])
    assert client.get(f"{path}/@sorted_by") == ["a", "b"]
    assert client.get(f"{path}/@schema_mode") == "weak"
    client.write_table(TablePath(path, sorted_by=["a"], append=True), [{"a": 1, "b": 0}])
    assert client.get(f"{path}/@sorted_by") == ["a"]
    with refused(301):
        client.write_table(TablePath(path, sorted_by=["a"], append=True), [{"a": 0}])
    with refused(1, "Key columns mismatch"):
        client.write_table(TablePath(path, sorted_by=["a", "b"], append=True), [{"a": 5, "b": 0}])
    client.write_table(f"<append=%true>{path}", [{"a": 0}])
    assert not client.get(f"{path}/@sorted")
    assert not client.exists(f"{path}/@sorted_by")


def test_values_of_different_types_sort_by_type(client: YtClient, path: str) -> None:
    values = [None, 1, 2, YsonUint64(3), 2.0, 4.0, False, True, "", "b"]
    table(client, path)
    client.write_table(TablePath(path, sorted_by=["s", "i"]), [{"s": value, "i": i} for i, value in enumerate(values)])

    def found(selector: str) -> list[int]:
        return [row["i"] for row in read(client, path + selector)]

    assert found("[(#,0):(#,100)]") == [0]
    assert found("[(1,0):(2,100)]") == [1, 2]
    assert found("[(3u,0):(4u,100)]") == [3]
    assert found("[(2.0,0):(4.0,100)]") == [4, 5]
    assert found("[(%false,0):(%true,100)]") == [6, 7]
    assert found('[("",0):("b",100)]') == [8, 9]
    with refused(303):
        client.write_table(TablePath(path, sorted_by=["s"]), [{"s": [1]}])


def test_a_path_can_bring_a_schema(client: YtClient, path: str) -> None:
    table(client, path)
    client.write_table(TablePath(path, schema=KEYED), [{"key": 0}])
    assert client.get(f"{path}/@schema_mode") == "strong"
    client.write_table(TablePath(path, schema=[{"name": "key", "type": "any"}]), [{"key": [4]}])
    assert read(client, path) == [{"key": [4]}]
    assert not client.get(f"{path}/@sorted")


def test_attributes_of_a_path_that_do_not_go_together_are_refused(raw: RawHttp, client: YtClient, path: str) -> None:
    table(client, path)
    schema = [{"name": "a", "type": "int64"}]
    for attributes in (
        {"append": True, "schema": schema},
        {"sorted_by": ["a"], "schema": schema},
        {"append": True, "compression_codec": "none"},
        {"schema": [*schema, *schema]},
        {"sorted_by": ["a", "a"]},
    ):
        answer = raw.command("PUT", "write_table", {"path": yson.with_attributes(path, attributes)}, b"")
        assert answer.error is not None, attributes


def test_storage_attributes_of_a_path_stay_with_the_table(client: YtClient, path: str) -> None:
    table(client, path)
    client.write_table(TablePath(path, compression_codec="zlib_6", optimize_for="lookup"), [{"a": 1}])
    assert client.get(f"{path}/@compression_codec") == "zlib_6"
    assert client.get(f"{path}/@optimize_for") == "lookup"
    assert list(client.get(f"{path}/@compression_statistics")) == ["zlib_6"]


def test_tables_are_concatenated(client: YtClient, home: str, path: str) -> None:
    one, two = table(client, f"{home}/1", KEYED), table(client, f"{home}/2", KEYED)
    client.write_table(one, [{"key": 1}, {"key": 2}])
    client.write_table(two, [{"key": 5}, {"key": 6}])
    client.concatenate([two, one], path)
    assert numbers(client, path) == [5, 6, 1, 2]
    assert client.get(f"{path}/@schema_mode") == "strong"
    assert not client.get(f"{path}/@sorted")
    assert client.get(f"{path}/@chunk_ids") == [*client.get(f"{two}/@chunk_ids"), *client.get(f"{one}/@chunk_ids")]
    client.concatenate([one], f"<append=%true>{path}")
    assert numbers(client, path) == [5, 6, 1, 2, 1, 2]
    client.remove(one)
    client.remove(two)
    assert numbers(client, path) == [5, 6, 1, 2, 1, 2]


def test_sorted_tables_are_concatenated_in_the_order_of_keys(client: YtClient, home: str, path: str) -> None:
    one, two = table(client, f"{home}/1", KEYED), table(client, f"{home}/2", KEYED)
    client.write_table(one, [{"key": 1}, {"key": 3}])
    client.write_table(two, [{"key": 3}, {"key": 4}])
    table(client, path, KEYED)
    client.concatenate([two, one], path)
    assert numbers(client, path) == [1, 3, 3, 4]
    with refused(301, "overlapping"):
        client.concatenate([one], f"<append=%true>{path}")
    table(client, f"{home}/u", unique(KEYED))
    with refused(307, "unique"):
        client.concatenate([one], f"{home}/u")
    plain = table(client, f"{home}/p", [{"name": "key", "type": "int64"}])
    client.write_table(plain, [{"key": 1}])
    with refused(307, "less key columns"):
        client.concatenate([plain], path)


def test_schemas_of_concatenated_tables_have_to_go_together(client: YtClient, home: str, path: str) -> None:
    text = table(client, f"{home}/text", [{"name": "key", "type": "string"}])
    weak = table(client, f"{home}/weak")
    number = table(client, path, [{"name": "key", "type": "int64"}, {"name": "more", "type": "any"}])
    with refused(307, text, number):
        client.concatenate([text], number)
    with refused(307, "weak"):
        client.concatenate([weak], number)
    small = table(client, f"{home}/small", [{"name": "key", "type": "int32"}])
    client.write_table(small, [{"key": 5}])
    client.concatenate([small], number)
    assert numbers(client, number) == [5]
    client.concatenate([small, text], weak)
    assert client.get(f"{weak}/@schema_mode") == "weak"
    client.create("file", f"{home}/f")
    with refused(1, "must be the same"):
        client.concatenate([weak, f"{home}/f"], weak)
    queue = make_queue(client, f"{home}/q")
    with refused(1, "dynamic"):
        client.concatenate([queue], weak)


def owners_of(client: YtClient, chunk_id: str) -> list[str]:
    """Of a chunk that may be gone at any moment."""
    try:
        return list(client.get(f"#{chunk_id}/@owning_nodes"))
    except YtResolveError:
        return []


def test_copies_share_chunks_and_live_on(client: YtClient, home: str, path: str) -> None:
    table(client, path, KEYED, mine=5)
    client.write_table(path, [{"key": 1}])
    client.copy(path, f"{home}/copy")
    (chunk_id,) = client.get(f"{path}/@chunk_ids")
    assert client.get(f"{home}/copy/@chunk_ids") == [chunk_id]
    assert sorted(client.get(f"#{chunk_id}/@owning_nodes")) == sorted([path, f"{home}/copy"])
    client.write_table(path, [{"key": 2}])
    assert numbers(client, f"{home}/copy") == [1]
    client.move(path, f"{home}/moved")
    assert numbers(client, f"{home}/moved") == [2]
    client.remove(f"{home}/copy")
    assert owners_of(client, chunk_id) == []


@pytest.mark.parametrize("body", [b"string", b"100", b"{a=1", b"{a=1};{b=<x=1>2};", b"[1;2]", b"{a=1}{b=2}"])
def test_what_is_no_list_of_rows_is_refused_and_nothing_is_written(
    raw: RawHttp, client: YtClient, path: str, body: bytes
) -> None:
    client.write_table(path, [{"a": 0}])
    answer = raw.command("PUT", "write_table", {"path": path}, body)
    assert answer.error is not None
    assert read(client, path) == [{"a": 0}]


def test_heavy_rows_and_keys_are_refused(client: YtClient, path: str) -> None:
    with refused(308, "Row weight"):
        client.write_table(path, [{"a": "long_string"}], table_writer={"max_row_weight": 2})
    with refused(308, "Key weight"):
        client.write_table(TablePath(path, sorted_by=["a"]), [{"a": "long"}], table_writer={"max_key_weight": 2})


def test_a_schema_changes_as_far_as_the_rows_allow(client: YtClient, path: str) -> None:
    table(client, path, KEYED)
    client.write_table(path, [{"key": 1, "value": "a"}, {"key": 2, "value": "b"}])
    wider = [KEYED[0], {"name": "key2", "type": "int64", "sort_order": "ascending"}, KEYED[1]]
    client.alter_table(path, schema=wider)
    assert read(client, path) == [{"key": 1, "value": "a"}, {"key": 2, "value": "b"}]
    assert numbers(client, f"{path}[(2,#):]") == [2]
    client.alter_table(
        path,
        schema=[{"name": "key", "type": "int64"}, *wider[1:2], KEYED[1]][:0]
        + wider[:1]
        + wider[2:]
        + [{"name": "key2", "type": "int64"}],
    )
    assert client.get(f"{path}/@sorted_by") == ["key"]
    for schema in (
        [{"name": "key", "type": "string", "sort_order": "ascending"}, *wider[1:]],
        [{"name": "value", "type": "string", "sort_order": "ascending"}, {"name": "key", "type": "int64"}],
        [{"name": "key", "type": "int64"}],
        unique(KEYED),
    ):
        with refused(1):
            client.alter_table(path, schema=schema)
