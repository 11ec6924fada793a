"""How much of a local cluster one request goes through: docs/adr/0016-walks.md has the figures."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import aiohttp

import yt_local
from yt_local.calls.command import Body
from yt_local.runner import LocalClusters
from yt_local.security.permissions import UNLIMITED
from yt_local.session import Session
from yt_wire import yson

PACKAGE: Final = str(Path(yt_local.__file__).parent)
MOST_ROOMS: Final = 13
MOST_MODULES: Final = 49
MOST_CALLS: Final = 500
"""A little more than there are: what a cluster does by itself may fall into the time."""

QUEUE: Final = [{"name": "data", "type": "string"}]
SETUP: Final[list[tuple[str, dict[str, Any], Body]]] = [
    ("create", {"type": "user", "attributes": {"name": "alice"}}, Body()),
    ("create", {"type": "table", "path": "//tmp/q", "attributes": {"dynamic": True, "schema": QUEUE}}, Body()),
    ("mount_table", {"path": "//tmp/q"}, Body()),
    ("create", {"type": "queue_consumer", "path": "//tmp/c"}, Body()),
    ("register_queue_consumer", {"queue_path": "//tmp/q", "consumer_path": "//tmp/c", "vital": True}, Body()),
    (
        "set",
        {"path": "//tmp/c/@acl"},
        Body(value=[{"action": "allow", "subjects": ["alice"], "permissions": ["read"]}]),
    ),
    ("insert_rows", {"path": "//tmp/q"}, Body(rows=[{b"data": b"%d" % index} for index in range(10)])),
]


@contextmanager
def walked(calls: Counter[str]) -> Iterator[None]:
    """Count calls of functions of the local cluster, by file."""

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            calls[frame.f_code.co_filename] += 1

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)


async def test_a_pull_of_an_ordinary_user_goes_no_longer_ways() -> None:
    pull = {"queue_path": "//tmp/q", "consumer_path": "//tmp/c", "partition_index": 0, "offset": 0}
    told = json.dumps({**pull, "output_format": "yson"})
    headers = {"X-YT-User-Name": "alice", "X-YT-Parameters": told}
    calls: Counter[str] = Counter()
    async with LocalClusters({"pythia": 0}) as clusters, aiohttp.ClientSession() as client:
        cluster = clusters.cluster("pythia")
        for name, parameters, body in SETUP:
            await cluster.execute(Session(UNLIMITED), cluster.command(name), parameters, body)
        url = f"http://{cluster.http_address}/api/v4/pull_queue_consumer"
        for counter in (Counter[str](), calls):  # what is done once is done the first time
            with walked(counter):
                async with client.get(url, headers=headers) as response:
                    assert response.status == 200, await response.text()
                    rows = list(yson.loads_rows(await response.read()))
    assert len(rows) == 10
    assert len(calls) <= MOST_MODULES, sorted(calls)
    assert (
        len({Path(file).relative_to(PACKAGE).parts[0] for file in calls if Path(file).parent != Path(PACKAGE)})
        <= MOST_ROOMS
    )
    assert calls.total() <= MOST_CALLS, calls
