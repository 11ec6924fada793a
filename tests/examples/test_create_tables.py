"""The script that creates the tables, and the service as people start it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from yt.wrapper import YtClient

from tests.examples.comment_world import DIRECTORY, TABLES, rows_of
from tests.waiting import LIMIT_SECONDS
from yt_local.testing import LocalCluster

SOURCES = Path(__file__).parents[2]
SERVED = re.compile(r"Running on (http://\S+)")


def run_script(cluster: LocalCluster, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "examples.comment_service.create_tables", *arguments],
        cwd=SOURCES,
        env={**os.environ, "CLUSTER": cluster.url},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )


def ids(client: YtClient) -> dict[str, str]:
    return {path: client.get(f"{path}/@id") for path in TABLES.paths}


def test_tables_are_created_once_and_anew_only_by_force(yt_cluster: LocalCluster) -> None:
    client = yt_cluster.client
    done = run_script(yt_cluster, "--path", f"{DIRECTORY}/")
    assert done.returncode == 0, done.stderr
    assert {client.get(f"{path}/@tablet_state") for path in TABLES.paths} == {"mounted"}
    assert client.get(f"{TABLES.user_comments}/@schema/0/expression") == "farm_hash(user)"
    assert client.get(f"{TABLES.topic_comments}/@schema/8/aggregate") == "sum"
    first = ids(client)

    refused = run_script(yt_cluster, "--path", DIRECTORY)
    assert refused.returncode == 1
    assert TABLES.topics in refused.stderr
    assert ids(client) == first

    client.remove(TABLES.topics)
    refused = run_script(yt_cluster, "--path", DIRECTORY)
    assert refused.returncode == 1, "some are there"
    assert not client.exists(TABLES.topics)

    forced = run_script(yt_cluster, "--path", DIRECTORY, "--meta_cluster", yt_cluster.url, "--force")
    assert forced.returncode == 0, forced.stderr
    assert set(ids(client).values()).isdisjoint(first.values())
    assert len(list(client.list_queue_consumer_registrations(queue_path=TABLES.comment_events))) == 1


def test_tables_get_the_account_and_the_medium_that_were_asked_for(yt_cluster: LocalCluster) -> None:
    client = yt_cluster.client
    client.create(
        "account",
        attributes={"name": "comments", "resource_limits": {"node_count": 99, "chunk_count": 99, "tablet_count": 99}},
    )
    done = run_script(
        yt_cluster,
        "--path",
        DIRECTORY,
        "--account=comments",
        "--tablet_cell_bundle=default",
        "--primary_medium=default",
    )
    assert done.returncode == 0, done.stderr
    assert {client.get(f"{path}/@account") for path in TABLES.paths} == {"comments"}
    assert {client.get(f"{path}/@primary_medium") for path in TABLES.paths} == {"default"}


def test_without_a_cluster_the_script_says_what_is_missing(
    yt_cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("YT_PROXY", raising=False)
    done = subprocess.run(
        [sys.executable, "-m", "examples.comment_service.create_tables", "--path", DIRECTORY],
        cwd=SOURCES,
        env={name: value for name, value in os.environ.items() if name != "CLUSTER"},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )
    assert done.returncode == 2
    assert "--meta_cluster" in done.stderr


@contextmanager
def started(address: str, directory: Path) -> Iterator[str]:
    """Address of a service that runs in a directory, on a cluster; it is told to stop in the end, and does."""
    process = subprocess.Popen(
        [sys.executable, "-m", "examples.comment_service"],
        cwd=directory,
        env={
            **os.environ,
            "PYTHONPATH": str(SOURCES),
            "PYTHONUNBUFFERED": "1",
            "CLUSTER": address,
            "TABLE_PATH": f"{DIRECTORY}/",
            "HOST": "127.0.0.1",
            "PORT": "0",
            "LOGS": str(directory / "logs"),
        },
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        deadline = time.monotonic() + LIMIT_SECONDS
        match = None
        while match is None:
            assert time.monotonic() < deadline
            line = process.stdout.readline()
            assert line, "it has ended"
            match = SERVED.search(line)
        try:
            yield match[1]
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 0


def ask(url: str, document: Any) -> Any:
    with urlopen(Request(url, data=json.dumps(document).encode()), timeout=LIMIT_SECONDS) as response:
        return json.load(response)


def test_the_service_starts_from_its_environment_and_keeps_two_logs(cluster: LocalCluster, tmp_path: Path) -> None:
    with started(cluster.url, tmp_path) as url:
        posted = ask(f"{url}/post_comment", {"user": "ann", "content": "private words"})
    assert [row["topic_id"] for row in rows_of(cluster, TABLES.topics)] == [posted["topic_id"]]
    first, last = (tmp_path / "logs" / "comment_service.log").read_text().splitlines()
    assert re.search(r"Request 1 from 127.0.0.1 started: POST /post_comment$", first)
    assert re.search(r"Request 1 completed with code 201 in \d+ ms$", last)
    assert "commit_transaction" in (tmp_path / "logs" / "driver.log").read_text()


def test_a_service_without_settings_says_which(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in ("CLUSTER", "TABLE_PATH")}
    done = subprocess.run(
        [sys.executable, "-m", "examples.comment_service"],
        cwd=tmp_path,
        env={**kept, "PYTHONPATH": str(SOURCES), "PORT": "many"},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )
    assert done.returncode == 2
    assert {line.partition(":")[0] for line in done.stderr.splitlines()} == {"CLUSTER", "TABLE_PATH", "PORT"}
    assert not list(tmp_path.iterdir())
