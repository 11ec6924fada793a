"""`queue-agent export plan` as it is typed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from typer.testing import CliRunner

from queue_agent.cli.export_plan import render_export_plan
from queue_agent.cli.main import application

TABLE: dict[str, Any] = {
    "path": "//tmp/hours/1769853600-3600",
    "export_unix_ts": 1769857200,
    "chunk_count": 3,
    "row_count": 1200,
    "data_weight": 480000,
    "expiration_time": None,
}
HOURLY: dict[str, Any] = {
    "directory": "//tmp/hours",
    "last_export_unix_ts": 1769853600,
    "error": None,
    "tables": [TABLE],
    "waiting_row_count": 17,
}
PLAN: dict[str, Any] = {
    "cluster": "pythia",
    "path": "//tmp/q",
    "static_exports": "observe",
    "error": None,
    "exports": {"hourly": HOURLY},
}


class Agent(ThreadingHTTPServer):
    """Answers every request with the plan."""

    answer = json.dumps(PLAN)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Agent

    def do_POST(self) -> None:
        content = self.server.answer.encode()
        self.send_response(200 if self.path == "/api/v1/queues/pythia/tmp%2Fq/export-plan" else 404)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has in http.server
        """Nobody wants to read it."""


@pytest.fixture
def agent() -> Iterator[Agent]:
    with Agent(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(application, ["export", "plan", *arguments])
    return result.exit_code, result.output


def test_a_plan_is_shown_as_tables(agent: Agent) -> None:
    code, output = run("pythia://tmp/q", "--agent", agent.url)
    assert code == 0
    assert output.splitlines() == [
        "pythia://tmp/q  this agent only observes, and exports nothing",
        "",
        "hourly to //tmp/hours, last table: 2026-01-31T10:00:00Z",
        "table            rows before           rows  bytes   chunks  expires",
        "1769853600-3600  2026-01-31T11:00:00Z  1200  480000  3       never",
        "flushed rows for later: 17",
    ]


def test_a_plan_is_shown_as_json(agent: Agent) -> None:
    code, output = run("pythia://tmp/q", "--agent", agent.url, "--json")
    assert (code, json.loads(output)) == (0, PLAN)


def test_who_does_not_answer_like_an_agent_is_told_of(agent: Agent) -> None:
    agent.answer = "{}"
    code, output = run("pythia://tmp/q", "--agent", agent.url)
    assert (code, "does not answer like an agent" in output) == (2, True)


def test_only_one_way_says_whom_to_ask() -> None:
    code, output = run("pythia://tmp/q", "--agent", "a:1", "--config", "b.yaml")
    assert (code, "both say which agent to ask" in output) == (2, True)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"exports": {}}, "the queue has no @static_export_config"),
        ({"exports": {}, "error": {"message": "misconfigured", "code": 1}}, "error: misconfigured"),
        ({"exports": {"hourly": {**HOURLY, "tables": []}}}, "nothing is due"),
        ({"exports": {"hourly": {**HOURLY, "tables": [], "error": {"message": "no", "code": 1}}}}, "error: no"),
        (
            {"exports": {"hourly": {**HOURLY, "last_export_unix_ts": 0}}},
            "hourly to //tmp/hours, last table: none",
        ),
    ],
)
def test_what_there_is_to_say_besides(changes: dict[str, Any], line: str) -> None:
    assert line in render_export_plan({**PLAN, **changes}).splitlines()
