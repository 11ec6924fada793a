"""`queue-agent trim plan` as it is typed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from queue_agent.adapters.process.build import VERSION
from queue_agent.cli.errors import CommandError
from queue_agent.cli.main import application
from queue_agent.cli.references import parse_table
from queue_agent.cli.served_address import address_in
from queue_agent.cli.trim_plan import parse_policy, render_plan
from queue_agent.core.values.refs import CrossClusterRef

CONSTRAINT = {
    "kind": "vital_consumer",
    "subject": "hume://tmp/c",
    "row_index": 42,
    "held_row_count": 58,
    "message": None,
}
PLAN: dict[str, Any] = {
    "cluster": "pythia",
    "path": "//tmp/q",
    "config": {"enable": True},
    "trimming": "observe",
    "error": None,
    "row_count": 42,
    "data_weight": 840,
    "partitions": [
        {
            "lower_row_index": 0,
            "upper_row_index": 100,
            "row_count": 42,
            "data_weight": 840,
            "target": 42,
            "constraint": CONSTRAINT,
        },
        {
            "lower_row_index": None,
            "upper_row_index": None,
            "row_count": 0,
            "data_weight": 0,
            "target": None,
            "constraint": {**CONSTRAINT, "kind": "not_mounted", "subject": None, "held_row_count": None},
        },
    ],
}


class Agent(ThreadingHTTPServer):
    """Answers every request with the plan, and remembers it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, str]] = []
        self.status, self.answer = 200, json.dumps(PLAN)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Agent

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.server.requests.append((self.path, body))
        content = self.server.answer.encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has in http.server
        """Nobody wants to read it."""


@pytest.fixture
def agent() -> Iterator[Agent]:
    with Agent() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(application, ["trim", "plan", *arguments])
    return result.exit_code, result.output


def test_a_plan_is_shown_as_a_table(agent: Agent) -> None:
    code, output = run("pythia://tmp/q", "--agent", agent.url)
    assert (code, agent.requests) == (0, [("/api/v1/queues/pythia/tmp%2Fq/trim-plan", "")])
    assert output.splitlines() == [
        'pythia://tmp/q  policy {"enable": true}; this agent only observes, and trims nothing',
        "",
        "partition  rows there  trim to  rows  bytes  held back by                 rows held",
        "0          0..100      42       42    840    vital_consumer hume://tmp/c  58",
        "1          ?           -        0     0      not_mounted                  ?",
        "",
        "would go: 42 rows, 840 bytes",
    ]


def test_a_plan_is_shown_as_json(agent: Agent) -> None:
    code, output = run("pythia://tmp/q", "--agent", agent.url, "--policy", "{retained_rows=5}", "--json")
    assert (code, json.loads(output)) == (0, PLAN)
    assert json.loads(agent.requests[0][1]) == {"retained_rows": 5}


def test_the_agent_of_a_configuration_file_is_asked(agent: Agent, tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(
        "{stage: s, clusters: {hume: {proxy: 'localhost:1'}}, state: {cluster: hume}, "
        f"http: {{port: {agent.server_port}}}}}"
    )
    assert address_in(file) == agent.url
    assert run("pythia://tmp/q", "--config", str(file))[0] == 0
    assert len(agent.requests) == 1


def test_the_agent_of_the_environment_is_asked(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUEUE_AGENT_ADDRESS", agent.url)
    assert run("pythia://tmp/q")[0] == 0
    assert len(agent.requests) == 1


def test_an_address_needs_no_scheme(agent: Agent) -> None:
    assert run("pythia://tmp/q", "--agent", agent.url.removeprefix("http://"))[0] == 0
    assert len(agent.requests) == 1


@pytest.mark.parametrize("address", ["ftp://x", "http://", "127.0.0.1:99999", "http://[x"])
def test_an_address_that_is_none_is_told(address: str) -> None:
    code, output = run("pythia://tmp/q", "--agent", address)
    assert (code, f"--agent {address} is no address" in output) == (2, True), output


def test_the_command_tells_its_version() -> None:
    result = CliRunner().invoke(application, ["--version"])
    assert (result.exit_code, result.output) == (0, f"yt-queue-agent {VERSION}\n")


def test_an_agent_that_is_not_there_is_told(agent: Agent) -> None:
    code, output = run("pythia://tmp/q", "--agent", "http://127.0.0.1:1")
    assert code == 2
    assert "agent http://127.0.0.1:1 cannot be reached" in output
    agent.answer = "<html>"
    assert "does not answer like an agent" in run("pythia://tmp/q", "--agent", agent.url)[1]
    agent.answer = "{}"
    assert "does not answer like an agent" in run("pythia://tmp/q", "--agent", agent.url)[1]


def test_an_agent_s_own_words_are_passed_on(agent: Agent) -> None:
    agent.status, agent.answer = 404, json.dumps({"code": 3105, "message": "Object is not served"})
    code, output = run("pythia://tmp/q", "--agent", agent.url)
    assert (code, "Object is not served" in output) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["//tmp/q"], "does not name a cluster"),
        (["<cluster=>//tmp/q"], "QUEUE"),
        (["pythia://tmp/q", "--policy", "{a="], "neither JSON nor YSON"),
        (["pythia://tmp/q", "--config", "nowhere.yaml"], "nowhere.yaml"),
        (["pythia://tmp/q", "--config", "a.yaml", "--agent", "http://x"], "both say"),
    ],
)
def test_arguments_that_make_no_sense_are_told(arguments: list[str], words: str) -> None:
    code, output = run(*arguments)
    assert (code, words in output) == (2, True), output


def test_queues_and_policies_are_read_in_all_their_forms() -> None:
    assert (
        parse_table("pythia://tmp/q", "QUEUE")
        == parse_table("<cluster=pythia>//tmp/q", "QUEUE")
        == CrossClusterRef("pythia", "//tmp/q")
    )
    assert parse_policy('{"retained_rows": 5}') == parse_policy("{retained_rows=5}") == {"retained_rows": 5}
    assert parse_policy("{enable=%true}") == {"enable": True}
    with pytest.raises(CommandError):
        parse_policy("")


def test_what_is_wrong_is_shown_from_the_outside_in() -> None:
    error = {"message": "outer", "inner_errors": [{"message": "inner"}]}
    assert "error: outer\nerror:   inner\n" in render_plan({**PLAN, "error": error, "data_weight": None})
