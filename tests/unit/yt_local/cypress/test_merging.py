"""What becomes of a transaction's changes of tables when others have changed them too."""

from __future__ import annotations

import pytest

from yt_local.base.clock import Clock
from yt_local.cypress.master_transactions import MasterTransactions
from yt_local.cypress.transaction_view import TransactionView
from yt_local.security.permissions import UNLIMITED
from yt_local.store.locks import EXCLUSIVE, SHARED
from yt_local.store.state import ClusterState, TreeState
from yt_local.store.storage import Storage
from yt_local.tables.static.uploads import put_content
from yt_local.tables.view import TableView
from yt_wire.error import YtError

TABLE = "//t"


class World:
    """A table, and who writes it."""

    def __init__(self) -> None:
        self.state = ClusterState(Storage(None), Clock(lambda: 1_700_000_000.0), 1001)
        self.transactions = MasterTransactions(self.state)
        cypress = TableView(self.state).cypress
        with self.state.change():
            cypress.create_root()
            cypress.create(UNLIMITED, TABLE, "table", {})

    def start(self, parent: str | None = None) -> str:
        return self.transactions.start(parent_id=parent).id

    def seen_by(self, transaction_id: str | None) -> TreeState:
        return TransactionView(self.state, transaction_id) if transaction_id else self.state

    def chunks(self, transaction_id: str | None = None) -> tuple[str, ...]:
        view = TableView(self.seen_by(transaction_id))
        return view.resolver.node(TABLE).content.chunk_ids

    def append(self, transaction_id: str | None, *chunk_ids: str) -> None:
        self._write(transaction_id, chunk_ids, append=True)

    def overwrite(self, transaction_id: str | None, *chunk_ids: str) -> None:
        self._write(transaction_id, chunk_ids, append=False)

    def _write(self, transaction_id: str | None, chunk_ids: tuple[str, ...], append: bool) -> None:
        view = TableView(self.seen_by(transaction_id))
        node = view.resolver.node(TABLE)
        with view.state.change():
            view.state.lock(node, SHARED if append else EXCLUSIVE)
            put_content(view, node, chunk_ids, append=append, table=node.table)


@pytest.fixture
def world() -> World:
    return World()


def test_what_several_append_is_all_kept(world: World) -> None:
    world.append(None, "a")
    first, second = world.start(), world.start()
    world.append(first, "b")
    world.append(second, "c")
    world.append(None, "d")
    world.append(first, "e")
    assert world.chunks(first) == ("a", "b", "e")
    assert world.chunks(second) == ("a", "c")
    world.transactions.commit(second)
    world.transactions.commit(first)
    assert world.chunks() == ("a", "d", "c", "b", "e")


def test_appends_of_nested_transactions_add_up(world: World) -> None:
    world.append(None, "a")
    outer = world.start()
    one, two = world.start(outer), world.start(outer)
    world.append(one, "b")
    world.append(two, "c")
    world.append(None, "d")
    world.transactions.commit(one)
    world.transactions.commit(two)
    assert world.chunks(outer) == ("a", "b", "c")
    assert world.chunks() == ("a", "d")
    world.transactions.commit(outer)
    assert world.chunks() == ("a", "d", "b", "c")


def test_an_append_behind_what_the_parent_wrote_is_part_of_it(world: World) -> None:
    world.append(None, "a")
    outer = world.start()
    world.overwrite(outer, "b")
    inner = world.start(outer)
    world.append(inner, "c")
    world.transactions.commit(inner)
    assert world.chunks(outer) == ("b", "c")
    world.transactions.commit(outer)
    assert world.chunks() == ("b", "c")


def test_an_overwrite_replaces_what_was_appended_before(world: World) -> None:
    world.append(None, "a")
    outer = world.start()
    world.append(outer, "b")
    inner = world.start(outer)
    world.overwrite(inner, "c")
    world.append(inner, "d")
    world.transactions.commit(inner)
    assert world.chunks(outer) == ("c", "d")
    world.transactions.commit(outer)
    assert world.chunks() == ("c", "d")


def test_attributes_alone_leave_what_others_append(world: World) -> None:
    transaction = world.start()
    TableView(world.seen_by(transaction)).cypress.set(UNLIMITED, f"{TABLE}/@x", 1)
    world.append(None, "a")
    assert world.chunks(transaction) == ("a",)
    world.transactions.commit(transaction)
    assert world.chunks() == ("a",)
    assert TableView(world.state).cypress.get(UNLIMITED, f"{TABLE}/@x") == 1


def test_nobody_appends_to_what_is_being_overwritten(world: World) -> None:
    transaction = world.start()
    world.overwrite(transaction, "a")
    with pytest.raises(YtError, match="concurrent transaction"):
        world.append(None, "b")
    world.transactions.abort(transaction)
    world.append(None, "b")
    assert world.chunks() == ("b",)


def test_values_that_are_equal_to_python_are_not_the_same(world: World) -> None:
    cypress = TableView(world.state).cypress
    cypress.set(UNLIMITED, "//@x", 1)
    transaction = world.start()
    inside = TableView(world.seen_by(transaction)).cypress
    inside.set(UNLIMITED, "//@x", True)
    assert inside.get(UNLIMITED, "//@x") is True
    world.transactions.commit(transaction)
    assert cypress.get(UNLIMITED, "//@x") is True
