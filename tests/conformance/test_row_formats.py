"""Formats that know the columns of their tables, as real clients use them: skiff, web_json, arrow."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from yt.wrapper import SkiffFormat, TablePath, YtClient, yt_dataclass
from yt.wrapper.schema import OtherColumns, TableSchema

from tests.conformance.harness import BACKEND, RawHttp, make_queue, make_sorted, refused
from tests.conformance.static_tables import table
from yt_wire import yson

pytestmark = pytest.mark.skipif(bool(BACKEND), reason="over RPC rows come in wire format only")


# The decorator makes a dataclass, but has no types to tell so.
@yt_dataclass
@dataclass
class Inner:
    number: int
    text: str | None


@yt_dataclass
@dataclass
class Everything:
    key: str
    number: int
    ratio: float
    flag: bool
    data: bytes
    perhaps: int | None
    many: list[int]
    inner: Inner | None
    by_name: dict[str, int]
    pair: tuple[int, str]


@yt_dataclass
class KeyAlone:
    key: str
    others: OtherColumns


ROWS = [
    Everything("a", -1, 0.5, True, b"\xff", None, [1, 2], Inner(1, "x"), {"k": 9}, (1, "y")),
    Everything("b", 2**62, -1.0, False, b"", 5, [], None, {}, (2, "z")),
]


def test_structured_rows_are_what_they_were(client: YtClient, home: str) -> None:
    path = f"{home}/t"
    client.write_table_structured(path, Everything, ROWS)
    assert list(client.read_table_structured(path, Everything)) == ROWS
    described = TableSchema.from_row_type(Everything).to_yson_type()
    assert [column["type_v3"] for column in client.get(f"{path}/@schema")] == [
        column["type_v3"] for column in described
    ]
    (first, _) = client.read_table(path)
    assert first["inner"] == {"number": 1, "text": "x"}
    assert first["by_name"] == [["k", 9]]
    client.write_table_structured(TablePath(path, append=True), Everything, ROWS[:1])
    assert [row.key for row in client.read_table_structured(path, Everything)] == ["a", "b", "a"]


def test_structured_rows_say_where_they_are_from(client: YtClient, home: str) -> None:
    path = table(
        client, f"{home}/t", [{"name": "key", "type": "utf8", "required": True}, {"name": "n", "type": "int64"}]
    )
    client.write_table(path, [{"key": str(n), "n": n} for n in range(10)])
    ranges = [{"lower_limit": {"row_index": low}, "upper_limit": {"row_index": low + 2}} for low in (1, 7)]
    rows = client.read_table_structured(TablePath(path, ranges=ranges), KeyAlone)
    found = [(row.key, rows.get_row_index(), rows.get_range_index()) for row in rows]
    assert found == [("1", 1, 0), ("2", 2, 0), ("7", 7, 1), ("8", 8, 1)]
    (row,) = client.read_table_structured(f"{path}[#3]", KeyAlone)
    assert row.others["n"] == 3


def test_records_are_read_and_written(client: YtClient, home: str) -> None:
    children = [
        {"wire_type": "int64", "name": "n"},
        {"wire_type": "variant8", "name": "s", "children": [{"wire_type": "nothing"}, {"wire_type": "string32"}]},
        {"wire_type": "yson32", "name": "$other_columns"},
    ]
    skiff = SkiffFormat([{"wire_type": "tuple", "children": children}])
    path = table(client, f"{home}/t")
    (layout,) = skiff.get_schemas()
    records = [layout.create_record(), layout.create_record()]
    records[0]["n"], records[0]["s"], records[0]["more"] = 1, b"text", [1]
    records[1]["n"] = 2
    client.write_table(path, records, format=skiff)
    assert list(client.read_table(path)) == [{"n": 1, "s": "text", "more": [1]}, {"n": 2, "s": None}]
    found = list(client.read_table(path, format=skiff))
    assert [(record["n"], record["s"]) for record in found] == [(1, "text"), (2, None)]
    assert found[0]["more"] == [1]


def skiff_of(*columns: tuple[str, str]) -> Any:
    children = [{"wire_type": wire_type, "name": name} for name, wire_type in columns]
    return yson.with_attributes("skiff", {"table_skiff_schemas": [{"wire_type": "tuple", "children": children}]})


def test_rows_of_dynamic_tables_come_in_skiff(raw: RawHttp, client: YtClient, home: str) -> None:
    path = make_sorted(client, f"{home}/s")
    names = [column["name"] for column in client.get(f"{path}/@schema")]
    wire_types = {"int64": "int64", "string": "string32", "utf8": "string32", "any": "yson32"}
    columns = [(column["name"], wire_types[column["type"]]) for column in client.get(f"{path}/@schema")]
    values = {"int64": (5).to_bytes(8, "little"), "string32": b"\1\0\0\0x", "yson32": b"\1\0\0\0#"}
    body = bytes(2) + b"".join(values[wire_type] for _, wire_type in columns)
    answer = raw.command("PUT", "insert_rows", {"path": path, "input_format": skiff_of(*columns)}, body)
    assert answer.status == 200, answer.body
    key_name, key_type = columns[0]
    parameters = {"path": path, "input_format": skiff_of((key_name, key_type)), "output_format": "json"}
    found = raw.command("PUT", "lookup_rows", parameters, bytes(2) + values[key_type])
    assert found.status == 200, found.body
    assert list(json.loads(found.body)) == names
    deleted = raw.command(
        "PUT", "delete_rows", {k: v for k, v in parameters.items() if k != "output_format"}, bytes(2) + values[key_type]
    )
    assert deleted.status == 200, deleted.body
    assert list(client.select_rows(f"* from [{path}]")) == []
    for command, more in {"select_rows": {"query": f"* from [{path}]"}, "lookup_rows": {"path": path}}.items():
        for form in (skiff_of((key_name, key_type)), "arrow"):
            method = "GET" if command == "select_rows" else "PUT"
            refusal = raw.command(method, command, {**more, "output_format": form}, b"" if method == "PUT" else None)
            assert refusal.status == 400
            assert refusal.error and "is not supported by" in refusal.error.message


def web_json(**options: Any) -> Any:
    return yson.with_attributes("web_json", options)


def test_a_page_of_a_table_shows_as_much_as_it_asks_for(raw: RawHttp, client: YtClient, home: str) -> None:
    path = table(client, f"{home}/t", [{"name": "n", "type": "int64"}, {"name": "s", "type": "string"}])
    client.write_table(path, [{"n": n, "s": "x" * 20} for n in range(200)])
    options = {"field_weight_limit": 10, "value_format": "yql", "column_names": ["s"]}
    answer = raw.command("GET", "read_table", {"path": f"{path}[#0:#101]", "output_format": web_json(**options)})
    assert answer.headers["Content-Type"] == "application/json"
    page = json.loads(answer.body)
    assert len(page["rows"]) == 101
    assert page["rows"][0] == {"s": [[{"inc": True, "val": "x" * 9}], "9"]}
    assert page["all_column_names"] == ["n", "s"]
    assert page["incomplete_columns"] == "true"
    assert page["yql_type_registry"][8:] == [["OptionalType", ["DataType", name]] for name in ("Int64", "String")]
    empty = raw.command("GET", "read_table", {"path": f"{path}[#0:#0]", "output_format": "web_json"})
    assert json.loads(empty.body)["rows"] == []


def test_pages_of_queues_and_queries_have_types_too(raw: RawHttp, client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    client.insert_rows(path, [{"data": "a"}])
    query = {"query": f"[$row_index], data from [{path}]", "output_format": web_json(value_format="yql")}
    page = json.loads(raw.command("GET", "select_rows", query).body)
    assert page["rows"] == [{"$$row_index": [["0"], "8"], "data": [["a"], "9"]}]
    pulled = {"queue_path": path, "partition_index": 0, "output_format": "web_json"}
    page = json.loads(raw.command("GET", "pull_queue", pulled).body)
    assert page["rows"][0]["data"] == {"$type": "string", "$value": "a"}
    assert "$row_index" in page["all_column_names"]


def test_formats_of_pages_are_checked(raw: RawHttp, client: YtClient, home: str) -> None:
    path = table(client, f"{home}/t")
    answer = raw.command("GET", "read_table", {"path": path, "output_format": web_json(value_format="sql")})
    assert answer.status == 400
    assert answer.error and answer.error.code == 2800
    node = raw.command("GET", "get", {"path": path, "output_format": "web_json"})
    assert node.error and "for rows only" in node.error.message
    write = raw.command("PUT", "write_table", {"path": path, "input_format": "web_json"}, b"{}")
    assert write.error and "for output only" in write.error.message


def test_tables_are_read_by_columns(client: YtClient, home: str) -> None:
    path = table(client, f"{home}/t", [{"name": "n", "type": "int64"}, {"name": "s", "type": "utf8"}])
    rows = [{"n": n, "s": None if n % 3 else str(n)} for n in range(5000)]
    client.write_table(path, rows)
    data = client.read_table(path, format="arrow", raw=True).read()
    assert pa.ipc.open_stream(data).read_all().to_pylist() == rows
    part = client.read_table(
        TablePath(path, columns=["n"], start_index=7, end_index=9), format="arrow", raw=True
    ).read()
    assert pa.ipc.open_stream(part).read_all().to_pylist() == [{"n": 7}, {"n": 8}]
    with refused(1, "for output only"):
        client.write_table(path, io.BytesIO(data), format="arrow", raw=True)


def test_tables_become_parquet_files(client: YtClient, home: str, tmp_path: Any) -> None:
    path = table(client, f"{home}/t", [{"name": "n", "type": "int64"}, {"name": "s", "type": "utf8"}])
    rows = [{"n": n, "s": str(n)} for n in range(1000)]
    client.write_table(path, rows)
    target = str(tmp_path / "t.parquet")
    client.dump_parquet(path, output_file=target)
    assert pyarrow.parquet.read_table(target).to_pylist() == rows
