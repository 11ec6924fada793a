"""Reading, checking and showing table schemas."""

from __future__ import annotations

import pytest

from yt_local.schema.column_types import SIMPLE_TYPES
from yt_local.schema.schema import Column, TableSchema, parse_schema
from yt_wire import yson
from yt_wire.error import YtError
from yt_wire.yson import Yson

QUEUE = b'[{name=data;type=string};{name="$timestamp";type=uint64};{name="$cumulative_data_weight";type=int64}]'
CONSUMER = b"""<strict=%true;unique_keys=%true>[
    {name=queue_cluster;type=string;sort_order=ascending;required=%true};
    {name=queue_path;type=string;sort_order=ascending;required=%true};
    {name=partition_index;type=uint64;sort_order=ascending;required=%true};
    {name=offset;type=uint64;required=%true};
    {name=meta;type=any};
]"""


def read(text: bytes) -> TableSchema:
    return parse_schema(yson.loads(text))


def names(columns: tuple[Column, ...]) -> list[str]:
    return [column.name for column in columns]


def test_a_queue_is_ordered_and_a_consumer_is_sorted() -> None:
    queue, consumer = read(QUEUE), read(CONSUMER)
    queue.validate_dynamic()
    consumer.validate_dynamic()
    assert not queue.is_sorted
    assert consumer.is_sorted
    assert names(consumer.key_columns) == ["queue_cluster", "queue_path", "partition_index"]


def test_schema_is_shown_with_its_attributes_and_both_notations_of_types() -> None:
    shown = read(CONSUMER).to_yson()
    assert yson.attributes_of(shown) == {"strict": True, "unique_keys": True}
    assert shown[2] == {
        "name": "partition_index",
        "type": "uint64",
        "required": True,
        "type_v3": "uint64",
        "sort_order": "ascending",
    }
    assert shown[4] == {
        "name": "meta",
        "type": "any",
        "required": False,
        "type_v3": {"type_name": "optional", "item": "yson"},
    }


def test_what_is_shown_reads_back_as_the_same_schema() -> None:
    schema = read(
        b"""<unique_keys=%true>[
        {name=k;type=boolean;sort_order=descending};
        {name=c;type_v3={type_name=list;item=string};lock=l;group=g};
        {name=o;type_v3={type_name=optional;item={type_name=optional;item=int8}}};
        {name=d;type_v3={type_name=optional;item={type_name=decimal;precision=10;scale=2}}};
        {name=s;type_v3={type_name=struct;members=[{name=a;type=bool};{name=b;type={type_name=tuple;elements=[{type=utf8}]}}]}};
        {name=t;type_v3={type_name=tagged;tag=x;item=double}};
        {name=v;type_v3={type_name=variant;members=[{name=a;type=yson}]}};
        {name=m;type_v3={type_name=dict;key=string;value=json}};
        {name=n;type=null}; {name=w;type=void};
        {name=sum;type=int64;aggregate=sum};
        {name=h;type=string;max_inline_hunk_size=100};
        ]"""
    )
    assert parse_schema(yson.loads(yson.dumps(schema.to_yson()))) == schema
    assert [(column.type, column.required) for column in schema.columns[:4]] == [
        ("boolean", False),
        ("any", True),
        ("any", False),
        ("string", False),
    ]
    assert hash(schema) == hash(parse_schema(schema.to_yson()))


@pytest.mark.parametrize(
    "name",
    sorted(SIMPLE_TYPES),
)
def test_every_simple_type_is_known(name: str) -> None:
    column = parse_schema([{"name": "a", "type": name}]).columns[0]
    assert parse_schema([{"name": "a", "type_v3": column.type_v3}]).columns[0] == column


def test_computed_columns_are_kept() -> None:
    schema = read(b"<unique_keys=%true>[{name=h;type=uint64;sort_order=ascending;expression=\"farm_hash(k)\"};"
                  b"{name=k;type=string;sort_order=ascending};{name=v;type=any}]")  # fmt: skip
    assert schema.to_yson()[0]["expression"] == "farm_hash(k)"
    assert names(schema.write_columns()) == ["k", "v"]


def test_inserts_into_a_queue_name_the_tablet_and_leave_system_columns_out() -> None:
    assert names(read(QUEUE).write_columns()) == ["$tablet_index", "data"]


