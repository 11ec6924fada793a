from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from queue_agent.adapters.metrics.compatible_families import COMPATIBLE_AGENT_FAMILIES, COMPATIBLE_OBJECT_FAMILIES
from queue_agent.adapters.metrics.metric_families import OWN_AGENT_FAMILIES, OWN_OBJECT_FAMILIES
from queue_agent.adapters.metrics.metrics import AgentFacts, Metrics, Page
from queue_agent.controllers.status.board import AGENT, Board
from queue_agent.core.group.reconcile import Assignment
from queue_agent.core.queues.snapshots import QueueSnapshot, QueueView, Role
from queue_agent.core.state.rows import QueueRow
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.quota import Amount, Resource
from queue_agent.errors import ClusterError
from queue_agent.ports.passes import PassScope
from tests.unit.core.status.quotas import quota

START = datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)


FACTS = AgentFacts("agent-1", is_member=lambda: True, keeps_tables=lambda: False, is_banned=lambda: False)
ENDS = ("bucket", "count", "sum")


def put_queue(board: Board, alerts: Mapping[str, ErrorInfo] | None = None) -> None:
    view = QueueView([], False, False, START, 1)
    row = QueueRow(CrossClusterRef("pythia", "//tmp/q"))
    board.put_queue(QueueSnapshot(row, Role.LEADING, 1, START, view, alerts=alerts or {}))


class StoppedClock:
    """`ports.Clock` that never moves."""

    def now(self) -> datetime:
        return START


@pytest.fixture
def board() -> Board:
    return Board("agent-1", StoppedClock())


def lines(metrics: Metrics) -> list[str]:
    return b"".join(metrics.make_pages(metrics.look(), [Page.ALL])[Page.ALL]).decode().splitlines()


def test_passes_are_counted_by_kind_and_failed_ones_again_as_errors(board: Board) -> None:
    metrics = Metrics(board)
    metrics.pass_finished("agent", 0, 0.03, None)
    metrics.pass_finished("agent", 1, 3, ClusterError("no"))
    page = lines(metrics)
    assert 'queue_agent_passes_total{kind="agent"} 2.0' in page
    assert 'queue_agent_pass_errors_total{kind="agent"} 1.0' in page
    assert 'queue_agent_pass_duration_seconds_bucket{kind="agent",le="0.05"} 1.0' in page
    assert 'queue_agent_pass_duration_seconds_count{kind="agent"} 2.0' in page


def test_requests_are_counted_by_outcome_and_timed(board: Board) -> None:
    metrics = Metrics(board)
    metrics.request_finished("hume", "get", "ok", 0.002)
    metrics.request_finished("hume", "get", "not_found", 0.004)
    page = lines(metrics)
    assert 'queue_agent_cluster_requests_total{command="get",outcome="ok",yt_cluster="hume"} 1.0' in page
    assert 'queue_agent_cluster_requests_total{command="get",outcome="not_found",yt_cluster="hume"} 1.0' in page
    assert 'queue_agent_cluster_request_duration_seconds_count{command="get",yt_cluster="hume"} 2.0' in page


def test_the_build_is_told(board: Board) -> None:
    assert [line for line in lines(Metrics(board)) if line.startswith('queue_agent_build_info{version="')]


def test_the_last_success_is_absent_until_there_was_one_and_outlives_failures(board: Board) -> None:
    name = "queue_agent_last_successful_pass_timestamp_seconds"
    metrics = Metrics(board)
    assert not [line for line in lines(metrics) if line.startswith(name + "{")]
    board.finish_pass(AGENT, 0, START, None)
    board.finish_pass(AGENT, 1, START + timedelta(seconds=5), ErrorInfo("no"))
    [line] = [line for line in lines(metrics) if line.startswith(name + "{")]
    labels, _, value = line.rpartition(" ")
    assert labels == f'{name}{{kind="agent"}}'
    assert float(value) == START.timestamp()


def test_series_of_objects_come_and_go_with_the_board(board: Board) -> None:
    metrics = Metrics(board)
    ref = CrossClusterRef("pythia", "//tmp/q")
    view = QueueView([], False, False, START, 1)
    board.put_queue(QueueSnapshot(QueueRow(ref), Role.LEADING, 1, START, view))
    series = 'yt_queue_agent_queue_partitions{queue_cluster="pythia",queue_path="//tmp/q",queue_tag="none"} 0'
    assert series in lines(metrics)
    board.put_assignment(Assignment({}, {}))
    assert series not in lines(metrics)


