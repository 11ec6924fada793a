"""`skiff` is byte for byte what the Go client writes and reads."""

from __future__ import annotations

from typing import Any

import pytest

from yt_local.formats.format import RowShape
from yt_local.formats.formats import parse_format
from yt_local.schema.schema import Column, parse_schema
from yt_wire import yson
from yt_wire.error import YtError


def optional(item: Any, name: str = "") -> dict[str, Any]:
    return {"wire_type": "variant8", "name": name, "children": [{"wire_type": "nothing"}, item]}


def wire(wire_type: str, name: str = "", *children: Any) -> dict[str, Any]:
    return {"wire_type": wire_type, "name": name} | ({"children": list(children)} if children else {})


def columns_of(**types: Any) -> tuple[Column, ...]:
    return parse_schema([{"name": name, "type_v3": type_v3} for name, type_v3 in types.items()]).columns


def read(data: bytes, children: list[Any], columns: tuple[Column, ...] = ()) -> list[dict[bytes, Any]]:
    row_format = parse_format(yson.with_attributes("skiff", {"table_skiff_schemas": [wire("tuple", "", *children)]}))
    return row_format.read_rows(data, columns)


def written(rows: Any, children: list[Any], columns: tuple[Column, ...] = ()) -> bytes:
    row_format = parse_format(yson.with_attributes("skiff", {"table_skiff_schemas": [wire("tuple", "", *children)]}))
    return b"".join(row_format.encode_rows([rows], RowShape(columns, is_table=True)))


GO_FORMAT = b"""<"table_skiff_schemas"=[{"wire_type"=tuple;children=[{"wire_type"=string32;name=key;};
{"wire_type"=int64;name=n;};{"wire_type"=variant8;name=u;children=[{"wire_type"=nothing;};{"wire_type"=uint64;};];};
{"wire_type"=boolean;name=b;};{"wire_type"=double;name=d;};
{"wire_type"=variant8;name=a;children=[{"wire_type"=nothing;};{"wire_type"=yson32;};];};];};];
"skiff_schema_registry"={};>skiff"""
GO_COLUMNS = columns_of(
    key="string",
    n="int64",
    u={"type_name": "optional", "item": "uint64"},
    b="bool",
    d="double",
    a={"type_name": "optional", "item": "yson"},
)
GO_BYTES = (
    "0000 02000000 6b31 feffffffffffffff 01 0700000000000000 01 000000000000f83f 01 05000000 5b02023b5d"
    "0000 00000000      0100000000000000 00                  00 0000000000000000 01 01000000 23"
)
GO_ROWS = [
    {b"key": b"k1", b"n": -2, b"u": yson.Uint64(7), b"b": True, b"d": 1.5, b"a": [1]},
    {b"key": b"", b"n": 1, b"u": None, b"b": False, b"d": 0.0, b"a": None},
]


def test_rows_of_the_go_client_are_read_and_written() -> None:
    row_format = parse_format(yson.loads(GO_FORMAT))
    data = bytes.fromhex(GO_BYTES)
    rows = row_format.read_rows(data, GO_COLUMNS)
    assert rows == GO_ROWS
    assert isinstance(rows[0][b"u"], yson.Uint64)
    # A null is written as the other choice of the variant, which means the same.
    assert b"".join(row_format.encode_rows([rows], RowShape(GO_COLUMNS))) == data.removesuffix(b"\1\1\0\0\0#") + b"\0"


def test_it_does_not_matter_where_rows_are_cut() -> None:
    data = bytes.fromhex(GO_BYTES)
    for size in range(1, len(data)):
        reader = parse_format(yson.loads(GO_FORMAT)).row_reader(GO_COLUMNS)
        rows = [row for start in range(0, len(data), size) for row in reader.feed(data[start : start + size])]
        assert rows + reader.finish() == GO_ROWS
    reader = parse_format(yson.loads(GO_FORMAT)).row_reader(GO_COLUMNS)
    assert reader.feed(data[:-1]) == GO_ROWS[:1]
    with pytest.raises(YtError, match="Premature end of stream"):
        reader.finish()


