"""`web_json` shows rows as the stock UI wants them, and no more of them than it asks for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from yt_local.formats.format import RowShape
from yt_local.formats.formats import parse_format
from yt_local.formats.row_output import ValueRows
from yt_local.schema.schema import Column, parse_schema
from yt_wire import yson
from yt_wire.error import YtError

ZHE = "\N{CYRILLIC SMALL LETTER ZHE}"
NAMES = '"incomplete_columns":"false","incomplete_all_column_names":"false"'


def written(rows: Any, columns: tuple[Column, ...] = (), *, is_table: bool = False, **options: Any) -> str:
    web_json = parse_format(yson.with_attributes("web_json", options))
    return b"".join(web_json.encode_rows([rows], RowShape(columns, is_table=is_table))).decode()


def optional(item: Any) -> Any:
    return {"type_name": "optional", "item": item}


def value_of(type_v3: Any, value: Any, **options: Any) -> str:
    """JSON of a value of this type, without the index of the type."""
    columns = parse_schema([{"name": "c", "type_v3": type_v3}]).columns
    text = written([{b"c": value}], columns, value_format="yql", **options)
    start = text.index('"c":[') + len('"c":[')
    return text[start : text.index(',"8"]}]')]


def test_values_without_a_schema_tell_their_types() -> None:
    row = {b"b": {b"key": b"a"}, b"c": b"roooooooow", b"d": 0.42, b"n": None, "any": [1] * 20, "$x": ZHE.encode()}
    assert written([row], field_weight_limit=12) == (
        '{"rows":[{"b":{"key":{"$type":"string","$value":"a"}},"c":{"$type":"string","$value":"roooooooow"},'
        '"d":{"$type":"double","$value":"0.42"},"n":null,"any":{"$incomplete":true,"$type":"any","$value":""},'
        '"$$x":{"$type":"string","$value":"\xd0\xb6"}}],'
        f'{NAMES},"all_column_names":["$x","any","b","c","d","n"]}}'
    )
    assert '"c":{"$incomplete":true,"$type":"string","$value":"ro"}' in written([row], field_weight_limit=2)


def test_no_rows_are_a_document_too() -> None:
    assert written([]) == f'{{"rows":[],{NAMES},"all_column_names":[]}}'
    assert written([None, None]) == written([])


COLUMNS = parse_schema(
    [
        {"name": "id", "type": "int64"},
        {"name": "name", "type": "string"},
        {"name": "req", "type": "int64", "required": True},
        {"name": "ratio", "type": "double"},
        {"name": "flag", "type": "boolean"},
        {"name": "any", "type": "any"},
        {"name": "list", "type_v3": optional({"type_name": "list", "item": optional("int64")})},
        {
            "name": "st",
            "type_v3": {
                "type_name": "struct",
                "members": [{"name": "key", "type": "string"}, {"name": "value", "type": optional("int64")}],
            },
        },
        {
            "name": "var",
            "type_v3": {
                "type_name": "variant",
                "members": [{"name": "x", "type": "int64"}, {"name": "y", "type": "string"}],
            },
        },
        {"name": "opt2", "type_v3": optional(optional("int64"))},
        {"name": "dict", "type_v3": {"type_name": "dict", "key": "string", "value": "int64"}},
    ]
).columns

ROW = {
    b"id": 1,
    b"name": f"a{ZHE}".encode(),
    b"req": 7,
    b"any": {b"x": 2},
    b"list": [1, None],
    b"st": {b"key": b"k", b"value": 5},
    b"var": [b"y", b"z"],
    b"opt2": [5],
    b"dict": [[b"k", 9]],
    b"weak": 5,
}


def test_values_with_a_schema_name_their_place_in_a_registry() -> None:
    text = written([ROW, {b"id": None, b"name": b"\xff"}], COLUMNS, value_format="yql")
    assert text == (
        f'{{"rows":[{{"id":[["1"],"8"],"name":[["a{ZHE}"],"9"],"req":["7","10"],'
        '"any":[[{"val":{"x":{"$type":"int64","$value":"2"}}}],"13"],"list":[[{"val":[["1"],null]}],"14"],'
        '"st":[["k",["5"]],"15"],"var":[["1","z"],"16"],"opt2":[[["5"]],"17"],"dict":[{"val":[["k","9"]]},"18"],'
        '"weak":["5","1"]},{"id":[null,"8"],"name":[[{"b64":true,"val":"/w=="}],"9"]}],'
        f'{NAMES},"all_column_names":["any","dict","id","list","name","opt2","req","st","var","weak"],'
        '"yql_type_registry":[["NullType"],["DataType","Int64"],["DataType","Uint64"],["DataType","Double"],'
        '["DataType","Boolean"],["DataType","String"],["DataType","Yson"],["DataType","Yson"],'
        '["OptionalType",["DataType","Int64"]],["OptionalType",["DataType","String"]],["DataType","Int64"],'
        '["OptionalType",["DataType","Double"]],["OptionalType",["DataType","Boolean"]],'
        '["OptionalType",["DataType","Yson"]],["OptionalType",["ListType",["OptionalType",["DataType","Int64"]]]],'
        '["StructType",[["key",["DataType","String"]],["value",["OptionalType",["DataType","Int64"]]]]],'
        '["VariantType",["StructType",[["x",["DataType","Int64"]],["y",["DataType","String"]]]]],'
        '["OptionalType",["OptionalType",["DataType","Int64"]]],["DictType",["DataType","String"],'
        '["DataType","Int64"]]]}'
    )


def test_structs_and_variants_may_be_positional() -> None:
    positional = {**ROW, b"st": [b"k", 5], b"var": [1, b"z"]}
    assert written([positional], COLUMNS, value_format="yql") == written([ROW], COLUMNS, value_format="yql")


@pytest.mark.parametrize(
    ("type_v3", "value", "text"),
    [
        ("uint64", yson.Uint64(18987), '"18987"'),
        ("date", yson.Uint64(18987), '"18987"'),
        ("double", 0.5, '"0.5"'),
        ("bool", True, "true"),
        ("utf8", ZHE.encode(), f'"{ZHE}"'),
        ("void", None, "null"),
        ({"type_name": "decimal", "precision": 5, "scale": 4}, b"\x80\x00\x7a\xb7", '"3.1415"'),
        ({"type_name": "decimal", "precision": 3, "scale": 2}, b"\x7f\xff\xff\xfb", '"-0.05"'),
        ({"type_name": "decimal", "precision": 3, "scale": 0}, b"\xff\xff\xff\xff", '"nan"'),
        ({"type_name": "tuple", "elements": [{"type": "int8"}, {"type": optional("yson")}]}, [1, None], '["1",null]'),
        ({"type_name": "tuple", "elements": [{"type": "int8"}, {"type": "yson"}]}, [1], '["1",null]'),
        ({"type_name": "variant", "elements": [{"type": "int8"}, {"type": "yson"}]}, [0, 3], '["0","3"]'),
        ({"type_name": "tagged", "tag": "t", "item": "string"}, b"x", '"x"'),
    ],
)
def test_values_are_written_by_their_types(type_v3: Any, value: Any, text: str) -> None:
    assert value_of(type_v3, value) == text


@pytest.mark.parametrize(
    ("type_v3", "value", "options", "text"),
    [
        ("string", b"aaaaa", {"field_weight_limit": 3}, '{"inc":true,"val":"aaa"}'),
        (optional("string"), b"aaaaa", {"field_weight_limit": 4}, '[{"inc":true,"val":"aaa"}]'),
        ("string", (ZHE * 3).encode(), {"field_weight_limit": 3}, f'{{"inc":true,"val":"{ZHE}"}}'),
        ("string", b"\xff" * 9, {"field_weight_limit": 9}, '{"inc":true,"b64":true,"val":"////////"}'),
        ("string", b"\xff" * 6, {"field_weight_limit": 9}, '{"b64":true,"val":"////////"}'),
        ("string", b"a" * 300, {"string_weight_limit": 3}, f'"{"a" * 300}"'),
        (
            {"type_name": "list", "item": "string"},
            [b"aaaaa"],
            {"string_weight_limit": 3},
            '{"val":[{"inc":true,"val":"aaa"}]}',
        ),
        (
            {"type_name": "list", "item": "int64"},
            list(range(9)),
            {"field_weight_limit": 15},
            '{"val":["0","1"],"inc":true}',
        ),
        (optional("yson"), [1] * 9, {"field_weight_limit": 5}, '[{"inc":true,"val":""}]'),
    ],
)
def test_no_more_is_written_than_limits_allow(type_v3: Any, value: Any, options: dict[str, int], text: str) -> None:
    assert value_of(type_v3, value, **options) == text


@pytest.mark.parametrize(
    ("item", "value"),
    [("int64", b"5"), ("int64", True), ("uint64", 0.5), ("double", 1), ("bool", 1), ("string", 1), ("int64", [b"5"])],
)
def test_what_is_inside_of_composites_need_not_fit(item: str, value: Any) -> None:
    with pytest.raises(YtError, match="item type mismatch"):
        value_of({"type_name": "list", "item": item}, [value])
    with pytest.raises(YtError, match="item type mismatch"):
        value_of({"type_name": "list", "item": item}, value)


def test_the_first_columns_are_shown_or_those_asked_for() -> None:
    rows = [{b"b": 1}, {b"a": 1, b"b": 2, b"c": 3}]
    shown = json.loads(written(rows, max_selected_column_count=2))
    assert [sorted(row) for row in shown["rows"]] == [["b"], ["a", "b"]]
    assert shown["incomplete_columns"] == "true"
    assert shown["all_column_names"] == ["a", "b", "c"]
    assert [sorted(row) for row in json.loads(written(rows, column_names=["c", "x"]))["rows"]] == [[], ["c"]]
    none = json.loads(written(rows, column_names=[], max_all_column_names_count=2))
    assert none == {
        "rows": [{}, {}],
        "incomplete_columns": "true",
        "incomplete_all_column_names": "true",
        "all_column_names": ["a", "b"],
    }


def test_a_table_shows_its_system_columns_only_if_asked() -> None:
    rows = [yson.with_attributes(None, {"row_index": 5}), {b"a": 1}, {b"a": 2}]
    assert json.loads(written(rows, is_table=True))["all_column_names"] == ["a"]
    asked = json.loads(written(rows, is_table=True, column_names=["$row_index"]))
    assert [row["$$row_index"]["$value"] for row in asked["rows"]] == ["5", "6"]
    assert asked["all_column_names"] == ["$row_index", "a"]


def test_results_of_queries_have_the_types_of_their_columns() -> None:
    result = ValueRows([Column("$tablet_index", "int64"), Column("m", "any")], [(1, yson.dumps("x")), None])
    text = written(result, tuple(result.columns), value_format="yql")
    assert text.startswith(
        '{"rows":[{"$$tablet_index":[["1"],"8"],"m":[[{"val":{"$type":"string","$value":"x"}}],"9"]}],'
    )


@pytest.mark.parametrize(
    "options",
    [
        {"value_format": "sql"},
        {"field_weight_limit": -1},
        {"column_names": "a"},
        {"column_names": ["a", "b", "a"]},
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(YtError, match="Failed to parse config for web JSON format") as caught:
        written([], **options)
    assert caught.value.code == 2800
    assert caught.value.inner_errors


def test_it_is_for_rows_that_are_read_only() -> None:
    web_json = parse_format("web_json")
    for attempt in (lambda: web_json.read_rows(b"", ()), lambda: web_json.row_reader(())):
        with pytest.raises(YtError, match="for output only"):
            attempt()
    with pytest.raises(YtError, match="for rows only"):
        web_json.write_node(1)