def test_rows_of_the_history_are_counted_by_what_became_of_them(board: Board) -> None:
    metrics = Metrics(board)
    metrics.history_written(3)
    metrics.history_dropped(2)
    metrics.history_failed()
    metrics.history_waiting(7)
    assert {
        'queue_agent_history_rows_total{outcome="written"} 3.0',
        'queue_agent_history_rows_total{outcome="dropped"} 2.0',
        "queue_agent_history_errors_total 1.0",
        "queue_agent_history_waiting_rows 7.0",
    } <= set(lines(metrics))


def test_logins_are_counted_by_how_they_end(board: Board) -> None:
    metrics = Metrics(board)
    metrics.login_ended("refused")
    metrics.login_ended("limited")
    metrics.login_ended("limited")
    assert {
        'queue_agent_logins_total{outcome="accepted"} 0.0',
        'queue_agent_logins_total{outcome="refused"} 1.0',
        'queue_agent_logins_total{outcome="limited"} 2.0',
    } <= set(lines(metrics))


def test_losses_are_counted_from_zero_so_that_the_first_is_growth(board: Board) -> None:
    page = lines(Metrics(board))
    for name in ("queue_agent_trim_journal_records_total", "queue_agent_history_rows_total"):
        assert f'{name}{{outcome="dropped"}} 0.0' in page
        assert f'{name}{{outcome="written"}} 0.0' in page


def test_no_series_comes_twice(board: Board) -> None:
    metrics = Metrics(board)
    metrics.pass_finished("agent", 0, 0.03, None)
    names = [line.rpartition(" ")[0] for line in lines(metrics) if not line.startswith("#")]
    assert len(names) == len(set(names))


def test_the_page_for_other_programs_is_open_metrics(board: Board) -> None:
    metrics = Metrics(board, facts=FACTS)
    metrics.pass_finished("agent", 0, 0.03, None)
    put_queue(board)
    page = b"".join(metrics.make_pages(metrics.look(), [Page.OWN_OPEN])[Page.OWN_OPEN]).decode()
    read = text_string_to_metric_families(page)  # type: ignore[no-untyped-call] # the library leaves it without types
    families = {family.name: family for family in read}
    assert families["queue_agent_passes"].type == "counter"
    assert families["queue_agent_queue_readable"].samples[0].value == 1
    assert not [name for name in families if name.startswith("yt_")]


def test_every_family_on_the_pages_is_in_the_catalogue_with_its_type_and_labels(board: Board) -> None:
    metrics = Metrics(board, facts=FACTS)
    scope = PassScope("pythia", leading=True)
    for kind in ("agent", "queue_agent_sharding_manager", "cypress_synchronizer"):
        metrics.pass_finished(kind, 0, 0.03, None)
    for kind in ("queue_controller", "consumer_controller", "multi_consumer_controller"):
        metrics.pass_finished(kind, 0, 0.03, None, scope)
    put_queue(board)
    catalogue = {
        family.name: family
        for families in (
            OWN_AGENT_FAMILIES,
            OWN_OBJECT_FAMILIES,
            COMPATIBLE_AGENT_FAMILIES,
            COMPATIBLE_OBJECT_FAMILIES,
        )
        for family in families
    }
    types: dict[str, str] = {}
    for line in lines(metrics):
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            types[name] = kind
        elif not line.startswith("#"):
            sample = line.partition("{")[0].partition(" ")[0]
            name = next((name for name in types if sample in (name, *(f"{name}_{end}" for end in ENDS))), sample)
            if not name.startswith(("queue_agent", "yt_")):
                continue
            assert types[name] == catalogue[name].kind
            labels = set(re.findall(r'(\w+)="', line)) - {"le"}
            assert labels <= set(catalogue[name].labels), line
    assert {name for name in types if name.startswith("process_")}


