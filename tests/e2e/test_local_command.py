"""`queue-agent local` starts, stops, fails and comes back as people at a terminal expect."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from typer.testing import CliRunner
from yt.wrapper import YtClient, YtError

from queue_agent.cli.main import application
from queue_agent.config.clusters import ClusterConfig
from queue_agent.playground.demo import create_demo_queue
from tests.e2e.playground import (
    Playground,
    command,
    connected,
    environment,
    eventually,
    get_agent_attribute,
    running,
    started,
)
from tests.ports import reserved_port
from tests.waiting import LIMIT_SECONDS

QUEUE: Final = "//tmp/queue"
CONSUMER: Final = "//tmp/consumer"
QUEUE_ATTRIBUTES: Final = {
    "dynamic": True,
    "schema": [
        {"name": "data", "type": "string"},
        {"name": "$timestamp", "type": "uint64"},
        {"name": "$cumulative_data_weight", "type": "int64"},
    ],
}


@pytest.fixture
def pythia(playground: Playground) -> Iterator[YtClient]:
    with connected(playground.clusters["pythia"]) as client:
        yield client


def create_queue(client: YtClient, path: str, row_count: int = 0) -> None:
    client.create("table", path, attributes=QUEUE_ATTRIBUTES)
    client.mount_table(path)
    insert(client, path, row_count)


def insert(client: YtClient, path: str, row_count: int) -> None:
    client.insert_rows(path, [{"data": "x"} for _ in range(row_count)])


def assert_refused(arguments: Sequence[str], *words: str) -> None:
    """A command line that cannot work is answered with words, without a process of its own."""
    rpc, http = reserved_port(), reserved_port()
    # Options that come later win, save clusters, of which there are then two. Other tests may use the usual ports.
    usual = ["--webhdfs-port=0", f"--rpc-port={rpc}", f"--http-port={http}", "--cluster=other=0"]
    result = CliRunner().invoke(application, ["local", *usual, *arguments])
    assert (result.exit_code, result.stdout) == (2, ""), result
    assert_said(result.stderr, *words)


def assert_said(errors: str, *words: str) -> None:
    # The frame that typer draws around its messages may break them anywhere.
    message = re.sub(r"[\s│]+", " ", errors)
    assert all(word in message for word in words), message


def test_the_ready_line_names_addresses_that_answer(playground: Playground) -> None:
    assert re.fullmatch(
        r"pythia http://127\.0\.0\.1:\d+ \(rpc 127\.0\.0\.1:\d+\),"
        r" hume http://127\.0\.0\.1:\d+ \(rpc 127\.0\.0\.1:\d+\),"
        r" agent http://127\.0\.0\.1:\d+ \(rpc 127\.0\.0\.1:\d+\), console http://127\.0\.0\.1:\d+/,"
        r" webhdfs 127\.0\.0\.1:\d+,"
        r" webhdfs secret \S+",
        playground.ready_line,
    )
    for url in playground.clusters.values():
        with urlopen(f"{url}/ping") as response:
            assert response.status == 200
    assert playground.ask_agent("/health/ready")["status"] == "ok"
    with urlopen(playground.console_url) as response:
        assert b"<title>Queue Agent</title>" in response.read()
    host, port = playground.rpc_address.split(":")
    socket.create_connection((host, int(port))).close()
    assert playground.errors() == ""


def test_files_of_every_cluster_are_served_by_webhdfs(playground: Playground) -> None:
    for name, url in playground.clusters.items():
        with connected(url) as client:
            client.write_file("//tmp/file", name.encode())
        address = f"http://{playground.webhdfs}/webhdfs/v1/{{}}{name}/tmp/file?op=OPEN"
        with pytest.raises(HTTPError) as refused:
            urlopen(address.format(""), timeout=LIMIT_SECONDS)
        refused.value.close()
        with urlopen(address.format(f"{playground.webhdfs_secret()}/"), timeout=LIMIT_SECONDS) as response:
            assert response.read() == name.encode()


def test_both_clusters_know_each_other_and_the_agent(playground: Playground) -> None:
    for url in playground.clusters.values():
        with connected(url) as client:
            assert sorted(client.list("//sys/clusters")) == ["hume", "pythia"]
            path = "//sys/@cluster_connection/queue_agent/stages/production/addresses"
            assert client.get(path) == [playground.rpc_address]


def test_the_status_of_a_new_queue_is_served(playground: Playground, pythia: YtClient) -> None:
    create_queue(pythia, "//tmp/new")
    eventually(lambda: get_agent_attribute(pythia, "//tmp/new/@queue_status"))


@pytest.mark.slow
def test_a_status_reflects_a_write_within_two_passes(playground: Playground, pythia: YtClient) -> None:
    create_queue(pythia, "//tmp/written")
    eventually(lambda: get_agent_attribute(pythia, "//tmp/written/@queue_partitions"))
    for row_count in (3, 4):
        insert(pythia, "//tmp/written", row_count)
        before = playground.ask_agent("/api/v1/queues/pythia/tmp/written")["pass_index"]

        def two_passes_later(before: int = before) -> Any:
            queue = playground.ask_agent("/api/v1/queues/pythia/tmp/written")
            assert queue["pass_index"] >= before + 2
            return queue

        [partition] = eventually(two_passes_later)["partitions"]
        assert partition["upper_row_index"] == (3 if row_count == 3 else 7)


def test_ctrl_c_stops_everything_and_leaves_nothing(tmp_path: Path) -> None:
    with started(tmp_path) as playground:
        playground.wait_ready()
        with connected(playground.clusters["pythia"]) as client:
            create_queue(client, QUEUE, 5)
            playground.interrupt()
            playground.check_stopped()
            assert playground.errors() == ""


def test_ctrl_c_stops_a_playground_that_is_still_starting(tmp_path: Path) -> None:
    with started(tmp_path) as playground:
        eventually(playground.agent_process)
        playground.interrupt()
        playground.check_stopped()
        assert playground.errors() == ""


def test_an_agent_does_not_outlive_a_playground_that_is_killed(tmp_path: Path) -> None:
    with started(tmp_path) as playground:
        playground.wait_ready()
        playground.process.kill()
        assert playground.process.wait() == -signal.SIGKILL
        eventually(playground.check_nothing_left)


def test_clusters_go_on_when_the_agent_is_killed(tmp_path: Path) -> None:
    with started(tmp_path, clusters=("pythia",)) as playground:
        playground.wait_ready()
        with connected(playground.clusters["pythia"]) as client:
            create_queue(client, QUEUE, 3)
            eventually(lambda: get_agent_attribute(client, f"{QUEUE}/@queue_status"))
            os.kill(playground.agent_process(), signal.SIGKILL)
            ended = f"agent {playground.agent_url} ended with code -9; the clusters go on without it\n"
            eventually(lambda: assert_equal(playground.errors(), ended))
            for attribute in ("queue_status", "queue_partitions"):
                with pytest.raises(YtError, match="Error executing Orchid request"):
                    client.get(f"{QUEUE}/@{attribute}")
            insert(client, QUEUE, 2)
            assert len(list(client.pull_queue(QUEUE, 0, 0))) == 5
            assert client.get(f"{QUEUE}/@tablet_state") == "mounted"
            playground.process.send_signal(signal.SIGTERM)
            playground.check_stopped()
            assert playground.errors() == ended


def assert_equal(actual: object, expected: object) -> None:
    assert actual == expected


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """One cluster that keeps its data, with a queue for demonstrations, and no agent."""
    directory = tmp_path_factory.mktemp("alone")
    options = ("--agents=0", "--demo", f"--data-dir={directory / 'data'}")
    with running(directory, *options, clusters=("alone",)) as playground:
        yield playground


def test_without_agents_there_are_only_clusters(alone: Playground) -> None:
    assert re.fullmatch(
        r"alone http://127\.0\.0\.1:\d+ \(rpc 127\.0\.0\.1:\d+\), webhdfs 127\.0\.0\.1:\d+, webhdfs secret \S+",
        alone.ready_line,
    )
    assert alone.webhdfs_secret_file == alone.directory / "data" / "webhdfs.secret"
    assert alone.processes() == [alone.process.pid]
    with connected(alone.clusters["alone"]) as client:
        create_queue(client, QUEUE, 3)
        assert len(list(client.select_rows(f"* from [{QUEUE}]"))) == 3
        with pytest.raises(YtError, match="stage"):
            client.get(f"{QUEUE}/@queue_status")


def test_the_queue_for_demonstrations_has_rows_and_stays_as_it_is(alone: Playground) -> None:
    with connected(alone.clusters["alone"]) as client:
        for written in (1, 2):
            client.insert_rows("//home/demo/queue", [{"user": "new"}])
            rows = list(client.select_rows("sum(1) as count from [//home/demo/queue] group by 1"))
            assert rows == [{"count": 3000 + written}]
            asyncio.run(create_demo_queue(ClusterConfig(proxy=alone.clusters["alone"])))  # as does the next start


def test_a_directory_that_is_in_use_is_named_and_not_harmed(alone: Playground) -> None:
    directory = alone.directory / "data"
    with connected(alone.clusters["alone"]) as client:
        create_queue(client, "//tmp/kept", 3)
        refused = subprocess.run(
            command("--agents=0", "--cluster=alone=0", "--webhdfs-port=0", f"--data-dir={directory}"),
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
            env=environment(),
        )
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "Traceback" not in refused.stderr
        assert_said(refused.stderr, "alone.sqlite", "locked")
        assert len(list(client.select_rows("* from [//tmp/kept]"))) == 3


@pytest.mark.parametrize(
    "role", ["--cluster=pythia=", "--cluster=pythia=0:", "--rpc-port=", "--http-port=", "--webhdfs-port="]
)
def test_a_port_that_is_taken_is_named(role: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = f"cannot listen on 127.0.0.1:{port}", "Address already in use"
        assert_refused([f"{role}{port}"], *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--cluster=pythia"], ["--cluster", "'pythia'"]),
        (["--cluster=pythia=http"], ["--cluster", "'pythia=http'"]),
        (["--cluster=pythia=70000"], ["--cluster", "'pythia=70000'"]),
        (["--cluster=pythia=²"], ["--cluster", "'pythia=²'"]),
        (["--cluster=pythia=0:70000"], ["--cluster", "'pythia=0:70000'"]),
        (["--cluster=pythia=0:"], ["--cluster", "'pythia=0:'"]),
        (["--cluster==0"], ["--cluster", "'=0'"]),
        (["--cluster=../pythia=0"], ["--cluster", "'../pythia=0'"]),
        (["--cluster=pythia=0", "--cluster=pythia=0"], ["'pythia' twice"]),
        (["--agents=17"], ["--agents"]),
        (["--agents=some"], ["--agents", "integer"]),
        (["--rpc-port=0"], ["--rpc-port"]),
        (["--allowed-host=http://clusters:8001"], ["'http://clusters:8001'"]),
        (["--allowed-origin=clusters"], ["'clusters'", "http://localhost:3000"]),
        (["--host=0.0.0.0"], ["0.0.0.0", "--require-token"]),
        (["--no-such-option"], ["--no-such-option"]),
    ],
)
def test_bad_arguments_are_named(arguments: list[str], words: list[str]) -> None:
    assert_refused(arguments, *words)


def make_file_in_place_of_the_directory(data: Path) -> None:
    data.touch()


def make_file_above_the_directory(data: Path) -> None:
    data.parent.rmdir()
    data.parent.touch()


def make_file_of_another_kind(data: Path) -> None:
    data.mkdir()
    (data / "pythia.sqlite").write_text("no database at all, but a text long enough to be taken for something")


@pytest.mark.parametrize(
    "spoil", [make_file_in_place_of_the_directory, make_file_above_the_directory, make_file_of_another_kind]
)
def test_a_directory_that_can_not_be_used_is_named(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    data = tmp_path / "above" / "data"
    data.parent.mkdir()
    spoil(data)
    assert_refused(["--agents=0", "--cluster=pythia=0", f"--data-dir={data}"], "data")


@pytest.mark.slow
def test_a_data_directory_keeps_everything_over_a_restart(tmp_path: Path) -> None:
    options = (f"--data-dir={tmp_path / 'data'}",)
    with running(tmp_path, *options) as playground, ExitStack() as stack:
        pythia, hume = (stack.enter_context(connected(playground.clusters[name])) for name in ("pythia", "hume"))
        create_queue(pythia, QUEUE, 10)
        pythia.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
        hume.create("queue_consumer", CONSUMER)
        hume.mount_table(CONSUMER)
        pythia.register_queue_consumer(QUEUE, f"<cluster=hume>{CONSUMER}", vital=True)
        hume.advance_queue_consumer(CONSUMER, f"<cluster=pythia>{QUEUE}", 0, 0, 4)
        pythia.create("queue_producer", "//tmp/producer")
        pythia.create_queue_producer_session("//tmp/producer", QUEUE, "session")
        pythia.push_queue_producer("//tmp/producer", QUEUE, "session", 0, [{"data": "y", "$sequence_number": 7}])
        eventually(lambda: assert_trimmed(pythia, 4))
        eventually(lambda: assert_writing_is_seen(pythia))
        kept = everything(pythia, hume)
        upper_row_index = kept["rows"][-1]["$row_index"] + 1
        assert [row["$row_index"] for row in kept["rows"]] == list(range(4, upper_row_index))
    with running(tmp_path, *options) as playground, ExitStack() as stack:
        pythia, hume = (stack.enter_context(connected(playground.clusters[name])) for name in ("pythia", "hume"))
        assert everything(pythia, hume) == kept
        eventually(lambda: assert_written_lately(pythia, lately=False))
        session = pythia.create_queue_producer_session("//tmp/producer", QUEUE, "session")
        assert (session["epoch"], session["sequence_number"]) == (1, 7)
        hume.advance_queue_consumer(CONSUMER, f"<cluster=pythia>{QUEUE}", 0, 4, 6)
        insert(pythia, QUEUE, 1)
        eventually(lambda: assert_trimmed(pythia, 6))
        rows = list(pythia.select_rows(f"* from [{QUEUE}]"))
        assert [row["$row_index"] for row in rows] == list(range(6, upper_row_index + 1))
        assert rows[-1]["$timestamp"] > kept["rows"][-1]["$timestamp"]


def assert_trimmed(client: YtClient, row_index: int) -> None:
    partitions = get_agent_attribute(client, f"{QUEUE}/@queue_partitions")
    assert [partition.get("lower_row_index") for partition in partitions] == [row_index]


def assert_written_lately(client: YtClient, *, lately: bool) -> None:
    rates = get_agent_attribute(client, f"{QUEUE}/@queue_status").get("write_row_count_rate")
    assert rates
    assert [rate > 0 for rate in rates.values()] == [lately] * 5


def assert_writing_is_seen(client: YtClient) -> None:
    """Write a row; rates come from what happens between two passes, and soon enough are zero again."""
    insert(client, QUEUE, 1)
    assert_written_lately(client, lately=True)


def everything(pythia: YtClient, hume: YtClient) -> dict[str, Any]:
    """What must be the same after a restart."""
    registrations = pythia.list_queue_consumer_registrations(queue_path=QUEUE)
    return {
        "rows": list(pythia.select_rows(f"* from [{QUEUE}]")),
        "pulled": list(hume.pull_queue_consumer(CONSUMER, f"<cluster=pythia>{QUEUE}", 0, 0)),
        "offsets": list(hume.select_rows(f"* from [{CONSUMER}]")),
        "sessions": list(pythia.select_rows("* from [//tmp/producer]")),
        "registrations": [
            (str(one["queue_path"]), str(one["consumer_path"]), one["consumer_path"].attributes, one["vital"])
            for one in registrations
        ],
        "attributes": [
            client.get(path, attributes=["id", "type", "schema", "auto_trim_config", "creation_time", "tablet_state"])
            for client, path in ((pythia, QUEUE), (hume, CONSUMER), (pythia, "//tmp/producer"))
        ],
    }
