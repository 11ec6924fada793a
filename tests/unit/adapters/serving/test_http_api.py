from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest
from structlog.testing import capture_logs
from yarl import URL

from queue_agent.adapters.metrics.agent_metrics import Sight
from queue_agent.adapters.metrics.metrics import Metrics, Page
from queue_agent.adapters.serving.console_pages import SECURITY_HEADERS
from queue_agent.adapters.serving.http_api import READY_WITHIN, HttpApi
from queue_agent.adapters.serving.metrics_server import MetricsServer
from queue_agent.app.open_ports import new_gate
from queue_agent.cli.health import UnhealthyError, check_health
from queue_agent.config.serving import ServerLimitsConfig
from queue_agent.controllers.status.board import AGENT, Board
from queue_agent.controllers.status.orchid_tree import OrchidTree, TreeFacts
from queue_agent.core.group.placement import Placement
from queue_agent.core.group.reconcile import Assignment
from queue_agent.core.queues.snapshots import ConsumerSnapshot, ConsumerView, QueueSnapshot, QueueView, Role
from queue_agent.core.state.rows import ConsumerRow, QueueRow, Registration
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.queue_poll import without_poll
from queue_agent.core.verdicts.queue_state import Pair, QueueState
from queue_agent.core.verdicts.values import Verdict
from yt_wire import yson

START = datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)
QUEUE = CrossClusterRef("pythia", "//tmp/q")
CONSUMER = CrossClusterRef("hume", "//tmp/c")


class FixedClock:
    """`ports.Clock` that is moved by hand."""

    def __init__(self) -> None:
        self.present = START

    def now(self) -> datetime:
        return self.present

    def advance(self, duration: timedelta) -> None:
        self.present += duration


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def board(clock: FixedClock) -> Board:
    return Board("agent-1", clock)


class Client:
    """Asks the API."""

    def __init__(self, session: aiohttp.ClientSession, origin: str) -> None:
        self._session = session
        self.origin = origin

    async def get(self, path: str) -> tuple[int, Any]:
        async with self._session.get(URL(self.origin + path, encoded=True)) as response:
            return response.status, await response.json()

    async def ask(self, path: str) -> None:
        async with self._session.get(self.origin + path):
            pass

    async def text(self, path: str, headers: Mapping[str, str] | None = None) -> tuple[str, str]:
        async with self._session.get(self.origin + path, headers=headers) as response:
            return response.headers["Content-Type"], await response.text()


@pytest.fixture
def hung() -> list[str]:
    """Passes that hang."""
    return []


@pytest.fixture
async def client(board: Board, clock: FixedClock, hung: list[str]) -> AsyncIterator[Client]:
    tree = OrchidTree(board, TreeFacts("0.1", lambda: True, lambda: 10, lambda: True), clock)
    async with (
        new_gate(ServerLimitsConfig()) as gate,
        HttpApi(board, MetricsServer(Metrics(board)), tree, clock, "127.0.0.1", 0, gate, find_hung=lambda: hung) as api,
        aiohttp.ClientSession() as session,
    ):
        yield Client(session, f"http://127.0.0.1:{api.port}")


def put_objects(board: Board) -> None:
    board.put_assignment(Assignment({QUEUE: Role.LEADING}, {CONSUMER: Role.LEADING}))
    board.put_placement(Placement("a:1", {QUEUE: "a:1", CONSUMER: "a:1"}, [QUEUE], [CONSUMER]))
    view = QueueView([], True, False, START, 1)
    board.put_queue(QueueSnapshot(QueueRow(QUEUE), Role.LEADING, 7, START, view))
    error = ErrorInfo("no", 5, {"path": yson.loads(b'"\\xff"')})
    board.put_consumer(ConsumerSnapshot(ConsumerRow(CONSUMER), Role.LEADING, 3, START, error))


async def test_an_agent_is_alive_while_it_answers_and_its_passes_do_not_hang(client: Client, hung: list[str]) -> None:
    for path in ("/health/live", "/health/live?by=a+browser"):  # the latter is not answered at the gate
        hung.clear()
        assert await client.get(path) == (200, {"status": "ok"})
        hung.append("agent")
        assert await client.get(path) == (
            503,
            {"status": "passes hang, or fail by a fault of the agent", "kinds": ["agent"]},
        )


