"""Queries: syntax, types, null, order, limits."""

from __future__ import annotations

import math

import pytest

from tests.unit.yt_local.query.query_tables import (
    constant,
    error_of,
    evaluate,
    opening,
    queue,
    rows_of,
    values,
)
from yt_local.query import QueryTable, SelectOptions, select
from yt_local.schema.keys import Value
from yt_wire.error import YtError
from yt_wire.yson import Uint64, Yson


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
        r"* from [//tmp/a\/b\x5d]",
        "* from [<cluster=hume>//t[#1]]",
        "* FROM [hume://t] limit 1",
    ):
        select(text, open_table)
    assert paths == ["//tmp/q", r"//tmp/a\/b\x5d", "<cluster=hume>//t[#1]", "hume://t"]


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
        ("(u)+(1)", "uint64"),
        ("-(d)", "double"),
        ("lower(s)", "string"),
        ("((k)+(1))*(2)", "int64"),
        ("(k)=(1)", "boolean"),
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
    assert error_of("x + 1 as y, y + 1 as x from [//t]", values()).message == 'Undefined reference "y"'


def test_a_name_given_to_an_expression_hides_the_column_of_that_name_but_not_within_itself() -> None:
    assert rows_of("k * 10 as k, k + 1 as next from [//t] where k > 10", values()) == [(20, 21), (30, 31)]
    assert rows_of("((k as x) + x) as y from [//t] limit 1", values()) == [(2,)]


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
        ("9223372036854775808", -(2**63)),
        ("1.5e3", 1500.0),
        ("1 = 1", True),
        ("2 != 2 or 1 < 2 and not %false", True),
        ("not 1 = 2", True),
        ("(1, 2) < (1, 3)", True),
        ("(1, 2) >= (2, 0)", False),
        ("5 between 1 and 5", True),
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
        ("u > -1", [False, False, False]),
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


def test_order_puts_null_first_and_limit_and_offset_cut_the_result() -> None:
    assert rows_of("k from [//t] order by i limit 10", values()) == [(3,), (2,), (1,)]
    assert rows_of("k from [//t] order by i desc limit 10", values()) == [(1,), (2,), (3,)]
    assert rows_of("k from [//t] order by is_null(i), k * -1 limit 10", values()) == [(2,), (1,), (3,)]
    assert rows_of("k from [//t] order by k desc offset 1 limit 1", values()) == [(2,)]
    assert rows_of("k from [//t] offset 2 limit 1", values()) == [(3,)]
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
        ("s + 1 from [//t]", 'Type mismatch in expression "+": expected "{int64, uint64, double}", got "{string}"'),
        ("i + u from [//t]", 'Type mismatch in expression "+": expected "{int64}", got "{uint64}"'),
        ("i + 1u from [//t]", 'Type mismatch in expression "+": expected "{int64}", got "{uint64, double}"'),
        ("d % 2 from [//t]", 'Type mismatch in expression "%": expected "{int64, uint64}", got "{double}"'),
        ("k from [//t] where s = 1", "Type mismatch in expression"),
        ("k from [//t] where i = u", "Type mismatch in expression"),
        ("k from [//t] where i > 1.5", "Type mismatch in expression"),
        ("k from [//t] where i in (1, 'x')", "Types mismatch in tuple"),
        ("k from [//t] where i in ((1, 2))", "Arguments size mismatch in tuple"),
        (
            "k from [//t] where i in (18446744073709551615u)",
            "Failed to cast 18446744073709551615u to int64: value is greater than maximum",
        ),
        ("k from [//t] where (i, i) in ((1, 2))", 'IN operator has multiple references to one column in "i, i"'),
        ("k from [//t] where a in (1)", 'Cannot use expression of type "any" with IN operator'),
        ("k from [//t] where k between (5 and 1)", "Lower bound is greater than upper"),
        ("k from [//t] where k between (1 and 5, 3 and 9)", "Ranges are not disjoint"),
        ("k from [//t] where s and b", 'Type mismatch in expression "AND": expected "{boolean}", got "{string}"'),
        (
            "k from [//t] where lower(k) = 'x'",
            'Wrong type for argument 1 to function "lower": expected "{string}", got "{int64}"',
        ),
        ("k from [//t] where k", "WHERE-clause is not a boolean expression"),
        ("k from [//t] where #", "WHERE-clause is not a boolean expression"),
        ("k from [//t] where (k, i) = (1, 2, 3)", "Tuples of same size are expected but got 2 vs 3"),
        ("(k, i) + 1 from [//t]", "Expecting scalar expression"),
        ("lower(s, s) from [//t]", 'Wrong number of arguments to function "lower": expected 1, got 2'),
        ("no_such_function(k) from [//t]", 'Undefined function "no_such_function"'),
        ("substr(s, 1) from [//t]", 'Undefined function "substr"'),
        ("bigb_hash(s) from [//t]", 'Function "bigb_hash" is not supported by the local cluster'),
        ("1 / 0 from [//t]", "Division by zero"),
        ("k / (k - 1) from [//t]", "Division by zero"),
        ("-9223372036854775808 / -1 from [//t]", "Division of INT_MIN by -1"),
        ("sum(k) from [//t]", 'Misuse of aggregate function "sum"'),
        (
            "k from [//t] having k = 1",
            "Error while parsing query: syntax error, unexpected keyword `HAVING`, expecting end of stream",
        ),
        ("k as x, i as x from [//t]", 'Alias "x" has been already used'),
        ("k from (k from [//t])", "Subqueries are not supported by the local cluster"),
        ("k from [//t] array join a as x", "ARRAY JOIN is not supported by the local cluster"),
        (
            "k from [//t] with index [//i]",
            "WITH INDEX is not supported by the local cluster: it has no secondary indices",
        ),
        ("k from [//t] where k = {missing}", "Placeholder was not found"),
        ("k from [//t] where " + "(" * 3000 + "k = 1" + ")" * 3000, "Expression depth causes stack overflow"),
        ("k from [//t] where k = " + "+".join(["1"] * 5000), "Expression depth causes stack overflow"),
    ],
)
def test_queries_that_make_no_sense_are_refused(text: str, message: str) -> None:
    assert error_of(text, values()).message == message


def test_placeholders_stand_for_literals_and_tuples_of_literals() -> None:
    parameters: dict[str, Yson] = {
        "one": 1,
        "big": Uint64(2**64 - 1),
        "minus": -20,
        "text": "two",
        "pairs": [[1, 10], [3, None]],
        "numbers": [2, 1],
        "yes": True,
        "half": -2.5,
    }
    for condition, keys in {
        "k = {one}": [1],
        "u = {big} and i = {minus} and s = {text} and d = {half}": [2],
        "(k, i) in {pairs}": [1, 3],
        "k in {numbers} and {yes}": [1, 2],
        "b = {yes}": [1],
    }.items():
        assert rows_of(f"k from [//t] where {condition}", values(), parameters) == [(key,) for key in keys]


def test_row_limits_are_errors_when_exceeded() -> None:
    table = queue(1, 10)
    assert len(select("* from [//q]", opening(table), options=SelectOptions(10, 10)).rows) == 10
    with pytest.raises(YtError, match="excessive input"):
        select("* from [//q] where [$row_index] * 1 = 3", opening(table), options=SelectOptions(input_row_limit=9))
    with pytest.raises(YtError, match="excessive output"):
        select("* from [//q]", opening(table), options=SelectOptions(output_row_limit=9))
