"""The query language through ytsaurus-client: groups, joins, functions, types of results, statistics, errors."""

from __future__ import annotations

from typing import Any

import pytest
from yt.wrapper import YtClient
from yt.wrapper import YtError as YtClientError

from tests.conformance.harness import make_queue, messages_of, rows_of
from yt_wire import yson

KINDS_SCHEMA = [
    {"name": "k", "type": "int64", "sort_order": "ascending"},
    {"name": "u", "type": "uint64"},
    {"name": "d", "type": "double"},
    {"name": "b", "type": "boolean"},
    {"name": "s", "type": "string"},
    {"name": "a", "type": "any"},
]


def make_table(client: YtClient, path: str, schema: list[dict[str, Any]], rows: list[dict[str, Any]]) -> str:
    client.create("table", path, attributes={"dynamic": True, "schema": schema}, recursive=True)
    client.mount_table(path, sync=True)
    client.insert_rows(path, rows)
    return path


@pytest.fixture
def kinds(client: YtClient, home: str) -> str:
    rows: list[dict[str, Any]] = [
        {"k": 1, "u": 2**63 + 1, "d": 1.5, "b": True, "s": "One", "a": {"x": [1, 2]}},
        {"k": 2, "u": 7, "d": -2.5, "b": False, "s": "two", "a": "text"},
        {"k": 3},
    ]
    return make_table(client, f"{home}/kinds", KINDS_SCHEMA, rows)


@pytest.fixture
def topics(client: YtClient, home: str) -> str:
    schema = [
        {"name": "topic", "type": "string", "sort_order": "ascending"},
        {"name": "number", "type": "int64", "sort_order": "ascending"},
        {"name": "user", "type": "string"},
    ]
    rows = [{"topic": f"t{number % 3}", "number": number, "user": f"u{number % 2}"} for number in range(12)]
    return make_table(client, f"{home}/topics", schema, rows)


@pytest.fixture
def users(client: YtClient, home: str) -> str:
    schema = [
        {"name": "user", "type": "string", "sort_order": "ascending"},
        {"name": "name", "type": "string"},
    ]
    return make_table(client, f"{home}/users", schema, [{"user": "u0", "name": "Null"}, {"user": "u2", "name": "Two"}])


def test_results_have_the_types_of_the_expressions(client: YtClient, kinds: str) -> None:
    query = f"u + 1 as u, d * 2 as d, not b as b, lower(s) as s, a, #  = a as n, farm_hash(k) as h from [{kinds}]"
    first, _, last = rows_of(client, query)
    assert isinstance(first["u"], yson.Uint64)
    assert first == {
        "u": 2**63 + 2,
        "d": 3.0,
        "b": False,
        "s": "one",
        "a": {"x": [1, 2]},
        "n": False,
        "h": first["h"],
    }
    assert isinstance(first["h"], yson.Uint64)
    assert (last["u"], last["d"], last["b"], last["s"], last["n"]) == (None, None, None, None, True)


def test_json_shows_numbers_and_null_as_they_are(client: YtClient, kinds: str) -> None:
    raw = client.select_rows(f"u, d, b, a from [{kinds}] where k in (1, 3)", format="json", raw=True).read()
    assert raw.splitlines() == [
        b'{"u":9223372036854775809,"d":1.5,"b":true,"a":{"x":[1,2]}}',
        b'{"u":null,"d":null,"b":null,"a":null}',
    ]


def test_columns_without_a_name_are_called_by_their_expression(client: YtClient, kinds: str) -> None:
    row = rows_of(client, f"t.k + 1, sum(1), t.k from [{kinds}] as t group by t.k, t.k + 1")[0]
    assert row == {"(t.k)+(1)": 2, "sum(1)": 1, "t.k": 1}


def test_rows_are_grouped(client: YtClient, topics: str) -> None:
    query = f"topic, sum(1) as n, max(number) as last from [{topics}] group by topic having last > 9"
    assert rows_of(client, query) == [{"topic": "t1", "n": 4, "last": 10}, {"topic": "t2", "n": 4, "last": 11}]
    totals = rows_of(client, f"user, sum(number) as s from [{topics}] group by user with totals")
    assert {row["user"]: row["s"] for row in totals} == {"u0": 30, "u1": 36, None: 66}