def test_queries_see_a_queue_as_sorted_by_tablet_and_row_index() -> None:
    columns = read(QUEUE).query_columns()
    assert names(columns) == ["$tablet_index", "$row_index", "data", "$timestamp", "$cumulative_data_weight"]
    assert [column.sort_order for column in columns] == ["ascending", "ascending", None, None, None]
    assert read(CONSUMER).query_columns() == read(CONSUMER).columns


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (b"#", "expected a list of columns"),
        (b"[1]", "a column must be a map"),
        (b"[{type=int64}]", "column name is not specified"),
        (b"[{name=a}]", "Column type is not specified"),
        (b"[{name=a;type=int65}]", 'Error parsing ESimpleLogicalValueType value "int65"'),
        (b"[{name=a;type=int64;sort_order=up}]", 'Error parsing ESortOrder value "up"'),
        (b"[{name=a;type=int64;type_v3=int64;required=%false}]", '"type_v3" does not match "required"'),
        (b"[{name=a;type=int64;type_v3=string}]", '"type_v3" does not match "type"'),
        (b"[{name=a;type_v3=boolean}]", 'unknown type "boolean"'),
        (b"[{name=a;type_v3={type_name=list}}]", '"list" needs member "item"'),
        (b"[{name=a;type_v3={type_name=decimal;precision=5;scale=6}}]", "Invalid decimal scale 6"),
        (b"[{name=a;type_v3={type_name=struct;members=[{name=x;type=utf8};{name=x;type=utf8}]}}]", "used twice"),
        (b"[{name=a;type=any;required=%true}]", 'Column of type "any" cannot be "required"'),
        (b"[{name=a;type=int64};{name=a;type=int64}]", 'Duplicate column name "a"'),
        (b"[{name=a;type=int64};{name=b;type=int64;sort_order=ascending}]", "Key columns must form a prefix of schema"),
        (b"<unique_keys=%true>[{name=a;type=int64}]", '"unique_keys" can only be true if key columns are present'),
        (b'[{name="$timestamp";type=int64}]', 'Column "$timestamp" must have "uint64" type'),
        (b'[{name="$cumulative_data_weight";type=uint64}]', 'Column "$cumulative_data_weight" must have "int64" type'),
        (b'[{name="$timestamp";type=uint64;sort_order=ascending}]', 'Column "$timestamp" cannot be a part of key'),
        (
            b'[{name=k;type=int64;sort_order=ascending};{name="$timestamp";type=uint64}]',
            'Column "$timestamp" cannot appear in a sorted table',
        ),
        (b'[{name="$row_index";type=int64}]', 'System column name "$row_index" is not allowed here'),
        (b'[{name="";type=int64}]', "Column name cannot be empty"),
    ],
)
def test_rules_of_all_tables_are_named_when_broken(schema: bytes, words: str) -> None:
    with pytest.raises(YtError) as caught:
        read(schema)
    assert any(words in error.message for error in caught.value.walk())


def test_a_bad_column_is_named_by_the_outer_error() -> None:
    with pytest.raises(YtError, match=r'Error validating schema of column "[$]timestamp"'):
        read(b'[{name="$timestamp";type=int64}]')


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (b"<strict=%false>[{name=a;type=int64}]", '"strict" cannot be "false" for a dynamic table'),
        (
            b"[{name=k;type=int64;sort_order=ascending};{name=a;type=int64}]",
            '"unique_keys" cannot be "false" for a sorted dynamic table',
        ),
        (b"<unique_keys=%true>[{name=k;type=int64;sort_order=ascending}]", "There must be at least one non-key column"),
        (b"[]", "There must be at least one non-key column"),
        (
            b"<unique_keys=%true>[{name=k;type=any;sort_order=ascending};{name=a;type=int64}]",
            'Dynamic table cannot have key column of type: "any"',
        ),
    ],
)
def test_static_tables_may_have_what_dynamic_ones_may_not(schema: bytes, words: str) -> None:
    parsed = read(schema)
    with pytest.raises(YtError) as caught:
        parsed.validate_dynamic()
    assert caught.value.message == words


def test_members_a_cluster_does_not_know_are_ignored() -> None:
    value: Yson = [{"name": "a", "type": "int64", "stable_name": "b"}]
    assert parse_schema(value).columns == (Column("a", "int64"),)
