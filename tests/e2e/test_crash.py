"""What a local cluster has acknowledged survives `kill -9`, and what it has not is there as a whole or not at all.

`CRASH_ROUNDS` (4 by default) says how often it is killed.
"""

from __future__ import annotations

import json
import os
import random
import threading
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Protocol

import pytest
from yt.packages.urllib3.exceptions import HTTPError
from yt.wrapper import YtClient, YtError

from tests.e2e.playground import connected, eventually, running, started
from tests.waiting import LIMIT_SECONDS

ROUNDS: Final = int(os.environ.get("CRASH_ROUNDS", "4"))
TABLET_COUNT: Final = 2
TABLE: Final = "//tmp/table"
QUEUE: Final = "//tmp/queue"
PRODUCER: Final = "//tmp/producer"
SESSION: Final = "writer"
ACCOUNTS: Final = "//tmp/accounts"
JOURNAL: Final = "//tmp/journal"
DIRECTORY: Final = "//tmp/directory"
STATIC: Final = "//tmp/static"

COLUMNS: Final = {"writer": "int64", "batch": "int64", "position": "int64", "filling": "string"}
SYSTEM_COLUMNS: Final = {"$timestamp": "uint64", "$cumulative_data_weight": "int64"}
FIXED_WEIGHT: Final = 1 + 3 * 8 + 2 * 8
"""Of a row without its filling: the row itself, three numbers, two system columns."""

Row = dict[str, Any]


class Writer(Protocol):
    """Writes one batch after the other, and knows what must be there after a crash."""

    batch_count: int
    """Of those that were acknowledged."""

    def write(self, client: YtClient) -> None:
        """Write a batch; it was acknowledged if there is no error."""

    def check(self, client: YtClient) -> None:
        """After a start: look whether everything is there; what was not acknowledged is settled now."""


class Inserter:
    """Inserts into a table that others insert into as well; every batch has rows for all tablets.

    Args:
        number: tells its rows from those of others.
    """

    def __init__(self, number: int) -> None:
        self.batch_count = 0
        self._number = number
        self._choices = random.Random(number)
        self._acknowledged: dict[int, list[Row]] = {}
        self._uncertain: dict[int, list[Row]] = {}
        self._next_batch = 0

    def write(self, client: YtClient) -> None:
        batch, self._next_batch = self._next_batch, self._next_batch + 1
        rows = make_rows(self._choices, self._number, batch, range(batch_size(self._choices, TABLET_COUNT)))
        self._uncertain[batch] = rows
        client.insert_rows(TABLE, [{**row, "$tablet_index": row["position"] % TABLET_COUNT} for row in rows])
        self._acknowledged[batch] = self._uncertain.pop(batch)
        self.batch_count += 1

    def check(self, client: YtClient) -> None:
        found: dict[int, list[Row]] = {}
        for tablet_index in range(TABLET_COUNT):
            rows = [row for row in read_tablet(client, TABLE, tablet_index) if row["writer"] == self._number]
            runs = [(batch, list(run)) for batch, run in groupby(rows, key=lambda row: int(row["batch"]))]
            assert [batch for batch, _ in runs] == sorted({batch for batch, _ in runs})
            for batch, run in runs:
                found.setdefault(batch, []).extend(run)
        self._acknowledged |= {batch: rows for batch, rows in self._uncertain.items() if batch in found}
        self._uncertain.clear()
        assert sorted(found) == sorted(self._acknowledged)
        for batch, rows in found.items():
            assert len({row["$timestamp"] for row in rows}) == 1
            rows.sort(key=lambda row: int(row["position"]))
            assert contents(rows) == self._acknowledged[batch]