def test_tables_are_joined(client: YtClient, topics: str, users: str) -> None:
    query = (
        f"t.number as number, u.name as name from [{topics}] as t join [{users}] as u on t.user = u.user"
        " where t.topic = 't0' order by t.number desc limit 1"
    )
    assert rows_of(client, query) == [{"number": 6, "name": "Null"}]
    left = rows_of(client, f"number, name from [{topics}] left join [{users}] using user where topic = 't1'")
    assert [(row["number"], row["name"]) for row in left] == [(1, None), (4, "Null"), (7, None), (10, "Null")]


def test_queues_are_joined_and_grouped_like_tables(client: YtClient, home: str, users: str) -> None:
    queue = make_queue(client, f"{home}/q", tablet_count=2)
    client.insert_rows(queue, [{"$tablet_index": number % 2, "data": f"u{number}"} for number in range(6)])
    query = f"[$tablet_index] as tablet, sum(1) as n, max([$row_index]) as last from [{queue}] group by tablet"
    assert rows_of(client, query) == [{"tablet": 0, "n": 3, "last": 2}, {"tablet": 1, "n": 3, "last": 2}]
    joined = rows_of(
        client, f"q.[$row_index] as row, u.name from [{queue}] as q join [{users}] as u on q.data = u.user"
    )
    assert joined == [{"row": 0, "u.name": "Null"}, {"row": 1, "u.name": "Two"}]


def test_statistics_tell_what_was_read(client: YtClient, topics: str, users: str) -> None:
    def statistics(query: str) -> Any:
        parameters: dict[str, Any] = {}
        list(client.select_rows(query, response_parameters=parameters))
        return parameters

    assert statistics(f"* from [{topics}] where topic = 't1' and number > 4")["rows_read"] == 2
    assert statistics(f"* from [{topics}] where user = 'u1'")["rows_read"] == 12
    query = f"* from [{topics}] as t join [{users}] as u on t.user = u.user where t.topic = 't0' and t.number = 0"
    assert statistics(query) == {
        "rows_read": 2,
        "rows_written": 1,
        "incomplete_input": False,
        "incomplete_output": False,
    }


def test_limits_may_cut_the_answer_or_be_an_error(client: YtClient, topics: str) -> None:
    cut = client.select_rows(f"* from [{topics}]", output_row_limit=5, fail_on_incomplete_result=False)
    assert len(list(cut)) == 5
    with pytest.raises(YtClientError) as caught:
        list(client.select_rows(f"* from [{topics}]", input_row_limit=5))
    assert "excessive input" in messages_of(caught.value)
    with pytest.raises(YtClientError) as caught:
        list(client.select_rows(f"* from [{topics}] where user = 'u1'", allow_full_scan=False))
    assert "full scan" in messages_of(caught.value)


def test_placeholders_stand_for_lists_and_the_second_syntax_quotes_with_backticks(
    client: YtClient, topics: str
) -> None:
    values = {"keys": [["t0", 3], ["t1", 1], ["t9", 1]], "user": "u1"}
    query = f"number from `{topics}` where (topic, number) in {{keys}} and user = {{user}}"
    found = client.select_rows(query, placeholder_values=values, syntax_version=2)
    assert [row["number"] for row in found] == [3, 1]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("u + k from [{}]", 'Type mismatch in expression "+"'),
        ("k from [{}] where s > 1", "Type mismatch in expression"),
        ("nothing(k) from [{}]", 'Undefined function "nothing"'),
        ("lower(s, s) from [{}]", 'Wrong number of arguments to function "lower"'),
        ("lower(k) from [{}]", 'Wrong type for argument 1 to function "lower"'),
        ("k, u from [{}] group by k", 'Undefined reference "u"'),
        ("sum(k) from [{}]", 'Misuse of aggregate function "sum"'),
        ("k from [{}] order by k", "ORDER BY used without LIMIT"),
        ("k from [{}] offset 1", "OFFSET used without LIMIT"),
        ("k from [{}] where k", "WHERE-clause is not a boolean expression"),
        ("k from [{}] where", "Error while parsing query: syntax error, unexpected end of stream"),
        ("k / (k - 1) as x from [{}]", "Division by zero"),
    ],
)
def test_what_makes_no_sense_is_refused_as_on_a_real_cluster(
    client: YtClient, kinds: str, query: str, words: str
) -> None:
    with pytest.raises(YtClientError) as caught:
        rows_of(client, query.format(kinds))
    assert words in messages_of(caught.value)