COMPOSITE_COLUMNS = columns_of(
    l={"type_name": "list", "item": "utf8"},
    o={"type_name": "optional", "item": "int64"},
    d={"type_name": "decimal", "precision": 5, "scale": 4},
    s={
        "type_name": "struct",
        "members": [
            {"name": "x", "type": "int16"},
            {"name": "y", "type": {"type_name": "optional", "item": "utf8"}},
        ],
    },
    v={"type_name": "variant", "members": [{"name": "x", "type": "int16"}, {"name": "y", "type": "utf8"}]},
    m={"type_name": "dict", "key": "utf8", "value": "int64"},
)
COMPOSITE_CHILDREN = [
    wire("repeated_variant8", "l", wire("string32")),
    optional(wire("int64"), "o"),
    wire("int32", "d"),
    wire("tuple", "s", wire("int16", "x"), optional(wire("string32"), "y")),
    wire("variant8", "v", wire("int16", "x"), wire("string32", "y")),
    wire("repeated_variant8", "m", wire("tuple", "", wire("string32"), wire("int64"))),
]
COMPOSITE_ROW = {
    b"l": [b"ab"],
    b"o": 5,
    b"d": b"\x80\x00\x7a\xb7",
    b"s": {b"x": 100, b"y": None},
    b"v": [b"y", b"z"],
    b"m": [[b"k", 9]],
}


def test_composites_are_read_and_written() -> None:
    data = bytes.fromhex(
        "0000  00 02000000 6162 ff  01 0500000000000000  b77a0000  6400 00  01 01000000 7a"
        "  00 01000000 6b 0900000000000000 ff"
    )
    assert read(data, COMPOSITE_CHILDREN, COMPOSITE_COLUMNS) == [COMPOSITE_ROW]
    assert written([COMPOSITE_ROW], COMPOSITE_CHILDREN, COMPOSITE_COLUMNS) == data
    positional = {**COMPOSITE_ROW, b"s": [100], b"v": [1, b"z"], b"m": {b"k": 9}}
    assert written([positional], COMPOSITE_CHILDREN, COMPOSITE_COLUMNS) == data


@pytest.mark.parametrize(
    ("type_v3", "layout", "value", "hexadecimal"),
    [
        ("int64", wire("int8", "c"), -1, "ff"),
        ("uint8", wire("uint16", "c"), yson.Uint64(258), "0201"),
        ("timestamp", wire("uint64", "c"), yson.Uint64(1), "0100000000000000"),
        ("string", wire("yson32", "c"), b"a", "03000000 010261"),
        ("void", wire("nothing", "c"), None, ""),
        ("uuid", wire("uint128", "c"), bytes(range(16)), "0f0e0d0c0b0a09080706050403020100"),
        ({"type_name": "decimal", "precision": 10, "scale": 0}, wire("int64", "c"), b"\x7f" + b"\xff" * 7, "ff" * 8),
        ({"type_name": "decimal", "precision": 20, "scale": 0}, wire("int128", "c"), b"\x80" + bytes(15), "00" * 16),
        ({"type_name": "tagged", "tag": "t", "item": "bool"}, wire("boolean", "c"), True, "01"),
        (
            {"type_name": "optional", "item": {"type_name": "optional", "item": "int8"}},
            optional(optional(wire("int8")), "c"),
            [None],
            "0100",
        ),
        (
            {"type_name": "optional", "item": {"type_name": "tuple", "elements": [{"type": "int8"}, {"type": "yson"}]}},
            optional(wire("tuple", "", wire("int8"), wire("yson32")), "c"),
            [1, None],
            "01 01 01000000 23",
        ),
        (
            {"type_name": "variant", "elements": [{"type": "int8"}, {"type": "int8"}]},
            wire("variant16", "c", wire("int8"), wire("int8")),
            [1, 2],
            "0100 02",
        ),
    ],
)
def test_values_are_written_by_their_types(type_v3: Any, layout: Any, value: Any, hexadecimal: str) -> None:
    columns = columns_of(c=type_v3)
    data = bytes(2) + bytes.fromhex(hexadecimal)
    assert written([{b"c": value}], [layout], columns) == data
    assert read(data, [layout], columns) == [{b"c": value}]