class Pusher:
    """Writes through a session of a producer; what was not acknowledged is sent again, as producers do."""

    def __init__(self) -> None:
        self.batch_count = 0
        self._choices = random.Random(0)
        self._epoch = -1
        self._written: list[Row] = []
        self._pending: list[Row] = []
        self._repeats = False
        self._sequence_number = -1

    def write(self, client: YtClient) -> None:
        if not self._pending:
            first = self._sequence_number + self._choices.randint(1, 3)
            numbers = range(first, first + batch_size(self._choices, 1))
            self._pending = make_rows(self._choices, -1, self._epoch, numbers)
        rows = [{**row, "$sequence_number": row["position"]} for row in self._pending]
        answer = client.push_queue_producer(PRODUCER, QUEUE, SESSION, self._epoch, rows)
        assert answer["skipped_row_count"] == (len(rows) if self._repeats else 0)
        if not self._repeats:
            self._written += self._pending
        self._repeats = False
        self._sequence_number = answer["last_sequence_number"]
        assert self._sequence_number == self._pending[-1]["position"]
        self._pending = []
        self.batch_count += 1

    def check(self, client: YtClient) -> None:
        session = client.create_queue_producer_session(PRODUCER, QUEUE, SESSION)
        assert session["epoch"] == self._epoch + 1
        self._epoch = session["epoch"]
        if session["sequence_number"] != self._sequence_number:
            assert session["sequence_number"] == self._pending[-1]["position"]
            self._written += self._pending
            self._repeats = True
        assert contents(read_tablet(client, QUEUE, 0)) == self._written


class Replacer:
    """Rewrites a static table, and then something behind it."""

    def __init__(self) -> None:
        self.batch_count = 0
        self._choices = random.Random(1)
        self._written: list[Row] = []
        self._pending: list[Row] | None = None

    def write(self, client: YtClient) -> None:
        rows = make_rows(self._choices, -2, self.batch_count, range(batch_size(self._choices, 0)))
        append = self._choices.random() < 0.5
        self._pending = [*self._written, *rows] if append else rows
        # Chunks of so few bytes that there are several, kept one by one. Not by the client's own function: that begins
        # a transaction, and interrupts the main thread when it cannot be pinged any more.
        parameters = {
            "path": f"<append=%{str(append).lower()}>{STATIC}",
            "table_writer": {"desired_chunk_size": 1000},
            "input_format": "json",
        }
        body = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        url = f"{client.config['proxy']['url']}/api/v4/write_table"
        request = urllib.request.Request(url, body, {"X-YT-Parameters": json.dumps(parameters)}, method="PUT")
        urllib.request.urlopen(request, timeout=LIMIT_SECONDS).close()
        self._written, self._pending = self._pending, None
        self.batch_count += 1

    def check(self, client: YtClient) -> None:
        rows = [dict(row) for row in client.read_table(STATIC)]
        if self._pending is not None and rows == self._pending:
            self._written = rows
        self._pending = None
        assert rows == self._written
        assert client.get(f"{STATIC}/@row_count") == len(rows)


class Transactor:
    """Changes rows of a sorted table and notes that in an ordered one, both in one tablet transaction."""

    def __init__(self) -> None:
        self.batch_count = 0
        self._choices = random.Random(5)
        self._accounts: dict[int, int] = {}
        self._journal: list[Row] = []
        self._pending: dict[int, int | None] = {}

    def write(self, client: YtClient) -> None:
        self._pending = {
            account: self._choices.choice((None, self._choices.randrange(10**9)))
            for account in self._choices.sample(range(200), self._choices.choice((1, 10, 100)))
        }
        with client.Transaction(type="tablet", ping=False):
            changed = [{"account": account, "value": value} for account, value in self._pending.items() if value]
            client.insert_rows(ACCOUNTS, changed)
            client.delete_rows(
                ACCOUNTS, [{"account": account} for account, value in self._pending.items() if not value]
            )
            client.insert_rows(JOURNAL, self._notes())
        self._settle()
        self.batch_count += 1

    def check(self, client: YtClient) -> None:
        journal = [
            {"account": row["account"], "value": row["value"]}
            for row in client.select_rows(f"* from [{JOURNAL}] where [$tablet_index] = 0")
        ]
        if len(journal) > len(self._journal):
            self._settle()
        self._pending = {}
        assert journal == self._journal
        accounts = {row["account"]: row["value"] for row in client.select_rows(f"* from [{ACCOUNTS}]")}
        assert accounts == self._accounts

    def _notes(self) -> list[Row]:
        return [{"account": account, "value": value} for account, value in self._pending.items()]

    def _settle(self) -> None:
        self._journal += self._notes()
        self._accounts |= {account: value for account, value in self._pending.items() if value}
        for account, value in self._pending.items():
            if not value:
                self._accounts.pop(account, None)
        self._pending = {}


