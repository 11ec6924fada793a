"""Queries with groups: keys, aggregates, having, totals, order and limits of them."""

from __future__ import annotations

import pytest

from tests.unit.yt_local.query.query_tables import Table, error_of, opening, rows_of
from yt_local.query import select
from yt_local.schema.keys import Row
from yt_local.schema.schema import Column
from yt_wire import yson

COLUMNS = (
    Column("k", "int64", sort_order="ascending"),
    Column("g", "string"),
    Column("i", "int32"),
    Column("u", "uint64"),
    Column("d", "double"),
    Column("a", "any"),
)


def orders() -> Table:
    return Table(
        COLUMNS,
        [
            (1, b"x", 10, 2**64 - 1, 1.5, b"\x022"),
            (2, b"y", 20, 1, 2.5, None),
            (3, b"x", None, 3, None, b"\x024"),
            (4, None, 5, None, None, None),
            (5, b"y", -7, 2, 0.5, None),
            (6, b"z", None, None, None, None),
        ],
    )


def test_rows_with_one_key_become_one_row() -> None:
    text = "g, sum(1) as n, sum(i) as s from [//t] group by g"
    assert rows_of(text, orders()) == [(b"x", 2, 10), (b"y", 2, 13), (None, 1, 5), (b"z", 1, None)]


@pytest.mark.parametrize(
    ("aggregate", "of_x", "of_y", "of_z"),
    [
        ("sum(u)", 2, 3, None),
        ("sum(d)", 1.5, 3.0, None),
        ("min(i)", 10, -7, None),
        ("max(i)", 10, 20, None),
        ("max(g)", b"x", b"y", b"z"),
        ("avg(i)", 10.0, 6.5, None),
        ("avg(d)", 1.5, 1.5, None),
        ("first(i)", 10, 20, None),
        ("first(k)", 1, 2, 6),
        ("argmin(k, i)", 1, 5, None),
        ("argmax(k, d)", 1, 2, None),
        ("cardinality(i)", 1, 2, 0),
        ("any_to_yson_string(array_agg(i, %true))", b"[10;]", b"[20;-7;]", b"[]"),
        ("any_to_yson_string(array_agg(i, %false))", b"[10;#;]", b"[20;-7;]", b"[#;]"),
        ("sum(if(i > 0, 1, 0)) * 100 / sum(1)", 50, 50, 0),
    ],
)
def test_aggregates_leave_null_out(aggregate: str, of_x: object, of_y: object, of_z: object) -> None:
    found = {row[0]: row[1] for row in rows_of(f"g, {aggregate} as x from [//t] group by g", orders())}
    assert (found[b"x"], found[b"y"], found[b"z"]) == (of_x, of_y, of_z)


def test_sums_of_integers_wrap_around() -> None:
    assert rows_of("sum(u) as s from [//t] where g = 'x' group by 1", orders()) == [(2,)]


@pytest.mark.parametrize(
    "text",
    [
        "k % 2 as odd, sum(1) as n from [//t] group by k % 2",
        "odd, sum(1) as n from [//t] group by k % 2 as odd",
        "k % 2 as odd, sum(1) as n from [//t] group by odd",
        "t.k % 2 as odd, sum(1) as n from [//t] as t group by t.k % 2",
        "(k % 2) * 1 as odd, sum(1) as n from [//t] group by k % 2",
    ],
)
def test_keys_are_expressions_and_may_be_named_or_written_again(text: str) -> None:
    assert sorted(rows_of(text, orders())) == [(0, 3), (1, 3)]


def test_star_with_groups_is_the_keys() -> None:
    result = select("* from [//t] group by g as name, k % 2", opening(orders()))
    assert [column.name for column in result.columns] == ["name", "(k)%(2)"]
    assert len(result.rows) == 5


def test_columns_of_a_key_keep_their_type_and_aggregates_have_that_of_their_function() -> None:
    result = select("i, sum(u), avg(i) as a, cardinality(g) as c from [//t] group by i", opening(orders()))
    assert [(column.name, column.type) for column in result.columns] == [
        ("i", "int32"),
        ("sum(u)", "uint64"),
        ("a", "double"),
        ("c", "uint64"),
    ]