def test_objects_are_counted_under_the_names_of_the_other_agent_in_every_projection(board: Board) -> None:
    put_queue(board)
    page = lines(Metrics(board, facts=FACTS))
    labels = 'host="agent-1",yt_cluster="pythia",leading_status="leader",queue_agent_stage="none",object_type="none"'
    assert f"yt_queue_agent_queues{{{labels}}} 1" in page
    assert 'yt_queue_agent_queues{host="agent-1"} 1' in page
    assert 'yt_queue_agent_queues{host="agent-1",leading_status="leader"} 1' in page
    assert 'yt_queue_agent_partitions{host="agent-1"} 0' in page
    assert 'yt_queue_agent_banned{host="agent-1"} 0' in page


def test_an_alert_stays_at_zero_when_it_is_over_until_its_queue_is_gone(board: Board) -> None:
    metrics = Metrics(board)
    name = "yt_queue_agent_queue_controller_alerts"

    def alerts() -> list[str]:
        return [line for line in lines(metrics) if line.startswith(name + "{") and "queue_path" in line]

    put_queue(board)
    assert alerts() == []
    put_queue(board, {"queue_agent_queue_controller_trim_failed": ErrorInfo("no")})
    labels = 'queue_cluster="pythia",queue_path="//tmp/q",queue_tag="none"'
    series = f'{name}{{{labels},category="QueueAgentQueueControllerTrimFailed"}}'
    assert alerts() == [f"{series} 1"]
    put_queue(board)
    assert alerts() == [f"{series} 0"]
    board.put_assignment(Assignment({}, {}))
    assert alerts() == []


def test_failed_passes_over_objects_are_counted_by_cluster_and_the_longest_of_late_is_told(board: Board) -> None:
    metrics = Metrics(board)
    scope = PassScope("pythia", leading=True)
    metrics.pass_finished("queue_controller", 0, 3, ClusterError("no"), scope)
    metrics.pass_finished("queue_controller", 1, 0.5, None, scope)
    prefix = 'yt_queue_agent_queue_controller_pass_{}{{queue_cluster="pythia",leading="true"}}'
    for expected in (3, 3, 0.0):
        page = lines(metrics)
        assert f"{prefix.format('duration_max')} {expected}" in page
        assert f"{prefix.format('errors')} 1" in page


def test_accounts_have_what_is_known_of_them(board: Board) -> None:
    urgent, unknown = quota(3600.0), replace(quota(None, None), resource=Resource("chunk_count"), amount=Amount(0, 0))
    board.put_accounts({urgent.account: [urgent, unknown]}, {})
    labels = 'account="logs",account_cluster="pythia",medium="default",resource="disk_space"'
    held = 'account="logs",account_cluster="pythia",held_queue="pythia://tmp/q",holder="pythia://tmp/slow"'
    assert {line for line in lines(Metrics(board)) if line.startswith("queue_agent_account_")} == {
        f"queue_agent_account_time_to_quota_seconds{{{labels}}} 3600.0",
        f"queue_agent_account_used_ratio{{{labels}}} 0.5",
        f'queue_agent_account_held_growth_ratio{{{held},medium="default",resource="disk_space"}} 0.9',
    }


def test_what_is_not_known_of_the_agent_is_absent(board: Board) -> None:
    told = lines(Metrics(board, facts=FACTS))
    assert {"queue_agent_group_member 1.0", "queue_agent_state_keeper 0.0"} <= set(told)
    assert not [line for line in lines(Metrics(board)) if line.startswith(("queue_agent_group", "queue_agent_state"))]


class HandClock:
    """`ports.Clock` that a test moves."""

    def __init__(self) -> None:
        self.instant = START

    def now(self) -> datetime:
        return self.instant


def test_an_alert_that_came_and_went_between_two_scrapes_leaves_its_time() -> None:
    clock = HandClock()
    board = Board("agent-1", clock)
    metrics = Metrics(board)
    name = 'queue_agent_alert_last_timestamp_seconds{category="failed"} '

    def last() -> list[float]:
        return [float(line.removeprefix(name)) for line in lines(metrics) if line.startswith(name)]

    assert last() == []
    board.put_alerts(AGENT, {"failed": ErrorInfo("no")})
    clock.instant += timedelta(seconds=5)
    board.put_alerts(AGENT, {})
    clock.instant += timedelta(hours=1)
    assert last() == [START.timestamp() + 5]
    board.put_alerts(AGENT, {"failed": ErrorInfo("no")})
    clock.instant += timedelta(hours=1)
    assert last() == [clock.instant.timestamp()], "while it is there, it was there last now"
