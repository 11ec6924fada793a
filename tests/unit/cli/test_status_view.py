"""What is shown of agents, queues and consumers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from rich.console import Console, RenderableType

from queue_agent.cli.status_view import view_consumer, view_overview, view_queue
from queue_agent.cli.statuses import Overview, consumer_problems, innermost, queue_problems

NOW: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
ERROR: Final = {"code": 1, "message": "outer", "inner_errors": [{"code": 901, "message": "inner"}]}
AGENT: Final[dict[str, Any]] = {
    "address": "http://qa-1:10030",
    "version": "1",
    "start_time": "2026-01-01T11:00:00.000000Z",
    "ready": False,
    "alerts": {"queue_agent_pass_failed": ERROR},
    "stage_queue_count": 3,
    "stage_consumer_count": 1,
}
SUMMARY: Final[dict[str, Any]] = {
    "cluster": "pythia",
    "path": "//tmp/[q]",
    "role": "leading",
    "pass_index": 7,
    "pass_instant": "2026-01-01T11:59:58.000000Z",
    "error": None,
}
POSITION: Final[dict[str, Any]] = {
    "queue": "pythia://tmp/[q]",
    "vital": True,
    "verdict": "stopped",
    "reason": "Silent for 2 min",
    "action": "restart the reader",
    "error": None,
    "partition_count": 2,
    "failed_partition_count": 1,
    "unread_row_count": 1234,
    "processing_lag": None,
    "last_consume_time": None,
    "read_row_count_rate": 0.0,
}
CONSUMER: Final[dict[str, Any]] = {**SUMMARY, "cluster": "hume", "path": "//tmp/c", "overview": [POSITION]}


def shown(view: RenderableType, width: int = 200) -> list[str]:
    console = Console(width=width, force_terminal=False)
    with console.capture() as capture:
        console.print(view)
    return [line.rstrip() for line in capture.get().splitlines()]


def test_a_queue_in_error_is_shown_with_what_is_known_and_why() -> None:
    queue = {**SUMMARY, "error": ERROR, "overview": {"consumer_count": 0, "alerts": []}}
    lines = shown(view_overview(Overview([AGENT], [queue], []), NOW))
    assert "agent http://qa-1:10030  not ready  version 1, started 1 h ago" in lines
    assert "  alert queue_agent_pass_failed: outer (code 1)" in lines
    assert "    because of: inner (code 901)" in lines
    # Brackets of a path are no markup.
    assert any(line.split() == ["pythia://tmp/[q]", *"?????", "-", "0", "error"] for line in lines), lines
    assert "pythia://tmp/[q]  outer: inner" in lines
    assert lines[-1] == "2 queues and 1 consumers of the stage are not here: the agents that lead them do not answer"


def test_agents_of_whom_nothing_is_known_are_named() -> None:
    overview = Overview([AGENT], [], [], ["agent a:1: It cannot be reached (7 tables)"])
    for view in (overview, overview.only_problems()):
        assert "not everything is here: agent a:1: It cannot be reached (7 tables)" in shown(view_overview(view, NOW))
    assert overview.to_map()["missing"] == ["agent a:1: It cannot be reached (7 tables)"]


def test_a_narrow_terminal_has_fewer_columns_before_names_are_folded() -> None:
    figures = {"consumer_count": 12, "vital_consumer_count": 11, "partition_count": 4, "row_count": 123456789}
    view = view_overview(Overview([AGENT], [{**SUMMARY, "overview": {**figures, "alerts": []}}], []), NOW)
    headings = {width: next(line for line in shown(view, width) if line.startswith("queue")) for width in (120, 60)}
    assert "size" in headings[120]
    assert "size" not in headings[60]
    assert any(line.startswith("pythia://tmp/[q] ") and "12, 11 vital" in line for line in shown(view, 60))


def test_problems_of_a_consumer_are_its_verdict_and_the_partitions_that_fail() -> None:
    assert consumer_problems(CONSUMER) == [
        "pythia://tmp/[q]: Silent for 2 min. Do: restart the reader",
        "pythia://tmp/[q]: 1 of 2 partitions cannot be read",
    ]
    lines = shown(view_overview(Overview([AGENT], [], [CONSUMER]), NOW))
    assert any(
        line.split() == ["hume://tmp/c", "pythia://tmp/[q]", "vital", "1,234", "?", "0", "never", "stopped"]
        for line in lines
    ), lines


def test_only_problems_leave_nothing_if_all_is_well() -> None:
    fine = {**CONSUMER, "overview": [{**POSITION, "verdict": "ok", "reason": None, "failed_partition_count": 0}]}
    overview = Overview([AGENT], [], [fine]).only_problems()
    assert list(overview.consumers) == []
    assert shown(view_overview(overview, NOW, only_problems=True))[-1] == "nothing is wrong"


def test_problems_of_a_queue_are_partitions_consumers_and_alerts() -> None:
    figures = {"partition_count": 4, "failed_partition_count": 2, "consumer_count": 3, "failing_consumer_count": 1}
    assert queue_problems({**SUMMARY, "overview": {**figures, "alerts": ["trim_failed"]}}) == [
        "2 of 4 partitions cannot be read",
        "1 of 3 consumers have errors",
        "alert trim_failed",
    ]


def test_a_queue_names_consumers_that_do_not_exist_and_counts_the_others() -> None:
    figures = {"consumer_count": 3, "failing_consumer_count": 2, "unreadable_consumers": ["Consumer c does not exist"]}
    assert queue_problems({**SUMMARY, "overview": figures}) == [
        "Consumer c does not exist",
        "1 of 3 consumers have errors",
    ]


def test_one_queue_or_consumer_in_error_is_shown_with_the_whole_error() -> None:
    document = {**SUMMARY, "status": {"error": ERROR}, "partitions": []}
    for view in (view_queue, view_consumer):
        lines = shown(view(document, NOW))
        assert lines[1:] == ["error: outer (code 1)", "  because of: inner (code 901)"]
    assert innermost(ERROR) == "outer: inner"


def test_one_consumer_is_shown_with_what_is_wrong_and_what_to_do() -> None:
    verdict = {"verdict": "recreated", "reason": "Offset 5 is of the old one", "action": "queue-agent consumer reset"}
    status: dict[str, Any] = {"queues": {"pythia://tmp/q": verdict}}
    lines = shown(view_consumer({**SUMMARY, "status": status, "partitions": {}}, NOW))
    assert lines[-1] == "recreated: Offset 5 is of the old one. Do: queue-agent consumer reset"
    status["queues"]["pythia://tmp/q"] = {"verdict": "not_started", "reason": None, "action": None}
    assert shown(view_consumer({**SUMMARY, "status": status, "partitions": {}}, NOW))[-1] == "not started"


def test_one_queue_is_shown_with_the_verdicts_on_its_consumers() -> None:
    consumers: list[Any] = [
        {"consumer": "a://b", "vital": True, "verdict": "recreated", "reason": "why"},
        {"consumer": "a://c", "vital": False, "verdict": "ok", "reason": None},
        {"consumer": "a://d", "vital": False, "verdict": "unreadable", "reason": "no", "error": ERROR},
    ]
    status = {"registrations": consumers}
    lines = [line.split() for line in shown(view_queue({**SUMMARY, "status": status, "partitions": []}, NOW))]
    assert lines[-4:] == [
        ["consumer", "vital", "verdict", "reason"],
        ["a://b", "yes", "recreated", "why"],
        ["a://c", "no", "ok"],
        ["a://d", "no", "unreadable", "outer:", "inner"],
    ]


def test_a_partition_whose_lag_is_not_known_has_none() -> None:
    partition = {
        "next_row_index": 3,
        "unread_row_count": 2,
        "processing_lag": 0,
        "next_row_commit_time": None,
        "read_row_count_rate": {"1m": 0.0},
        "last_consume_time": "1970-01-01T00:00:00.000000Z",
        "disposition": "pending_consumption",
    }
    status = {"registrations": [{"queue": "pythia://tmp/q", "vital": False}], "queues": {"pythia://tmp/q": {}}}
    lines = shown(view_consumer({**SUMMARY, "status": status, "partitions": {"pythia://tmp/q": [partition]}}, NOW))
    assert lines[-1].split() == ["0", "3", "2", "?", "0", "never", "pending", "consumption"]


def test_what_a_vital_consumer_holds_is_told_with_what_is_known_of_it() -> None:
    price = {
        "dead": True,
        "held_row_count": 26_480,
        "held_data_weight": 3 << 30,
        "growth_rows_per_day": 8640,
        "growth_data_weight_per_day": 900 << 20,
    }
    told = "seems dead and holds 26,480 rows (3.0 GiB) of the queue, 900.0 MiB more each day"
    [*_, problem] = consumer_problems({**SUMMARY, "overview": [{**POSITION, "price": price}]})
    assert problem == f"pythia://tmp/[q]: {told}"
    status = {"queues": {"pythia://tmp/q": {"price": price}}}
    assert told in shown(view_consumer({**SUMMARY, "status": status, "partitions": {}}, NOW))
    of_queue = {"dead_vital_consumers": [{"consumer": "pythia://tmp/c", **price}]}
    assert f"pythia://tmp/c {told}" in shown(view_queue({**SUMMARY, "status": of_queue, "partitions": []}, NOW))
    light = price | {"dead": False, "held_data_weight": None, "growth_data_weight_per_day": None}
    [*_, problem] = consumer_problems({**SUMMARY, "overview": [{**POSITION, "price": light}]})
    assert problem == "pythia://tmp/[q]: holds 26,480 rows of the queue, 8,640 rows more each day"


def test_a_queue_shows_when_its_account_is_full_and_who_fills_it() -> None:
    quota = {
        "account": "logs",
        "resource": "disk_space",
        "medium": "default",
        "used": 1 << 20,
        "limit": 1 << 30,
        "value": 3600.0,
        "cause": "growth",
        "subject": "pythia://tmp/slow",
    }

    def line(**changes: Any) -> str:
        status = {"time_to_quota": quota | changes}
        return shown(view_queue({**SUMMARY, "status": status, "partitions": []}, NOW))[1]

    used = "account logs uses 1.0 MiB of 1.0 GiB disk space of medium default"
    assert line() == f"{used}: full in 1 h, pythia://tmp/slow holds rows"
    assert line(value=90000.0) == f"{used}: full in 1 d 1 h"
    chunks = line(resource="chunk_count", medium=None, value=None, cause="not_growing", used=3, limit=10)
    assert chunks == "account logs uses 3 of 10 chunks: not growing"


def test_a_queue_shows_how_far_its_exports_are() -> None:
    tablets = {"0": {"chunk_count": 3, "row_count": 1200}, "1": {"chunk_count": 1, "row_count": 34}}
    task = "2026-01-01T11:00:00.000000Z"
    hourly = {"tablets": tablets, "last_export_unix_ts": 1767261600, "last_successful_export_task_instant": task}
    never = {
        "tablets": {},
        "last_export_unix_ts": 0,
        "last_successful_export_task_instant": "1970-01-01T00:00:00.000000Z",
    }
    status = {"exports": {"progress": {"new": never, "hourly": hourly}}}
    lines = [line.split() for line in shown(view_queue({**SUMMARY, "status": status, "partitions": []}, NOW))]
    assert ["hourly", "4", "1,234", "2026-01-01T10:00:00Z", "1", "h", "ago"] in lines
    assert ["new", "0", "0", "-", "never"] in lines
