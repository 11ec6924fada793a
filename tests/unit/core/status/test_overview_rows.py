from __future__ import annotations

import pytest

from queue_agent.core.status import overview_rows
from queue_agent.core.status.overview_rows import (
    Changes,
    VersionedRows,
    consumer_row,
    find_problem,
    queue_row,
    worst_first,
)
from queue_agent.core.values.refs import CrossClusterRef

QUEUE = CrossClusterRef("pythia", "//home/q")
CONSUMER = CrossClusterRef("hume", "//home/c")
OVERVIEW = {
    "consumer_count": 3,
    "vital_consumer_count": 1,
    "alerts": [],
    "partition_count": 8,
    "failed_partition_count": 0,
    "row_count": 12345,
    "data_weight": 678,
    "write_row_count_rate": 13.0116,
    "write_data_weight_rate": 526.47,
}
ENTRY = {
    "queue": "pythia://home/q",
    "vital": True,
    "verdict": "losing",
    "color": "red",
    "verdict_since": "2026-05-01T10:00:00.000000Z",
    "reason": "Loses rows",
    "turn": "operator",
    "action": None,
    "action_is_command": False,
    "trimmed_uncommitted_row_count": 7,
    "unread_row_count": 12,
    "unread_data_weight": 340,
    "processing_lag": 1999,
    "read_row_count_rate": 0.12345,
    "time_to_catch_up": {"value": None},
    "time_to_loss": {"value": 12.3456},
}


def test_a_queue_is_a_row() -> None:
    assert queue_row(QUEUE, OVERVIEW, None) == {
        "cluster": "pythia",
        "path": "//home/q",
        "verdict": "ok",
        "partitions": 8,
        "write_rows_rate": 13.0,
        "write_bytes_rate": 526.0,
        "rows": 12345,
        "bytes": 678,
        "consumers": 3,
        "vital": 1,
        "error": None,
    }


@pytest.mark.parametrize(
    ("overview", "error", "verdict"),
    [
        ({}, "no such table", "unreadable"),
        ({**OVERVIEW, "failed_partition_count": 1}, None, "unreadable"),
        ({**OVERVIEW, "alerts": ["trim_failed"]}, None, "alerts"),
        ({}, None, "ok"),
    ],
)
def test_a_queue_says_what_is_wrong_with_it(overview: dict[str, object], error: str | None, verdict: str) -> None:
    row = queue_row(QUEUE, overview, error)
    assert (row["verdict"], row["error"]) == (verdict, error)


def test_a_consumer_is_a_row_for_each_queue() -> None:
    assert consumer_row(CONSUMER, ENTRY, None) == {
        "cluster": "hume",
        "path": "//home/c",
        "queue_cluster": "pythia",
        "queue_path": "//home/q",
        "vital": True,
        "verdict": "losing",
        "sentence": "Loses rows",
        "lag_rows": 12,
        "lag_bytes": 340,
        "lag_time": 1,
        "read_rows_rate": 0.123,
        "time_to_catch_up": None,
        "time_to_loss": 12.3,
        "rows_trimmed_uncommitted": 7,
    }


def test_a_consumer_of_which_little_is_known_is_a_row_too() -> None:
    row = consumer_row(CONSUMER._replace(name="reader"), {"queue": str(QUEUE), "vital": False, "verdict": "ok"}, "gone")
    assert (row["name"], row["verdict"], row["sentence"]) == ("reader", "unreadable", "gone")
    unknown = ("lag_rows", "lag_time", "read_rows_rate", "time_to_loss", "rows_trimmed_uncommitted")
    assert {row[key] for key in unknown} == {None}


def test_problems_are_what_alerts_say() -> None:
    problem = find_problem(CONSUMER, ENTRY)
    assert problem == {
        "kind": "consumer",
        "consumer": "hume://home/c",
        "queue": "pythia://home/q",
        "vital": True,
        "verdict": "losing",
        "color": "red",
        "verdict_since": "2026-05-01T10:00:00.000000Z",
        "reason": "Loses rows",
        "turn": "operator",
        "action": None,
        "action_is_command": False,
    }
    earlier = {key: value for key, value in ENTRY.items() if key != "action_is_command"}
    problem = find_problem(CONSUMER, earlier)
    assert problem is not None
    assert not problem["action_is_command"]
    assert find_problem(CONSUMER, {**ENTRY, "color": "green"}) is None
    assert find_problem(CONSUMER, {"queue": str(QUEUE), "verdict": "unknown", "reason": None}) is None


def test_the_worst_problem_comes_first() -> None:
    def problem(verdict: str, vital: bool, consumer: str) -> dict[str, object]:
        return {"verdict": verdict, "vital": vital, "consumer": consumer, "queue": "q"}

    ordered = [
        problem("unreadable", False, "a"),
        problem("losing", True, "b"),
        problem("losing", False, "a"),
        problem("losing", False, "b"),
        problem("lagging", True, "a"),
    ]
    assert worst_first(reversed(ordered)) == ordered


def test_only_what_is_new_is_told() -> None:
    rows = VersionedRows(10)
    assert rows.put(11, ("a",), {"rows": 1})
    assert rows.put(11, ("b",), {"rows": 1})
    assert not rows.put(12, ("a",), {"rows": 1})
    assert rows.put(12, ("b",), {"rows": 2})
    assert rows.since(10) == Changes({("a",): {"rows": 1}, ("b",): {"rows": 2}}, [])
    assert rows.since(11) == Changes({("b",): {"rows": 2}}, [])
    assert rows.since(12) == Changes({}, [])
    assert rows.since(9) is None
    assert rows.all() == {("a",): {"rows": 1}, ("b",): {"rows": 2}}


def test_rows_that_are_gone_are_told_until_they_are_back() -> None:
    rows = VersionedRows(10)
    rows.put(11, ("a",), {"rows": 1})
    assert not rows.keep(12, {("a",)})
    assert rows.keep(12, set())
    assert rows.since(11) == Changes({}, [("a",)])
    assert rows.since(12) == Changes({}, [])
    rows.put(13, ("a",), {"rows": 1})
    assert rows.since(11) == Changes({("a",): {"rows": 1}}, [])


def test_who_was_away_while_too_much_has_gone_gets_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = VersionedRows(0)
    keys = [(str(number),) for number in range(overview_rows.MAX_GONE + 1)]
    for key in keys:
        rows.put(1, key, {})
    rows.keep(2, set(keys[1:]))
    assert rows.since(1) is not None
    rows.keep(3, set())
    assert rows.since(1) is None
    changes = rows.since(2)
    assert changes is not None
    assert len(changes.gone) == overview_rows.MAX_GONE
