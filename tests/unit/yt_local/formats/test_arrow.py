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


def written(
    batches: list[list[Any]],
    columns: list[dict[str, Any]],
    selected: list[bytes] | None = None,
    **options: Any,
) -> bytes:
    shape = RowShape(parse_schema(columns).columns, selected, is_table=True)
    return b"".join(parse_format(yson.with_attributes("arrow", options)).encode_rows(batches, shape))


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


def composite(type_v3: Any, *values: Any) -> Any:
    """A column of values of a type, as a table of Arrow."""
    rows = [{b"c": value} for value in values]
    return table_of(written([rows], [{"name": "c", "type_v3": type_v3}], enable_complex_types=True))


INT: Any = {"type_name": "optional", "item": "int64"}


def test_composites_are_those_of_arrow_if_they_are_enabled() -> None:
    lists = composite({"type_name": "optional", "item": {"type_name": "list", "item": INT}}, [1, None], None, [])
    assert (lists["c"].to_pylist(), lists.schema.field("c").type) == (
        [[1, None], None, []],
        pa.list_(pa.field("", pa.int64())),
    )
    members = [{"name": "x", "type": "utf8"}, {"name": "y", "type": {"type_name": "list", "item": "yson"}}]
    structs = composite({"type_name": "struct", "members": members}, {b"x": b"a", b"y": [1, {}]}, [b"b", []])
    assert structs["c"].to_pylist() == [{"x": "a", "y": [b"\x02\x02", b"{}"]}, {"x": "b", "y": []}]
    dicts = composite({"type_name": "dict", "key": "string", "value": INT}, [[b"k", 1], [b"l", None]])
    assert dicts["c"].to_pylist() == [[(b"k", 1), (b"l", None)]]


def test_an_optional_around_an_optional_is_a_struct_of_one() -> None:
    table = composite({"type_name": "optional", "item": INT}, [5], [None], None)
    assert table["c"].to_pylist() == [{"": 5}, {"": None}, None]
    assert table.schema.field("c").metadata == {b"YtType": b"nested_optional"}


def test_tags_are_no_types_and_structs_may_be_empty() -> None:
    tagged = composite({"type_name": "tagged", "tag": "t", "item": "date"}, yson.Uint64(1))
    assert str(tagged.schema.field("c").type) == "date32[day]"
    assert composite({"type_name": "struct", "members": []}, {}, {})["c"].to_pylist() == [{"": None}, {"": None}]


@pytest.mark.parametrize(
    ("kind", "type_v3"),
    [
        ("tuple", {"type_name": "tuple", "elements": [{"type": "int64"}]}),
        ("decimal", {"type_name": "list", "item": {"type_name": "decimal", "precision": 5, "scale": 2}}),
    ],
)
def test_composites_that_the_encoder_does_not_know_are_refused(kind: str, type_v3: Any) -> None:
    with pytest.raises(YtError, match=f'Complex type "{kind}" is not yet supported with Arrow complex types enabled'):
        composite(type_v3, [])


def test_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(YtError, match=r"install yt-local-cluster\[arrow\]"):
        parse_format("arrow")