class Gardener:
    """Plants, moves and uproots nodes of the tree, several at a time in a transaction."""

    def __init__(self) -> None:
        self.batch_count = 0
        self._choices = random.Random(6)
        self._tree: Row = {}
        self._pending: Row | None = None
        self._next_name = 0

    def write(self, client: YtClient) -> None:
        self._pending = pending = dict(self._tree)
        with client.Transaction(ping=False):
            for _ in range(self._choices.choice((1, 3, 10))):
                self._change(client, pending)
        self._tree = pending
        self.batch_count += 1

    def check(self, client: YtClient) -> None:
        tree = client.get(DIRECTORY)
        assert tree in (self._tree, self._pending)
        assert set(client.list(DIRECTORY)) == set(tree)
        self._tree = dict(tree)
        self._pending = None

    def _change(self, client: YtClient, tree: Row) -> None:
        name, self._next_name = f"n{self._next_name}", self._next_name + 1
        match self._choices.randrange(4):
            case 0 if tree:
                gone = self._choices.choice(sorted(tree))
                client.remove(f"{DIRECTORY}/{gone}", recursive=True)
                del tree[gone]
            case 1 if tree:
                moved = self._choices.choice(sorted(tree))
                client.move(f"{DIRECTORY}/{moved}", f"{DIRECTORY}/{name}")
                tree[name] = tree.pop(moved)
            case 2:
                client.create("map_node", f"{DIRECTORY}/{name}/inner", recursive=True)
                tree[name] = {"inner": {}}
            case _:
                value = [self._next_name, "x" * self._choices.randrange(200)]
                client.set(f"{DIRECTORY}/{name}", value)
                tree[name] = value


def batch_size(choices: random.Random, at_least: int) -> int:
    return choices.choices((at_least, 5, 40, 1000), (4, 4, 2, 1))[0]


def make_rows(choices: random.Random, writer: int, batch: int, positions: Sequence[int]) -> list[Row]:
    return [
        {"writer": writer, "batch": batch, "position": position, "filling": "x" * choices.randrange(100)}
        for position in positions
    ]


def contents(rows: Sequence[Row]) -> list[Row]:
    """Rows without system columns."""
    return [{name: row[name] for name in COLUMNS} for row in rows]


def read_tablet(client: YtClient, path: str, tablet_index: int) -> list[Row]:
    """All rows of a tablet; their indexes, timestamps and weights must make sense, and agree with the tablet's own."""
    rows: list[Row] = list(client.select_rows(f"* from [{path}] where [$tablet_index] = {tablet_index}"))
    assert [row["$row_index"] for row in rows] == list(range(len(rows)))
    timestamps = [row["$timestamp"] for row in rows]
    assert timestamps == sorted(timestamps)
    weight = 0
    for row in rows:
        weight += FIXED_WEIGHT + len(row["filling"])
        assert row["$cumulative_data_weight"] == weight
    [info] = client.get_tablet_infos(path, [tablet_index])["tablets"]
    assert info["total_row_count"] == len(rows)
    assert not rows or info["last_write_timestamp"] == timestamps[-1]
    return rows


