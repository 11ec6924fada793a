"""Random transactions against a plain model: a log of steps for each, and what they make of a dictionary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from yt_local.base.clock import Clock
from yt_local.cypress.master_transactions import MasterTransactions
from yt_local.cypress.transaction_view import TransactionView
from yt_local.security.permissions import UNLIMITED
from yt_local.store.locks import SNAPSHOT
from yt_local.store.state import ClusterState
from yt_local.store.storage import Storage
from yt_local.tables.view import TableView
from yt_wire.error import ErrorCode, YtError

CONFLICTS = frozenset(
    {
        ErrorCode.CYPRESS_LOCK_CONFLICT,
        ErrorCode.SAME_TRANSACTION_LOCK_CONFLICT,
        ErrorCode.DESCENDANT_TRANSACTION_LOCK_CONFLICT,
    }
)
DIRECTORIES = ("d", "e")
LEAVES = ("x", "y")
ATTRIBUTES = ("a", "b")

Tree = dict[str, Any]
"""Values by path: of leaves `d/x`, of attributes `d/@a`, and None for a directory `d` that is there."""


@dataclass(frozen=True)
class Step:
    """What is done at one path."""

    path: str
    value: int | None
    """None: remove what is there."""

    def applies_to(self, tree: Tree) -> bool:
        directory, _, rest = self.path.partition("/")
        if not rest:
            return (directory in tree) == (self.value is None)
        return directory in tree and (self.value is not None or self.path in tree)

    def apply(self, tree: Tree) -> None:
        assert self.applies_to(tree), "somebody has changed what was locked"
        if self.value is None:
            for path in [path for path in tree if (path + "/").startswith(self.path + "/")]:
                del tree[path]
        else:
            tree[self.path] = self.value if "/" in self.path else None

    def meets(self, other: Step) -> bool:
        """Whether two transactions cannot both have done this."""
        one, two = self.path + "/", other.path + "/"
        return one.startswith(two) or two.startswith(one)


@dataclass(eq=False)
class Open:
    """A transaction of the model."""

    id: str
    parent: Open | None
    log: list[Step] = field(default_factory=list)
    snapshots: dict[str, int] = field(default_factory=dict)
    """Values of locked leaves by id of the node."""

    @property
    def lineage(self) -> Iterator[Open]:
        current: Open | None = self
        while current:
            yield current
            current = current.parent


PATHS = (
    *DIRECTORIES,
    *(f"{directory}/{leaf}" for directory in DIRECTORIES for leaf in LEAVES),
    *(f"{directory}/@{attribute}" for directory in DIRECTORIES for attribute in ATTRIBUTES),
)


class Transactions(RuleBasedStateMachine):
    """Steps inside and outside of transactions; what everybody sees is compared after each."""

    def __init__(self) -> None:
        super().__init__()
        self.storage = Storage(None)
        self.clock = Clock(lambda: 1_700_000_000.0)
        self.state = ClusterState(self.storage, self.clock, 1001)
        self.transactions = MasterTransactions(self.state)
        with self.state.change():
            TableView(self.state).cypress.create_root()
        self.committed: Tree = {}
        self.known: list[Open] = []
        self.values = count()

    def teardown(self) -> None:
        self.storage.close()

    @initialize()
    def directories_are_there(self) -> None:
        for name in DIRECTORIES:
            self.run(None, Step(name, 0))

    @rule(inside=st.sampled_from([None, 0, 0, 1, 2]))
    @precondition(lambda self: len(self.known) < 4)
    def start(self, inside: int | None) -> None:
        parent = None if inside is None else self.pick(inside)
        transaction_id = self.transactions.start(parent_id=parent.id if parent else None).id
        self.known.append(Open(transaction_id, parent))

    @rule(numbers=st.lists(st.sampled_from([0, 1, 2, 3, None]), min_size=1, max_size=8), choice=st.data())
    @precondition(lambda self: self.known)
    def change(self, numbers: list[int | None], choice: st.DataObject) -> None:
        for number in numbers:
            transaction = None if number is None else self.pick(number)
            seen = self.seen_by(transaction)
            steps = [Step(path, value) for path in PATHS for value in (None, next(self.values))]
            self.run(transaction, choice.draw(st.sampled_from([step for step in steps if step.applies_to(seen)])))

    @rule(number=st.integers(0, 3), choice=st.data())
    @precondition(lambda self: self.known)
    def take_a_snapshot(self, number: int, choice: st.DataObject) -> None:
        transaction = self.pick(number)
        assert transaction is not None
        seen = self.seen_by(transaction)
        leaves = [path for path in seen if "/" in path and "@" not in path]
        if not leaves:
            return
        path = choice.draw(st.sampled_from(leaves))
        node = self.view(transaction).resolver.node("//" + path)
        if node.id in transaction.snapshots:
            return
        inherited = [above.snapshots[node.id] for above in transaction.lineage if node.id in above.snapshots]
        try:
            self.transactions.lock(transaction.id, node, SNAPSHOT, waitable=False)
        except YtError as error:
            assert error.code in CONFLICTS
            changed = [step.path for other in self.below(transaction) for step in other.log]
            assert any(path == other or path.startswith(f"{other}/") for other in changed)  # a subtree goes as a whole
        else:
            transaction.snapshots[node.id] = inherited[0] if inherited else seen[path]

    @rule(number=st.integers(0, 3), how=st.sampled_from(["commit", "commit", "abort", "restart"]))
    @precondition(lambda self: self.known)
    def end(self, number: int, how: str) -> None:
        transaction = self.pick(number)
        assert transaction is not None
        if how == "restart":
            self.state = ClusterState(self.storage, self.clock, 1001)
            self.transactions = MasterTransactions(self.state)
        elif how == "abort":
            self.transactions.abort(transaction.id)
            self.forget(transaction)
        else:
            self.transactions.commit(transaction.id)
            self.forget(transaction)
            if transaction.parent:
                transaction.parent.log += transaction.log
            else:
                for step in transaction.log:
                    step.apply(self.committed)

    @invariant()
    def everybody_sees_what_the_model_says(self) -> None:
        for transaction in (None, *self.known):
            expected = self.seen_by(transaction)
            found = self.look(transaction)
            for path in self.snapshot_paths(transaction):
                expected.pop(path, None)
                found.pop(path, None)
            assert found == expected

    @invariant()
    def snapshots_stay_as_they_were(self) -> None:
        for transaction in self.known:
            cypress = self.view(transaction).cypress
            for node_id, value in transaction.snapshots.items():
                assert cypress.get(UNLIMITED, f"#{node_id}") == value

    @invariant()
    def nothing_is_left_when_no_transaction_is(self) -> None:
        if not self.known:
            assert not self.state.versions.locks
            assert not list(self.state.versions.branches)
            assert len(list(self.state.nodes())) == 1 + len([path for path in self.committed if "@" not in path])

    def pick(self, number: int) -> Open | None:
        """One of the open transactions; None if there is none."""
        return self.known[number % len(self.known)] if self.known else None

    def forget(self, transaction: Open) -> None:
        self.known = [each for each in self.known if transaction not in each.lineage]

    def below(self, transaction: Open) -> Iterable[Open]:
        return (each for each in self.known if transaction in each.lineage)

    def run(self, transaction: Open | None, step: Step) -> None:
        lineage = list(transaction.lineage) if transaction else []
        others = [done for each in self.known if each not in lineage for done in each.log]
        snapshots = [path for path in self.snapshot_paths(transaction) if (path + "/").startswith(step.path + "/")]
        try:
            self.do(transaction, step)
        except YtError as error:
            assert error.code in CONFLICTS, error
            # Who removes a directory needs all of it, who changes a part of one only that part.
            assert snapshots or any(step.meets(other) for other in others), error
            return
        assert not any(step.meets(other) for other in others), "two have changed the same"
        if transaction:
            transaction.log.append(step)
        else:
            step.apply(self.committed)

    def do(self, transaction: Open | None, step: Step) -> None:
        cypress = self.view(transaction).cypress
        path = "//" + step.path
        if step.value is None:
            cypress.remove(UNLIMITED, path, recursive=True)
        elif "/" in step.path:
            cypress.set(UNLIMITED, path, step.value)
        else:
            cypress.create(UNLIMITED, path, "map_node", {})

    def view(self, transaction: Open | None) -> TableView:
        return TableView(TransactionView(self.state, transaction.id) if transaction else self.state)

    def seen_by(self, transaction: Open | None) -> Tree:
        tree = dict(self.committed)
        for each in reversed(list(transaction.lineage) if transaction else []):
            for step in each.log:
                step.apply(tree)
        return tree

    def look(self, transaction: Open | None) -> Tree:
        cypress = self.view(transaction).cypress
        tree: Tree = {}
        for directory, inside in cypress.get(UNLIMITED, "/").items():
            tree[directory] = None
            tree.update({f"{directory}/{name}": value for name, value in inside.items()})
            own = cypress.get(UNLIMITED, f"//{directory}/@user_attributes")
            tree.update({f"{directory}/@{name}": value for name, value in own.items()})
        return tree

    def snapshot_paths(self, transaction: Open | None) -> Sequence[str]:
        """Leaves of which the transaction sees an old version."""
        lineage = list(transaction.lineage) if transaction else []
        frozen = {node_id for each in lineage for node_id in each.snapshots}
        if not frozen:
            return ()
        resolver = self.view(transaction).resolver
        paths = [f"{directory}/{leaf}" for directory in DIRECTORIES for leaf in LEAVES]
        targets = {path: resolver.resolve("//" + path) for path in paths}
        return [path for path, target in targets.items() if not target.missing and target.node.id in frozen]


Transactions.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestTransactions: Callable[[], Any] = pytest.mark.slow(Transactions.TestCase)
