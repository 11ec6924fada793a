"""Queries: syntax, types, null, order, limits, and the ranges read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queue_agent.local_cluster.keys import KeyEncoder, Row, Value
from queue_agent.local_cluster.query import FULL_RANGE, KeyRange, QueryResult, QueryTable, compile_expression, select
from queue_agent.local_cluster.schema import Column, SortOrder
from queue_agent.wire.error import YtError
from queue_agent.wire.farm_hash import combine, fingerprint, fingerprint_of_number
from queue_agent.wire.yson import Uint64, Yson


class Table:
    """Rows in a list; hands out exactly those in the ranges, and remembers what was asked."""

    def __init__(self, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        self.columns = columns
        self.key_width = sum(column.sort_order is not None for column in columns)
        self._encoder = KeyEncoder(columns[: self.key_width])
        self.rows = sorted(rows, key=self._encoder.encode)
        self.scanned: list[KeyRange] = []
        self.rows_read = 0

    def scan(self, ranges: Sequence[KeyRange]) -> Iterator[Row]:
        self.scanned = list(ranges)
        encoded = [key_range.encoded(self._encoder) for key_range in ranges]
        edges = [edge for interval in encoded for edge in interval]
        assert edges == sorted(edges), "ranges are in order and do not overlap"
        for row in self.rows:
            key = self._encoder.encode(row)
            if any(low <= key < high for low, high in encoded):
                self.rows_read += 1
                yield row


QUEUE_COLUMNS = (
    Column("$tablet_index", "int64", sort_order="ascending"),
    Column("$row_index", "int64", sort_order="ascending"),
    Column("data", "string"),
    Column("$timestamp", "uint64"),
)
CONSUMER_COLUMNS = (
    Column("queue_cluster", "string", required=True, sort_order="ascending"),
    Column("queue_path", "string", required=True, sort_order="ascending"),
    Column("partition_index", "uint64", required=True, sort_order="ascending"),
    Column("offset", "uint64", required=True),
    Column("meta", "any"),
)
VALUE_COLUMNS = (
    Column("k", "int64", sort_order="ascending"),
    Column("i", "int32"),
    Column("u", "uint64"),
    Column("d", "double"),
    Column("s", "utf8"),
    Column("b", "boolean"),
    Column("a", "any"),
)


def queue(tablet_count: int = 3, row_count: int = 10) -> Table:
    rows = [
        (tablet, row, b"%d-%d" % (tablet, row), 1000 + row)
        for tablet in range(tablet_count)
        for row in range(row_count)
    ]
    return Table(QUEUE_COLUMNS, rows)


def consumer() -> Table:
    rows = [
        (cluster, path, partition, partition * 10, None)
        for cluster in (b"hume", b"pythia")
        for path in (b"//a", b"//b")
        for partition in range(4)
    ]
    return Table(CONSUMER_COLUMNS, rows)


def values() -> Table:
    return Table(
        VALUE_COLUMNS,
        [
            (1, 10, 100, 1.5, b"One", True, b"\x022"),
            (2, -20, 2**64 - 1, -2.5, b"two", False, None),
            (3, None, None, None, None, None, None),
        ],
    )


def opening(table: QueryTable) -> Callable[[str], QueryTable]:
    return lambda _path: table


def rows_of(text: str, table: QueryTable, placeholder_values: Mapping[str, Yson] | None = None) -> list[Row]:
    return list(select(text, opening(table), placeholder_values).rows)


def evaluate(expression: str) -> list[Value]:
    """Values of the expression for the rows of `values`."""
    return [row[0] for row in rows_of(f"{expression} as x from [//t]", values())]


def constant(expression: str) -> Value:
    return evaluate(expression)[0]


def error_of(text: str, table: QueryTable) -> YtError:
    with pytest.raises(YtError) as caught:
        select(text, opening(table))
    return caught.value


def test_star_gives_all_columns_in_order() -> None:
    result = select("* from [//tmp/q]", opening(queue(1, 2)))
    assert [column.name for column in result.columns] == ["$tablet_index", "$row_index", "data", "$timestamp"]
    assert result.rows == [(0, 0, b"0-0", 1000), (0, 1, b"0-1", 1001)]


def test_the_table_is_opened_by_the_path_in_the_brackets() -> None:
    paths: list[str] = []

    def open_table(path: str) -> QueryTable:
        paths.append(path)
        return queue(1, 0)

    for text in (
        "* from [//tmp/q]",
        r"* from [//tmp/a\/b\]]",
        "* from [<cluster=hume>//t[#1]]",
        "* FROM [hume://t] limit 1",
    ):
        select(text, open_table)
    assert paths == ["//tmp/q", r"//tmp/a\/b\]", "<cluster=hume>//t[#1]", "hume://t"]


def test_errors_of_opening_a_table_go_through() -> None:
    def open_table(path: str) -> QueryTable:
        raise YtError(f"Error resolving path {path}", 500)

    with pytest.raises(YtError) as caught:
        select("* from [//nowhere]", open_table)
    assert (caught.value.code, caught.value.message) == (500, "Error resolving path //nowhere")


def test_result_columns_have_the_names_and_types_of_the_projections() -> None:
    text = "[k], i as [my i], u + 1, -(d), lower(s), (k + 1) * 2, k = 1, if_null(u, 0) as n, t.k from [//t] limit 1"
    result = select(text.replace(", t.k", ""), opening(values()))
    assert [(column.name, column.type) for column in result.columns] == [
        ("k", "int64"),
        ("my i", "int32"),
        ("u + 1", "uint64"),
        ("-d", "double"),
        ("lower(s)", "string"),
        ("(k + 1) * 2", "int64"),
        ("k = 1", "boolean"),
        ("n", "uint64"),
    ]
    assert all(column.sort_order is None for column in result.columns)


def test_columns_are_named_with_the_alias_of_the_table() -> None:
    assert rows_of("t.k from [//t] as t where t.[k] = 2", values()) == [(2,)]
    assert error_of("k from [//t] as t", values()).message == 'Undefined reference "k"'
    assert error_of("q.k from [//t] as t", values()).message == 'Undefined reference "q.k"'


def test_names_of_projections_may_be_used_in_all_clauses() -> None:
    text = "k * 2 as twice, twice + 1 as more from [//t] where twice > 2 order by more desc limit 5"
    assert rows_of(text, values()) == [(6, 7), (4, 5)]
    assert "Infinite recursion" in error_of("x + 1 as y, y + 1 as x from [//t]", values()).message


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("7.0 / 2", 3.5),
        ("1 | 6 & 3", 3),
        ("1 << 3 | 1", 9),
        ("256 >> 4 + 1", 8),
        ("~0", -1),
        ("~0u", 2**64 - 1),
        ("9223372036854775807 + 1", -(2**63)),
        ("18446744073709551615u + 1u", 0),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", 2**63),
        ("1.5e3", 1500.0),
        ("1 = 1", True),
        ("2 != 2 or 1 < 2 and not %false", True),
        ("not 1 = 2", True),
        ("(1, 2) < (1, 3)", True),
        ("(1, 2) >= (2, 0)", False),
        ("5 between 1 and 5", True),
        ("5 not between 1 and 5", False),
        ("5 in (1, 2u, 5)", True),
        ("(1, 'a') in ((2, 'a'), (1, \"a\"))", True),
        ("3 not in (1, 2)", True),
        (r"'it\'s \x41\n\101'", b"it's A\nA"),
        (r'"\xff"', b"\xff"),
        ("'Привет'", "Привет".encode()),
        ("lower('ABC')", b"abc"),
        ("UPPER('abc')", b"ABC"),
        ("concat('a', 'b')", b"ab"),
        ("length('abc')", 3),
        ("is_prefix('ab', 'abc')", True),
        ("is_substr('bc', 'abc')", True),
        ("is_null(#)", True),
        ("null is null", True),
        ("1 is not null", True),
        ("if_null(#, 5)", 5),
        ("if(1 = 2, 1, 2)", 2),
        ("int64(3.9)", 3),
        ("uint64(-1)", 2**64 - 1),
        ("double(1)", 1.0),
        ("%true", True),
        ("true", True),
    ],
)
def test_constants_are_computed(expression: str, expected: Value) -> None:
    value = constant(expression)
    assert value == expected
    assert type(value) is type(expected)


def test_division_of_doubles_by_zero_is_not_an_error() -> None:
    assert [constant(text) for text in ("1.0 / 0.0", "-1.0 / 0.0")] == [math.inf, -math.inf]
    nan = constant("0.0 / 0.0")
    assert isinstance(nan, float)
    assert math.isnan(nan)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("i + 1", [11, -19, None]),
        ("u + 1", [101, 0, None]),
        ("d * 2", [3.0, -5.0, None]),
        ("s", [b"One", b"two", None]),
        ("lower(s)", [b"one", b"two", None]),
        ("not b", [False, True, None]),
        ("b and %true", [True, False, None]),
        ("b and %false", [False, False, False]),
        ("b or %true", [True, True, True]),
        ("b or %false", [True, False, None]),
        ("i = #", [False, False, True]),
        ("i < 0", [False, True, True]),
        ("i > #", [True, True, False]),
        ("u = 100", [True, False, False]),
        ("i = 10u", [True, False, False]),
        ("u >= 18446744073709551615u", [False, True, False]),
        ("u > -1", [True, True, False]),
        ("d < 1", [False, True, True]),
        ("(i, s) = (10, 'One')", [True, False, False]),
        ("(i, s) < (10, 'Z')", [True, True, True]),
        ("i in (10, #)", [True, False, True]),
        ("(k, i) in ((1, 10), (3, #))", [True, False, True]),
        ("if(b, 'yes', 'no')", [b"yes", b"no", None]),
        ("if(is_null(i), 0, 100 / i)", [10, -5, 0]),
        ("if_null(u, -1)", [100, 2**64 - 1, 2**64 - 1]),
        ("is_null(a)", [False, True, True]),
        ("a = #", [False, True, True]),
    ],
)
def test_null_propagates_through_functions_and_is_the_least_value_in_comparisons(
    expression: str, expected: list[Value]
) -> None:
    assert evaluate(expression) == expected


def test_where_keeps_rows_for_which_the_condition_is_true() -> None:
    assert rows_of("k from [//t] where b", values()) == [(1,)]
    assert rows_of("k from [//t] where not b", values()) == [(2,)]
    assert rows_of("k from [//t] where 1 = 1", values()) == [(1,), (2,), (3,)]
    assert rows_of("k from [//t] where #", values()) == []


def test_order_puts_null_first_and_limit_and_offset_cut_the_result() -> None:
    assert rows_of("k from [//t] order by i limit 10", values()) == [(3,), (2,), (1,)]
    assert rows_of("k from [//t] order by i desc limit 10", values()) == [(1,), (2,), (3,)]
    assert rows_of("k from [//t] order by is_null(i), k * -1 limit 10", values()) == [(2,), (1,), (3,)]
    assert rows_of("k from [//t] order by k desc offset 1 limit 1", values()) == [(2,)]
    assert rows_of("k from [//t] limit 1 offset 2", values()) == [(3,)]
    assert rows_of("k from [//t] limit 0", values()) == []


def test_without_order_rows_come_in_key_order_and_a_limit_ends_the_reading() -> None:
    table = queue()
    assert rows_of("[$tablet_index], [$row_index] from [//q] limit 2", table) == [(0, 0), (0, 1)]
    assert table.rows_read == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x from [//t]", 'Undefined reference "x"'),
        ("k from [//t] where [y z] = 1", 'Undefined reference "y z"'),
        ("k from [//t] order by k", "ORDER BY used without LIMIT"),
        ("k from [//t] offset 1", "OFFSET used without LIMIT"),
        ("k, k from [//t]", 'Duplicate column name "k" in projections'),
        ("s + 1 from [//t]", 'Type mismatch in expression "s + 1"'),
        ("k from [//t] where s = 1", 'Type mismatch in expression "s = 1"'),
        ("k from [//t] where i = u", 'Type mismatch in expression "i = u"'),
        ("k from [//t] where i > 1.5", 'Type mismatch in expression "i > 1.5"'),
        ("k from [//t] where i in (1, 'x')", 'Type mismatch in expression "i in (1, "x")"'),
        ("k from [//t] where s and b", 'Type mismatch in expression "s and b"'),
        ("k from [//t] where lower(k) = 'x'", 'Type mismatch in expression "lower(k)"'),
        ("k from [//t] where k", "WHERE-clause is not a boolean expression"),
        ("k from [//t] where (k, i) = (1, 2, 3)", "Tuples of same size are expected but got 2 vs 3"),
        ("k from [//t] where k in (i)", 'Expression inside IN must be constant, got "i"'),
        ("lower(s, s) from [//t]", 'Wrong number of arguments to function "lower": expected 1, got 2'),
        ("1 / 0 from [//t]", "Division by zero"),
        ("k / (k - 1) from [//t]", "Division by zero"),
        ("sum(k) from [//t]", 'Aggregate function "sum" is not supported in queries yet'),
        ("k, sum(i) from [//t] group by k", "GROUP BY is not supported in queries yet"),
        ("k from [//t] join [//u] using k", "JOIN is not supported in queries yet"),
        ("k from [//t] order by a limit 1", 'Cannot order by expression "a" of type "any"'),
    ],
)
def test_queries_that_make_no_sense_are_refused(text: str, message: str) -> None:
    assert error_of(text, values()).message == message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*",
        "from [//t]",
        "select * from [//t]",
        "k k2 from [//t]",
        "k, from [//t]",
        "k from [//t] where",
        "k from [//t] where k =",
        "k from [//t] where (k = 1",
        "k from [//t] where k ? 1",
        "k from [//t] where k = 'open",
        "k from [//t",
        "k from [//t]; k from [//t]",
        "k from (k from [//t])",
        "k from f(k)",
        "k from [//t], [//u]",
        "*, k from [//t]",
        "t.* from [//t] as t",
        "no_such_function(k) from [//t]",
        "case when k = 1 then 2 end from [//t]",
        "distinct k from [//t]",
        "k from [//t] union all k from [//t]",
        "k from [//t] limit -1",
        "k from [//t] limit k",
        "k from [//t] limit 1.5",
        "k[0] from [//t]",
        "k from [//t] where k = {missing}",
        "k from [//t] where k = 18446744073709551616",
        "k from [//t] where k = 1" + "0" * 5000,
        "k from [//t] where " + "(" * 3000 + "k = 1" + ")" * 3000,
        "k from [//t] where k = " + "+".join(["1"] * 5000),
        "k from [//t] where k in (select k from [//t])",
    ],
)
def test_what_is_no_query_is_an_error_of_parsing_with_the_reason_inside(text: str) -> None:
    error = error_of(text, values())
    assert error.message in ("Error while parsing query", 'Undefined reference "k"')
    assert error.message != "Error while parsing query" or error.inner_errors[0].message


@settings(max_examples=200)
@given(st.text(alphabet="k \"'[]()=<>,.*+-/%#{}1u\\$", max_size=30) | st.text(max_size=20))
def test_any_text_gives_a_result_or_the_one_kind_of_error(text: str) -> None:
    for query in (text, f"k from [//t] where {text}"):
        try:
            result = select(query, opening(values()))
        except YtError:
            continue
        assert isinstance(result, QueryResult)


def test_long_chains_of_conditions_are_no_problem() -> None:
    text = " or ".join(f"(k = {number} and s = 'x')" for number in range(3000))
    table = values()
    assert rows_of(f"k from [//t] where {text}", table) == []
    assert len(table.scanned) == 3000


def test_placeholders_stand_for_literals_and_tuples_of_literals() -> None:
    parameters: dict[str, Yson] = {
        "one": 1,
        "big": Uint64(2**64 - 1),
        "minus": -20,
        "text": "two",
        "pairs": [[1, 10], [3, None]],
        "nothing": [],
        "yes": True,
        "half": -2.5,
    }
    for condition, keys in {
        "k = {one}": [1],
        "u = {big} and i = {minus} and s = {text} and d = {half}": [2],
        "(k, i) in {pairs}": [1, 3],
        "k in {nothing}": [],
        "b = {yes}": [1],
    }.items():
        assert rows_of(f"k from [//t] where {condition}", values(), parameters) == [(key,) for key in keys]


def test_row_limits_are_errors_when_exceeded() -> None:
    table = queue(1, 10)
    assert len(select("* from [//q]", opening(table), input_row_limit=10, output_row_limit=10).rows) == 10
    with pytest.raises(YtError, match="excessive input"):
        select("* from [//q] where [$row_index] * 1 = 3", opening(table), input_row_limit=9)
    with pytest.raises(YtError, match="excessive output"):
        select("* from [//q]", opening(table), output_row_limit=9)


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
        ("[$tablet_index] = 18446744073709551615u", [FULL_RANGE]),
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


@settings(max_examples=200, deadline=None)
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


def test_an_expression_by_itself_is_a_function_of_rows() -> None:
    columns = (Column("hash", "uint64"), Column("user", "string"), Column("n", "int64"))
    bucket = compile_expression("farm_hash(user, n) % 100", columns)
    assert bucket.type == "uint64"
    assert bucket.references == {"user", "n"}
    expected = combine([fingerprint(b"abc"), fingerprint_of_number(1)]) % 100
    assert [bucket((None, b"abc", 1)), bucket((7, b"abc", 1))] == [expected, expected]
    assert bucket((None, None, None)) == combine([fingerprint_of_number(0)] * 2) % 100
    assert compile_expression("farm_hash([n])", columns)((None, None, 456)) == 2044001940267648219


@pytest.mark.parametrize("text", ["", "n, n", "n from [//t]", "nope", "n +", "n limit 1", "lower(n)", "*"])
def test_what_is_no_single_expression_is_refused(text: str) -> None:
    with pytest.raises(YtError):
        compile_expression(text, [Column("n", "int64")])