def test_a_constant_key_does_not_decide_the_type_of_the_same_constant_elsewhere() -> None:
    assert rows_of("sum(u) as s from [//t] where k > 1 group by 1 having s > 1", orders()) == [(6,)]


def test_having_chooses_groups() -> None:
    text = "g, sum(1) as n from [//t] group by g having n > 1 and max(i) > 15"
    assert rows_of(text, orders()) == [(b"y", 2)]


@pytest.mark.parametrize(
    ("clause", "total"),
    [
        ("with totals", 6),
        ("with totals having n > 1", 6),
        ("having n > 1 with totals", 4),
    ],
)
def test_totals_are_a_last_row_with_null_for_the_keys(clause: str, total: int) -> None:
    found = rows_of(f"g, sum(1) as n from [//t] group by g {clause}", orders())
    assert found[-1] == (None, total)
    assert len(found) == (5 if clause == "with totals" else 3)


def test_totals_are_those_of_all_rows_whatever_the_aggregate() -> None:
    text = (
        "sum(i) as s, min(i) as a, max(i) as b, avg(i) as c, cardinality(i) as d, first(k) as e, argmax(k, i) as f,"
        " sum(u) as h, any_to_yson_string(array_agg(k, %true)) as l from [//t]"
    )
    alone = rows_of(f"{text} group by 1", orders())
    assert rows_of(f"{text} group by k with totals", orders())[-1] == alone[0]


def test_without_rows_there_are_neither_groups_nor_totals() -> None:
    assert rows_of("sum(1) as n from [//t] where k > 9 group by 1 with totals", orders()) == []


def test_groups_are_ordered_by_keys_and_aggregates_and_the_totals_are_not() -> None:
    text = "g, sum(1) as n from [//t] group by g with totals order by n desc, g desc limit 3"
    assert rows_of(text, orders()) == [(b"y", 2), (b"x", 2), (b"z", 1), (None, 6)]
    text = "g, sum(1) as n from [//t] group by g order by g offset 1 limit 2"
    assert rows_of(text, orders()) == [(b"x", 2), (b"y", 2)]


def test_a_limit_without_order_keeps_the_groups_found_first_and_all_their_rows() -> None:
    table = orders()
    assert rows_of("g, sum(1) as n from [//t] group by g with totals limit 2", table) == [
        (b"x", 2),
        (b"y", 2),
        (None, 4),
    ]
    assert table.rows_read == 6


def test_groups_without_aggregates_end_the_reading_once_there_are_enough() -> None:
    table = orders()
    assert rows_of("g from [//t] group by g limit 2", table) == [(b"x",), (b"y",)]
    assert table.rows_read == 2


def test_values_of_any_can_be_grouped() -> None:
    found: list[Row] = rows_of("a, sum(1) as n from [//t] group by a", orders())
    assert [(None if row[0] is None else yson.loads(row[0]), row[1]) for row in found if isinstance(row[0], bytes)] == [
        (25, 1),
        (26, 1),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k from [//t] group by g", 'Undefined reference "k"'),
        ("sum(sum(i)) as x from [//t] group by g", "Misuse of aggregate function"),
        ("g from [//t] where sum(i) > 1 group by g", "Misuse of aggregate function"),
        ("sum(g) as x from [//t] group by k", "Error creating aggregate"),
        ("avg(g) as x from [//t] group by k", "Error creating aggregate"),
        ("sum(i, k) as x from [//t] group by k", "Error creating aggregate"),
        ("count(i) as x from [//t] group by k", 'Undefined function "count"'),
        ("uniq(i) as x from [//t] group by k", 'Function "uniq" is not supported by the local cluster'),
        ("g from [//t] group by g having g", "HAVING-clause is not a boolean expression"),
        ("g from [//t] group by g having g = 'x' limit 1", "HAVING with LIMIT is not allowed"),
        ("g from [//t] group by g order by g", "ORDER BY used without LIMIT"),
        ("g from [//t] group by g order by k limit 1", 'Undefined reference "k"'),
    ],
)
def test_what_groups_can_not_do_is_said(text: str, message: str) -> None:
    assert message in error_of(text, orders()).message