def create_tables(client: YtClient) -> None:
    schema = [{"name": name, "type": kind} for name, kind in {**COLUMNS, **SYSTEM_COLUMNS}.items()]
    for path, tablet_count in ((TABLE, TABLET_COUNT), (QUEUE, 1)):
        client.create("table", path, attributes={"dynamic": True, "schema": schema, "tablet_count": tablet_count})
        client.mount_table(path)
    client.create("table", STATIC)
    client.create("queue_producer", PRODUCER)
    client.mount_table(PRODUCER)
    numbers = [{"name": name, "type": "int64"} for name in ("account", "value")]
    for path, schema in ((ACCOUNTS, [{**numbers[0], "sort_order": "ascending"}, numbers[1]]), (JOURNAL, numbers)):
        client.create("table", path, attributes={"dynamic": True, "schema": schema})
        client.mount_table(path)
    client.create("map_node", DIRECTORY)


def abort_orphans(client: YtClient) -> None:
    """End transactions whose clients are dead; by themselves they would hold their locks until they expire."""
    for transaction in client.list("//sys/transactions"):
        try:
            client.abort_transaction(transaction)
        except YtError as error:
            if not error.is_no_such_transaction():  # gone with its parent
                raise


def write_until_killed(writer: Writer, url: str, killed: threading.Event, too_early: list[Exception]) -> None:
    with connected(url) as client:
        try:
            while True:
                writer.write(client)
        except (YtError, OSError, HTTPError) as error:
            if not killed.is_set():
                too_early.append(error)


def assert_written(writers: Sequence[Writer], batch_counts: Sequence[int], too_early: Sequence[Exception]) -> None:
    assert all(writer.batch_count >= count for writer, count in zip(writers, batch_counts, strict=True)) or too_early


@pytest.mark.slow
@pytest.mark.timeout(600 * ROUNDS)
def test_acknowledged_batches_survive_being_killed_and_the_others_are_whole_or_absent(tmp_path: Path) -> None:
    options = ("--agents=0", f"--data-dir={tmp_path / 'data'}")
    choices = random.Random(17)
    writers: list[Writer] = [Inserter(1), Inserter(2), Pusher(), Transactor(), Gardener(), Replacer()]
    for number in range(ROUNDS):
        with started(tmp_path, *options, clusters=("pythia",)) as playground, ExitStack() as stack:
            playground.wait_ready()
            url = playground.clusters["pythia"]
            client = stack.enter_context(connected(url))
            if number == 0:
                create_tables(client)
            abort_orphans(client)
            for writer in writers:
                writer.check(client)
            killed = threading.Event()
            too_early: list[Exception] = []
            threads = [
                threading.Thread(target=write_until_killed, args=(writer, url, killed, too_early)) for writer in writers
            ]
            wanted = [writer.batch_count + choices.randrange(1, 6) for writer in writers]
            for thread in threads:
                thread.start()
            eventually(partial(assert_written, writers, wanted, too_early), seconds=60)
            killed.set()
            playground.process.kill()
            for thread in threads:
                thread.join()
            assert too_early == []
            assert playground.errors() == ""
    with (
        running(tmp_path, *options, clusters=("pythia",)) as playground,
        connected(playground.clusters["pythia"]) as client,
    ):
        abort_orphans(client)
        for writer in writers:
            writer.check(client)
            writer.write(client)
            writer.check(client)


@pytest.mark.parametrize("file", ["pythia.sqlite", "pythia.sqlite-wal"])
def test_a_cluster_killed_while_it_is_set_up_is_whole_after_the_next_start(tmp_path: Path, file: str) -> None:
    options = ("--agents=0", f"--data-dir={tmp_path / 'data'}")
    path = tmp_path / "data" / file

    def assert_begun() -> None:
        assert path.exists() and path.stat().st_size > 0

    with started(tmp_path, *options, clusters=("pythia",)) as playground:
        eventually(assert_begun)
        playground.process.kill()
    with (
        running(tmp_path, *options, clusters=("pythia",)) as playground,
        connected(playground.clusters["pythia"]) as client,
    ):
        assert list(client.select_rows("* from [//sys/queue_agents/queues]")) == []
        create_tables(client)
        assert read_tablet(client, QUEUE, 0) == []
