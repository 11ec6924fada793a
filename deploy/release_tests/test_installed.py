"""A wheel, installed without a checkout, runs all that the README promises."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import time
from collections.abc import Iterator
from urllib.request import urlopen

import pytest

from deploy.release_tests.conftest import Installed
from tests.ports import reserved_port
from tests.waiting import LIMIT_SECONDS

PLUGIN_TEST = """
def test_rows_are_there(yt_client):
    yt_client.create("table", "//tmp/q", attributes={"dynamic": True, "schema": [{"name": "a", "type": "int64"}]})
    yt_client.mount_table("//tmp/q", sync=True)
    yt_client.insert_rows("//tmp/q", [{"a": 1}])
    assert [row["a"] for row in yt_client.select_rows("a from [//tmp/q]")] == [1]
"""


@pytest.fixture(scope="module")
def playground(everything: Installed) -> Iterator[dict[str, str]]:
    """Addresses of `queue-agent local --demo`, by what is there."""
    rpc_port, http_port = reserved_port(), reserved_port()
    ports = (f"--rpc-port={rpc_port}", f"--http-port={http_port}", "--webhdfs-port=0")
    with subprocess.Popen(
        everything.command("queue-agent", "local", "--demo", "--cluster", "pythia=0", *ports),
        cwd=everything.folder,
        env=everything.variables(),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            ready = process.stdout.readline()
            yield dict(re.findall(r"(\S+) (http://127\.0\.0\.1:\d+)", ready))
        finally:
            process.terminate()
            assert process.wait(LIMIT_SECONDS) == 0


def test_the_agent_serves_the_status_of_a_queue_to_the_yt_command(
    everything: Installed, playground: dict[str, str]
) -> None:
    def status() -> bool:
        arguments = ("get", "//home/demo/queue/@queue_status/partition_count", "--proxy", playground["pythia"])
        with contextlib.suppress(AssertionError):
            return everything.run("yt", *arguments).strip().isdigit()
        return False

    deadline = time.monotonic() + 60
    while not status():
        assert time.monotonic() < deadline, "no status in 60 s"


def test_the_console_has_its_libraries(playground: dict[str, str]) -> None:
    with urlopen(playground["console"]) as page:
        text = page.read().decode()
    scripts = re.findall(r'(?:src|href)="([^"]+\.(?:js|css))"', text)
    assert any("vendor" in script for script in scripts) or "vendor" in text
    for script in scripts:
        with urlopen(f"{playground['console']}/{script.lstrip('/')}") as file:
            assert file.status == 200


def test_spark_exports_and_verifies(everything: Installed, playground: dict[str, str]) -> None:
    where = (
        *("--proxy", playground["pythia"], "--queue", "//home/demo/queue"),
        *("--consumer", "//home/demo/exporter", "--target", "exported"),
    )
    everything.run("queue-agent", "spark", "export", "parquet", *where)
    everything.run("queue-agent", "spark", "export", "verify", *where, "--deep")


def test_the_plugin_of_pytest_starts_clusters(everything: Installed, cluster_alone: Installed) -> None:
    for installed in (everything, cluster_alone):
        (installed.folder / "test_app.py").write_text(PLUGIN_TEST)
        assert "1 passed" in installed.run("pytest", "-q", "test_app.py")


def test_the_local_cluster_runs_alone(cluster_alone: Installed) -> None:
    listed = json.loads(
        cluster_alone.run(
            "python",
            "-c",
            "import importlib.util as u, json; "
            "print(json.dumps([bool(u.find_spec(n)) for n in ('yt_local', 'queue_agent')]))",
        )
    )
    assert listed == [True, False]
    assert "usage" in cluster_alone.run("yt-local", "--help").lower()
