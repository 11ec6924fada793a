"""Master transactions as ytsaurus-client sees them: visibility, nesting, ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import NAMES, QUEUE_SCHEMA, Cli, Clients, ClusterThread, RawHttp, inside, refused, start
from yt_wire.error import ErrorCode


def test_what_a_transaction_changes_is_seen_by_others_when_it_has_been_committed(client: YtClient, home: str) -> None:
    client.set(f"{home}/changed", 1)
    client.set(f"{home}/removed", 1)
    client.create("map_node", f"{home}/map", attributes={"old": 1, "gone": 1})
    with client.Transaction():
        client.set(f"{home}/changed", 2)
        client.remove(f"{home}/removed")
        client.set(f"{home}/map/new", "x")
        client.set(f"{home}/map/@old", 2)
        client.remove(f"{home}/map/@gone")
        assert client.get(home) == {"changed": 2, "map": {"new": "x"}}
        assert client.get(f"{home}/map/@user_attributes") == {"old": 2}
        with inside(client, "0-0-0-0"):
            assert client.get(home) == {"changed": 1, "removed": 1, "map": {}}
            assert client.get(f"{home}/map/@user_attributes") == {"old": 1, "gone": 1}
    assert client.get(home) == {"changed": 2, "map": {"new": "x"}}
    assert client.get(f"{home}/map/@user_attributes") == {"old": 2}


def test_an_exception_in_a_with_block_undoes_all_of_it(client: YtClient, home: str) -> None:
    class Mishap(Exception):
        pass

    client.set(f"{home}/a", 1)
    with pytest.raises(Mishap), client.Transaction():
        client.set(f"{home}/a", 2)
        client.create("table", f"{home}/t")
        client.copy(f"{home}/a", f"{home}/b")
        raise Mishap
    assert client.get(home) == {"a": 1}


def test_what_others_commit_is_seen_in_a_transaction_unless_it_changes_the_same(client: YtClient, home: str) -> None:
    with client.Transaction():
        client.set(f"{home}/mine", 1)
        client.set(f"{home}/@mine", 1)
        with inside(client, "0-0-0-0"):
            client.set(f"{home}/theirs", 2)
            client.set(f"{home}/@theirs", 2)
        assert client.get(home) == {"mine": 1, "theirs": 2}
        assert client.get(f"{home}/@user_attributes") == {"mine": 1, "theirs": 2}
    assert client.get(home) == {"mine": 1, "theirs": 2}
    assert client.get(f"{home}/@user_attributes") == {"mine": 1, "theirs": 2}


def test_a_nested_transaction_hands_its_changes_to_its_parent(client: YtClient, home: str) -> None:
    client.set(f"{home}/a", 0)
    outer = start(client)
    inner = start(client, outer)
    other = start(client, outer)
    with inside(client, inner):
        client.set(f"{home}/a", 1)
        client.set(f"{home}/b", 1)
        client.set(f"{home}/@c", 1)
    with inside(client, outer):
        assert client.get(home) == {"a": 0}
    client.commit_transaction(inner)
    assert client.get(home) == {"a": 0}
    for transaction in (outer, other):
        with inside(client, transaction):
            assert client.get(home) == {"a": 1, "b": 1}
            assert client.get(f"{home}/@c") == 1
    with inside(client, outer):
        client.remove(f"{home}/b")
    client.commit_transaction(outer)
    assert client.get(home) == {"a": 1}
    assert client.get(f"{home}/@c") == 1


def test_the_end_of_a_transaction_aborts_those_inside_it(client: YtClient, home: str) -> None:
    for end in (client.commit_transaction, client.abort_transaction):
        outer = start(client)
        inner = start(client, outer)
        innermost = start(client, inner)
        with inside(client, innermost):
            client.set(f"{home}/a", 1)
        end(outer)
        assert client.get(home) == {}
        for transaction in (inner, innermost):
            assert not client.exists(f"//sys/transactions/{transaction}")
            with refused(ErrorCode.NO_SUCH_TRANSACTION, transaction), inside(client, transaction):
                client.get(home)


def test_a_transaction_that_is_over_or_never_was_is_refused_by_every_command(client: YtClient, home: str) -> None:
    over = start(client)
    client.commit_transaction(over)
    for transaction in (over, "1-2-30001-4"):
        for command in (client.commit_transaction, client.abort_transaction, client.ping_transaction):
            with refused(ErrorCode.NO_SUCH_TRANSACTION, f"No such transaction {transaction}"):
                command(transaction)
        with refused(ErrorCode.NO_SUCH_TRANSACTION, transaction), inside(client, transaction):
            client.create("map_node", f"{home}/a")
        with refused(ErrorCode.NO_SUCH_TRANSACTION, transaction):
            start(client, transaction)


def test_a_transaction_shows_what_it_is(client: YtClient, home: str) -> None:
    outer = start(client, attributes={"title": "My work", "mine": {"a": 1}})
    inner = start(client, outer, prerequisite_transaction_ids=[outer])
    with inside(client, outer):
        client.create("map_node", f"{home}/m")
        node_id = client.get(f"{home}/m/@id")
    shown = client.get(f"#{outer}/@")
    cell = str(shown["native_cell_tag"])
    assert (shown["type"], shown["state"], shown["title"]) == ("transaction", "active", "My work")
    assert (shown["mine"], shown["owner"], shown["timeout"]) == ({"a": 1}, "root", 60_000)
    assert shown["parent_id"] == "0-0-0-0" and shown["depth"] == 0
    assert client.get(f"#{inner}/@type") == "nested_transaction"
    assert client.get(f"#{inner}/@parent_id") == outer
    assert client.get(f"#{inner}/@depth") == 1
    assert client.get(f"#{inner}/@prerequisite_transaction_ids") == [outer]
    assert client.get(f"#{outer}/@dependent_transaction_ids") == [inner]
    assert client.get(f"#{outer}/@nested_transaction_ids") == [inner]
    home_id = client.get(f"{home}/@id")
    assert sorted(client.get(f"#{outer}/@locked_node_ids/{cell}")) == sorted([node_id, home_id])
    assert sorted(client.get(f"#{outer}/@branched_node_ids/{cell}")) == sorted([node_id, home_id])
    assert client.get(f"#{outer}/@staged_node_ids") == {cell: [node_id]}
    assert client.get(f"#{outer}/@staged_object_ids") == {cell: []}
    assert len(client.get(f"#{outer}/@lock_ids/{cell}")) == 2
    client.set(f"#{outer}/@mine", 2)
    assert client.get(f"//sys/transactions/{outer}/@mine") == 2
    with refused(ErrorCode.GENERIC, "state"):
        client.set(f"#{outer}/@state", "committed")
    with refused(ErrorCode.GENERIC):
        client.remove(f"#{outer}")
    client.abort_transaction(outer)


def test_transactions_are_listed(client: YtClient) -> None:
    outer = start(client)
    inner = start(client, outer)
    assert {outer, inner} <= set(client.list("//sys/transactions"))
    assert {outer, inner} <= set(client.get("//sys/transactions"))
    assert outer in client.list("//sys/topmost_transactions")
    assert inner not in client.list("//sys/topmost_transactions")
    titles = client.list("//sys/transactions", attributes=["parent_id"])
    assert {str(item): item.attributes["parent_id"] for item in titles}[inner] == outer
    assert client.get("//sys/transactions/@count") == len(client.list("//sys/transactions"))
    with refused(ErrorCode.GENERIC):
        client.create("map_node", "//sys/transactions/a")
    client.abort_transaction(outer)
    assert not {outer, inner} & set(client.list("//sys/transactions"))


def test_transactions_inside_each_other_have_a_limit(client: YtClient) -> None:
    topmost = innermost = start(client)
    for _ in range(32):
        innermost = start(client, innermost)
    with refused(ErrorCode.TRANSACTION_DEPTH_LIMIT_REACHED):
        start(client, innermost)
    client.abort_transaction(topmost)


def test_the_revision_grows_in_the_transaction_and_again_at_its_commit(client: YtClient, home: str) -> None:
    client.set(f"{home}/a", 1)
    before = client.get(f"{home}/a/@revision")
    transaction = start(client)
    with inside(client, transaction):
        client.set(f"{home}/a", 2)
        changed = client.get(f"{home}/a/@revision")
    assert client.get(f"{home}/a/@revision") == before < changed
    client.commit_transaction(transaction)
    assert client.get(f"{home}/a/@revision") > changed


def test_a_node_that_is_made_and_removed_leaves_nothing(client: YtClient, home: str) -> None:
    with client.Transaction():
        node_id = client.create("table", f"{home}/t")
        client.remove(f"{home}/t")
        client.set(f"{home}/t", "another")
        client.remove(f"{home}/t")
        client.create("map_node", f"{home}/m/below", recursive=True)
        below_id = client.get(f"{home}/m/below/@id")
        client.remove(f"{home}/m", recursive=True)
        assert client.get(home) == {}
    assert client.get(home) == {}
    assert not client.exists(f"#{node_id}")
    assert not client.exists(f"#{below_id}")


def test_whole_trees_are_copied_and_moved_in_a_transaction(client: YtClient, home: str) -> None:
    client.set(f"{home}/a", {"b": {"c": 1}}, force=True)
    client.set(f"{home}/a/b/@x", 1)
    with client.Transaction():
        client.set(f"{home}/a/b/c", 2)
        client.copy(f"{home}/a", f"{home}/copy")
        client.move(f"{home}/a", f"{home}/moved")
        assert client.get(home) == {"copy": {"b": {"c": 2}}, "moved": {"b": {"c": 2}}}
    assert client.get(home) == {"copy": {"b": {"c": 2}}, "moved": {"b": {"c": 2}}}
    assert client.get(f"{home}/moved/b/@x") == 1
    assert client.get(f"{home}/moved/b/@path") == f"{home}/moved/b"


def test_documents_links_and_lists_are_changed_in_a_transaction(client: YtClient, home: str) -> None:
    client.create("document", f"{home}/d", attributes={"value": {"a": [1, 2]}})
    client.link(f"{home}/d", f"{home}/l")
    with client.Transaction():
        client.set(f"{home}/l/a/end", 3)
        client.link(home, f"{home}/self")
        client.remove(f"{home}/l&")
        assert client.get(f"{home}/self/d") == {"a": [1, 2, 3]}
        with inside(client, "0-0-0-0"):
            assert client.get(f"{home}/l") == {"a": [1, 2]}
    assert client.get(f"{home}/d") == {"a": [1, 2, 3]}
    assert sorted(client.list(home)) == ["d", "self"]
    client.remove(f"{home}/self&")


def test_the_parts_of_a_batch_take_part_each_by_itself(client: YtClient, raw: RawHttp, home: str) -> None:
    transaction = start(client)
    parts = [
        {"command": "create", "parameters": {"type": "map_node", "path": f"{home}/in", "transaction_id": transaction}},
        {"command": "create", "parameters": {"type": "map_node", "path": f"{home}/out"}},
    ]
    answer = raw.command("POST", "execute_batch", {"requests": parts, "transaction_id": transaction})
    assert all("output" in result for result in answer.value["results"])
    assert client.list(home) == ["out"]
    client.commit_transaction(transaction)
    assert sorted(client.list(home)) == ["in", "out"]


class TestDynamicTables:
    def test_unmounted_ones_are_made_copied_moved_and_removed(self, client: YtClient, home: str) -> None:
        attributes = {"dynamic": True, "schema": QUEUE_SCHEMA}
        client.create("table", f"{home}/old", attributes=attributes)
        client.mount_table(f"{home}/old", sync=True)
        client.insert_rows(f"{home}/old", [{"data": "x"}])
        client.unmount_table(f"{home}/old", sync=True)
        with client.Transaction():
            client.create("table", f"{home}/new", attributes=attributes)
            client.copy(f"{home}/old", f"{home}/copy")
            client.move(f"{home}/old", f"{home}/moved")
            assert client.get(f"{home}/new/@tablet_state") == "unmounted"
            client.remove(f"{home}/new")
            client.create("table", f"{home}/new", attributes=attributes)
        assert sorted(client.list(home)) == ["copy", "moved", "new"]
        for name in ("copy", "moved", "new"):
            client.mount_table(f"{home}/{name}", sync=True)
        for name in ("copy", "moved"):
            assert [row["data"] for row in client.select_rows(f"data from [{home}/{name}]")] == ["x"]
        client.insert_rows(f"{home}/new", [{"data": "y"}])
        with client.Transaction():
            client.remove(f"{home}/new")
        assert not client.exists(f"{home}/new")

    def test_an_abort_leaves_them_with_their_rows(self, client: YtClient, home: str) -> None:
        client.create("table", f"{home}/t", attributes={"dynamic": True, "schema": QUEUE_SCHEMA})
        client.mount_table(f"{home}/t", sync=True)
        client.insert_rows(f"{home}/t", [{"data": "x"}])
        client.unmount_table(f"{home}/t", sync=True)
        transaction = start(client)
        with inside(client, transaction):
            client.move(f"{home}/t", f"{home}/moved")
            client.remove(f"{home}/moved")
        client.abort_transaction(transaction)
        client.mount_table(f"{home}/t", sync=True)
        assert [row["data"] for row in client.select_rows(f"data from [{home}/t]")] == ["x"]

    def test_their_tablets_are_no_matter_of_transactions(self, client: YtClient, raw: RawHttp, home: str) -> None:
        client.create("table", f"{home}/t", attributes={"dynamic": True, "schema": QUEUE_SCHEMA})
        transaction = start(client)
        with inside(client, transaction):
            client.lock(f"{home}/t")
        with refused(ErrorCode.CYPRESS_LOCK_CONFLICT, transaction):
            client.mount_table(f"{home}/t")
        with refused(ErrorCode.GENERIC, "transaction"), inside(client, transaction):
            client.create("queue_consumer", f"{home}/c")
        for name in ("atomicity", "queue_agent_stage", "account", "acl"):
            with (
                refused(ErrorCode.GENERIC, "Operation cannot be performed in transaction"),
                inside(client, transaction),
            ):
                client.set(f"{home}/t/@{name}", [] if name == "acl" else "full")
        client.abort_transaction(transaction)
        client.mount_table(f"{home}/t", sync=True)


@pytest.mark.local_only
def test_transactions_locks_and_changes_survive_a_restart(tmp_path: Path, clients: Clients) -> None:
    with ClusterThread(tmp_path) as thread:
        client = clients.make(thread.address(NAMES[0]))
        client.set("//tmp/a", {"b": 1}, force=True)
        client.set("//tmp/a/@x", 1)
        outer = start(client, attributes={"title": "kept"})
        inner = start(client, outer)
        snapshot = start(client)
        with inside(client, inner):
            client.set("//tmp/a/b", 2)
            client.set("//tmp/a/@x", 2)
            client.remove("//tmp/a/@x")
            client.create("map_node", "//tmp/a/c")
        with inside(client, snapshot):
            locked = client.lock("//tmp/a", mode="snapshot")
        waiting = start(client)
        with inside(client, waiting):
            pending = client.lock("//tmp/a/b", waitable=True)
    with ClusterThread(tmp_path) as thread:
        client = clients.make(thread.address(NAMES[0]))
        assert client.get(f"#{outer}/@title") == "kept"
        assert client.get("//tmp/a") == {"b": 1}
        with inside(client, inner):
            assert client.get("//tmp/a") == {"b": 2, "c": {}}
            assert not client.exists("//tmp/a/@x")
        with refused(ErrorCode.CYPRESS_LOCK_CONFLICT, inner):
            client.set("//tmp/a/b", 3)
        assert client.get(f"#{pending['lock_id']}/@state") == "pending"
        client.commit_transaction(inner)
        client.commit_transaction(outer)
        assert client.get(f"#{pending['lock_id']}/@state") == "acquired"
        assert client.get("//tmp/a") == {"b": 2, "c": {}}
        with inside(client, snapshot):
            assert client.get(f"#{locked['node_id']}/@x") == 1
            assert client.list("//tmp/a") == ["b"]


class TestCommandLine:
    def test_transactions_are_driven_from_a_shell(self, cli: Cli, client: YtClient, home: str) -> None:
        started = cli.run("start-tx", "--timeout", "60000")
        assert started.returncode == 0, started.stderr
        transaction = started.stdout.decode().strip()
        assert cli.run("set", f"{home}/a", "1", "--tx", transaction).returncode == 0
        assert cli.run("lock", home, "--mode", "shared", "--tx", transaction).returncode == 0
        assert cli.run("ping-tx", transaction).returncode == 0
        refused_lock = cli.run("lock", home, "--tx", "1-2-30001-4")
        assert refused_lock.returncode != 0 and b"No such transaction" in refused_lock.stderr
        assert cli.run("get", f"{home}/a").returncode != 0
        assert cli.run("commit-tx", transaction).returncode == 0
        assert cli.run("get", f"{home}/a").stdout.strip() == b"1"

    def test_locks_are_given_back_and_transactions_aborted(self, cli: Cli, client: YtClient, home: str) -> None:
        transaction = cli.run("start-tx", "--timeout", "60000").stdout.decode().strip()
        assert cli.run("lock", home, "--tx", transaction).returncode == 0
        assert client.get(f"{home}/@lock_count") == 1
        assert cli.run("unlock", home, "--tx", transaction).returncode == 0
        assert client.get(f"{home}/@lock_count") == 0
        assert cli.run("abort-tx", transaction).returncode == 0
        assert not client.exists(f"#{transaction}")


def test_the_whole_client_works_with_a_transaction_of_its_configuration(
    proxy: str, clients: Clients, client: YtClient, home: str
) -> None:
    transaction = start(client)
    within = clients.make(proxy)
    with inside(within, transaction):
        within.set(f"{home}/a", 1)
        assert within.search(home) is not None
        assert within.has_attribute(f"{home}/a", "id")
        assert within.get_attribute(f"{home}/a", "absent", default=None) is None
    client.abort_transaction(transaction)
