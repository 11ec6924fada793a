"""Locks as ytsaurus-client sees them: which go together, who waits, what they show."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import QUEUE_SCHEMA, RawHttp, inside, lock, refused, start
from yt_wire.error import ErrorCode


def state_of(client: YtClient, lock_id: str) -> str:
    return str(client.get(f"#{lock_id}/@state"))


@pytest.fixture
def node(client: YtClient, home: str) -> str:
    path = f"{home}/node"
    client.create("map_node", path)
    return path


class TestCompatibility:
    @pytest.mark.parametrize(
        ("held", "wanted", "granted"),
        [
            ({"mode": "exclusive"}, {"mode": "exclusive"}, False),
            ({"mode": "exclusive"}, {"mode": "shared"}, False),
            ({"mode": "exclusive"}, {"mode": "shared", "child_key": "a"}, False),
            ({"mode": "exclusive"}, {"mode": "snapshot"}, True),
            ({"mode": "shared"}, {"mode": "exclusive"}, False),
            ({"mode": "shared"}, {"mode": "shared"}, True),
            ({"mode": "shared"}, {"mode": "shared", "child_key": "a"}, True),
            ({"mode": "shared", "child_key": "a"}, {"mode": "shared", "child_key": "a"}, False),
            ({"mode": "shared", "child_key": "a"}, {"mode": "shared", "child_key": "b"}, True),
            ({"mode": "shared", "child_key": "a"}, {"mode": "shared", "attribute_key": "a"}, True),
            ({"mode": "shared", "attribute_key": "a"}, {"mode": "shared", "attribute_key": "a"}, False),
            ({"mode": "shared", "attribute_key": "a"}, {"mode": "exclusive"}, False),
            ({"mode": "snapshot"}, {"mode": "exclusive"}, True),
            ({"mode": "snapshot"}, {"mode": "shared"}, True),
            ({"mode": "snapshot"}, {"mode": "snapshot"}, True),
        ],
    )
    def test_of_two_transactions(
        self, client: YtClient, node: str, held: dict[str, str], wanted: dict[str, str], granted: bool
    ) -> None:
        first, second = start(client), start(client)
        lock(client, first, node, **held)
        if granted:
            assert state_of(client, lock(client, second, node, **wanted)) == "acquired"
        else:
            with refused(ErrorCode.CYPRESS_LOCK_CONFLICT, node, f"concurrent transaction {first}"):
                lock(client, second, node, **wanted)
        client.abort_transaction(first)
        client.abort_transaction(second)

    def test_the_error_tells_who_is_in_the_way(self, client: YtClient, node: str) -> None:
        outer = client.start_transaction(timeout=60_000, attributes={"title": "outer"})
        first = client.start_transaction(parent_transaction=outer, timeout=50_000, attributes={"title": "first"})
        second = start(client)
        lock(client, first, node)
        text = f'Cannot take "shared" lock for node {node} since "exclusive" lock is taken by concurrent transaction'
        with refused(ErrorCode.CYPRESS_LOCK_CONFLICT, f"{text} {first}"):
            lock(client, second, node, "shared")
        with refused(ErrorCode.CYPRESS_LOCK_CONFLICT, f'Cannot take lock for child "c" of node {node}', first):
            lock(client, second, node, "shared", child_key="c")
        answer = RawHttp(client.config["proxy"]["url"]).command(
            "POST", "lock", {"path": node, "mode": "exclusive", "transaction_id": second}
        )
        assert answer.error is not None
        winner = answer.error.attributes["winner_transaction"]
        assert (winner["id"], winner["title"], winner["owner"], winner["timeout"]) == (first, "first", "root", 50_000)
        assert [parent["title"] for parent in winner["parents"]] == ["outer"]
        client.abort_transaction(outer)
        client.abort_transaction(second)

    def test_a_nested_transaction_may_take_what_its_parent_has_but_not_the_other_way_round(
        self, client: YtClient, node: str
    ) -> None:
        outer = start(client)
        inner = start(client, outer)
        lock(client, outer, node)
        lock(client, inner, node)
        with refused(ErrorCode.CYPRESS_LOCK_CONFLICT, inner):
            lock(client, outer, node)
        client.abort_transaction(outer)

    def test_a_snapshot_goes_with_no_other_lock_of_the_same_transaction_or_one_inside(
        self, client: YtClient, node: str
    ) -> None:
        outer = start(client)
        inner = start(client, outer)
        lock(client, outer, node, "snapshot")
        assert state_of(client, lock(client, outer, node, "snapshot")) == "acquired"
        with refused(ErrorCode.SAME_TRANSACTION_LOCK_CONFLICT, f"same transaction {outer}"):
            lock(client, outer, node, "shared")
        with refused(ErrorCode.SAME_TRANSACTION_LOCK_CONFLICT, f"parent transaction {outer}"):
            lock(client, inner, node)
        other = start(client)
        below = start(client, other)
        lock(client, below, node, "shared")
        with refused(ErrorCode.DESCENDANT_TRANSACTION_LOCK_CONFLICT, "descendant transaction"):
            lock(client, other, node, "snapshot")
        with refused(ErrorCode.SAME_TRANSACTION_LOCK_CONFLICT, f"same transaction {below}"):
            lock(client, below, node, "snapshot")
        client.abort_transaction(outer)
        client.abort_transaction(other)

    def test_what_makes_no_sense_is_refused(self, client: YtClient, raw: RawHttp, node: str) -> None:
        transaction = start(client)
        with refused(ErrorCode.GENERIC, "A valid master transaction is required"):
            client.lock(node)
        with refused(ErrorCode.GENERIC, "A valid master transaction is required"):
            client.unlock(node)
        with refused(ErrorCode.GENERIC, "mode"):
            lock(client, transaction, node, "none")
        for key in ("child_key", "attribute_key"):
            with refused(ErrorCode.GENERIC, f'"{key}" can only be specified for shared locks'):
                lock(client, transaction, node, **{key: "a"})
        with refused(ErrorCode.GENERIC, "child_key", "attribute_key"):
            lock(client, transaction, node, "shared", child_key="a", attribute_key="a")
        with refused(ErrorCode.RESOLVE, "absent"):
            lock(client, transaction, f"{node}/absent")
        with refused(ErrorCode.NO_SUCH_METHOD):
            lock(client, transaction, f"{node}/@id")
        for path in ("//sys/transactions", f"#{transaction}", "//sys/users/root"):
            with refused(ErrorCode.GENERIC, "Cannot lock objects of type"):
                lock(client, transaction, path)
        client.abort_transaction(transaction)


class TestImplicitLocks:
    def test_commands_lock_what_they_change(self, client: YtClient, home: str) -> None:
        client.set(f"{home}/scalar", 1)
        client.set(f"{home}/removed", 1)
        client.create("table", f"{home}/table")
        transaction = start(client)
        with inside(client, transaction):
            client.set(f"{home}/scalar", 2)
            client.remove(f"{home}/removed")
            client.set(f"{home}/new", 1)
            client.set(f"{home}/@attribute", 1)
            client.set(f"{home}/table/@optimize_for", "lookup")
            client.set(f"{home}/table/@in_memory_mode", "compressed")
            assert client.get(f"{home}/new/@lock_mode") == "exclusive"
            assert client.get(f"{home}/@lock_mode") == "shared"
        assert client.get(f"{home}/@lock_mode") == "none"

        def locks(path: str) -> set[tuple[str, str | None, str | None]]:
            shown = client.get(f"{path}/@locks")
            assert {entry["transaction_id"] for entry in shown} == {transaction}
            assert {entry["state"] for entry in shown} == {"acquired"}
            assert client.get(f"{path}/@lock_count") == len(shown)
            return {(entry["mode"], entry.get("child_key"), entry.get("attribute_key")) for entry in shown}

        assert locks(f"{home}/scalar") == {("exclusive", None, None)}
        assert locks(f"{home}/removed") == {("exclusive", None, None)}
        assert locks(f"{home}/table") == {("shared", None, "optimize_for"), ("exclusive", None, None)}
        assert locks(home) == {
            ("shared", "removed", None),
            ("shared", "new", None),
            ("shared", None, "attribute"),
        }
        client.abort_transaction(transaction)
        assert client.get(f"{home}/@locks") == []

    def test_the_same_change_twice_takes_one_lock(self, client: YtClient, home: str) -> None:
        client.set(f"{home}/a", 1)
        outer = start(client)
        for inner in (start(client, outer), start(client, outer)):
            with inside(client, inner):
                client.set(f"{home}/a", 2)
            before = client.get(f"{home}/a/@lock_count")
            with inside(client, inner):
                client.set(f"{home}/a", 3)
            assert client.get(f"{home}/a/@lock_count") == before
            client.commit_transaction(inner)
            assert client.get(f"{home}/a/@lock_count") == 1
        client.commit_transaction(outer)
        assert client.get(f"{home}/a") == 3

    def test_commands_outside_of_transactions_heed_locks(self, client: YtClient, home: str) -> None:
        client.set(f"{home}/a", {"b": 1}, force=True)
        client.create("table", f"{home}/t", attributes={"dynamic": True, "schema": QUEUE_SCHEMA})
        transaction = start(client)
        lock(client, transaction, f"{home}/a/b")
        lock(client, transaction, f"{home}/a", "shared", child_key="new")
        lock(client, transaction, f"{home}/a", "shared", attribute_key="x")
        lock(client, transaction, f"{home}/t", "shared")
        forbidden: list[Callable[[], object]] = [
            lambda: client.set(f"{home}/a/b", 2),
            lambda: client.remove(f"{home}/a/b"),
            lambda: client.remove(f"{home}/a", recursive=True),
            lambda: client.set(f"{home}/a", {}, force=True),
            lambda: client.move(f"{home}/a", f"{home}/moved"),
            lambda: client.set(f"{home}/a/new", 1),
            lambda: client.create("map_node", f"{home}/a/new"),
            lambda: client.link(home, f"{home}/a/new"),
            lambda: client.copy(f"{home}/t", f"{home}/a/new"),
            lambda: client.set(f"{home}/a/@x", 1),
            lambda: client.create("map_node", f"{home}/a/b", force=True),
            lambda: client.remove(f"{home}/t"),
            lambda: client.mount_table(f"{home}/t"),
            lambda: client.alter_table(f"{home}/t", schema=QUEUE_SCHEMA),
            lambda: client.reshard_table(f"{home}/t", tablet_count=2),
        ]
        for command in forbidden:
            with refused(ErrorCode.CYPRESS_LOCK_CONFLICT, f"concurrent transaction {transaction}"):
                command()
        client.set(f"{home}/a/other", 1)
        client.set(f"{home}/a/@y", 1)
        client.copy(f"{home}/a", f"{home}/copy")
        client.abort_transaction(transaction)
        assert client.get(f"{home}/a") == {"b": 1, "other": 1}
        client.set(f"{home}/a/b", 2)
        client.remove(f"{home}/a", recursive=True)

    def test_what_exists_is_locked_if_that_is_asked_for(self, client: YtClient, home: str) -> None:
        client.create("map_node", f"{home}/m")
        with client.Transaction():
            client.create("map_node", f"{home}/m", ignore_existing=True)
            assert client.get(f"{home}/m/@lock_count") == 0
            client.create("map_node", f"{home}/m", ignore_existing=True, lock_existing=True)
            assert client.get(f"{home}/m/@lock_mode") == "exclusive"
        with refused(ErrorCode.GENERIC, "lock_existing"):
            client.create("map_node", f"{home}/m", lock_existing=True)


class TestWaiting:
    def test_locks_are_served_in_order_as_far_as_they_go_together(self, client: YtClient, node: str) -> None:
        holders = [start(client) for _ in range(4)]
        modes = ["exclusive", "shared", "shared", "exclusive"]
        locks = [lock(client, holder, node, mode, waitable=True) for holder, mode in zip(holders, modes, strict=True)]

        def states() -> list[str]:
            return [state_of(client, each) for each in locks if client.exists(f"#{each}")]

        assert states() == ["acquired", "pending", "pending", "pending"]
        assert [entry["id"] for entry in client.get(f"{node}/@locks")] == locks
        client.commit_transaction(holders[0])
        assert states() == ["acquired", "acquired", "pending"]
        client.abort_transaction(holders[2])
        assert states() == ["acquired", "pending"]
        client.commit_transaction(holders[1])
        assert states() == ["acquired"]
        client.abort_transaction(holders[3])
        assert client.get(f"{node}/@locks") == []

    def test_who_waits_is_not_in_the_way(self, client: YtClient, node: str) -> None:
        first, second, third = start(client), start(client), start(client)
        lock(client, first, node, "shared")
        waiting = lock(client, second, node, waitable=True)
        assert state_of(client, lock(client, third, node, "shared")) == "acquired"
        assert state_of(client, waiting) == "pending"
        for transaction in (first, second, third):
            client.abort_transaction(transaction)

    def test_the_client_waits_for_a_lock(self, client: YtClient, node: str) -> None:
        first, second = start(client), start(client)
        lock(client, first, node)
        with inside(client, second):
            answer = client.lock(node, waitable=True)
            assert answer["revision"] == 0
            client.commit_transaction(first)
            assert client.lock(node, waitable=True, wait_for=5_000)["lock_id"] != answer["lock_id"]
        assert state_of(client, str(answer["lock_id"])) == "acquired"
        client.abort_transaction(second)

    def test_a_waiting_lock_goes_to_the_parent_with_its_transaction(self, client: YtClient, node: str) -> None:
        first, outer = start(client), start(client)
        inner = start(client, outer)
        lock(client, first, node)
        waiting = lock(client, inner, node, waitable=True)
        client.commit_transaction(inner)
        assert client.get(f"#{waiting}/@transaction_id") == outer
        assert state_of(client, waiting) == "pending"
        client.commit_transaction(first)
        assert state_of(client, waiting) == "acquired"
        client.abort_transaction(outer)

    def test_a_waiting_lock_goes_with_its_node_and_with_its_transaction(self, client: YtClient, node: str) -> None:
        first, second, third = start(client), start(client), start(client)
        lock(client, first, node)
        aborted = lock(client, second, node, waitable=True)
        client.abort_transaction(second)
        assert not client.exists(f"#{aborted}")
        orphaned = lock(client, third, node, waitable=True)
        with inside(client, first):
            client.remove(node)
        client.commit_transaction(first)
        assert not client.exists(f"#{orphaned}")
        client.commit_transaction(third)


class TestUnlock:
    @pytest.mark.parametrize("mode", ["snapshot", "shared", "exclusive"])
    def test_a_lock_that_was_asked_for_is_given_back(self, client: YtClient, node: str, mode: str) -> None:
        first, second = start(client), start(client)
        taken = lock(client, first, node, mode)
        waiting = lock(client, second, node, waitable=True) if mode != "snapshot" else None
        with inside(client, first):
            client.unlock(node)
            client.unlock(node)
        assert not client.exists(f"#{taken}")
        if waiting:
            assert state_of(client, waiting) == "acquired"
        client.commit_transaction(first)
        client.abort_transaction(second)

    def test_a_node_that_has_been_changed_stays_locked(self, client: YtClient, node: str) -> None:
        transaction = start(client)
        lock(client, transaction, node)
        with inside(client, transaction):
            client.set(f"{node}/a", 1)
            node_id = client.get(f"{node}/@id")
            with refused(ErrorCode.GENERIC, f"Node #{node_id} is modified by transaction", transaction):
                client.unlock(node)
        client.commit_transaction(transaction)
        assert client.get(node) == {"a": 1}

    def test_implicit_locks_stay(self, client: YtClient, node: str) -> None:
        transaction = start(client)
        with inside(client, transaction):
            client.set(f"{node}/@a", 1)
            client.unlock(node)
        assert client.get(f"{node}/@lock_count") == 1
        client.abort_transaction(transaction)

    def test_a_lock_that_waits_is_given_up(self, client: YtClient, node: str) -> None:
        first, second = start(client), start(client)
        lock(client, first, node)
        waiting = lock(client, second, node, waitable=True)
        with inside(client, second):
            client.unlock(node)
        assert not client.exists(f"#{waiting}")
        client.abort_transaction(first)
        client.abort_transaction(second)


def test_a_lock_shows_what_it_is(client: YtClient, node: str) -> None:
    first, second = start(client), start(client)
    taken = lock(client, first, node, "shared", attribute_key="a")
    waiting = lock(client, second, node, waitable=True)
    shown = client.get(f"#{taken}/@")
    assert (shown["type"], shown["mode"], shown["state"]) == ("lock", "shared", "acquired")
    assert (shown["attribute_key"], shown["implicit"]) == ("a", False)
    assert shown["transaction_id"] == first
    assert shown["node_id"] == client.get(f"{node}/@id")
    assert shown["creation_time"] == shown["acquisition_time"]
    assert "child_key" not in shown
    assert not client.exists(f"#{waiting}/@acquisition_time")
    assert {taken, waiting} <= set(client.list("//sys/locks"))
    assert client.get(f"//sys/locks/{waiting}/@state") == "pending"
    assert client.get(f"{node}/@locks")[0] == {
        "id": taken,
        "state": "acquired",
        "transaction_id": first,
        "mode": "shared",
        "attribute_key": "a",
    }
    cell = str(client.get(f"#{first}/@native_cell_tag"))
    assert client.get(f"#{first}/@lock_ids") == {cell: [taken]}
    assert client.get(f"#{first}/@recursive_lock_count") == {cell: 1}
    client.abort_transaction(first)
    client.abort_transaction(second)


def test_locks_of_a_nested_transaction_show_in_its_ancestors(client: YtClient, node: str) -> None:
    outer = start(client)
    inner = start(client, outer)
    lock(client, inner, node)
    for transaction, mode in ((inner, "exclusive"), (outer, "exclusive"), ("0-0-0-0", "none")):
        with inside(client, transaction):
            assert client.get(f"{node}/@lock_mode") == mode
    client.commit_transaction(inner)
    assert [entry["transaction_id"] for entry in client.get(f"{node}/@locks")] == [outer]
    client.abort_transaction(outer)
