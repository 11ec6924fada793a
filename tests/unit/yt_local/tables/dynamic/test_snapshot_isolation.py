"""Random tablet transactions against a plain model: what they read, which commits succeed, and what is there then."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from yt_local.base.clock import LATEST_TIMESTAMP, Clock
from yt_local.cypress.attributes import Attributes
from yt_local.cypress.cypress import Cypress
from yt_local.cypress.resolver import Resolver
from yt_local.rows.row_locks import LOCK_TYPES, LockHistory, LockName
from yt_local.security.permissions import UNCHECKED, UNLIMITED
from yt_local.store.retained_rows import ReadWindow
from yt_local.store.state import ClusterState
from yt_local.store.storage import Storage
from yt_local.tables.dynamic.sorted_resharding import Sharding
from yt_local.tables.dynamic.table_writer import TableWriter
from yt_local.tables.dynamic.tables import DynamicTables
from yt_local.tables.dynamic.tablet_transaction import TabletTransaction
from yt_local.tables.dynamic.tablet_transactions import TabletTransactions
from yt_local.tables.dynamic.tablets import Tablets
from yt_local.tables.replication.directory import ClusterDirectory
from yt_local.tables.replication.replication import Replication
from yt_local.tables.view import TableKinds
from yt_wire.error import ErrorCode, YtError

TABLE, QUEUE = "//t", "//q"
SCHEMA = [
    {"name": "key", "type": "int64", "sort_order": "ascending"},
    {"name": "a", "type": "int64", "lock": "la"},
    {"name": "b", "type": "int64", "lock": "lb", "aggregate": "sum"},
    {"name": "c", "type": "int64"},
]
GROUP_OF: dict[str, int] = {"c": 0, "a": 1, "b": 2}


Row: TypeAlias = dict[str, int | None]
Rows: TypeAlias = dict[int, Row]
Lock: TypeAlias = Literal["weak", "strong", "shared", "exclusive"]
STRENGTH: dict[Lock, int] = {"weak": 1, "strong": 2, "shared": 3, "exclusive": 4}


@dataclass
class Model:
    """Everything that was ever committed: one moment after the other."""

    moments: list[Rows] = field(default_factory=lambda: [{}])
    journal: list[int] = field(default_factory=list)
    locked: dict[tuple[int, int, Lock], int] = field(default_factory=dict)
    """Moment of the last lock of a kind on a group of a row."""

    layout: int = 0
    """How often the table was unmounted."""

    refused: int = 0
    """Commits that lost to others."""


@dataclass
class Open:
    """A transaction, and what is to be expected of it."""

    real: TabletTransaction
    start: int
    steps: list[Callable[[Rows, list[int]], None]] = field(default_factory=list)
    locks: dict[int, dict[int, Lock]] = field(default_factory=dict)
    layout: int | None = None
    """Of the table when it was first written to."""

    def lock(self, key: int, groups: set[int], lock: Lock) -> None:
        held = self.locks.setdefault(key, {})
        for group in groups:
            held[group] = stronger(held.get(group), lock)


def stronger(one: Lock | None, other: Lock) -> Lock:
    if one is None:
        return other
    if "shared" in (one, other) and {one, other} & {"weak", "strong"}:
        return "exclusive"
    return max(one, other, key=STRENGTH.__getitem__)


def clashes(mine: Lock, theirs: Lock) -> bool:
    """Whether a lock cannot follow one that was committed since the transaction started."""
    if theirs == "weak":
        return False
    if mine in ("weak", "strong"):
        return theirs in ("shared", "exclusive")
    return not (mine == theirs == "shared")


def encoded(key: int, row: Row) -> dict[bytes, Any]:
    return {b"key": key, **{name.encode(): value for name, value in row.items()}}


class World:
    """A sorted table of one or more tablets and a queue, which are written together; steps are drawn at random."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.state = ClusterState(Storage(None), Clock(lambda: 1_700_000_000.0), 1001)
        resolver = Resolver(self.state)
        replication = Replication(self.state, ClusterDirectory())
        self.tablets = Tablets(self.state, resolver)
        self.tables = DynamicTables(self.state, resolver, replication)
        history = LockHistory()
        attributes = Attributes(self.state, resolver, TableKinds(replication))
        self.writer = TableWriter(self.state, self.tables, replication, attributes.limits, history, random.Random(0))
        self.open = TabletTransactions(self.state, self.writer, history)
        cypress = Cypress(self.state, resolver, attributes, self.tablets)
        with self.state.change():
            cypress.create_root()
            cypress.create(UNLIMITED, "//sys/tablet_cells", "map_node", {}, recursive=True)
            cypress.create_object("//sys/tablet_cells", "tablet_cell", {"peers": [{"address": "x"}]})
            shared = {"enable_shared_write_locks": True}
            cypress.create(UNLIMITED, TABLE, "table", {"dynamic": True, "schema": SCHEMA, **shared})
            cypress.create(UNLIMITED, QUEUE, "table", {"dynamic": True, "schema": [{"name": "data", "type": "int64"}]})
        self.tablets.mount(UNLIMITED, TABLE)
        self.tablets.mount(UNLIMITED, QUEUE)
        self.model = Model()
        self.transactions: list[Open] = []
        self.steps: list[str] = []
        """What has been done, for whoever reads a failure."""

        self.weights: dict[Callable[[], object], int] = {
            self.start: 4,
            self.insert: 8,
            self.delete: 2,
            self.lock: 4,
            self.append: 1,
            self.read: 2,
            self.commit: 5,
            self.abort: 1,
            self.write_at_once: 1,
            self.reshard: 1 if seed % 4 == 0 else 0,
        }

    def step(self) -> None:
        (chosen,) = self.random.choices(list(self.weights), list(self.weights.values()))
        if not self.transactions:
            chosen = self.start
        self.steps.append(chosen.__name__)
        chosen()
        self.check_rows(self.model.moments[-1], LATEST_TIMESTAMP)
        queue = self.tables.open(QUEUE, UNCHECKED)
        assert [row[2] for row in self.tables.read_ordered(queue, 0, 0)] == self.model.journal

    def start(self) -> None:
        self.transactions.append(Open(self.open.start(), len(self.model.moments) - 1))

    def insert(self) -> None:
        transaction = self.transaction()
        update, aggregate = self.random.random() < 0.7, self.random.random() < 0.5
        lock: Literal["shared", "exclusive"] = "shared" if self.random.random() < 0.3 else "exclusive"
        self.insert_into(transaction, self.key(), self.row(), update, aggregate, lock)

    def delete(self) -> None:
        transaction, key = self.transaction(), self.key()
        self.touch(transaction)
        self.writer.delete_rows(UNLIMITED, TABLE, [{b"key": key}], transaction=transaction.real)

        def step(rows: Rows, _: list[int]) -> None:
            rows.pop(key, None)

        transaction.steps.append(step)
        transaction.lock(key, {0}, "exclusive")

    def lock(self) -> None:
        transaction, key, group = self.transaction(), self.key(), self.random.choice((1, 2))
        kinds: dict[Lock, LockName] = {"weak": "shared_weak", "strong": "shared_strong", "exclusive": "exclusive"}
        lock = self.random.choice(list(kinds))
        self.touch(transaction)
        name = "la" if group == 1 else "lb"
        self.writer.lock_rows(UNLIMITED, TABLE, [{b"key": key}], [name], LOCK_TYPES[kinds[lock]], transaction.real)
        transaction.lock(key, {group}, lock)

    def append(self) -> None:
        transaction, number = self.transaction(), self.random.randrange(100)
        self.writer.insert_rows(UNLIMITED, QUEUE, [{b"data": number}], transaction=transaction.real)
        transaction.steps.append(lambda _, journal: journal.append(number))

    def read(self) -> None:
        transaction, key = self.transaction(), self.key()
        rows = list(
            self.tables.lookup_rows(UNLIMITED, TABLE, [{b"key": key}], timestamp=transaction.real.read_timestamp)
        )
        then = self.model.moments[transaction.start].get(key)
        assert rows == ([] if then is None else [{"key": key, **then}])
        self.check_rows(self.model.moments[transaction.start], transaction.real.start_timestamp)

    def commit(self) -> None:
        transaction = self.transaction()
        self.transactions.remove(transaction)
        expected = self.expected_failure(transaction)
        try:
            self.open.commit(transaction.real.id)
        except YtError as error:
            assert expected is not None and error.find(expected) is not None, error
            self.model.refused += expected == ErrorCode.TABLET_TRANSACTION_LOCK_CONFLICT
        else:
            assert expected is None
            self.committed(transaction)

    def abort(self) -> None:
        transaction = self.transaction()
        self.transactions.remove(transaction)
        self.open.abort(transaction.real.id)

    def write_at_once(self) -> None:
        key, row, update = self.key(), self.row(), self.random.random() < 0.7
        planned = Open(self.open.start(), 0)
        self.insert_into(planned, key, row, update, aggregate=False, lock="exclusive")
        self.open.abort(planned.real.id)
        self.writer.insert_rows(UNLIMITED, TABLE, [encoded(key, row)], update=update)
        self.committed(planned)

    def reshard(self) -> None:
        self.tablets.unmount(UNLIMITED, TABLE)
        self.tablets.reshard(UNLIMITED, TABLE, Sharding(self.random.choice(([[]], [[], [1]], [[], [1], [3]]))))
        self.tablets.mount(UNLIMITED, TABLE)
        self.model.layout += 1

    def transaction(self) -> Open:
        return self.random.choice(self.transactions)

    def key(self) -> int:
        return self.random.choice((1, 1, 1, 0, 3))

    def row(self) -> Row:
        names = self.random.sample("abc", self.random.choice((1, 1, 2, 3)))
        return {name: self.random.choice((None, -1, 1, 2)) for name in names}

    def check_rows(self, expected: Rows, timestamp: int) -> None:
        rows = self.tables.read_sorted(self.tables.open(TABLE, UNCHECKED), b"", None, ReadWindow(timestamp))
        assert list(rows) == [(key, *(expected[key][name] for name in "abc")) for key in sorted(expected)]

    def insert_into(
        self, transaction: Open, key: int, row: Row, update: bool, aggregate: bool, lock: Literal["shared", "exclusive"]
    ) -> None:
        self.touch(transaction)
        kind: LockName = "shared_write" if lock == "shared" else "exclusive"
        self.writer.insert_rows(
            UNLIMITED,
            TABLE,
            [encoded(key, row)],
            update=update,
            aggregate=aggregate,
            lock=LOCK_TYPES[kind],
            transaction=transaction.real,
        )

        def step(rows: Rows, _: list[int]) -> None:
            old = rows.get(key) or dict.fromkeys("abc")
            new = {**old, **row} if update else {**dict.fromkeys("abc"), **row}
            if aggregate and old["b"] is not None and ("b" in row or not update):
                new["b"] = old["b"] + (row.get("b") or 0)
            rows[key] = new

        transaction.steps.append(step)
        transaction.lock(key, {GROUP_OF[name] for name in (row if update else "abc")}, lock)

    def touch(self, transaction: Open) -> None:
        if transaction.layout is None:
            transaction.layout = self.model.layout

    def expected_failure(self, transaction: Open) -> int | None:
        if transaction.layout not in (None, self.model.layout):
            return ErrorCode.NO_SUCH_TABLET
        for key, held in transaction.locks.items():
            checked: dict[int, Lock] = dict(held)
            if 0 in held:
                for group in (1, 2):
                    checked[group] = stronger(held.get(group), held[0])
            checked[0] = max(held.values(), key=STRENGTH.__getitem__)
            for group, mine in checked.items():
                for theirs in STRENGTH:
                    moment = self.model.locked.get((key, group, theirs), 0)
                    if moment > transaction.start and clashes(mine, theirs):
                        return ErrorCode.TABLET_TRANSACTION_LOCK_CONFLICT
        return None

    def committed(self, transaction: Open) -> None:
        rows = {key: dict(row) for key, row in self.model.moments[-1].items()}
        for step in transaction.steps:
            step(rows, self.model.journal)
        self.model.moments.append(rows)
        for key, held in transaction.locks.items():
            for group, lock in held.items():
                self.model.locked[key, group, lock] = len(self.model.moments) - 1


def run(seed: int) -> Model:
    """Do 150 steps; AssertionError as soon as the tables are not what the model says."""
    world = World(seed)
    for _ in range(150):
        try:
            world.step()
        except AssertionError as error:
            error.add_note(f"seed {seed}, after {world.steps}")
            raise
    return world.model


@settings(max_examples=60, phases=[Phase.generate])
@given(st.integers(0, 2**32))
def test_transactions_see_one_moment_and_only_the_first_of_two_rivals_commits(seed: int) -> None:
    run(seed)


def test_the_random_transactions_do_get_in_each_others_way() -> None:
    models = [run(seed) for seed in range(1, 6)]
    assert sum(model.refused for model in models) > 10
    assert sum(len(model.moments) for model in models) > 50
