"""Queries read the keys they need and no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.yt_local.query.query_tables import QUEUE_COLUMNS, Table, consumer, opening, queue, rows_of
from yt_local.query import FULL_RANGE, KeyRange, SelectOptions, compile_expression, select
from yt_local.schema.keys import KeyEncoder, Row, Value
from yt_local.schema.schema import Column, SortOrder
from yt_wire.error import YtError


@pytest.mark.parametrize(
    ("condition", "ranges"),
    [
        ("1 = 1", [FULL_RANGE]),
        ("1 = 2", []),
        ("[$tablet_index] = 1", [KeyRange((1,), (1,))]),
        ("[$tablet_index] = 0u", [KeyRange((0,), (0,))]),
        ("0 = [$tablet_index]", [KeyRange((0,), (0,))]),
        ("[$tablet_index] = 1 and [$row_index] between 2 and 4", [KeyRange((1, 2), (1, 4))]),
        ("[$tablet_index] = 1 and [$row_index] >= 5", [KeyRange((1, 5), (1,))]),
        (
            "[$tablet_index] = 1 and [$row_index] > 5 and [$row_index] < 8",
            [KeyRange((1, 5), (1, 8), lower_inclusive=False, upper_inclusive=False)],
        ),
        (
            "([$tablet_index], [$row_index]) in ((0u, 5u), (1u, 7u))",
            [KeyRange((0, 5), (0, 5)), KeyRange((1, 7), (1, 7))],
        ),
        ("[$tablet_index] in (2, 0) and [$row_index] = 3", [KeyRange((0, 3), (0, 3)), KeyRange((2, 3), (2, 3))]),
        ("([$tablet_index], [$row_index]) > (1, 5)", [KeyRange((1, 5), (), lower_inclusive=False)]),
        ("([$tablet_index], [$row_index]) <= (1, 5)", [KeyRange((), (1, 5))]),
        ("not ([$tablet_index] < 1 or [$tablet_index] > 1)", [KeyRange((1,), (1,))]),
        (
            "[$tablet_index] != 1",
            [KeyRange((), (1,), upper_inclusive=False), KeyRange((1,), (), lower_inclusive=False)],
        ),
        ("[$tablet_index] = 1 and [$tablet_index] = 2", []),
        ("[$tablet_index] = 1 and data = 'x'", [KeyRange((1,), (1,))]),
        ("[$tablet_index] = 1 or data = 'x'", [FULL_RANGE]),
        ("[$tablet_index] = 1 or [$tablet_index] = 2 and data = 'x'", [KeyRange((1,), (1,)), KeyRange((2,), (2,))]),
        ("[$row_index] = 5", [FULL_RANGE]),
    ],
)
def test_conditions_on_the_key_become_ranges(condition: str, ranges: list[KeyRange]) -> None:
    table = queue()
    rows_of(f"* from [//q] where {condition}", table)
    assert table.scanned == ranges


def test_the_agents_question_about_offsets_reads_only_its_rows() -> None:
    table = consumer()
    text = (
        "[partition_index], [offset] from [//c] where ([partition_index] between 0 and 1)"
        ' and (([queue_cluster], [queue_path]) = ("pythia", "//b"))'
    )
    assert rows_of(text, table) == [(0, 0), (1, 10)]
    assert table.rows_read == 2
    assert table.scanned == [KeyRange((b"pythia", b"//b", 0), (b"pythia", b"//b", 1))]


def test_a_prefix_of_a_string_key_is_a_range() -> None:
    table = Table(
        (Column("path", "string", sort_order="ascending"), Column("v", "int64")),
        [(path, 1) for path in (b"0", b"0/1", b"0/1/2", b"0/2", b"01", b"\xff", b"\xff\xff")],
    )
    assert rows_of("path from [//t] where is_prefix('0/', path)", table) == [(b"0/1",), (b"0/1/2",), (b"0/2",)]
    assert table.rows_read == 3
    assert rows_of(r"path from [//t] where is_prefix('\xff', path)", table) == [(b"\xff",), (b"\xff\xff",)]


def test_too_many_ranges_are_replaced_by_wider_ones() -> None:
    numbers = ", ".join(map(str, range(400)))
    table = Table([Column(name, "int64", sort_order="ascending") for name in "abc"], [(1, 2, 3)])
    assert rows_of(f"* from [//t] where a in ({numbers}) and b in ({numbers}) and c in ({numbers})", table) == [
        (1, 2, 3)
    ]
    assert len(table.scanned) == 400


TYPES: dict[str, st.SearchStrategy[Value]] = {
    "int64": st.integers(-2, 2),
    "uint64": st.integers(0, 3),
    "string": st.sampled_from([b"", b"a", b"a\x00", b"ab", b"b", b"\xff"]),
    "double": st.sampled_from([-1.5, -0.0, 0.0, 2.0]),
    "boolean": st.booleans(),
}


def literal(value: Value, column_type: str) -> str:
    if value is None:
        return "#"
    if isinstance(value, bytes):
        return '"' + "".join(f"\\x{byte:02x}" for byte in value) + '"'
    if isinstance(value, bool):
        return "%true" if value else "%false"
    return f"{value}u" if column_type == "uint64" else str(value)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    types = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=2, max_size=4))
    key_width = draw(st.integers(1, len(types)))
    orders: st.SearchStrategy[SortOrder] = st.sampled_from(["ascending", "descending"])
    columns = [
        Column(f"c{index}", name, sort_order=draw(orders) if index < key_width else None)
        for index, name in enumerate(types)
    ]
    row = st.tuples(*(st.none() | TYPES[name] for name in types))
    return Table(columns, draw(st.lists(row, max_size=30)))


def conditions(columns: Sequence[Column]) -> st.SearchStrategy[str]:
    comparison = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])

    def constant_of(column: Column) -> st.SearchStrategy[str]:
        return (st.none() | TYPES[column.type]).map(lambda value: literal(value, column.type))

    def tuple_of(chosen: Sequence[Column]) -> st.SearchStrategy[str]:
        return st.tuples(*map(constant_of, chosen)).map(lambda parts: f"({', '.join(parts)})")

    def leaf(chosen: list[Column]) -> st.SearchStrategy[str]:
        names = f"({', '.join(column.name for column in chosen)})"
        compare: st.SearchStrategy[Any] = st.tuples(comparison, tuple_of(chosen), st.booleans()).map(
            lambda parts: f"{names} {parts[0]} {parts[1]}" if parts[2] else f"{parts[1]} {parts[0]} {names}"
        )
        among = st.lists(tuple_of(chosen), min_size=1, max_size=4).map(lambda items: f"{names} in ({', '.join(items)})")
        between = st.tuples(tuple_of(chosen), tuple_of(chosen)).map(
            lambda ends: f"{names} between {ends[0]} and {ends[1]}"
        )
        options = [compare, among, between, st.just(f"is_null({chosen[0].name})")]
        if chosen[0].type == "string":
            options.append(constant_of(chosen[0]).map(lambda text: f"is_prefix({text}, {chosen[0].name})"))
        if chosen[0].type == "boolean":
            options.append(st.just(chosen[0].name))
        return st.one_of(options)

    leaves = st.lists(st.sampled_from(list(columns)), min_size=1, max_size=3, unique_by=lambda c: c.name).flatmap(leaf)
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda parts: f"({' '.join(parts)})"),
            inner.map(lambda text: f"not ({text})"),
        ),
        max_leaves=6,
    )


@settings(max_examples=120)
@given(tables().flatmap(lambda table: st.tuples(st.just(table), conditions(table.columns))))
def test_ranges_never_lose_a_row(case: tuple[Table, str]) -> None:
    table, condition = case
    found = rows_of(f"* from [//t] where {condition}", table)
    # As a projection the condition is computed for every row, whatever the ranges.
    verdicts = rows_of(f"({condition}) as verdict from [//t]", table)
    assert table.scanned == [FULL_RANGE]
    assert found == [row for row, (verdict,) in zip(table.rows, verdicts, strict=True) if verdict is True]


@given(
    st.lists(st.integers(-1, 4), max_size=2).map(tuple),
    st.lists(st.integers(-1, 4), max_size=2).map(tuple),
    st.booleans(),
    st.booleans(),
)
def test_row_indexes_of_a_range_are_those_of_its_keys(
    lower: Row, upper: Row, lower_inclusive: bool, upper_inclusive: bool
) -> None:
    encoder = KeyEncoder(QUEUE_COLUMNS[:2])
    key_range = KeyRange(lower, upper, lower_inclusive or not lower, upper_inclusive or not upper)
    low, high = key_range.encoded(encoder)
    for tablet_index in range(4):
        expected = [row for row in range(5) if low <= encoder.encode((tablet_index, row)) < high]
        interval = key_range.row_indexes(tablet_index)
        first, last = interval if interval is not None else (0, 0)
        assert [row for row in range(5) if first <= row < (5 if last is None else last)] == expected


HASHED = (
    Column("hash", "uint64", sort_order="ascending", expression="farm_hash(user)"),
    Column("user", "string", sort_order="ascending"),
    Column("topic", "int64", sort_order="ascending"),
    Column("text", "string"),
)
BUCKETS = (
    Column("bucket", "uint64", sort_order="ascending", expression="farm_hash(user, topic) % 3"),
    Column("user", "string", sort_order="ascending"),
    Column("topic", "int64", sort_order="ascending"),
    Column("text", "string"),
)


def computed(columns: Sequence[Column], users: int = 50) -> Table:
    compute = compile_expression(columns[0].expression or "", columns)
    keys = [(None, b"u%d" % user, topic, b"") for user in range(users) for topic in range(4)]
    return Table(columns, [(compute(key), *key[1:]) for key in keys])


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("user = 'u7'", 4),
        ("user = 'u7' and topic = 2", 1),
        ("user = 'u7' and topic between 1 and 2", 2),
        ("user in ('u7', 'u8', 'nobody')", 8),
        ("(user, topic) in (('u7', 1), ('u8', 2))", 2),
        ("(user, topic) > ('u7', 1) and user = 'u7'", 2),
        ("user = 'u7' or user = 'u8' and topic = 1", 5),
        ("user = 'nobody'", 0),
        ("hash = 1 and user = 'u7'", 0),
        ("user = 'u7' and text = ''", 4),
    ],
)
def test_a_computed_key_column_is_computed_from_the_condition(condition: str, count: int) -> None:
    table = computed(HASHED)
    assert len(rows_of(f"* from [//t] where {condition}", table)) == count
    assert table.rows_read == count


def test_without_what_it_is_computed_from_the_whole_table_is_read() -> None:
    table = computed(HASHED)
    assert len(rows_of("* from [//t] where user >= 'u7'", table)) > 0
    assert table.rows_read == len(table.rows)


@pytest.mark.parametrize("condition", ["user = 'u7'", "user between 'u20' and 'u22'", "user in ('u1', 'u2')"])
def test_all_remainders_of_a_computed_key_column_are_tried(condition: str) -> None:
    table = computed(BUCKETS)
    found = rows_of(f"* from [//t] where {condition}", table)
    assert len(found) % 4 == 0 < len(found) == table.rows_read


def test_a_computation_that_fails_finds_no_row() -> None:
    columns = (
        Column("h", "int64", sort_order="ascending", expression="10 / k"),
        Column("k", "int64", sort_order="ascending"),
        Column("v", "int64"),
    )
    table = Table(columns, [(10 // k, k, 0) for k in (1, 2, 3)])
    assert rows_of("k from [//t] where k in (0, 2)", table) == [(2,)]
    assert table.rows_read == 1


def test_lists_of_ranges_are_ranges_of_the_key() -> None:
    table = queue()
    condition = "([$tablet_index], [$row_index]) between ((0, 8) and (1, 1), (2) and (2, 1))"
    assert len(rows_of(f"* from [//q] where {condition}", table)) == 6
    assert table.scanned == [KeyRange((0, 8), (1, 1)), KeyRange((2,), (2, 1))]


def test_full_scans_can_be_forbidden() -> None:
    options = SelectOptions(allow_full_scan=False)
    assert select("* from [//q] where [$tablet_index] = 1", opening(queue()), options=options).rows
    with pytest.raises(YtError, match="Primary table key is not used in the where clause"):
        select("* from [//q] where data = 'x'", opening(queue()), options=options)


def test_the_cost_of_a_query_is_known() -> None:
    result = select("* from [//q] where [$tablet_index] = 1 and data != '1-1'", opening(queue()))
    assert (result.statistics.rows_read, result.statistics.rows_written) == (10, 9)


def test_a_result_may_be_left_incomplete() -> None:
    options = SelectOptions(input_row_limit=5, fail_on_incomplete_result=False)
    result = select("* from [//q]", opening(queue(1, 10)), options=options)
    assert (len(result.rows), result.statistics.incomplete_input, result.statistics.incomplete_output) == (
        5,
        True,
        False,
    )
    options = SelectOptions(output_row_limit=3, fail_on_incomplete_result=False)
    result = select("* from [//q]", opening(queue(1, 10)), options=options)
    assert (len(result.rows), result.statistics.incomplete_input, result.statistics.incomplete_output) == (
        3,
        False,
        True,
    )


computed_tables = st.builds(
    lambda expression, rows: (expression, rows),
    st.sampled_from(["farm_hash(c1)", "farm_hash(c1, c2)", "farm_hash(c1) % 3", "uint64(c2 % 4)", "farm_hash(c2) % 2"]),
    st.lists(st.tuples(st.none() | TYPES["string"], st.none() | TYPES["int64"], st.integers(0, 2)), max_size=20),
)


@settings(max_examples=80)
@given(computed_tables, st.data())
def test_ranges_of_computed_keys_never_lose_a_row(case: tuple[str, list[Row]], data: st.DataObject) -> None:
    expression, keys = case
    columns = (
        Column("c0", "uint64", sort_order="ascending", expression=expression),
        Column("c1", "string", sort_order="ascending"),
        Column("c2", "int64", sort_order="ascending"),
        Column("c3", "int64"),
    )
    compute = compile_expression(expression, columns)
    table = Table(columns, [(compute((None, *key)), *key) for key in dict.fromkeys(keys)])
    condition = data.draw(conditions(columns[1:]))
    found = rows_of(f"* from [//t] where {condition}", table)
    verdicts = rows_of(f"({condition}) as verdict from [//t]", table)
    assert found == [row for row, (verdict,) in zip(table.rows, verdicts, strict=True) if verdict is True]
