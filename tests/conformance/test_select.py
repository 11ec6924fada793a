"""Queries as agents and their users ask them; the language itself has unit tests."""

from __future__ import annotations

from typing import Any

import pytest
from yt.wrapper import YtClient
from yt.wrapper import YtError as YtClientError

from tests.conformance.harness import make_queue, make_sorted, messages_of, refused, rows_of
from yt_wire import yson


@pytest.fixture
def queue(client: YtClient, home: str) -> str:
    path = make_queue(client, f"{home}/q", tablet_count=2)
    rows = [{"$tablet_index": tablet, "data": f"{tablet}-{number}"} for tablet in (0, 1) for number in range(5)]
    client.insert_rows(path, rows)
    return path


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("[$tablet_index] = 1", ["1-0", "1-1", "1-2", "1-3", "1-4"]),
        ("[$tablet_index] = 0 and [$row_index] between 1 and 2", ["0-1", "0-2"]),
        ("[$row_index] >= 4", ["0-4", "1-4"]),
        ("([$tablet_index], [$row_index]) in ((0u, 4u), (1u, 0u))", ["0-4", "1-0"]),
        ('data in ("0-3", "1-2", "no")', ["0-3", "1-2"]),
        ("[$row_index] = 1 or [$tablet_index] = 1 and [$row_index] = 2", ["0-1", "1-1", "1-2"]),
        ("[$row_index] > 1 and not [$row_index] != 2", ["0-2", "1-2"]),
        ("[$tablet_index] = 0 and [$row_index] between 4 and 9223372036854775807", ["0-4"]),
        ("[$tablet_index] = 0 and [$row_index] > 9223372036854775807", []),
        ("[$tablet_index] = 7", []),
    ],
)
def test_conditions_choose_rows(client: YtClient, queue: str, condition: str, expected: list[str]) -> None:
    assert [row["data"] for row in rows_of(client, f"data from [{queue}] where {condition}")] == expected


def test_all_columns_come_with_the_systems_own_in_front(client: YtClient, queue: str) -> None:
    row = rows_of(client, f"* from [{queue}] limit 1")[0]
    assert list(row) == ["$tablet_index", "$row_index", "data", "$timestamp", "$cumulative_data_weight"]
    assert row["$cumulative_data_weight"] == 1 + 3 + 16


def test_columns_are_chosen_named_and_computed(client: YtClient, queue: str) -> None:
    query = f"[$row_index] * 2 as doubled, data from [{queue}] where [$tablet_index] = 0 limit 2"
    assert rows_of(client, query) == [{"doubled": 0, "data": "0-0"}, {"doubled": 2, "data": "0-1"}]


def test_limits_cut_the_answer(client: YtClient, queue: str) -> None:
    assert len(rows_of(client, f"* from [{queue}] limit 3")) == 3
    assert len(list(client.select_rows(f"* from [{queue}]", output_row_limit=100))) == 10
    for side in ("input", "output"):
        with pytest.raises(YtClientError, match=f"{side}_row_limit"):
            list(client.select_rows(f"* from [{queue}]", **{f"{side}_row_limit": -1}))


def test_rows_are_ordered(client: YtClient, queue: str) -> None:
    ordered = rows_of(client, f"data from [{queue}] order by data desc limit 2")
    assert [row["data"] for row in ordered] == ["1-4", "1-3"]


def test_placeholders_stand_for_values(client: YtClient, queue: str) -> None:
    rows = client.select_rows(f"data from [{queue}] where data = {{wanted}}", placeholder_values={"wanted": "1-3"})
    assert [row["data"] for row in rows] == ["1-3"]


def test_a_consumers_offsets_are_asked_for_in_one_query(client: YtClient, home: str) -> None:
    path = f"{home}/c"
    client.create("queue_consumer", path)
    rows = [
        {"queue_cluster": "pythia", "queue_path": f"//q{number % 2}", "partition_index": number, "offset": number}
        for number in range(6)
    ]
    client.insert_rows(path, rows)
    query = (
        f"[partition_index], [offset] from [{path}] where ([partition_index] between 0 and 3)"
        ' and (([queue_cluster], [queue_path]) = ("pythia", "//q1"))'
    )
    found = rows_of(client, query)
    assert found == [{"partition_index": 1, "offset": 1}, {"partition_index": 3, "offset": 3}]
    assert all(isinstance(value, yson.Uint64) for row in found for value in row.values())


def test_values_of_all_kinds_are_compared(client: YtClient, home: str) -> None:
    path = make_sorted(client, f"{home}/t")
    client.insert_rows(
        path, [{"key": 1, "value": "a"}, {"key": 2}, {"key": 3, "value": "\N{CYRILLIC SMALL LETTER ZHE}"}]
    )
    assert [row["key"] for row in rows_of(client, f"key from [{path}] where is_null(value)")] == [2]
    found = rows_of(client, f'key from [{path}] where value = "\N{CYRILLIC SMALL LETTER ZHE}"')
    assert [row["key"] for row in found] == [3]


@pytest.mark.parametrize(
    ("query", "culprit"),
    [
        ("nope from [{}]", "nope"),
        ("* from [{}] where nope = 1", "nope"),
        ("* from [{}] where", ""),
        ("nonsense", ""),
        ("", ""),
        ("* from [//no/such/table]", "no"),
        ("* from [//tmp]", "//tmp"),
        ("no_such_function(data) from [{}]", "no_such_function"),
    ],
)
def test_queries_that_cannot_be_answered_name_the_culprit(
    client: YtClient, queue: str, query: str, culprit: str
) -> None:
    with pytest.raises(YtClientError) as caught:
        rows_of(client, query.format(queue))
    assert culprit in messages_of(caught.value)


def test_only_the_tablets_a_query_touches_need_to_be_mounted(client: YtClient, queue: str) -> None:
    client.unmount_table(queue, first_tablet_index=1, last_tablet_index=1, sync=True)
    assert len(rows_of(client, f"* from [{queue}] where [$tablet_index] = 0")) == 5
    with refused(1702, queue):
        rows_of(client, f"* from [{queue}]")


def test_a_query_of_many_kilobytes_gets_through(client: YtClient, queue: str) -> None:
    values: list[Any] = [f'"{number:08}"' for number in range(20_000)]
    assert rows_of(client, f'data from [{queue}] where data in ({", ".join(values)}, "0-1")') == [{"data": "0-1"}]
