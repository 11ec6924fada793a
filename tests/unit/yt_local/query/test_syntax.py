"""Texts that are queries, and those that are none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.yt_local.query.query_tables import (
    error_of,
    opening,
    rows_of,
    values,
)
from yt_local.query import QueryResult, compile_expression, select
from yt_local.schema.schema import Column
from yt_wire.error import YtError
from yt_wire.farm_hash import combine, fingerprint, fingerprint_of_number


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*",
        "from [//t]",
        "k k2 from [//t]",
        "k, from [//t]",
        "k from [//t] where",
        "k from [//t] where k =",
        "k from [//t] where (k = 1",
        "k from [//t] where k ? 1",
        "k from [//t] where k = 'open",
        "k from [//t",
        "k from [//t]; k from [//t]",
        "k from f(k)",
        "k from [//t], [//u]",
        "*, k from [//t]",
        "t.* from [//t] as t",
        "distinct k from [//t]",
        "k from [//t] union all k from [//t]",
        "k from [//t] limit -1",
        "k from [//t] limit k",
        "k from [//t] limit 1.5",
        "k[0] from [//t]",
        "k] from [//t]",
        "$k from [//t]",
        "k from [//t] limit 1 offset 2",
        "k from [//t] where not not b",
        "k from [//t] where k in (i)",
        "k from [//t] where k in ()",
        "k from [//t] where k not between 1 and 2",
        "case k end from [//t]",
        "transform(k, (1), 2) from [//t]",
        "k from [//t] join [//t]",
        "k from [//t] where k = 18446744073709551616",
        "k from [//t] where k = 1" + "0" * 5000,
        "k from [//t] where k in (select k from [//t])",
    ],
)
def test_what_is_no_query_is_an_error_of_parsing(text: str) -> None:
    message = error_of(text, values()).message
    assert message.startswith(("Error while parsing query: ", 'Unexpected symbol "]"'))


def test_errors_of_parsing_show_the_place() -> None:
    error = error_of("k from [//t] where k = and b", values())
    assert error.message == "Error while parsing query: syntax error, unexpected keyword `AND`"
    assert error.attributes == {"position": "23-26", "query": "[//t] where k =  >>>>> and <<<<<  b"}


@settings(max_examples=200)
@given(st.text(alphabet="k \"'[]()=<>,.*+-/%#{}1u\\$", max_size=30) | st.text(max_size=20))
def test_any_text_gives_a_result_or_the_one_kind_of_error(text: str) -> None:
    for query in (text, f"k from [//t] where {text}"):
        try:
            result = select(query, opening(values()))
        except YtError:
            continue
        assert isinstance(result, QueryResult)


def test_a_query_of_too_many_words_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yt_local.query.lexer.MAX_TOKENS", 1000)
    assert rows_of(f"k from [//t] where k in ({', '.join(['0'] * 490)})", values()) == []
    error = error_of(f"k from [//t] where k in ({', '.join(['0'] * 500)})", values())
    assert error.message == "Query is too complex: it has more than 1000 words"


def test_names_that_double_an_expression_again_and_again_are_refused() -> None:
    doublings = ", ".join(f"x{number} + x{number} as x{number + 1}" for number in range(40))
    error = error_of(f"k as x0, {doublings} from [//t]", values())
    assert error.message.startswith("Query is too complex")


def test_long_chains_of_conditions_are_no_problem() -> None:
    text = " or ".join(f"(k = {number} and s = 'x')" for number in range(3000))
    table = values()
    assert rows_of(f"k from [//t] where {text}", table) == []
    assert len(table.scanned) == 3000


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
