"""Rows of the journal: written, read again, and edited by somebody."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from queue_agent.adapters.trimming.trim_journal import TrimJournalTable, to_row
from queue_agent.core.state.trim_journal import KEY_COLUMNS, VALUE_COLUMNS, JournalSpan, Loser, TrimRecord
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, TrimConstraint
from queue_agent.errors import ClusterError

NOW = datetime(2025, 1, 23, tzinfo=UTC)
QUEUE = CrossClusterRef("pythia", '//q"')
NAMED = CrossClusterRef("hume", "//c", 'a"b')
RECORD = TrimRecord(
    NOW,
    "host:1",
    QUEUE,
    "1-2",
    0,
    3,
    20,
    TrimConstraint(ConstraintKind.END_OF_PARTITION),
    [
        Loser(NAMED, 5, 70, True, "hume://v"),
        Loser(CrossClusterRef("hume", "//d"), None, None, False),
        Loser(CrossClusterRef("hume", "//e"), 5, None, True, "hume://v", is_quarantined=True),
    ],
)

SPAN = JournalSpan(NOW, frozenset({0}))


class Cluster:
    """A table that keeps what is inserted, with or without the newest column, and answers as it is asked."""

    def __init__(self, *, is_old: bool = False) -> None:
        self.is_old = is_old
        self.rows: list[dict[str, Any]] = []
        self.queries: list[str] = []
        self.error: ClusterError | None = None

    async def insert_rows(self, path: str, rows: list[dict[str, Any]]) -> None:
        if self.error is not None:
            raise self.error
        if self.is_old and any("losers" in row for row in rows):
            raise ClusterError("No such column losers")
        self.rows += rows

    async def select_all(self, path: str, queries: Sequence[str]) -> Sequence[Sequence[Mapping[str, Any]]]:
        if self.error is not None:
            raise self.error
        self.queries += queries
        [query] = queries
        since = dict(re.findall(r'\[queue_path\] = "([^ ]*)" and \[instant\] >= "([^"]*)"', query))
        found = [row for row in self.rows if since.get(escaped(row["queue_path"]), "~") <= str(row["instant"])]
        found.sort(key=lambda row: tuple(str(row[name]) for name in ("queue_path", "instant")))
        return [found[: int(query.rpartition(" limit ")[2])]]

    async def delete_rows(self, path: str, keys: Sequence[Mapping[str, Any]]) -> None:
        self.rows = [row for row in self.rows if {name: row[name] for name in KEY_COLUMNS} not in keys]

    async def get_attributes(self, path: str, names: Collection[str]) -> Mapping[str, Any]:
        columns = [*KEY_COLUMNS, *VALUE_COLUMNS]
        return {"schema": [{"name": name} for name in columns if not (self.is_old and name == "losers")]}


def escaped(path: str) -> str:
    return path.replace('"', '\\"')


def table(cluster: Cluster) -> TrimJournalTable:
    return TrimJournalTable(cluster, "//sys/queue_agents")


async def test_what_was_written_is_read() -> None:
    cluster = Cluster()
    journal = table(cluster)
    others = replace(RECORD, losers=None, agent="host:2"), replace(RECORD, losers=[], agent="host:3")
    await journal.write([RECORD, *others])
    found = await journal.read({QUEUE: SPAN})
    assert [one.losers for one in found] == [RECORD.losers, None, []]
    assert replace(found[0], constraint=RECORD.constraint) == RECORD
    [query] = cluster.queries
    assert '[queue_path] = "//q\\""' in query
    assert '[instant] >= "2025-01-23T00:00:00.000000Z"' in query
    assert "[partition_index] in (0)" in query


async def test_many_records_are_read_in_pages_also_if_they_have_one_instant() -> None:
    cluster = Cluster()
    journal = table(cluster)
    instants = [NOW] * 2500 + [NOW + timedelta(seconds=second) for second in range(3000)]
    records = [replace(RECORD, agent=str(number), instant=instant) for number, instant in enumerate(instants)]
    other = CrossClusterRef("pythia", "//r")
    await journal.write([*records, *(replace(one, queue=other) for one in records[:10])])
    found = await journal.read({QUEUE: SPAN, other: SPAN})
    assert sorted(int(one.agent) for one in found if one.queue == QUEUE) == list(range(5500))
    assert sorted(int(one.agent) for one in found if one.queue == other) == list(range(10))
    assert len(cluster.queries) > 2


async def test_the_conditions_of_a_query_fit_into_a_header() -> None:
    cluster = Cluster()
    wanted = {
        CrossClusterRef("pythia", f"//home/{'long' * 50}/{number}"): JournalSpan(NOW, frozenset(range(5000)))
        for number in range(100)
    }
    await table(cluster).read(wanted)
    assert len(cluster.queries) > 1
    assert max(map(len, cluster.queries)) < 7500
    assert sum(query.count("[queue_path] =") for query in cluster.queries) == 100


async def test_a_record_is_taken_back() -> None:
    cluster = Cluster()
    journal = table(cluster)
    other = replace(RECORD, agent="host:2")
    await journal.write([RECORD, other])
    await journal.remove([RECORD])
    assert [one.agent for one in await journal.read({QUEUE: SPAN})] == ["host:2"]


async def test_a_table_of_an_earlier_version_is_used_as_it_is_until_it_gets_the_column() -> None:
    cluster = Cluster(is_old=True)
    journal = table(cluster)
    await journal.write([RECORD])
    assert [one.losers for one in await journal.read({QUEUE: SPAN})] == [None]
    cluster.is_old = False
    await journal.write([RECORD])
    assert "losers" in cluster.rows[-1]


async def test_a_table_that_was_put_back_by_hand_fails_once() -> None:
    cluster = Cluster()
    journal = table(cluster)
    await journal.write([RECORD])
    cluster.is_old = True
    with pytest.raises(ClusterError):
        await journal.write([RECORD])
    await journal.write([RECORD])
    assert len(cluster.rows) == 2


async def test_a_failure_is_passed_on() -> None:
    cluster = Cluster()
    cluster.error = ClusterError("no such table")
    with pytest.raises(ClusterError):
        await table(cluster).read({QUEUE: SPAN})


@pytest.mark.parametrize(
    "edited",
    [
        {"instant": "yesterday"},
        {"instant": None},
        {"trimmed_row_count": -1},
        {"trimmed_row_count": "many"},
        {"losers": 7},
        {"losers": "nobody"},
        {"losers": {"consumer": "hume://c"}},
        {"losers": [None]},
        {"losers": [{"consumer": "hume"}]},
        {"losers": [{"consumer": 1, "offset": 1, "data_weight": 1, "cause": "", "subject": None}]},
        {"losers": [{"consumer": "hume://c", "offset": -1, "data_weight": 1, "cause": "", "subject": None}]},
        {"losers": [{"consumer": "hume://c", "offset": 1, "data_weight": 1 << 70, "cause": "", "subject": None}]},
    ],
    ids=str,
)
async def test_a_row_that_makes_no_sense_tells_nothing_and_stops_no_other(edited: dict[str, Any]) -> None:
    cluster = Cluster()
    cluster.rows = [{**to_row(RECORD), **edited}, to_row(RECORD)]
    assert [one.losers for one in await table(cluster).read({QUEUE: SPAN})] == [RECORD.losers]
