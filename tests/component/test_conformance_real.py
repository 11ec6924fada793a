"""The conformance suite on a cluster that is there already: tried on a local one that is a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.playground import SOURCES, connected, running

SUITE = SOURCES / "tests" / "conformance"
TESTS = (
    "test_registrations.py::test_registering_again_replaces",
    "test_registrations.py::test_clusters_see_the_same_registrations",
    "test_registrations.py::test_the_command_line_registers_and_lists",
    "test_registrations.py::test_vitality_has_to_be_said",  # by plain HTTP
    "test_restart.py::test_everything_is_as_it_was",
)


@pytest.mark.slow
def test_the_suite_runs_there_skips_what_it_can_not_do_and_leaves_nothing(tmp_path: Path) -> None:
    with running(tmp_path, "--agents", "0", "--require-token") as playground:
        assert playground.token_file is not None
        token = playground.token_file.read_text().strip()
        proxy, other = (url.removeprefix("http://") for url in playground.clusters.values())
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-rs",
                "-p",
                "no:cacheprovider",
                *(str(SUITE / test) for test in TESTS),
            ],
            cwd=SOURCES,
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "YT_CONFORMANCE_PROXY": proxy,
                "YT_CONFORMANCE_OTHER_PROXY": other,
                "YT_TOKEN": token,
            },
        )
        assert done.returncode == 0, done.stdout
        assert "4 passed, 1 skipped" in done.stdout
        assert "needs a local cluster" in done.stdout
        with connected(playground.clusters["pythia"], token) as client:
            assert client.list("//tmp") == []
            assert client.list_queue_consumer_registrations() == []
