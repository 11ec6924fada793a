from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from queue_agent.adapters.metrics import Metrics
from queue_agent.controllers.board import AGENT, Board
from queue_agent.core.error_info import ErrorInfo
from queue_agent.core.reconcile import Assignment
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import QueueRow
from queue_agent.core.snapshots import QueueSnapshot, QueueView, Role
from queue_agent.errors import ClusterError

START = datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)


class StoppedClock:
    """`ports.Clock` that stands still."""

    def now(self) -> datetime:
        return START


@pytest.fixture
def board() -> Board:
    return Board("agent-1", StoppedClock())


async def lines(metrics: Metrics) -> list[str]:
    return (await metrics.render()).decode().splitlines()


async def test_passes_are_counted_by_kind_and_failed_ones_again_as_errors(board: Board) -> None:
    metrics = Metrics(board)
    metrics.pass_finished("agent", 0, 0.03, None)
    metrics.pass_finished("agent", 1, 3, ClusterError("no"))
    page = await lines(metrics)
    assert 'queue_agent_passes_total{kind="agent"} 2.0' in page
    assert 'queue_agent_pass_errors_total{kind="agent"} 1.0' in page
    assert 'queue_agent_pass_duration_seconds_bucket{kind="agent",le="0.05"} 1.0' in page
    assert 'queue_agent_pass_duration_seconds_count{kind="agent"} 2.0' in page


async def test_requests_are_counted_by_outcome_and_timed(board: Board) -> None:
    metrics = Metrics(board)
    metrics.request_finished("hume", "get", "ok", 0.002)
    metrics.request_finished("hume", "get", "not_found", 0.004)
    page = await lines(metrics)
    assert 'queue_agent_cluster_requests_total{cluster="hume",command="get",outcome="ok"} 1.0' in page
    assert 'queue_agent_cluster_requests_total{cluster="hume",command="get",outcome="not_found"} 1.0' in page
    assert 'queue_agent_cluster_request_duration_seconds_count{cluster="hume",command="get"} 2.0' in page


async def test_the_build_is_told(board: Board) -> None:
    assert [line for line in await lines(Metrics(board)) if line.startswith('queue_agent_build_info{version="')]


async def test_the_last_success_is_absent_until_there_was_one_and_outlives_failures(board: Board) -> None:
    name = "queue_agent_last_successful_pass_timestamp_seconds"
    metrics = Metrics(board)
    assert not [line for line in await lines(metrics) if line.startswith(name + "{")]
    board.finish_pass(AGENT, 0, START, None)
    board.finish_pass(AGENT, 1, START + timedelta(seconds=5), ErrorInfo("no"))
    [line] = [line for line in await lines(metrics) if line.startswith(name + "{")]
    labels, _, value = line.rpartition(" ")
    assert labels == f'{name}{{kind="agent"}}'
    assert float(value) == START.timestamp()


async def test_series_of_objects_come_and_go_with_the_board(board: Board) -> None:
    metrics = Metrics(board)
    ref = CrossClusterRef("pythia", "//tmp/q")
    view = QueueView([], False, False, START)
    board.put_queue(QueueSnapshot(QueueRow(ref), Role.LEADING, 1, START, view))
    series = 'yt_queue_agent_queue_partitions{queue_cluster="pythia",queue_path="//tmp/q",queue_tag="none"} 0.0'
    assert series in await lines(metrics)
    board.put_assignment(Assignment({}, {}))
    assert series not in await lines(metrics)


async def test_rows_of_the_history_are_counted_by_what_became_of_them(board: Board) -> None:
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
    } <= set(await lines(metrics))


async def test_no_series_comes_twice(board: Board) -> None:
    metrics = Metrics(board)
    metrics.pass_finished("agent", 0, 0.03, None)
    names = [line.rpartition(" ")[0] for line in await lines(metrics)]
    assert len(names) == len(set(names))
