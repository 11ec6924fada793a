"""The Go SDK, over RPC and over HTTP; it is downloaded and compiled, so only `make conformance-go` does this."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from yt.wrapper import YtClient

from yt_local.thread import ClusterThread

PROGRAMS = Path(__file__).parent.parent / "go_client"


def optional(item: str) -> Any:
    return {"type_name": "optional", "item": item}


PLAIN = [
    {"name": "key", "type_v3": "utf8"},
    {"name": "number", "type_v3": "int64"},
    {"name": "perhaps", "type_v3": optional("uint64")},
    {"name": "flag", "type_v3": "bool"},
    {"name": "ratio", "type_v3": "double"},
    {"name": "any", "type_v3": optional("yson")},
]
INNER = [{"name": "x", "type": "int16"}, {"name": "y", "type": optional("utf8")}]
COMPOSITE = [
    {"name": "many", "type_v3": {"type_name": "list", "item": "utf8"}},
    {"name": "inner", "type_v3": {"type_name": "struct", "members": INNER}},
    {"name": "by_name", "type_v3": {"type_name": "dict", "key": "utf8", "value": "int64"}},
]


@pytest.mark.local_only
@pytest.mark.skipif("YT_CONFORMANCE_GO" not in os.environ, reason="make conformance-go")
def test_the_go_sdk_finds_everything_as_it_expects_it() -> None:
    with ClusterThread(["pythia"]) as thread:
        run(".", thread.address("pythia"))


@pytest.mark.local_only
@pytest.mark.skipif("YT_CONFORMANCE_GO" not in os.environ, reason="make conformance-go")
def test_the_go_sdk_writes_and_reads_tables_in_each_format_and_compression() -> None:
    with ClusterThread(["pythia"]) as thread:
        client = YtClient(thread.address("pythia"))
        client.create("table", "//home/plain", recursive=True, attributes={"schema": PLAIN})
        client.create("table", "//home/composite", attributes={"schema": COMPOSITE})
        client.write_table(
            "//home/composite", [{"many": ["a", "b"], "inner": {"x": 100, "y": "text"}, "by_name": [["k", 9]]}]
        )
        run("./formats", thread.address("pythia"), "//home/plain", "//home/composite")


def run(program: str, *arguments: str) -> None:
    result = subprocess.run(
        ["go", "run", program, *arguments], cwd=PROGRAMS, capture_output=True, text=True, check=False
    )
    assert result.stdout == "all is well\n", result.stdout + result.stderr
