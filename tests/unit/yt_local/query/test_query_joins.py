"""Joins: what belongs together, and that the other table is looked up rather than scanned."""

from __future__ import annotations

import pytest

from tests.unit.yt_local.query.query_tables import Table, joined, opening_all
from yt_local.query import KeyRange, SelectOptions, compile_expression, select
from yt_local.schema.keys import Row
from yt_local.schema.schema import Column
from yt_wire.error import YtError
from yt_wire.farm_hash import combine, fingerprint

PEOPLE = (
    Column("id", "int64", sort_order="ascending"),
    Column("name", "string"),
    Column("city", "string"),
    Column("boss", "int64"),
)
CITIES = (Column("city", "string", sort_order="ascending"), Column("country", "string"), Column("size", "uint64"))
VISITS = (
    Column("id", "int64", sort_order="ascending"),
    Column("day", "int64", sort_order="ascending"),
    Column("where", "string"),
)


def people() -> Table:
    return Table(
        PEOPLE,
        [(1, b"Ann", b"Oslo", None), (2, b"Ben", b"Rome", 1), (3, b"Cid", b"Nowhere", 1), (4, b"Dag", None, 9)],
    )


def cities() -> Table:
    names = (b"Bern", b"Oslo", b"Paris", b"Rome")
    return Table(CITIES, [(name, name[:1], index) for index, name in enumerate(names)])


def visits() -> Table:
    return Table(VISITS, [(1, 1, b"a"), (1, 2, b"b"), (2, 1, b"c"), (7, 1, b"d")])


def test_a_join_keeps_the_rows_with_a_match_and_reads_the_keys_wanted_only() -> None:
    other = cities()
    found = joined("name, country from [//p] join [//c] using city", p=people(), c=other)
    assert found == [(b"Ann", b"O"), (b"Ben", b"R")]
    assert other.rows_read == 2
    assert KeyRange((b"Oslo",), (b"Oslo",)) in other.scanned


def test_a_left_join_keeps_all_rows() -> None:
    found = joined("name, country from [//p] left join [//c] using city", p=people(), c=cities())
    assert found == [(b"Ann", b"O"), (b"Ben", b"R"), (b"Cid", None), (b"Dag", None)]


def test_one_row_may_match_many() -> None:
    other = visits()
    text = "p.name, v.day from [//p] as p join [//v] as v on p.id = v.id"
    assert joined(text, p=people(), v=other) == [(b"Ann", 1), (b"Ann", 2), (b"Ben", 1)]
    assert other.rows_read == 3


def test_tuples_are_joined_by_all_their_parts() -> None:
    other = visits()
    text = "p.name, v.[where] from [//p] p join [//v] v on (p.id, 3 - p.id) = (v.id, v.day)"
    assert joined(text, p=people(), v=other) == [(b"Ann", b"b"), (b"Ben", b"c")]
    assert other.rows_read == 2


def test_the_order_of_the_equation_is_of_no_account() -> None:
    other = visits()
    text = "p.name, v.[where] from [//p] p join [//v] v on (3 - p.id, p.id) = (v.day, v.id)"
    assert joined(text, p=people(), v=other) == [(b"Ann", b"b"), (b"Ben", b"c")]
    assert other.rows_read == 2


def test_a_predicate_narrows_the_table_joined_not_the_result_of_a_left_join() -> None:
    other = visits()
    text = "p.name, v.day from [//p] as p left join [//v] as v on p.id = v.id and v.day > 1"
    assert joined(text, p=people(), v=other) == [(b"Ann", 2), (b"Ben", None), (b"Cid", None), (b"Dag", None)]
    assert other.rows_read == 1


def test_joins_may_follow_each_other_and_refer_to_what_was_joined() -> None:
    text = (
        "p.name as name, b.name as boss, c.country as country from [//p] as p"
        " left join [//p] as b on p.boss = b.id left join [//c] as c on b.city = c.city where p.id > 1"
    )
    assert joined(text, p=people(), c=cities()) == [
        (b"Ben", b"Ann", b"O"),
        (b"Cid", b"Ann", b"O"),
        (b"Dag", None, None),
    ]


def test_null_joins_null() -> None:
    rows: list[Row] = [(None, b"?", 7), (b"Oslo", b"O", 1)]
    found = joined("name, country from [//p] join [//c] using city", p=people(), c=Table(CITIES, rows))
    assert found == [(b"Ann", b"O"), (b"Dag", b"?")]


def test_star_gives_the_columns_of_all_tables() -> None:
    result = select("* from [//p] as p join [//c] as c on p.city = c.city", opening_all(p=people(), c=cities()))
    assert [column.name for column in result.columns] == [
        "p.id",
        "p.name",
        "p.city",
        "p.boss",
        "c.city",
        "c.country",
        "c.size",
    ]
    result = select("* from [//p] join [//c] using city", opening_all(p=people(), c=cities()))
    assert [column.name for column in result.columns] == ["id", "name", "city", "boss", "country", "size"]