SPARSE = [
    wire("int8", "a"),
    wire("repeated_variant16", "$sparse_columns", wire("int8", "b"), wire("string32", "c")),
    wire("yson32", "$other_columns"),
]
SPARSE_COLUMNS = columns_of(a="int64", b={"type_name": "optional", "item": "int64"})


def test_columns_may_be_sparse_or_among_the_others() -> None:
    row = {b"a": 1, b"c": b"x", b"d": 2}
    data = bytes.fromhex("0000 01 0100 01000000 78 ffff") + b"\x09\0\0\0" + yson.dumps({b"d": 2})
    assert written([{**row, b"b": None}], SPARSE, SPARSE_COLUMNS) == data
    assert read(data, SPARSE, SPARSE_COLUMNS) == [row]


def test_a_sparse_composite_need_not_say_that_it_is_optional() -> None:
    columns = columns_of(c={"type_name": "optional", "item": {"type_name": "list", "item": "int8"}})
    layout = [wire("repeated_variant16", "$sparse_columns", wire("repeated_variant8", "c", wire("int8")))]
    data = bytes.fromhex("0000 0000 00 01 ff ffff")
    assert written([{b"c": [1]}], layout, columns) == data
    assert read(data, layout, columns) == [{b"c": [1]}]


def place(name: str, value: int) -> Any:
    return yson.with_attributes(None, {name: value})


def test_places_are_told_where_they_are_not_what_readers_expect() -> None:
    index = [wire("nothing"), wire("int64")]
    layout = [
        wire("boolean", "$key_switch"),
        wire("variant8", "$row_index", *index),
        wire("variant8", "$range_index", *index),
        wire("int8", "a"),
    ]
    rows = [
        place("table_index", 0),
        place("range_index", 0),
        place("row_index", 5),
        {b"a": 1},
        {b"a": 2},
        place("range_index", 2),
        place("row_index", 7),
        {b"a": 3},
    ]
    assert written(rows, layout, columns_of(a="int8")) == bytes.fromhex(
        "0000 00 01 0500000000000000 01 0000000000000000 01"
        "0000 00 00 00 02"
        "0000 00 01 0700000000000000 01 0200000000000000 03"
    )
    with pytest.raises(YtError, match="Row index requested but reader did not return it"):
        written([{b"a": 1}], layout, columns_of(a="int8"))
    with_error = [wire("variant8", "$row_index", *index, wire("nothing")), wire("int8", "a")]
    assert written([{b"a": 1}], with_error, columns_of(a="int8")) == bytes.fromhex("0000 02 01")


@pytest.mark.parametrize(
    ("layout", "row", "words"),
    [
        ([wire("int64", "a")], {b"a": 1, b"c": 2}, 'Column "c" is not described by Skiff schema'),
        ([wire("int64", "a")], {b"a": None}, 'expected "int64", actual table type "null"'),
        ([wire("int64", "a")], {}, 'expected "int64", actual table type "null"'),
        ([wire("int8", "a")], {b"a": 300}, "Value 300 is out of range for possible values for skiff type"),
        ([wire("string32", "x")], {b"x": 1}, 'expected "string", actual table type "int64"'),
    ],
)
def test_rows_that_do_not_fit_are_refused(layout: Any, row: Any, words: str) -> None:
    with pytest.raises(YtError, match=words) as caught:
        written([row], layout, columns_of(a={"type_name": "optional", "item": "int64"}))
    assert caught.value.code == (315 if "300" not in words else 1)


