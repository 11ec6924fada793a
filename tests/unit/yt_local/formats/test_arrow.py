"""`arrow` has the types that real clusters give columns."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa
import pytest

from yt_local.formats.format import RowShape
from yt_local.formats.formats import parse_format
from yt_local.schema.schema import parse_schema
from yt_wire import yson
from yt_wire.error import YtError


def written(batches: list[list[Any]], columns: list[dict[str, Any]], selected: list[bytes] | None = None) -> bytes:
    shape = RowShape(parse_schema(columns).columns, selected, is_table=True)
    return b"".join(parse_format("arrow").encode_rows(batches, shape))


def table_of(data: bytes) -> Any:
    return pa.ipc.open_stream(data).read_all()


COLUMNS: list[dict[str, Any]] = [
    {"name": "i", "type": "int16"},
    {"name": "u", "type": "uint64", "required": True},
    {"name": "f", "type": "float"},
    {"name": "b", "type": "boolean"},
    {"name": "s", "type": "string"},
    {"name": "t", "type": "utf8"},
    {"name": "d", "type": "date"},
    {"name": "ts", "type": "timestamp"},
    {"name": "n", "type": "null"},
    {"name": "a", "type": "any"},
    {"name": "l", "type_v3": {"type_name": "list", "item": "int64"}},
]
ROW = {
    b"i": -1,
    b"u": yson.Uint64(2**63),
    b"f": 0.5,
    b"b": True,
    b"s": b"\xff",
    b"t": b"text",
    b"d": yson.Uint64(1),
    b"ts": yson.Uint64(1),
    b"a": {b"x": 1},
    b"l": [1],
}


def test_columns_have_types_and_nulls() -> None:
    table = table_of(written([[ROW], [], [{b"u": yson.Uint64(1)}, ROW]], COLUMNS))
    assert [str(field.type) for field in table.schema] == [
        *("int16", "uint64", "float", "bool", "binary", "string", "date32[day]", "timestamp[us]", "null", "binary"),
        "binary",
    ]
    assert [field.name for field in table.schema if not field.nullable] == ["u", "l"]
    assert table.num_rows == 3
    assert table["u"].to_pylist() == [2**63, 1, 2**63]
    assert table["s"].to_pylist() == [b"\xff", None, b"\xff"]
    assert yson.loads_raw(table["a"][0].as_py()) == {b"x": 1}
    assert table.schema.field("a").metadata == table.schema.field("l").metadata == {b"YtType": b"yson"}


def test_columns_may_be_chosen_and_places_are_columns() -> None:
    rows = [yson.with_attributes(None, {"row_index": 5}), ROW, ROW]
    table = table_of(written([rows], COLUMNS, [b"i"]))
    assert table.to_pydict() == {"i": [-1, -1], "$row_index": [5, 6]}


def test_no_row_is_no_stream() -> None:
    assert written([[], []], COLUMNS) == b""


def test_types_that_arrow_has_no_place_for_are_refused() -> None:
    with pytest.raises(YtError, match='Type "uuid" is not currently supported by Arrow encoder'):
        written([[{b"id": bytes(16)}]], [{"name": "id", "type": "uuid"}])


def test_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(YtError, match=r"install yt-local-cluster\[arrow\]"):
        parse_format("arrow")
