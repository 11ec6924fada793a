"""A replicated table and its replicas after `kill -9`: nothing acknowledged is lost, and nothing is there twice."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

from yt.packages.urllib3.exceptions import HTTPError
from yt.wrapper import YtClient, YtError

from tests.e2e.playground import connected, eventually, running, started
from tests.waiting import LIMIT_SECONDS

TABLE: Final = "//tmp/counted"
REPLICAS: Final = {"hume": "sync", "pythia": "async"}
SCHEMA: Final = [
    {"name": "key", "type": "int64", "sort_order": "ascending"},
    {"name": "count", "type": "int64", "aggregate": "sum"},
]
ROUNDS: Final = 2


def copy_on(name: str) -> str:
    return f"{TABLE}_on_{name}"


def create(meta: YtClient, others: dict[str, YtClient]) -> None:
    meta.create("replicated_table", TABLE, attributes={"dynamic": True, "schema": SCHEMA})
    for name, mode in REPLICAS.items():
        attributes = {"table_path": TABLE, "cluster_name": name, "replica_path": copy_on(name), "mode": mode}
        replica = meta.create("table_replica", attributes={**attributes, "enabled": True})
        upstream = {"dynamic": True, "schema": SCHEMA, "upstream_replica_id": replica}
        others[name].create("table", copy_on(name), attributes=upstream)
        others[name].mount_table(copy_on(name), sync=True)
    meta.mount_table(TABLE, sync=True)


def totals(client: YtClient, name: str) -> dict[int, int]:
    return {row["key"]: row["count"] for row in client.select_rows(f"key, count from [{copy_on(name)}]")}


def test_additions_are_in_all_replicas_once_after_a_crash(tmp_path: Path) -> None:
    options = ("--agents=0", f"--data-dir={tmp_path / 'data'}")
    acknowledged = tried = 0
    for number in range(ROUNDS):
        with started(tmp_path, *options) as playground, ExitStack() as stack:
            playground.wait_ready()
            clients = {name: stack.enter_context(connected(url)) for name, url in playground.clusters.items()}
            meta = clients["pythia"]
            if number == 0:
                create(meta, clients)
            enough = threading.Event()

            def write(client: YtClient, goal: int, enough: threading.Event) -> None:
                nonlocal acknowledged, tried
                try:
                    while True:
                        tried += 1
                        client.insert_rows(TABLE, [{"key": 0, "count": 1}, {"key": 1, "count": 1}], aggregate=True)
                        acknowledged += 1
                        if acknowledged >= goal:
                            enough.set()
                except (YtError, OSError, HTTPError):
                    return

            thread = threading.Thread(target=write, args=(meta, acknowledged + 30 + 7 * number, enough))
            thread.start()
            assert enough.wait(LIMIT_SECONDS)
            playground.process.kill()
            thread.join()
    with running(tmp_path, *options) as playground, ExitStack() as stack:
        clients = {name: stack.enter_context(connected(url)) for name, url in playground.clusters.items()}
        [info] = clients["pythia"].get_tablet_infos(TABLE, [0])["tablets"]
        written = info["total_row_count"] // 2
        assert acknowledged <= written <= tried

        def assert_whole(name: str) -> None:
            assert totals(clients[name], name) == {0: written, 1: written}

        for name in REPLICAS:
            eventually(partial(assert_whole, name))
