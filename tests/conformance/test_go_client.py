"""The Go SDK over RPC; it is downloaded and compiled, so only `make conformance-go` does this."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from yt_local.thread import ClusterThread

PROGRAM = Path(__file__).parent.parent / "go_client"


@pytest.mark.local_only
@pytest.mark.timeout(600)
@pytest.mark.skipif("YT_CONFORMANCE_GO" not in os.environ, reason="make conformance-go")
def test_the_go_sdk_finds_everything_as_it_expects_it() -> None:
    with ClusterThread(["pythia"]) as thread:
        command = ["go", "run", ".", thread.address("pythia")]
        result = subprocess.run(command, cwd=PROGRAM, capture_output=True, text=True, check=False)
    assert result.stdout == "all is well\n", result.stdout + result.stderr