def test_conditions_on_the_first_table_are_applied_before_the_join() -> None:
    first, other = people(), cities()
    text = (
        "p.name from [//p] as p join [//c] as c on p.city = c.city"
        " where p.id = 1 and c.size < 5 and p.id > int64(c.size)"
    )
    assert joined(text, p=first, c=other) == []
    assert (first.rows_read, other.rows_read) == (1, 1)


def test_a_limit_ends_the_join_early() -> None:
    first = Table(PEOPLE, [(number, b"n", b"Oslo", None) for number in range(5000)])
    assert len(joined("p.id from [//p] as p join [//c] as c on p.city = c.city limit 3", p=first, c=cities())) == 3
    assert first.rows_read <= 200


def test_many_batches_give_the_same_as_one() -> None:
    first = Table(PEOPLE, [(number, b"n", b"Oslo" if number % 2 else b"?", None) for number in range(5000)])
    assert joined("sum(p.id) as s from [//p] p join [//c] c on p.city = c.city group by 1", p=first, c=cities()) == [
        (sum(range(1, 5000, 2)),)
    ]


HASHED = (
    Column("hash", "uint64", sort_order="ascending", expression="farm_hash(user)"),
    Column("user", "string", sort_order="ascending"),
    Column("topic", "int64", sort_order="ascending"),
    Column("text", "string"),
)


def hashed(count: int = 200) -> Table:
    names = [b"user%d" % number for number in range(count)]
    return Table(HASHED, [(combine([fingerprint(name)]), name, topic, b"t") for name in names for topic in range(3)])


def test_a_table_with_a_computed_key_is_looked_up_by_what_it_is_computed_from() -> None:
    other = hashed()
    names = Table(PEOPLE, [(1, b"user7", b"", None), (2, b"user9", b"", None), (3, b"nobody", b"", None)])
    text = "p.id, h.topic from [//p] as p join [//h] as h on (p.name, p.id) = (h.user, h.topic)"
    assert joined(text, p=names, h=other) == [(1, 1), (2, 2)]
    assert other.rows_read == 2
    other = hashed()
    assert len(joined("p.id from [//p] as p join [//h] as h on p.name = h.user", p=names, h=other)) == 6
    assert other.rows_read == 6


def test_computed_columns_are_compiled_for_the_rows_of_their_table() -> None:
    compute = compile_expression("farm_hash(user)", HASHED)
    assert all(compute(row) == row[0] for row in hashed().rows)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "p.id from [//p] as p join [//c] as c on p.name = c.country",
            "Foreign table key is not used in the join clause; the query is inefficient, consider rewriting it",
        ),
        ("p.id from [//p] as p join [//v] as v on p.id = v.day", "Foreign table key is not used in the join clause"),
        ("id from [//p] join [//c] using country", 'Column "country" not found'),
        ("p.id from [//p] as p join [//c] as c using city", 'Column "city" not found'),
        ("id from [//p] join [//n] using city", 'Column "city" type mismatch in join'),
        ("p.id from [//p] as p join [//c] as c on p.id = c.city", 'Types mismatch in join equation "p.id = c.city"'),
        ("p.id from [//p] as p join [//c] as c on (p.id, p.city) = (c.city)", "Tuples of same size are expected"),
        ("p.id from [//p] as p join [//c] as c on (p.name, p.city) = (c.city, c.city)", "Foreign key column occurs"),
        ("p.id from [//p] as p join [//c] as c on p.city = c.city and p.id = 1", 'Undefined reference "p.id"'),
        (
            "p.id from [//p] as p join [//c] as c on p.city = c.city and c.size",
            "JOIN-PREDICATE-clause is not a boolean",
        ),
        ("id from [//p] as p join [//c] as c on p.city = c.city", 'Undefined reference "id"'),
        ("name from [//p] join [//q] using id", 'Ambiguous resolution for column "name"'),
    ],
)
def test_joins_that_make_no_sense_are_refused(text: str, message: str) -> None:
    numbers = Table((Column("city", "int64", sort_order="ascending"), Column("v", "int64")), [])
    tables = opening_all(p=people(), q=people(), c=cities(), v=visits(), n=numbers)
    with pytest.raises(YtError) as caught:
        select(text, tables)
    assert caught.value.message.startswith(message)


def test_a_join_without_the_key_can_be_allowed() -> None:
    text = "p.name, c.city from [//p] as p join [//c] as c on 'R' = c.country"
    options = SelectOptions(allow_join_without_index=True)
    result = select(f"{text} limit 1", opening_all(p=people(), c=cities()), options=options)
    assert result.rows == [(b"Ann", b"Rome")]
