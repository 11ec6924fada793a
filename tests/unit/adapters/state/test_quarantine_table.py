"""Rows of the table of quarantines: written, read again, and edited by somebody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from queue_agent.adapters.state.quarantine_table import QuarantineTable
from queue_agent.core.state.quarantines import KEY_COLUMNS, VALUE_COLUMNS, Commit, Quarantine
from queue_agent.core.values.refs import CrossClusterRef

NOW = datetime(2026, 5, 1, tzinfo=UTC)
QUEUE = CrossClusterRef("pythia", '//q"')
NAMED = CrossClusterRef("hume", "//c", 'a"b')
ONE = Quarantine(
    NAMED, "1-2-3-4", {0: Commit(5, 1 << 60), 12: Commit(0, 7)}, NOW, NOW + timedelta(minutes=10), timedelta(days=1)
)
OTHER = replace(ONE, consumer=CrossClusterRef("hume", "//c"), commits={}, waited=timedelta(hours=1.5), is_started=True)


class Cluster:
    """A table that keeps what is inserted."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.queries: list[str] = []

    async def insert_rows(self, path: str, rows: list[dict[str, Any]]) -> None:
        assert path == "//sys/qa/consumer_quarantines"
        self.rows += rows

    async def delete_rows(self, path: str, keys: Sequence[Mapping[str, Any]]) -> None:
        assert path == "//sys/qa/consumer_quarantines"
        self.rows = [row for row in self.rows if not any(row.items() >= key.items() for key in keys)]

    async def select_all(self, path: str, queries: Sequence[str]) -> Sequence[Sequence[Mapping[str, Any]]]:
        self.queries += queries
        return [self.rows]


async def test_what_is_written_is_read_again_until_it_is_removed() -> None:
    cluster = Cluster()
    table = QuarantineTable(cluster, "//sys/qa")
    await table.write(QUEUE, ONE)
    await table.write(QUEUE, OTHER)
    assert await table.read(QUEUE) == [ONE, OTHER]
    assert list(cluster.rows[0]) == [*KEY_COLUMNS, *VALUE_COLUMNS]
    assert r'where [queue_cluster] = "pythia" and [queue_path] = "//q\""' in cluster.queries[0]
    await table.remove(QUEUE, ONE.consumer)
    assert await table.read(QUEUE) == [OTHER]


@pytest.mark.parametrize(
    "edited",
    [
        {"announced_at": "yesterday"},
        {"renewed_at": None},
        {"object_id": 5},
        {"waited_seconds": -1.0},
        {"waited_seconds": float("nan")},
        {"notice_seconds": 1e300},
        {"notice_seconds": True},
        {"is_started": 1},
        {"commits": None},
        {"commits": {"x": [1, 1]}},
        {"commits": {"0": 1}},
        {"commits": {"0": [1]}},
        {"commits": {"0": [1, "1"]}},
        {"consumer_name": None},
    ],
)
async def test_a_row_that_somebody_has_edited_is_none(edited: dict[str, Any]) -> None:
    cluster = Cluster()
    table = QuarantineTable(cluster, "//sys/qa")
    await table.write(QUEUE, ONE)
    await table.write(QUEUE, OTHER)
    cluster.rows[0].update(edited)
    assert await table.read(QUEUE) == [OTHER]