def test_a_join_must_use_the_key(client: YtClient, topics: str, users: str) -> None:
    query = f"t.number from [{topics}] as t join [{users}] as u on t.user = u.name"
    with pytest.raises(YtClientError) as caught:
        rows_of(client, query)
    assert "Foreign table key is not used in the join clause" in messages_of(caught.value)
    assert list(client.select_rows(query, allow_join_without_index=True)) == []


def test_a_query_is_explained(client: YtClient, topics: str, users: str) -> None:
    (plan,) = client.explain_query(
        f"t.number from [{topics}] as t join [{users}] as u on t.user = u.user where t.topic = 't1' and t.number > 4"
    )
    query = plan["query"]
    assert query["where_expression"] == '((t.topic)=("t1"))AND((t.number)>(4))'
    assert query["ranges"] == [['["t1", 4]', '["t1"]']]
    assert query["joins"] == [[{"lookup_type": "source ranges", "common_key_prefix": 0, "foreign_key_prefix": 1}]]


def test_comments_of_a_user_are_found_by_the_hash_of_the_name(client: YtClient, home: str) -> None:
    key = [
        {"name": "hash", "type": "uint64", "sort_order": "ascending", "expression": "farm_hash(user)"},
        {"name": "user", "type": "string", "sort_order": "ascending"},
        {"name": "topic_id", "type": "string", "sort_order": "ascending"},
        {"name": "parent_path", "type": "string", "sort_order": "ascending"},
        {"name": "update_time", "type": "uint64"},
    ]
    comment = [
        {"name": "topic_id", "type": "string", "sort_order": "ascending"},
        {"name": "parent_path", "type": "string", "sort_order": "ascending"},
        {"name": "content", "type": "string"},
    ]
    numbers = range(60)
    by_user = make_table(
        client,
        f"{home}/user_comments",
        key,
        [
            {
                "user": f"u{number % 6}",
                "topic_id": f"t{number % 4}",
                "parent_path": f"0/{number}",
                "update_time": number,
            }
            for number in numbers
        ],
    )
    comments = make_table(
        client,
        f"{home}/topic_comments",
        comment,
        [{"topic_id": f"t{number % 4}", "parent_path": f"0/{number}", "content": f"c{number}"} for number in numbers],
    )
    parameters: dict[str, Any] = {}
    query = f"""
        topic_comments.topic_id as topic_id, topic_comments.content as content
        from [{by_user}] as user_comments join [{comments}] as topic_comments
        on (user_comments.topic_id, user_comments.parent_path) = (topic_comments.topic_id, topic_comments.parent_path)
        where user_comments.user = 'u3' and user_comments.update_time >= 30
        order by user_comments.update_time desc limit 2
    """
    assert list(client.select_rows(query, response_parameters=parameters)) == [
        {"topic_id": "t1", "content": "c57"},
        {"topic_id": "t3", "content": "c51"},
    ]
    assert parameters["rows_read"] == 10 + 5, "the ten comments of the user, and the five that are new enough"
    subtree = f"content from [{comments}] where topic_id = 't1' and is_prefix('0/5', parent_path)"
    assert [row["content"] for row in client.select_rows(subtree, response_parameters=parameters)] == [
        "c5",
        "c53",
        "c57",
    ]
    assert parameters["rows_read"] == 3
