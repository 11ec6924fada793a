"""Permissions: what somebody may do, and how a refusal reads."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from yt.wrapper import YtClient

from tests.conformance.access import User, action, all_refused, allow, deny
from tests.conformance.harness import make_queue, make_sorted, refused, rows_of


class TestTree:
    def test_reading_needs_read(self, client: YtClient, private: str, bob: User) -> None:
        client.set(f"{private}/document", {"a": 1})
        all_refused(
            901,
            "read",
            lambda: bob.client.get(private),
            lambda: bob.client.list(private),
            lambda: bob.client.get(f"{private}/@id"),
            lambda: bob.client.get(f"{private}/document/a"),
            lambda: bob.client.exists(f"{private}/@id"),
        )
        assert bob.client.exists(f"{private}/document")
        assert not bob.client.exists(f"{private}/other")

    def test_what_may_not_be_read_is_blank_in_what_may(self, client: YtClient, home: str, bob: User) -> None:
        client.set(f"{home}/closed", {"a": 1})
        client.set(f"{home}/open", {"b": 2})
        client.set(f"{home}/closed/@inherit_acl", False)
        assert bob.client.get(home) == {"closed": None, "open": {"b": 2}}
        shown = bob.client.get(home, attributes=["id"])
        assert "id" not in getattr(shown["closed"], "attributes", {})
        assert "id" in shown["open"].attributes
        listed = {str(name): name.attributes for name in bob.client.list(home, attributes=["id"])}
        assert not listed["closed"]
        assert listed["open"]

    def test_writing_needs_write(self, client: YtClient, private: str, bob: User) -> None:
        client.set(f"{private}/value", 1)
        client.create("document", f"{private}/document", attributes={"value": {"a": {}}})
        client.set(f"{private}/@acl", [allow(bob.name, "read")])
        all_refused(
            901,
            "write",
            lambda: bob.client.set(f"{private}/value", 2),
            lambda: bob.client.set(f"{private}/@x", 2),
            lambda: bob.client.set_attribute(private, "x", 2),
            lambda: bob.client.set(f"{private}/document/a", 2),
            lambda: bob.client.remove(f"{private}/document/a"),
            lambda: bob.client.create("map_node", f"{private}/d"),
            lambda: bob.client.create("map_node", f"{private}/d/e/f", recursive=True),
            lambda: bob.client.set(f"{private}/new", 1),
            lambda: bob.client.link("//tmp", f"{private}/link"),
        )
        assert sorted(client.list(private)) == ["document", "value"]
        client.set(f"{private}/@acl", [allow(bob.name, "write")])
        bob.client.set(f"{private}/value", 2)
        bob.client.set(f"{private}/document/a", 2)
        bob.client.create("map_node", f"{private}/d/e/f", recursive=True)

    def test_children_alone_can_be_given_away(self, client: YtClient, private: str, bob: User) -> None:
        client.set(f"{private}/@acl", [allow(bob.name, "modify_children", "remove")])
        bob.client.create("map_node", f"{private}/d")
        with refused(901, "write"):
            bob.client.set(f"{private}/@x", 1)
        bob.client.remove(f"{private}/d")

    def test_removal_needs_remove_on_all_that_goes(self, client: YtClient, private: str, bob: User) -> None:
        client.set(f"{private}/d", {"kept": {}, "gone": 1})
        client.set(f"{private}/@acl", [allow(bob.name, "read", "write", "remove")])
        client.set(f"{private}/d/kept/@acl", [deny(bob.name, "remove")])
        all_refused(
            901,
            private,
            lambda: bob.client.remove(f"{private}/d", recursive=True),
            lambda: bob.client.remove(f"{private}/d/*"),
            lambda: bob.client.set(f"{private}/d", {}, force=True),
            lambda: bob.client.create("map_node", f"{private}/d", force=True),
            lambda: bob.client.move(f"{private}/d", f"{private}/e"),
            lambda: bob.client.copy("//sys/schemas", f"{private}/d", force=True),
        )
        assert client.get(f"{private}/d") == {"kept": {}, "gone": 1}
        client.set(f"{private}/d/kept/@acl", [])
        bob.client.remove(f"{private}/d", recursive=True)

    def test_removal_needs_write_on_what_is_left(self, client: YtClient, private: str, bob: User) -> None:
        client.set(f"{private}/x", 1)
        client.set(f"{private}/@acl", [allow(bob.name, "remove")])
        with refused(901, f"node {private} is not allowed"):
            bob.client.remove(f"{private}/x")

    def test_copies_need_read_and_belong_to_the_copier(
        self, client: YtClient, private: str, home: str, bob: User
    ) -> None:
        client.set(f"{private}/s", {"x": 1})
        with refused(901, "read"):
            bob.client.copy(f"{private}/s", f"{home}/copy")
        client.set(f"{private}/@acl", [allow(bob.name, "read")])
        bob.client.copy(f"{private}/s", f"{home}/copy")
        assert client.get(f"{home}/copy/@owner") == client.get(f"{home}/copy/x/@owner") == bob.name
        with refused(901, "remove"):
            bob.client.move(f"{private}/s", f"{home}/moved")
        client.set(f"{private}/s/x/@acl", [deny(bob.name, "read")])
        with refused(901, f"{private}/s/x"):
            bob.client.copy(f"{private}/s", f"{home}/other")

    def test_lists_need_administer(self, client: YtClient, home: str, bob: User) -> None:
        bob.client.create("map_node", f"{home}/d")
        all_refused(
            901,
            "administer",
            lambda: bob.client.set(f"{home}/d/@acl", []),
            lambda: bob.client.set(f"{home}/d/@acl/end", allow(bob.name, "administer")),
            lambda: bob.client.set(f"{home}/d/@inherit_acl", False),
            lambda: bob.client.create("map_node", f"{home}/e", attributes={"inherit_acl": False}),
            lambda: bob.client.create("map_node", f"{home}/e", attributes={"acl": []}),
        )
        client.set(f"{home}/d/@acl", [allow(bob.name, "administer"), deny(bob.name, "write")])
        bob.client.set(f"{home}/d/@acl/end", allow("guest", "read"))
        bob.client.remove(f"{home}/d/@acl/-1")
        with refused(901, "write"):
            bob.client.set(f"{home}/d/@x", 1)

    def test_nobody_locks_himself_out_by_accident(self, client: YtClient, home: str, bob: User) -> None:
        client.create("map_node", f"{home}/d", attributes={"acl": [allow(bob.name, "administer")]})
        with refused(909, "force"):
            bob.client.set(f"{home}/d/@acl", [])
        assert len(client.get(f"{home}/d/@acl")) == 1
        bob.client.set(f"{home}/d/@acl", [], force=True)
        assert client.get(f"{home}/d/@acl") == []

    def test_in_a_transaction_everybody_stays_who_they_are(
        self, client: YtClient, private: str, home: str, bob: User
    ) -> None:
        with bob.client.Transaction():
            bob.client.create("map_node", f"{home}/plain")
            assert bob.client.get(f"{home}/plain/@owner") == bob.name
            assert bob.client.check_permission(bob.name, "write", f"{home}/plain")["action"] == "allow"
            with refused(901, "write"):
                bob.client.create("map_node", f"{private}/d")
            with refused(901, "read"):
                bob.client.get(private)
            with refused(901, "write"):
                bob.client.lock(private)
        assert client.get(f"{home}/plain/@owner") == bob.name
        client.add_member(bob.name, "superusers")
        with bob.client.Transaction():
            bob.client.create("map_node", f"{private}/mighty")
        assert client.get(f"{private}/mighty/@owner") == bob.name

    def test_parts_of_a_batch_are_refused_alone(self, client: YtClient, private: str, home: str, bob: User) -> None:
        batch = bob.client.create_batch_client()
        closed, opened = batch.get(private), batch.get(f"{home}/@id")
        batch.commit_batch()
        assert closed.get_error()["code"] == 901
        assert opened.is_ok()


class TestTables:
    def test_rows_need_read_and_write(self, client: YtClient, private: str, bob: User) -> None:
        queue = make_queue(client, f"{private}/queue")
        table = make_sorted(client, f"{private}/table")
        client.insert_rows(table, [{"key": 1}])
        reads: tuple[Callable[[], Any], ...] = (
            lambda: list(bob.client.select_rows(f"* from [{table}]")),
            lambda: list(bob.client.lookup_rows(table, [{"key": 1}])),
            lambda: list(bob.client.pull_queue(queue, 0, 0)),
        )
        writes: tuple[Callable[[], Any], ...] = (
            lambda: bob.client.insert_rows(table, [{"key": 2}]),
            lambda: bob.client.insert_rows(queue, [{"data": "x"}]),
            lambda: bob.client.delete_rows(table, [{"key": 2}]),
            lambda: bob.client.trim_rows(queue, 0, 0),
            lambda: bob.client.alter_table(table, schema=client.get(f"{table}/@schema")),
        )
        all_refused(901, "read", *reads)
        all_refused(901, "write", *writes)
        client.set(f"{private}/@acl", [allow(bob.name, "read", "write")])
        for ask in (*reads, *writes[:-1]):
            ask()
        assert rows_of(client, f"key from [{table}]") == [{"key": 1}]

    def test_static_tables_and_files_need_read_and_write(self, client: YtClient, private: str, bob: User) -> None:
        table, file = f"{private}/table", f"{private}/file"
        client.write_table(table, [{"a": 1}])
        client.write_file(file, b"content")
        reads: tuple[Callable[[], Any], ...] = (
            lambda: list(bob.client.read_table(table)),
            lambda: bob.client.read_file(file).read(),
        )
        writes: tuple[Callable[[], Any], ...] = (
            lambda: bob.client.write_table(f"<append=%true>{table}", [{"a": 2}]),
            lambda: bob.client.write_file(file, b"other"),
            lambda: bob.client.write_table(f"{private}/new", [{"a": 2}]),
        )
        all_refused(901, "read", *reads, lambda: bob.client.concatenate([table], f"{private}-joined"))
        all_refused(901, "write", *writes)
        assert list(client.read_table(table)) == [{"a": 1}]
        assert client.read_file(file).read() == b"content"
        assert client.list(private) == ["file", "table"]
        client.set(f"{private}/@acl", [allow(bob.name, "read", "write", "remove")])
        for ask in (*reads, *writes):
            ask()
        bob.client.concatenate([table], table)

    def test_chunks_are_there_for_everybody_to_look_at(self, client: YtClient, private: str, bob: User) -> None:
        queue = make_queue(client, f"{private}/queue")
        client.insert_rows(queue, [{"data": "x"}])
        client.freeze_table(queue, sync=True)
        [chunk] = client.get(f"{queue}/@chunk_ids")
        assert bob.client.get(f"#{chunk}/@row_count") == 1
        assert action(client, bob, "read", f"#{chunk}") == "allow"
        assert action(client, bob, "write", f"#{chunk}") == "deny"

    def test_tablets_need_mount(self, client: YtClient, private: str, bob: User) -> None:
        queue = make_queue(client, f"{private}/queue")
        all_refused(
            901,
            "mount",
            lambda: bob.client.unmount_table(queue),
            lambda: bob.client.freeze_table(queue),
            lambda: bob.client.mount_table(queue),
            lambda: bob.client.remount_table(queue),
            lambda: bob.client.reshard_table(queue, tablet_count=2),
        )
        client.set(f"{queue}/@acl", [allow(bob.name, "mount")])
        bob.client.unmount_table(queue)
        assert client.get(f"{queue}/@tablet_state") == "unmounted"

    def test_answers_to_repeats_are_given_to_those_who_asked(self, client: YtClient, bob: User, raw: Any) -> None:
        mutation = str(uuid.uuid4())
        path = f"//tmp/{bob.name}"
        parameters = {"type": "map_node", "path": path, "mutation_id": mutation}
        as_bob = {"X-YT-User-Name": bob.name}
        made = raw.command("POST", "create", parameters, headers=as_bob).value
        assert raw.command("POST", "create", parameters, headers=as_bob).value == made
        assert raw.command("POST", "create", parameters).error.code == 501
        client.remove(path)


class TestQueues:
    def test_registering_needs_a_permission_of_its_own(
        self, client: YtClient, home: str, bob: User, make_user: Callable[[], User]
    ) -> None:
        other = make_user()
        queue = make_queue(client, f"{home}/queue")
        consumer = f"{home}/consumer"
        client.create("queue_consumer", consumer)
        with refused(901, "register_queue_consumer"):
            bob.client.register_queue_consumer(queue, consumer, vital=False)
        permission = "register_queue_consumer"
        client.set(
            f"{queue}/@acl", [allow(bob.name, permission, vital=False), allow(other.name, permission, vital=True)]
        )
        bob.client.register_queue_consumer(queue, consumer, vital=False)
        with refused(901, "register_queue_consumer"):
            bob.client.register_queue_consumer(queue, consumer, vital=True)
        other.client.register_queue_consumer(queue, consumer, vital=True)
        other.client.register_queue_consumer(queue, consumer, vital=False)
        assert action(client, bob, permission, queue) == "allow"
        assert action(client, other, permission, queue) == "allow"

    def test_vitality_is_asked_about_too(self, client: YtClient, home: str, bob: User, raw: Any) -> None:
        queue = make_queue(client, f"{home}/queue")
        client.set(f"{queue}/@acl", [allow(bob.name, "register_queue_consumer", vital=False)])

        def answer(**options: Any) -> Any:
            asked = {"user": bob.name, "permission": "register_queue_consumer", "path": queue, **options}
            return raw.command("GET", "check_permission", asked).value["action"]

        assert answer(vital=True) == "deny"
        assert answer(vital=False) == answer() == "allow"

    def test_unregistering_needs_remove_on_either_side(self, client: YtClient, private: str, bob: User) -> None:
        queue = make_queue(client, f"{private}/queue")
        consumer = f"{private}/consumer"
        client.create("queue_consumer", consumer)
        client.register_queue_consumer(queue, consumer, vital=True)
        with refused(901, "remove"):
            bob.client.unregister_queue_consumer(queue, consumer)
        client.set(f"{consumer}/@acl", [allow(bob.name, "remove")])
        bob.client.unregister_queue_consumer(queue, consumer)
        assert client.list_queue_consumer_registrations(queue) == []
        client.register_queue_consumer(queue, consumer, vital=True)
        client.set(f"{consumer}/@acl", [])
        client.remove(consumer)
        bob.client.unregister_queue_consumer(queue, consumer)

    def test_a_registration_is_the_right_to_read_the_queue(
        self, client: YtClient, private: str, home: str, bob: User
    ) -> None:
        queue = make_queue(client, f"{private}/queue")
        client.insert_rows(queue, [{"data": "x"}])
        consumer = f"{home}/consumer"
        client.create("queue_consumer", consumer)
        client.register_queue_consumer(queue, consumer, vital=True)
        assert [row["data"] for row in bob.client.pull_queue_consumer(consumer, queue, 0, 0)] == ["x"]
        bob.client.advance_queue_consumer(consumer, queue, 0, None, 1, client_side=False)
        client.set(f"{consumer}/@acl", [deny(bob.name, "write")])
        for client_side in (False, True):
            with refused(901, "write"):
                bob.client.advance_queue_consumer(consumer, queue, 0, None, 1, client_side=client_side)
        client.set(f"{consumer}/@acl", [deny(bob.name, "read")])
        with refused(901, "read"):
            list(bob.client.pull_queue_consumer(consumer, queue, 0, 0))

    def test_producers_need_write_on_both_sides(self, client: YtClient, private: str, home: str, bob: User) -> None:
        queue, producer = make_queue(client, f"{private}/queue"), f"{home}/producer"
        client.create("queue_producer", producer)
        client.set(f"{home}/producer/@acl", [deny(bob.name, "write")])
        with refused(901, "producer"):
            bob.client.create_queue_producer_session(producer, queue, "s")
        client.set(f"{home}/producer/@acl", [])
        bob.client.create_queue_producer_session(producer, queue, "s")
        rows = [{"data": "x", "$sequence_number": 1}]
        with refused(901, "queue"):
            bob.client.push_queue_producer(producer, queue, "s", 0, rows)
        assert client.get(f"{queue}/@chunk_row_count") == 0
        client.set(f"{private}/@acl", [allow(bob.name, "write")])
        bob.client.push_queue_producer(producer, queue, "s", 0, rows)
        client.set(f"{home}/producer/@acl", [deny(bob.name, "write")])
        with refused(901, "producer"):
            bob.client.remove_queue_producer_session(producer, queue, "s")

    @pytest.mark.local_only
    def test_rights_across_clusters_are_those_of_the_user_over_there(
        self, client: YtClient, other: YtClient, home: str, other_home: str, bob: User, local: Any
    ) -> None:
        queue, consumer = make_queue(other, f"{other_home}/queue"), f"{home}/consumer"
        name = local.ask(lambda cluster: cluster.name, "hume")
        rich = f"<cluster={name}>{queue}"
        client.create("queue_consumer", consumer)
        with refused(900, f'No such user "{bob.name}"'):
            bob.client.register_queue_consumer(rich, consumer, vital=True)
        other.create("user", attributes={"name": bob.name})
        with refused(901, "register_queue_consumer"):
            bob.client.register_queue_consumer(rich, consumer, vital=True)
        other.set(f"{queue}/@acl", [allow(bob.name, "register_queue_consumer", vital=True), deny(bob.name, "read")])
        bob.client.register_queue_consumer(rich, consumer, vital=True)
        with refused(901, "read"):
            list(bob.client.pull_queue(rich, 0, 0))
        assert list(bob.client.pull_queue_consumer(consumer, rich, 0, 0)) == []
        other.remove(f"//sys/users/{bob.name}")


class TestTransactions:
    def test_a_user_works_in_a_transaction_as_outside_of_any(
        self, client: YtClient, home: str, private: str, bob: User
    ) -> None:
        with bob.client.Transaction() as transaction:
            assert client.get(f"#{transaction.transaction_id}/@owner") == bob.name
            bob.client.create("map_node", f"{home}/new/below", recursive=True)
            bob.client.set(f"{home}/new/below/x", 1)
            bob.client.remove(f"{home}/new/below/x")
            bob.client.lock("//tmp", mode="shared")
            bob.client.unlock("//tmp")
            all_refused(
                901,
                "private",
                lambda: bob.client.list(private),
                lambda: bob.client.set(f"{private}/x", 1),
                lambda: bob.client.set(f"{private}/@x", 1),
                lambda: bob.client.remove(private),
                lambda: bob.client.lock(private),
                lambda: bob.client.lock(private, mode="snapshot"),
                lambda: bob.client.copy(private, f"{home}/copy"),
            )
        assert client.get(f"{home}/new/below/@owner") == bob.name
        assert client.get(private) == {}

    def test_only_who_began_a_transaction_ends_it_or_gives_it_attributes(
        self, client: YtClient, bob: User, make_user: Callable[[], User]
    ) -> None:
        alice = make_user()
        transaction = bob.client.start_transaction(timeout=60_000)
        assert alice.client.get(f"#{transaction}/@state") == "active"
        all_refused(
            901,
            transaction,
            lambda: alice.client.commit_transaction(transaction),
            lambda: alice.client.abort_transaction(transaction),
            lambda: alice.client.set(f"#{transaction}/@mine", 1),
        )
        alice.client.ping_transaction(transaction)
        bob.client.set(f"#{transaction}/@mine", 1)
        assert client.get(f"#{transaction}/@mine") == 1
        bob.client.commit_transaction(transaction)