@pytest.mark.parametrize(
    ("hexadecimal", "words"),
    [
        ("0100 00", "Unknown table index variant16 tag 1"),
        ("0000 02", 'Found bad variant8 tag "2" when parsing optional field "a"'),
        ("0000 01 0500", "Premature end of stream"),
    ],
)
def test_bytes_that_mean_nothing_are_refused(hexadecimal: str, words: str) -> None:
    with pytest.raises(YtError, match=words):
        read(bytes.fromhex(hexadecimal), [optional(wire("int64"), "a")], columns_of(a="int64"))


@pytest.mark.parametrize(
    ("schemas", "words"),
    [
        (None, "table_skiff_schemas"),
        ([], "Expected to have single table, actual table description count 0"),
        ([wire("int64")], 'Invalid wire type for table row: expected "tuple", found "int64"'),
        ([wire("tuple")], 'Complex type "tuple" lacks children'),
        ([wire("tuple", "", wire("int64"))], "Element #0 of row Skiff schema must have a name"),
        ([wire("tuple", "", wire("int64", "a"), wire("int8", "a"))], 'Name "a" is found multiple times'),
        ([wire("tuple", "", wire("int65", "a"))], "EWireType"),
        (["$unknown"], "Cannot resolve type reference"),
        (["$loop"], "recursive types are forbidden"),
        (["plain"], "reference must start with"),
        ([wire("tuple", "", wire("int8", "$other_columns"))], 'expected "yson32", found "int8"'),
        ([wire("tuple", "", wire("int8", "$row_index"))], "unsupported Skiff type"),
        ([wire("tuple", "", wire("int64", "s"))], 'Cannot create Skiff writer for column "s"'),
        ([wire("tuple", "", wire("string32", "n"))], 'Cannot create Skiff writer for column "n"'),
    ],
)
def test_layouts_that_make_no_sense_are_refused(schemas: Any, words: str) -> None:
    attributes = {"table_skiff_schemas": schemas, "skiff_schema_registry": {"loop": "$loop"}}
    row_format = parse_format(yson.with_attributes("skiff", attributes))
    with pytest.raises(YtError, match="Failed to parse config for Skiff format") as caught:
        list(row_format.encode_rows([[]], RowShape(columns_of(s="string", n="int64"))))
    assert caught.value.code == 2800
    assert words in str(caught.value.to_map())
    if "writer" not in words:
        with pytest.raises(YtError):
            row_format.row_reader(())


def test_layouts_come_from_a_registry_too() -> None:
    attributes = {
        "table_skiff_schemas": ["$table"],
        "skiff_schema_registry": {"table": wire("tuple", "", "$number"), "number": wire("int8", "a")},
    }
    row_format = parse_format(yson.with_attributes("skiff", attributes))
    assert row_format.read_rows(bytes.fromhex("0000 05"), columns_of(a="int64")) == [{b"a": 5}]


def test_structs_may_lack_members_of_the_layout_and_the_other_way_round() -> None:
    member = {"name": "x", "type": {"type_name": "optional", "item": "int8"}}
    columns = columns_of(s={"type_name": "struct", "members": [member, {"name": "y", "type": "int8"}]})
    layout = [wire("tuple", "s", wire("int8", "y"), optional(wire("int8"), "z"))]
    assert written([{b"s": {b"x": 1, b"y": 2}}], layout, columns) == bytes.fromhex("0000 02 00")
    assert read(bytes.fromhex("0000 02"), [wire("tuple", "s", wire("int8", "y"))], columns) == [{b"s": {b"y": 2}}]
    for bad in (layout, [wire("tuple", "s", optional(wire("int8"), "x"))]):
        with pytest.raises(YtError, match='Cannot create Skiff parser for column "s"'):
            read(b"", bad, columns)


def test_a_composite_that_the_table_lacks_is_null() -> None:
    layout = [optional(wire("repeated_variant8", "", wire("int8")), "c")]
    assert written([{}], layout) == bytes.fromhex("0000 00")
    with pytest.raises(YtError, match="absent in schema"):
        written([{b"c": [1]}], layout)
