"""A cluster without proxies, whose storage may fail."""

from __future__ import annotations

import copy
import random
from typing import Any

from yt_local.base.clock import Clock
from yt_local.cypress.attributes import Attributes
from yt_local.cypress.cypress import Cypress
from yt_local.cypress.cypress_view import CypressView
from yt_local.cypress.master_transactions import MasterTransactions
from yt_local.cypress.resolver import Resolver
from yt_local.cypress.transaction_view import TransactionView
from yt_local.queues.producers import Producers
from yt_local.rows.row_locks import LockHistory
from yt_local.security.permissions import UNLIMITED
from yt_local.security.subjects import ROOT
from yt_local.store.state import ClusterState
from yt_local.store.storage import Storage
from yt_local.tables.dynamic.table_writer import TableWriter
from yt_local.tables.dynamic.tables import DynamicTables
from yt_local.tables.dynamic.tablets import Tablets
from yt_local.tables.replication.directory import ClusterDirectory
from yt_local.tables.replication.replication import Replication
from yt_local.tables.view import TableKinds, TableView
from yt_wire.error import YtError

QUEUE = [{"name": "data", "type": "string"}, {"name": "$timestamp", "type": "uint64"}]


SORTED = [{"name": "key", "type": "int64", "sort_order": "ascending"}, {"name": "value", "type": "string"}]


ACCOUNTS = ("tmp", "ada", "bob")


class DiskFull(Exception):
    """The storage can take no more."""


class FailingStorage(Storage):
    """A storage that works until it has been written to so many times; None: for ever."""

    patience: int | None = None

    def __getattribute__(self, name: str) -> Any:
        if name.startswith(("put_", "delete_", "drop_", "append_", "copy_", "move_")) and self.patience is not None:
            self.patience -= 1
            if self.patience == 0:
                raise DiskFull
        return super().__getattribute__(name)


class World:
    """What commands work on, without a server."""

    def __init__(self) -> None:
        self.storage = FailingStorage(None)
        self.state = ClusterState(self.storage, Clock(lambda: 1_700_000_000.0), 1001)
        resolver = Resolver(self.state)
        replication = Replication(self.state, ClusterDirectory())
        self.tablets = Tablets(self.state, resolver)
        attributes = Attributes(self.state, resolver, TableKinds(replication))
        self.cypress = Cypress(self.state, resolver, attributes, self.tablets)
        self.view: CypressView = TableView(self.state)
        self.tables = DynamicTables(self.state, resolver, replication)
        self.writer = TableWriter(
            self.state, self.tables, replication, attributes.limits, LockHistory(), random.Random(0)
        )
        self.producers = Producers("pythia", resolver, self.tables, self.writer)
        self.transactions = MasterTransactions(self.state)
        with self.state.change():
            self.cypress.create_root()
            self.cypress.create(UNLIMITED, "//sys/tablet_cells", "map_node", {}, recursive=True)
            self.cypress.create_object("//sys/tablet_cells", "tablet_cell", {"peers": [{"address": "x"}]})
            self.cypress.create(UNLIMITED, "//sys/users", "map_node", {})
            self.cypress.create_object("//sys/users", "user", {"name": ROOT})
            self.cypress.create(UNLIMITED, "//sys/accounts", "map_node", {})
            for account in ACCOUNTS:
                self.cypress.create_object("//sys/accounts", "account", {"name": account})

    def transaction(self, number: int) -> str:
        """One of the open transactions, oldest first; YtError if there is none."""
        known = sorted(transaction.id for transaction in self.state.versions.transactions)
        if not known:
            raise YtError("No such transaction")
        return known[number % len(known)]

    def within(self, transaction_id: str) -> World:
        """The same, as the transaction sees it."""
        view = TableView(TransactionView(self.state, transaction_id))
        world = copy.copy(self)
        world.view, world.cypress, world.tablets = view, view.cypress, view.tablets
        return world

    def seen(self) -> Any:
        """Everything: what is in memory, what would be after a restart, and every row."""
        database = self.storage._database
        rows = [
            database.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()
            for table in ("ordered_rows", "sorted_rows", "nodes", "tablets", "transactions", "locks", "branches")
        ]
        return in_memory(self.state), rows


def usage_of(state: ClusterState, account: str) -> Any:
    """What an account is charged: nodes and chunks, those outside of transactions, and dynamic tables."""
    charges = state.charges
    return (
        charges.usage(account),
        charges.committed_usage(account),
        {node.id for node in charges.dynamic_tables(account)},
    )


def in_memory(state: ClusterState) -> Any:
    """Nodes, who is whose child, tablets, what transactions have, and what accounts are charged."""
    nodes = {node_id: node.encode() for node_id, node in state._nodes.items()}
    children = {parent: dict(found) for parent, found in state._children.items() if found}
    tablets = {table: dict(found) for table, found in state.tablets._tablets.items() if found}
    versions = state.versions
    transactions = {transaction.id: transaction.encode() for transaction in versions.transactions}
    locks = {lock.id: lock.encode() for lock in versions.locks}
    branches = {(branch.transaction_id, branch.node.id): branch.encode() for branch in versions.branches}
    indexes = (
        {each: set(versions.nested(each)) for each in transactions},
        {each: [lock.id for lock in versions.locks_by(each)] for each in transactions},
        {each: [lock.id for lock in versions.locks_of(each)] for each in nodes},
        {each: {branch.node.id for branch in versions.branches_by(each)} for each in transactions},
        {each for each in nodes if versions.needs(each)},
        set(state._apart),
        {account: usage_of(state, account) for account in ACCOUNTS},
    )
    tree = nodes, children, tablets, state.root.id if state.root else None
    return tree, transactions, locks, branches, indexes