@pytest.mark.parametrize("path", ["/", "/metrics", "/api/v1/queues", "/api/v1/no", "/orchid/no", "/api/v1/overview"])
async def test_every_answer_says_what_browsers_may_do_with_it(client: Client, path: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(client.origin + path) as response:
        assert {name: response.headers.get(name) for name in SECURITY_HEADERS} == dict(SECURITY_HEADERS)


async def test_an_agent_is_ready_while_its_passes_succeed(client: Client, board: Board, clock: FixedClock) -> None:
    assert (await client.get("/health/ready"))[0] == 503
    board.finish_pass(AGENT, 0, clock.now(), None)
    board.finish_pass(AGENT, 1, clock.now(), ErrorInfo("once"))
    status, document = await client.get("/health/ready")
    assert (status, document["status"], document["agent_pass"]["error"]["message"]) == (200, "ok", "once")
    clock.advance(READY_WITHIN + timedelta(seconds=1))
    assert (await client.get("/health/ready"))[0] == 503


async def test_the_command_for_images_without_a_client_says_what_health_says(
    client: Client, board: Board, clock: FixedClock
) -> None:
    assert await asyncio.to_thread(check_health, client.origin, "live") == '{"status": "ok"}'
    with pytest.raises(UnhealthyError, match="is not ready"):
        await asyncio.to_thread(check_health, client.origin, "ready")
    board.finish_pass(AGENT, 0, clock.now(), None)
    await asyncio.to_thread(check_health, client.origin, "ready")


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "127.0.0.1:10030", "https://agent"])
def test_an_agent_that_can_not_be_asked_is_not_healthy(address: str) -> None:
    with pytest.raises(UnhealthyError):
        check_health(address, "live")


async def test_the_service_node_answers_before_any_pass_has_succeeded(client: Client) -> None:
    """The operator of YTsaurus makes the agent's user and tables only after that."""
    assert (await client.get("/health/ready"))[0] == 503
    status, document = await client.get("/orchid/service")
    assert (status, document["name"], document["version"]) == (200, "queue_agent", "0.1")


async def test_metrics_are_served_in_the_classic_text_format(client: Client) -> None:
    content_type, text = await client.text("/metrics")
    assert content_type.startswith("text/plain; version=0.0.4")
    assert "queue_agent_build_info" in text


async def test_a_question_for_the_head_of_metrics_gets_no_body(client: Client) -> None:
    """The next answer on the connection would begin with it."""
    url = URL(client.origin)
    reader, writer = await asyncio.open_connection(url.host, url.port)
    host = f"Host: {url.host}\r\n".encode()
    writer.write(b"HEAD /metrics HTTP/1.1\r\n" + host + b"\r\n")
    writer.write(b"GET /health/live HTTP/1.1\r\nConnection: close\r\n" + host + b"\r\n")
    first, second, _ = (await reader.read()).split(b"\r\n\r\n")
    assert first.startswith(b"HTTP/1.1 200 OK") and second.startswith(b"HTTP/1.1 200 OK")
    writer.close()
    await writer.wait_closed()


async def test_metrics_are_served_as_open_metrics_and_compressed_to_those_who_ask(client: Client) -> None:
    headers = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"}
    content_type, text = await client.text("/metrics", headers)
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert text.endswith("# EOF\n")
    _, plain = await client.text("/metrics", {"Accept-Encoding": "identity"})
    assert "queue_agent_build_info" in plain


async def test_metrics_with_the_names_of_the_other_agent_are_classic_whatever_is_asked_for(client: Client) -> None:
    content_type, text = await client.text("/solomon/all", {"Accept": "application/openmetrics-text;version=1.0.0"})
    assert content_type.startswith("text/plain; version=0.0.4")
    assert {"queue_agent_build_info", "yt_build_version"} <= set(re.findall(r"^(\w+){", text, re.MULTILINE))


