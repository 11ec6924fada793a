"""Ordered dynamic tables: rows written, read, trimmed, carried along."""

from __future__ import annotations

from typing import Any

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import QUEUE_SCHEMA, Cli, make_queue, make_sorted, refused, rows_of
from tests.conformance.ordered_tables import TIMESTAMP, WEIGHT, WORDS, info, pull, pull_all, write
from yt_wire import yson


def test_rows_get_index_timestamp_and_weight(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    write(client, path, *WORDS)
    rows = pull(client, path)
    assert [row["data"] for row in rows] == list(WORDS)
    assert [row["$row_index"] for row in rows] == [0, 1, 2, 3, 4]
    assert {row["$tablet_index"] for row in rows} == {0}
    assert [row[WEIGHT] for row in rows] == [20, 40, 63, 87, 111]
    assert len({row[TIMESTAMP] for row in rows}) == 1
    assert isinstance(rows[0][TIMESTAMP], yson.Uint64)
    assert list(rows[0]) == ["$tablet_index", "$row_index", "data", TIMESTAMP, WEIGHT]


def test_each_insert_has_a_later_timestamp_than_the_one_before(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q", tablet_count=2)
    before = client.generate_timestamp()
    for _ in range(3):
        client.insert_rows(path, [{"$tablet_index": 0, "data": "a"}, {"$tablet_index": 1, "data": "b"}])
    after = client.generate_timestamp()
    first, second = ([row[TIMESTAMP] for row in pull(client, path, partition=index)] for index in (0, 1))
    assert first == second
    assert [before, *first, after] == sorted({before, *first, after})
    assert before >> 30 > 1_600_000_000


def test_weights_follow_the_types_of_values(client: YtClient, home: str) -> None:
    columns = {"i": "int64", "u": "uint64", "d": "double", "b": "boolean", "s": "string", "a": "any"}
    schema = [{"name": name, "type": column_type} for name, column_type in columns.items()]
    path = make_queue(client, f"{home}/q", schema=[*schema, QUEUE_SCHEMA[2]])
    rows: list[dict[str, Any]] = [
        {},
        {"i": 1},
        {"u": yson.Uint64(1)},
        {"d": 1.0},
        {"b": True},
        {"s": "four"},
        {"a": [1, 2]},
        {"i": 1, "s": ""},
    ]
    client.insert_rows(path, rows)
    found = [row[WEIGHT] for row in pull(client, path)]
    weights = [after - before for before, after in zip([0, *found], found, strict=False)]
    empty = 1 + 8
    binary = len(yson.dumps([1, 2]))
    assert weights == [empty, empty + 8, empty + 8, empty + 8, empty + 1, empty + 4, empty + binary, empty + 8]


def test_a_table_without_system_columns_shows_none(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q", schema=QUEUE_SCHEMA[:1])
    write(client, path, "a")
    assert pull(client, path) == [{"$tablet_index": 0, "$row_index": 0, "data": "a"}]


def test_every_type_comes_back_as_it_was_written(client: YtClient, home: str) -> None:
    row = {
        "i": -(2**63),
        "u": yson.Uint64(2**64 - 1),
        "d": 1.5,
        "b": True,
        "s": "\N{CYRILLIC SMALL LETTER ZHE}\x00\n",
        "a": {"list": [1, yson.Uint64(2), None, 3.0], "map": {}},
    }
    columns = {"i": "int64", "u": "uint64", "d": "double", "b": "boolean", "s": "string", "a": "any"}
    path = make_queue(client, f"{home}/q", schema=[{"name": name, "type": kind} for name, kind in columns.items()])
    client.insert_rows(path, [row, {}])
    full, empty = pull(client, path)
    assert {name: full[name] for name in row} == row
    assert isinstance(full["u"], yson.Uint64)
    assert isinstance(full["a"]["list"][1], yson.Uint64)
    assert {name: empty[name] for name in row} == dict.fromkeys(row)


def test_rows_without_a_tablet_go_together_to_one_of_the_mounted(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q", tablet_count=3)
    client.unmount_table(path, first_tablet_index=1, last_tablet_index=1, sync=True)
    for _ in range(20):
        write(client, path, "a", "b")
    counts = [info(client, path, index)["total_row_count"] for index in (0, 2)]
    assert sum(counts) == 40
    assert all(count % 2 == 0 for count in counts)
    assert min(counts) > 0


def test_reading_starts_at_the_offset_and_ends_at_the_limits(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    write(client, path, *WORDS)

    def indexes(**arguments: Any) -> list[int]:
        return [row["$row_index"] for row in pull(client, path, **arguments)]

    assert indexes(offset=2) == [2, 3, 4]
    assert indexes(offset=1, max_row_count=2) == [1, 2]
    assert indexes(offset=5) == []
    assert indexes(offset=2**62) == []
    assert indexes(max_data_weight=5) == [0]
    assert indexes(max_data_weight=37) == [0, 1]
    with refused(1, path, "-1"):
        indexes(offset=-1)
    with refused(1701, "5"):
        indexes(partition=5)
    with refused(1701):
        indexes(partition=-1)


def test_a_pull_takes_at_most_a_thousand_rows_unless_asked(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    write(client, path, *["x"] * 1100)
    assert len(pull(client, path)) == 1000
    assert len(pull(client, path, max_row_count=1100)) == 1100


def test_tablet_infos_count_rows(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q", tablet_count=2)
    assert info(client, path)["last_write_timestamp"] == 0
    write(client, path, *WORDS, tablet=1)
    client.trim_rows(path, 1, 2)
    infos = client.get_tablet_infos(path, [1, 0])["tablets"]
    assert [tablet["total_row_count"] for tablet in infos] == [5, 0]
    assert [tablet["trimmed_row_count"] for tablet in infos] == [2, 0]
    assert infos[0]["last_write_timestamp"] == pull(client, path, partition=1)[0][TIMESTAMP]
    assert infos[0]["barrier_timestamp"] >= infos[0]["last_write_timestamp"]
    assert infos[0]["delayed_lockless_row_count"] == 0
    for name in ("barrier_timestamp", "last_write_timestamp"):
        assert isinstance(infos[0][name], yson.Uint64)
    with refused(1701, path, "2"):
        client.get_tablet_infos(path, [0, 2])


def test_trimmed_rows_are_gone_and_numbers_stay(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    write(client, path, *WORDS)
    client.trim_rows(path, 0, 3)
    rows = pull(client, path)
    assert [row["$row_index"] for row in rows] == [3, 4]
    assert [row[WEIGHT] for row in rows] == [87, 111]
    assert [row["$row_index"] for row in rows_of(client, f"* from [{path}]")] == [3, 4]
    for count in (2, 0, -5, 3):
        client.trim_rows(path, 0, count)
    assert info(client, path)["trimmed_row_count"] == 3
    write(client, path, "more")
    assert pull(client, path, offset=5)[0][WEIGHT] == 132
    client.trim_rows(path, 0, 6)
    assert pull(client, path) == []
    assert info(client, path)["total_row_count"] == 6


def test_no_more_rows_are_trimmed_than_there_are(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    write(client, path, *WORDS)
    with refused(1, "6", "5 row(s)"):
        client.trim_rows(path, 0, 6)
    with refused(1701, "1"):
        client.trim_rows(path, 1, 0)
    assert info(client, path)["trimmed_row_count"] == 0
    assert len(pull(client, path)) == 5


def test_trimming_is_for_mounted_ordered_tables(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    write(client, path, "a")
    client.freeze_table(path, sync=True)
    with refused(1702, path):
        client.trim_rows(path, 0, 1)
    sorted_path = make_sorted(client, f"{home}/t")
    with refused(1, sorted_path, "not ordered"):
        client.trim_rows(sorted_path, 0, 1)
    client.create("table", f"{home}/static")
    with refused(1, f"{home}/static", "not dynamic"):
        client.trim_rows(f"{home}/static", 0, 1)


def test_a_batch_for_several_tablets_is_written_whole_or_not_at_all(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q", tablet_count=2)
    client.freeze_table(path, first_tablet_index=1, last_tablet_index=1, sync=True)
    before = info(client, path)
    with refused(1702):
        client.insert_rows(path, [{"$tablet_index": 0, "data": "a"}, {"$tablet_index": 1, "data": "b"}])
    after = info(client, path)
    assert {**before, "barrier_timestamp": 0} == {**after, "barrier_timestamp": 0}
    assert pull(client, path) == []


def test_a_copy_of_a_table_has_its_rows_and_lives_on_by_itself(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q", tablet_count=2, mine="x")
    write(client, path, *WORDS, tablet=0)
    write(client, path, "a", tablet=1)
    client.trim_rows(path, 0, 2)
    with refused(1706, path):
        client.copy(path, f"{home}/copy")
    assert not client.exists(f"{home}/copy")
    client.freeze_table(path, sync=True)
    client.copy(path, f"{home}/copy")
    client.unfreeze_table(path, sync=True)
    assert client.get(f"{home}/copy/@tablet_state") == "unmounted"
    assert client.get(f"{home}/copy/@mine") == "x"
    assert client.get(f"{home}/copy/@tablets/0/tablet_id") != client.get(f"{path}/@tablets/0/tablet_id")
    client.mount_table(f"{home}/copy", sync=True)
    assert pull_all(client, f"{home}/copy") == pull_all(client, path)
    write(client, path, "only here", tablet=0)
    write(client, f"{home}/copy", "foo", tablet=0)
    assert [row["data"] for row in pull_all(client, f"{home}/copy")] == ["foobar", "megafoo", "megabar", "foo"]
    assert pull_all(client, f"{home}/copy")[-1][WEIGHT] == 131
    client.remove(path)
    assert len(pull_all(client, f"{home}/copy")) == 4


def test_a_moved_table_keeps_its_rows(client: YtClient, home: str) -> None:
    client.create("map_node", f"{home}/from")
    path = make_queue(client, f"{home}/from/q", tablet_count=2)
    write(client, path, *WORDS, tablet=1)
    client.trim_rows(path, 1, 2)
    rows = pull(client, path, partition=1)
    with refused(1706, path):
        client.move(f"{home}/from", f"{home}/to")
    client.unmount_table(path, sync=True)
    client.move(f"{home}/from", f"{home}/to")
    assert not client.exists(path)
    client.mount_table(f"{home}/to/q", sync=True)
    assert pull(client, f"{home}/to/q", partition=1) == rows
    write(client, f"{home}/to/q", "foo", tablet=1)
    assert pull(client, f"{home}/to/q", offset=5, partition=1)[0][WEIGHT] == 131


def test_a_new_table_in_place_of_a_removed_one_is_empty(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    write(client, path, *WORDS)
    client.remove(path)
    make_queue(client, path)
    assert pull(client, path) == []
    client.create("table", path, force=True, attributes={"dynamic": True, "schema": QUEUE_SCHEMA})
    assert client.get(f"{path}/@tablet_state") == "unmounted"


def test_rows_are_written_through_a_link(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    client.link(path, f"{home}/l")
    write(client, f"{home}/l", "a")
    assert [row["data"] for row in pull(client, f"{home}/l")] == ["a"]
    assert len(pull(client, path)) == 1


def test_an_empty_insert_changes_nothing(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    client.insert_rows(path, [])
    assert info(client, path)["total_row_count"] == 0


@pytest.mark.parametrize(
    ("schema", "culprit"),
    [
        ([{"name": "$timestamp", "type": "int64"}, {"name": "a", "type": "string"}], "$timestamp"),
        ([{"name": "$cumulative_data_weight", "type": "uint64"}], "$cumulative_data_weight"),
        ([{"name": "$other", "type": "uint64"}], "$other"),
        ([{"name": "a", "type": "string"}, {"name": "a", "type": "string"}], '"a"'),
        ([{"name": "a", "type": "thing"}], "thing"),
        ([{"name": "a"}], '"a"'),
        ([{"name": "a", "type": "string"}, {"name": "b", "type": "string", "sort_order": "ascending"}], "prefix"),
        ([{"name": "b", "type": "string", "sort_order": "ascending"}], "non-key"),
        (
            [
                {"name": "b", "type": "string", "sort_order": "ascending"},
                {"name": "$timestamp", "type": "uint64"},
            ],
            "$timestamp",
        ),
        ("nonsense", "schema"),
    ],
)
def test_a_schema_that_cannot_be_is_refused(client: YtClient, home: str, schema: Any, culprit: str) -> None:
    with refused(1, culprit):
        client.create("table", f"{home}/q", attributes={"dynamic": True, "schema": schema})
    assert client.list(home) == []


def test_the_command_line_writes_and_reads_rows(cli: Cli, client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    rows = b"{data=foo}; {data=bar}; {data=foobar}; {data=megafoo}; {data=megabar}"
    assert cli.run("insert-rows", path, "--format", "yson", stdin=rows).returncode == 0
    assert cli.run("trim-rows", path, "0", "1").returncode == 0
    pulled = cli.run("pull-queue", path, "--offset", "0", "--partition-index", "0", "--format", "<format=text>yson")
    found = yson.loads(b"[" + pulled.stdout + b"]")
    assert [row[WEIGHT] for row in found] == [40, 63, 87, 111]
    selected = cli.run("select-rows", f"data from [{path}] where [$row_index] = 2", "--format", "json")
    assert selected.stdout == b'{"data":"foobar"}\n'
