"""`queue-agent status`, `watch` and their like, as processes that ask the agent of a playground."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner
from yt.wrapper import YtClient

from queue_agent.cli.main import application
from tests.e2e.playground import Playground, connected, environment, eventually, get_agent_attribute
from tests.waiting import LIMIT_SECONDS

pytestmark = pytest.mark.slow

QUEUE: Final = "//tmp/watched"
READER: Final = "//tmp/reader"
GONE: Final = "//tmp/gone"
ATTRIBUTES: Final = {
    "dynamic": True,
    "tablet_count": 2,
    "schema": [{"name": "data", "type": "string"}, {"name": "$timestamp", "type": "uint64"}],
}


def queue_agent(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end; it writes to a pipe."""
    return subprocess.run(
        [sys.executable, "-m", "queue_agent", *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
        env=environment(),
    )


def done(*arguments: str) -> str:
    """Standard output of a command that must succeed; it is run in this process."""
    result = CliRunner().invoke(application, arguments)
    assert (result.exit_code, result.stderr) == (0, ""), result
    return result.stdout


@pytest.fixture(scope="module")
def clients(playground: Playground) -> Iterator[dict[str, YtClient]]:
    """By cluster; there are a queue of ten rows on pythia and a consumer on hume."""
    with connected(playground.clusters["pythia"]) as pythia, connected(playground.clusters["hume"]) as hume:
        pythia.create("table", QUEUE, attributes=ATTRIBUTES)
        pythia.mount_table(QUEUE, sync=True)
        pythia.insert_rows(QUEUE, [{"data": "x", "$tablet_index": 0} for _ in range(10)])
        hume.create("queue_consumer", READER)
        pythia.register_queue_consumer(QUEUE, f"<cluster=hume>{READER}", vital=True)
        hume.create("queue_consumer", GONE)
        pythia.register_queue_consumer(QUEUE, f"<cluster=hume>{GONE}", vital=False)
        hume.remove(GONE)
        yield {"pythia": pythia, "hume": hume}


@pytest.fixture(scope="module")
def agent(playground: Playground, clients: dict[str, YtClient]) -> tuple[str, str]:
    """Arguments that name the agent, which already knows the queue and the consumer."""
    arguments = ("--agent", playground.agent_url)

    def served() -> None:
        consumers = playground.ask_agent("/api/v1/consumers?overview=true")["consumers"]
        overviews = [entry for one in consumers if one["path"] == READER for entry in one["overview"]]
        assert [entry["verdict"] for entry in overviews] == ["not_started"]

    eventually(served)
    return arguments


def test_the_status_of_everything_is_a_table_without_colours_in_a_pipe(agent: tuple[str, str]) -> None:
    result = queue_agent("status", *agent)
    assert (result.returncode, result.stderr) == (0, "")
    output = result.stdout
    assert "\x1b" not in output
    lines = [line.split() for line in output.splitlines()]
    assert ["queue", "partitions", "rows", "size"] in [line[:4] for line in lines]
    assert [f"pythia:{QUEUE}", "2", "10", "?"] in [line[:4] for line in lines]
    assert [f"hume:{READER}", f"pythia:{QUEUE}", "vital", "10"] in [line[:4] for line in lines]
    assert f"pythia:{QUEUE}  Consumer hume:{GONE} does not exist; it is registered for pythia:{QUEUE}" in output


def test_the_status_of_one_queue_or_consumer_has_its_partitions(agent: tuple[str, str]) -> None:
    queue = done("status", f"pythia:{QUEUE}", *agent)
    assert f"Consumer hume:{GONE} does not exist; it is registered for pythia:{QUEUE}" in queue
    assert ["0", "0", "10", "10"] in [line.split()[:4] for line in queue.splitlines()]
    consumer = json.loads(done("status", f"<cluster=hume>{READER}", "--json", *agent))
    assert (consumer["kind"], consumer["partitions"][f"pythia:{QUEUE}"][0]["unread_row_count"]) == ("consumer", 10)


def test_only_problems_are_shown_if_that_is_asked_for(agent: tuple[str, str]) -> None:
    result = CliRunner().invoke(application, ["status", "--problems", *agent])
    assert (f"pythia:{QUEUE}" in result.stdout, f"hume:{READER}" in result.stdout) == (True, False)
    assert result.exit_code == 1, "scripts ask whether there are problems"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["status", "pythia://tmp/nothing"], "is no queue and no consumer"),
        (["status", "//tmp/q"], "does not name a cluster"),
        (["status", "pythia://tmp/q", "--problems"], "--problems is for everything"),
        (["watch"], "watch needs a terminal"),
    ],
)
def test_what_can_not_be_shown_is_told_with_code_2(agent: tuple[str, str], arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(application, [*arguments, *agent])
    assert (result.exit_code, result.stdout, words in result.stderr) == (2, "", True), result.stderr


def test_watch_fills_a_terminal_with_colours_until_it_is_interrupted(agent: tuple[str, str]) -> None:
    master, slave = pty.openpty()
    try:
        process = subprocess.Popen(
            # What runs in the background of a shell ignores the signal, and so would what it starts.
            ["env", "--default-signal=INT", sys.executable, "-m", "queue_agent", "watch", "--interval", "0.1", *agent],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment(TERM="xterm-256color", COLUMNS="150", LINES="40"),
            start_new_session=True,
        )
        try:
            screen = _read_until(master, f"hume:{READER}", times=2)
            process.send_signal(signal.SIGINT)
            _read_until(master, "\x1b[?1049l", times=1)  # it could not write that to a terminal that is full
            assert process.wait(LIMIT_SECONDS) == 0
        finally:
            process.kill()
            process.wait()
    finally:
        os.close(slave)
        os.close(master)
    assert "\x1b[?1049h" in screen  # the alternate screen, which was left above
    assert "not started" in screen
    assert "Traceback" not in screen


def _read_until(terminal: int, words: str, times: int) -> str:
    """What appears on a terminal until some words have come up so often."""
    deadline = time.monotonic() + LIMIT_SECONDS
    seen = ""
    while seen.count(words) < times:
        readable, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
        assert readable, f"{words!r} did not appear {times} times: {seen!r}"
        seen += os.read(terminal, 1 << 16).decode(errors="replace")
    return seen


def test_doctor_finds_nothing_wrong_with_a_playground_but_its_consumer_that_is_gone(
    playground: Playground, agent: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "agent.json.yaml"
    clusters = {name: {"proxy": url} for name, url in playground.clusters.items()}
    rpc_host, _, rpc_port = playground.rpc_address.rpartition(":")
    document = {
        "stage": "production",
        "clusters": clusters,
        "state": {"cluster": "pythia"},
        "rpc": {"port": int(rpc_port)},
        "http": {"port": int(playground.agent_url.rpartition(":")[2])},
    }
    config.write_text(json.dumps(document))
    monkeypatch.setenv("QUEUE_AGENT_HOST", rpc_host)  # as in a pod
    findings = json.loads(done("doctor", "--config", str(config), "--json"))
    wrong = {(one["subject"], one["grade"]) for one in findings if one["grade"] != "ok"}
    assert wrong == {(f"queue pythia:{QUEUE}", "warning")}, findings
    assert ["master of pythia", "answers"] in [[finding["subject"], finding["check"]] for finding in findings]
    config.write_text(json.dumps({**document, "stage": "nobodys"}))
    result = CliRunner().invoke(application, ["doctor", "--config", str(config)])
    assert (result.exit_code, "FAIL  addresses" in result.stdout) == (1, True)
    assert f"queue-agent register-addresses --config {config}" in result.stdout
    assert CliRunner().invoke(application, ["doctor", "--config", "nowhere.yaml"]).exit_code == 2


@pytest.mark.parametrize(
    "command",
    [["status"], ["watch"], ["doctor"], ["consumer", "reset"], ["consumer", "acknowledge"], ["consumer", "protect"]],
)
def test_help_has_examples_and_exit_codes(command: list[str]) -> None:
    result = CliRunner().invoke(application, [*command, "--help"])
    assert (result.exit_code, "Examples" in result.stdout, "Exit codes" in result.stdout) == (0, True, True)


def test_a_reshard_is_acknowledged_once(playground: Playground, clients: dict[str, YtClient]) -> None:
    pythia, hume, queue, consumer = clients["pythia"], clients["hume"], "//tmp/resharded", "//tmp/knowing"
    pythia.create("table", queue, attributes={**ATTRIBUTES, "tablet_count": 1})
    pythia.mount_table(queue, sync=True)
    pythia.insert_rows(queue, [{"data": "x", "$tablet_index": 0}])
    hume.create("queue_consumer", consumer)
    pythia.register_queue_consumer(queue, f"<cluster=hume>{consumer}", vital=False)
    status = f"{consumer}/@queue_consumer_status/queues/pythia:\\/\\/tmp\\/resharded"
    acknowledge = f"queue-agent consumer acknowledge pythia:{queue} hume:{consumer}"

    def is_told(verdict: str) -> None:
        assert get_agent_attribute(hume, f"{status}/verdict") == verdict

    eventually(lambda: is_told("not_started"))
    assert (
        playground.shell(acknowledge).stdout
        == f"There is nothing to acknowledge of hume:{consumer} in pythia:{queue}\n"
    )
    pythia.unmount_table(queue, sync=True)
    pythia.reshard_table(queue, tablet_count=2)
    pythia.mount_table(queue, sync=True)
    eventually(lambda: is_told("resharded"))
    planned = json.loads(playground.shell(f"{acknowledge} --dry-run --json").stdout)
    assert not hume.exists(f"{consumer}/@queue_agent_acknowledged")
    told = playground.shell(acknowledge)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout == (
        f"Acknowledged of hume:{consumer} in pythia:{queue}:\n  The queue was resharded at {planned['until']}\n"
    )
    eventually(lambda: is_told("not_started"))


def test_a_consumer_is_protected_once_and_others_stay_protected(
    playground: Playground, clients: dict[str, YtClient]
) -> None:
    hume, consumer = clients["hume"], "//tmp/precious"
    hume.create("queue_consumer", consumer)
    attribute = f"{consumer}/@queue_agent_protected"
    protect = f"queue-agent consumer protect pythia://tmp/q hume:{consumer}"
    assert playground.shell(f"{protect} --dry-run").stdout == f"Would protect hume:{consumer} in pythia://tmp/q\n"
    assert not hume.exists(attribute)
    assert playground.shell(protect).stdout == f"Protected hume:{consumer} in pythia://tmp/q\n"
    assert playground.shell(protect).stdout == f"Was protected before: hume:{consumer} in pythia://tmp/q\n"
    other = json.loads(playground.shell(f"{protect.replace('tmp/q', 'tmp/other')} --json").stdout)
    assert (other["queue"], other["is_there"]) == ("pythia://tmp/other", False)
    assert sorted(hume.get(attribute)) == ["pythia://tmp/other", "pythia://tmp/q"]
    hume.set(attribute, "nonsense")
    refused = playground.shell(protect)
    assert (refused.returncode, "makes no sense; remove it" in refused.stderr) == (2, True)


def test_agents_are_those_of_the_cluster_at_yt_proxy(playground: Playground) -> None:
    ended = playground.shell("YT_PROXY=pythia queue-agent agents --json")
    assert ended.returncode == 0, ended.stderr
    [agent] = json.loads(ended.stdout)
    assert (agent["stage"], agent["keeps_tables"]) == ("production", True)