async def test_a_page_of_metrics_is_kept_for_a_while(client: Client, board: Board) -> None:
    _, before = await client.text("/metrics")
    put_objects(board)
    assert (await client.text("/metrics"))[1] == before


@pytest.mark.parametrize("path", ["%2F%2Ftmp%2Fq", "//tmp/q", "tmp/q", "tmp%2Fq"])
async def test_a_queue_is_found_by_its_path_however_it_is_written(client: Client, board: Board, path: str) -> None:
    put_objects(board)
    status, document = await client.get(f"/api/v1/queues/pythia/{path}")
    assert status == 200
    assert (document["cluster"], document["path"], document["pass_index"]) == ("pythia", "//tmp/q", 7)
    assert document["status"]["has_timestamp_column"] is True
    assert document["partitions"] == []


async def test_a_consumer_in_error_is_shown_with_its_error(client: Client, board: Board) -> None:
    put_objects(board)
    status, document = await client.get("/api/v1/consumers/hume/tmp/c")
    assert status == 200
    assert document["error"] == {"code": 5, "message": "no", "attributes": {"path": "ÿ"}}
    assert document["status"]["error"]["message"] == "no"


async def test_an_object_that_is_not_served_is_not_found(client: Client, board: Board) -> None:
    put_objects(board)
    for path in ("queues/pythia/tmp/x", "queues/hume/tmp/q", "consumers/pythia/tmp/q"):
        status, document = await client.get(f"/api/v1/{path}")
        assert (status, document["code"]) == (404, 3105)
        assert set(document) == {"code", "message", "attributes", "inner_errors"}


async def test_objects_are_listed_page_by_page(client: Client, board: Board) -> None:
    view = QueueView([], True, False, START, 1)
    for index in range(5):
        row = QueueRow(CrossClusterRef("pythia", f"//tmp/q{index}"))
        board.put_queue(QueueSnapshot(row, Role.LEADING, 7, START, view))
    seen: list[str] = []
    after = ""
    while True:
        status, document = await client.get(f"/api/v1/queues?limit=2{after}")
        assert (status, document["total"]) == (200, 5)
        seen += [queue["path"] for queue in document["queues"]]
        if document["next"] is None:
            break
        after = f"&after={document['next']}"
    assert seen == [f"//tmp/q{index}" for index in range(5)]
    assert (await client.get("/api/v1/consumers"))[1] == {"consumers": [], "total": 0, "next": None, "missing": []}


async def test_verdicts_and_alerts_are_listed_and_chosen(client: Client, board: Board) -> None:
    state = without_poll(QueueState(Pair(QUEUE, CONSUMER)), Verdict.UNREADABLE, "no such tablet", 0.0)
    assert state.verdict is not None
    row, registrations = ConsumerRow(CONSUMER), (Registration(QUEUE, CONSUMER, vital=True),)
    board.put_consumer(
        ConsumerSnapshot(row, Role.LEADING, 7, START, ConsumerView({}), registrations, None, {QUEUE: state.verdict})
    )
    status, document = await client.get("/api/v1/verdicts?verdict=stopped,unreadable")
    assert (status, document["total"]) == (200, 1)
    [one] = document["verdicts"]
    assert (one["consumer"], one["queue"], one["verdict"]) == ("hume://tmp/c", "pythia://tmp/q", "unreadable")
    assert (await client.get("/api/v1/verdicts?verdict=ok"))[1] == {"verdicts": [], "total": 0, "missing": []}
    _, document = await client.get("/api/v1/alerts")
    assert [(one["kind"], one["reason"]) for one in document["alerts"]] == [("consumer", "no such tablet")]
    status, document = await client.get("/api/v1/verdicts?verdict=fine")
    assert status == 400
    assert "stopped, stalled" in document["message"]


@pytest.mark.parametrize("limit", ["0", "1001", "x", "-1", "%C2%B2", "9" * 5000])
async def test_a_limit_that_is_none_is_refused(client: Client, limit: str) -> None:
    status, document = await client.get(f"/api/v1/queues?limit={limit}")
    assert status == 400
    assert "limit" in document["message"]


