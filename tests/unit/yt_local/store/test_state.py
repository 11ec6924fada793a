"""Changes of a cluster's state: whole or not at all, in memory and in the storage alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from yt.yson.common import YsonError

from tests.unit.yt_local.store.world import ACCOUNTS, DiskFull, World, in_memory
from yt_local.cypress.subtrees import CopyOptions
from yt_local.cypress.transaction_view import TransactionView
from yt_local.queues.marked_tables import create_marked_table
from yt_local.security.permissions import UNLIMITED
from yt_local.security.subjects import ROOT
from yt_local.store.locks import EXCLUSIVE, SHARED, SNAPSHOT, LockRequest
from yt_local.store.state import ClusterState
from yt_local.tables.dynamic.sorted_resharding import Sharding
from yt_local.tables.dynamic.tablets import TabletRange
from yt_local.tables.static.files import FileUpload
from yt_local.tables.view import TableView
from yt_wire.error import YtError
from yt_wire.ypath import RichPath

QUEUE = [{"name": "data", "type": "string"}, {"name": "$timestamp", "type": "uint64"}]
SORTED = [{"name": "key", "type": "int64", "sort_order": "ascending"}, {"name": "value", "type": "string"}]


PRODUCER, QUEUE_PATH = RichPath("//p"), RichPath("//q")

REFUSALS = (YtError, YsonError)
"""A value that YSON cannot hold has no way in but ours."""

Step = Callable[[World], object]

paths = st.sampled_from(["//a", "//b", "//f", "//a/x", "//a/y", "//a/x/z", "//b/q", "//l", "//l/x"])
table_paths = st.sampled_from(["//q", "//t", "//p", "//q2", "//a/x"])
values = st.sampled_from([1, "text", {"k": 1, "m": {"n": 2}}, [1, 2], {"bad": 2**70}, None])
flags = st.booleans()
numbers = st.integers(-1, 4)


def _create(path: str, kind: str, recursive: bool, force: bool, name: str) -> Step:
    attributes = {name: 1} if name else {}
    return lambda world: world.cypress.create(UNLIMITED, path, kind, attributes, recursive=recursive, force=force)


def _create_table(path: str, sorted_: bool, count: int, force: bool) -> Step:
    attributes = {"dynamic": True, "schema": SORTED if sorted_ else QUEUE, "tablet_count": count}
    return lambda world: world.cypress.create(UNLIMITED, path, "table", attributes, force=force, recursive=True)


def _create_producer(path: str) -> Step:
    return lambda world: create_marked_table(
        world.state, world.cypress, world.tablets, UNLIMITED, path, "queue_producer", {}
    )


def _copy(source: str, destination: str, force: bool, move: bool) -> Step:
    options = CopyOptions(force=force, recursive=True)
    return lambda world: world.cypress.copy(UNLIMITED, source, destination, options, move=move)


def _link(target: str, path: str, force: bool) -> Step:
    return lambda world: world.cypress.link(UNLIMITED, target, path, recursive=True, force=force, ignore_existing=False)


def _set(path: str, value: Any, force: bool) -> Step:
    return lambda world: world.cypress.set(UNLIMITED, path, value, recursive=True, force=force)


def _set_attribute(path: str, name: str, value: Any) -> Step:
    return lambda world: world.cypress.set(UNLIMITED, f"{path}/@{name}", value)


def _remove(path: str, suffix: str, force: bool) -> Step:
    return lambda world: world.cypress.remove(UNLIMITED, path + suffix, recursive=True, force=force)


def _write_file(path: str, data: bytes, append: bool) -> Step:
    rich = RichPath(path, {"append": append})

    def run(world: World) -> None:
        with world.state.change():
            world.cypress.create(UNLIMITED, path, "file", {}, recursive=True, ignore_existing=True)
            file = FileUpload(lambda: world.view, ROOT, rich, compute_md5=False)
            with file.upload:
                file.write(data)
                file.commit()

    return run


def _tablets(path: str, verb: str, first: int | None) -> Step:
    return lambda world: getattr(world.tablets, verb)(UNLIMITED, path, TabletRange(first))


def _reshard(path: str, count: int) -> Step:
    return lambda world: world.tablets.reshard(UNLIMITED, path, Sharding(tablet_count=count))


def _insert(path: str, keys: Sequence[int], tablet: int | None, update: bool) -> Step:
    def run(world: World) -> None:
        ordered = [{b"data": b"%d" % key, b"$tablet_index": tablet} for key in keys]
        rows: list[dict[bytes, Any]] = [{b"key": key, b"value": b"v"} for key in keys] if update else ordered
        world.writer.insert_rows(UNLIMITED, path, rows, update=update)

    return run


def _delete_rows(path: str, key: int) -> Step:
    return lambda world: world.writer.delete_rows(UNLIMITED, path, [{b"key": key}])


def _trim(path: str, tablet: int, count: int) -> Step:
    return lambda world: world.tables.trim_rows(UNLIMITED, path, tablet, count)


def _begin() -> Step:
    return lambda world: world.producers.create_session(UNLIMITED, PRODUCER, QUEUE_PATH, "s", None)


def _push(number: int, epoch: int, bad: bool) -> Step:
    def run(world: World) -> None:
        rows: list[dict[bytes, Any]] = [{b"data": 5 if bad else b"x", b"$sequence_number": number}]
        world.producers.push(
            UNLIMITED, PRODUCER, QUEUE_PATH, "s", epoch, rows, first_sequence_number=None, user_meta=None
        )

    return run


def _start_transaction(parent: int | None) -> Step:
    def run(world: World) -> None:
        world.transactions.start(parent_id=None if parent is None else world.transaction(parent))

    return run


def _end_transaction(number: int, commit: bool) -> Step:
    def run(world: World) -> None:
        (world.transactions.commit if commit else world.transactions.abort)(world.transaction(number))

    return run


def _within(number: int, step: Step) -> Step:
    return lambda world: step(world.within(world.transaction(number)))


def _lock(number: int, path: str, request: LockRequest, waitable: bool) -> Step:
    def run(world: World) -> None:
        transaction_id = world.transaction(number)
        node = TableView(TransactionView(world.state, transaction_id)).resolver.node(path)
        world.transactions.lock(transaction_id, node, request, waitable=waitable)

    return run


def _unlock(number: int, path: str) -> Step:
    def run(world: World) -> None:
        transaction_id = world.transaction(number)
        node = TableView(TransactionView(world.state, transaction_id)).resolver.node(path)
        world.transactions.unlock(transaction_id, node)

    return run


kinds = st.sampled_from(["map_node", "document", "table", "string_node", "nonsense"])
names = st.sampled_from(["", "mine", "id"])
verbs = st.sampled_from(["mount", "mount", "unmount", "freeze", "unfreeze"])
requests = st.sampled_from([EXCLUSIVE, SHARED, SNAPSHOT, LockRequest.of_child("x"), LockRequest.of_attribute("mine")])
tree_steps = st.one_of(
    st.builds(_create, paths, kinds, flags, flags, names),
    st.builds(_create_table, table_paths, flags, numbers, flags),
    st.builds(_create_producer, table_paths),
    st.builds(_copy, st.one_of(paths, table_paths), st.one_of(paths, table_paths), flags, flags),
    st.builds(_link, st.one_of(paths, table_paths), paths, flags),
    st.builds(_set, paths, values, flags),
    st.builds(_set_attribute, st.one_of(paths, table_paths), st.sampled_from(["mine", "", "account", "id"]), values),
    st.builds(_set_attribute, st.one_of(paths, table_paths), st.just("account"), st.sampled_from(ACCOUNTS)),
    st.builds(_write_file, paths, st.sampled_from([b"", b"x", b"yy"]), flags),
    st.builds(_remove, st.one_of(paths, table_paths), st.sampled_from(["", "/*", "/@mine", "/@*", "/k"]), flags),
)
transaction_steps = st.one_of(
    st.builds(_start_transaction, st.one_of(st.none(), numbers)),
    st.builds(_end_transaction, numbers, flags),
    st.builds(_within, numbers, tree_steps),
    st.builds(_within, numbers, tree_steps),
    st.builds(_lock, numbers, st.one_of(paths, table_paths), requests, flags),
    st.builds(_unlock, numbers, st.one_of(paths, table_paths)),
)
steps = st.one_of(
    tree_steps,
    transaction_steps,
    st.builds(_tablets, table_paths, verbs, st.one_of(st.none(), numbers)),
    st.builds(_reshard, table_paths, numbers),
    st.builds(_insert, table_paths, st.lists(numbers, max_size=3), st.one_of(st.none(), numbers), flags),
    st.builds(_delete_rows, table_paths, numbers),
    st.builds(_trim, table_paths, numbers, numbers),
    st.builds(_begin),
    st.builds(_push, numbers, numbers, flags),
)

READY: Sequence[Step] = (
    _create_table("//q", False, 2, False),
    _create_table("//t", True, 1, False),
    _create_producer("//p"),
    _begin(),
    _set("//a", {"x": {"z": 1}}, False),
    _tablets("//q", "mount", None),
    _tablets("//t", "mount", None),
    _insert("//q", [1, 2, 3], 0, False),
    _insert("//t", [1, 2, 3], None, True),
    _create_table("//q2", False, 1, False),
    _write_file("//f", b"xyz", False),
    _set_attribute("//f", "account", "ada"),
    _start_transaction(None),
    _start_transaction(0),
    _start_transaction(None),
    _within(0, _set("//a/x/z", 2, False)),
    _within(0, _write_file("//f", b"more", True)),
    _lock(2, "//a", SNAPSHOT, False),
    _lock(2, "//a/x/z", EXCLUSIVE, True),
)


class Abandoned(Exception):
    """Somebody changes their mind in the middle."""


def attempt(world: World, step: Step) -> None:
    """A step, whatever comes of it."""
    with suppress(*REFUSALS):
        step(world)


def make_ready() -> World:
    """A world in which every step is possible."""
    world = World()
    for step in READY:
        attempt(world, step)
    return world


def abandon(world: World, step: Step) -> None:
    """A step that leaves no trace, and then the same in earnest."""
    before = world.seen()
    with pytest.raises((Abandoned, *REFUSALS)), world.state.change():
        step(world)
        raise Abandoned
    assert world.seen() == before
    attempt(world, step)


def attempt_and_compare(world: World, step: Step) -> None:
    """A step that is refused without a trace, or is in memory as it is stored."""
    before = world.seen()
    try:
        step(world)
    except REFUSALS:
        assert world.seen() == before
    assert in_memory(ClusterState(world.storage, world.state.clock, 1001)) == in_memory(world.state)


@pytest.mark.parametrize("take", [abandon, attempt_and_compare])
def test_what_makes_a_world_ready_is_done_wholly_or_not_at_all(take: Callable[[World, Step], None]) -> None:
    world = World()
    for step in READY:
        take(world, step)


@settings(max_examples=60)
@given(st.lists(steps, max_size=12))
def test_an_abandoned_change_leaves_no_trace(chosen: list[Step]) -> None:
    world = make_ready()
    for step in chosen:
        abandon(world, step)


@settings(max_examples=60)
@given(st.lists(steps, max_size=15))
def test_a_refused_command_changes_nothing_and_memory_is_what_is_stored(chosen: list[Step]) -> None:
    world = make_ready()
    for step in chosen:
        attempt_and_compare(world, step)


@settings(max_examples=100)
@given(st.lists(steps, max_size=5), steps, st.integers(1, 20))
def test_a_storage_that_fails_in_the_middle_leaves_all_as_it_was(chosen: list[Step], last: Step, patience: int) -> None:
    world = make_ready()
    for step in chosen:
        attempt(world, step)
    before = world.seen()
    world.storage.patience = patience
    try:
        attempt(world, last)
    except DiskFull:
        assert world.seen() == before
    world.storage.patience = None
    attempt(world, last)
    assert in_memory(ClusterState(world.storage, world.state.clock, 1001)) == in_memory(world.state)


@settings(max_examples=60)
@given(st.lists(st.one_of(transaction_steps, tree_steps), max_size=15))
def test_nothing_is_left_of_transactions_that_are_over(chosen: list[Step]) -> None:
    world = make_ready()
    for step in chosen:
        attempt(world, step)
    for transaction in list(world.state.versions.transactions):
        if world.state.versions.find_transaction(transaction.id):
            world.transactions.abort(transaction.id)
    tree, *rest = in_memory(world.state)
    assert not any(rest[:3])
    assert not world.state._apart
    nodes, children, tablets, root = tree
    below = {child for names in children.values() for child in names.values()}
    assert nodes.keys() == below | {root}
    assert set(tablets) <= nodes.keys()


def test_numbers_handed_out_by_an_undone_change_are_not_used_again() -> None:
    world = World()
    with pytest.raises(Abandoned), world.state.change():
        first = world.cypress.create(UNLIMITED, "//a", "map_node", {})
        raise Abandoned
    assert world.cypress.create(UNLIMITED, "//a", "map_node", {}) != first