async def test_the_orchid_tree_is_shown_with_keys_encoded(client: Client, board: Board) -> None:
    put_objects(board)
    status, document = await client.get("/orchid/queue_agent/queues/pythia%3A%2F%2Ftmp%2Fq/status/partition_count")
    assert (status, document) == (200, 0)
    status, document = await client.get("/orchid/queue_agent/queues?verb=list")
    assert (status, document) == (200, ["pythia://tmp/q"])
    status, document = await client.get("/orchid")
    assert status == 200
    assert "queue_agent" in document


async def test_errors_of_the_orchid_tree_keep_their_code(client: Client) -> None:
    status, document = await client.get("/orchid/queue_agent/nothing")
    assert (status, document["code"]) == (404, 500)
    status, document = await client.get("/orchid/queue_agent/queues/pythia%3A%2F%2Ftmp%2Fx")
    assert (status, document["code"]) == (404, 3105)
    assert (await client.get("/orchid/queue_agent?verb=set"))[0] == 400


async def test_what_is_no_http_is_refused_without_a_traceback_and_logged_once_in_a_while(client: Client) -> None:
    url = URL(client.origin)
    with capture_logs() as logs:
        too_long = "The address or a header is longer than 8190 bytes"
        for request, words in (
            (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"<b>" * 3000 + b"\r\n\r\n", too_long),
            (b"GET /" + b"<b>" * 3000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", too_long),
            (b"<b>nonsense\r\n\r\n", "The request is malformed"),
        ):
            reader, writer = await asyncio.open_connection(url.host, url.port)
            writer.write(request)
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.0 400 Bad Request")
            assert all(f"{name}: {value}".encode() in head for name, value in SECURITY_HEADERS.items())
            assert json.loads(body)["message"] == words
            writer.close()
            await writer.wait_closed()
    assert [(log["event"], "exc_info" in log) for log in logs] == [("malformed request", False)]


async def test_unknown_addresses_are_errors_in_json(client: Client) -> None:
    status, document = await client.get("/api/v2/queues")
    assert (status, document["code"]) == (404, 500)


async def test_whoever_leaves_does_not_stop_the_work_on_a_page_and_never_is_there_more_than_one_at_it(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = Metrics(board)
    server = MetricsServer(metrics)
    make_pages, begun, may_go_on = metrics.make_pages, threading.Event(), threading.Event()
    at_work: list[int] = []

    def slowly(sight: Sight, kinds: set[Page]) -> Mapping[Page, Sequence[bytes]]:
        at_work.append(1)
        begun.set()
        may_go_on.wait()
        return make_pages(sight, kinds)

    monkeypatch.setattr(metrics, "make_pages", slowly)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(5):
                leaving = group.create_task(server.do_pass(0))
                assert await asyncio.to_thread(begun.wait, 10)
                leaving.cancel()
            staying = group.create_task(server.do_pass(1))
            assert await asyncio.to_thread(begun.wait, 10)
            assert len(at_work) == 1
            may_go_on.set()
            await staying
    finally:
        may_go_on.set()
    assert len(at_work) == 1


async def test_a_connection_that_breaks_in_a_handler_is_no_bug(
    client: Client, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_off() -> None:
        raise ConnectionResetError

    monkeypatch.setattr(board, "queues", break_off)
    with capture_logs() as logs:
        await client.ask("/api/v1/queues")
    assert [log["event"] for log in logs] == ["request given up by the client"]


async def test_the_openapi_document_is_served(client: Client) -> None:
    status, document = await client.get("/api/v1/openapi.json")
    assert (status, document["openapi"]) == (200, "3.1.0")
    assert "/api/v1/consumers/{cluster}/{path}/scaling" in document["paths"]


async def test_a_consumer_that_can_not_be_read_does_not_scale(client: Client, board: Board) -> None:
    put_objects(board)
    path = "/api/v1/consumers/hume/tmp%2Fc/scaling?queue=pythia://tmp/q&target_rows=1"
    assert (await client.get(path))[0] == 503
    assert (await client.get(path.replace("tmp%2Fc", "tmp%2Fnone")))[0] == 404
