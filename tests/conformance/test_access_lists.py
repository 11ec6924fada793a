"""Access control lists: what they hold, what they are to begin with, and questions about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from yt.wrapper import YtClient
from yt.wrapper import YtError as YtClientError

from tests.conformance.access import Ace, User, action, allow, deny
from tests.conformance.harness import QUEUE_SCHEMA, Clients, make_queue, refused, tree_of


class TestLists:
    def test_entries_come_back_complete(self, client: YtClient, home: str, bob: User) -> None:
        client.set(f"{home}/@acl", [allow(bob.name, "read")])
        expected = allow(bob.name, "read", inheritance_mode="object_and_descendants")
        assert client.get(f"{home}/@acl") == [expected]
        client.set(f"{home}/@acl/end", deny("users", "write", inheritance_mode="object_only"))
        assert client.get(f"{home}/@acl/-1/inheritance_mode") == "object_only"
        client.remove(f"{home}/@acl/-1")
        assert client.get(f"{home}/@acl") == [expected]

    @pytest.mark.parametrize(
        ("entry", "code", "culprit"),
        [
            ({"action": "allow", "subjects": ["nobody"], "permissions": ["read"]}, 907, "nobody"),
            ({"action": "maybe", "subjects": ["root"], "permissions": ["read"]}, 1, "maybe"),
            ({"action": "allow", "subjects": ["root"], "permissions": ["fly"]}, 1, "fly"),
            ({"action": "allow", "subjects": ["root"]}, 1, "permissions"),
            (allow("root", "read", inheritance_mode="sideways"), 1, "sideways"),
            (allow("root", "register_queue_consumer"), 1, "requires vitality"),
            (allow("root", "read", vital=True), 1, "must contain a single"),
            (allow("root", "read", "register_queue_consumer", vital=True), 1, "must contain a single"),
            (allow("root", "read", "write", columns=["a"]), 1, 'ACE specifying columns must contain a single "read"'),
            (allow("root", "read", columns=5), 1, "columns"),
            ("text", 1, "text"),
        ],
    )
    def test_malformed_entries_are_refused_and_change_nothing(
        self, client: YtClient, home: str, entry: Any, code: int, culprit: str
    ) -> None:
        with refused(code, culprit):
            client.set(f"{home}/@acl", [entry])
        assert client.get(f"{home}/@acl") == []
        with refused(code, culprit):
            client.create("map_node", f"{home}/d", attributes={"acl": [entry]})
        assert not client.exists(f"{home}/d")

    def test_entries_reach_as_far_as_their_mode_says(self, client: YtClient, private: str, bob: User) -> None:
        client.create("map_node", f"{private}/a/b", recursive=True)
        paths = [private, f"{private}/a", f"{private}/a/b"]
        for mode, expected in {
            "object_and_descendants": ["allow", "allow", "allow"],
            "object_only": ["allow", "deny", "deny"],
            "descendants_only": ["deny", "allow", "allow"],
            "immediate_descendants_only": ["deny", "allow", "deny"],
        }.items():
            client.set(f"{private}/@acl", [allow(bob.name, "read", inheritance_mode=mode)])
            assert [action(client, bob, "read", path) for path in paths] == expected, mode

    def test_the_effective_list_is_what_counts(self, client: YtClient, private: str, bob: User) -> None:
        client.create("map_node", f"{private}/a/b", recursive=True)
        client.set(f"{private}/@acl", [allow(bob.name, "read", inheritance_mode="immediate_descendants_only")])
        client.set(f"{private}/a/@acl", [deny("guest", "write")])
        assert client.get(f"{private}/a/@effective_acl") == [
            deny("guest", "write", inheritance_mode="object_and_descendants"),
            allow(bob.name, "read", inheritance_mode="object_only"),
        ]
        assert client.get(f"{private}/a/b/@effective_acl") == [
            deny("guest", "write", inheritance_mode="object_and_descendants")
        ]

    def test_denying_wins_wherever_it_stands(self, client: YtClient, private: str, bob: User) -> None:
        client.create("map_node", f"{private}/d")
        client.set(f"{private}/@acl", [deny(bob.name, "read")])
        client.set(f"{private}/d/@acl", [allow(bob.name, "read"), allow("users", "read")])
        with refused(
            901, f'"read" permission for node {private}/d is denied for "{bob.name}" by ACE at node {private}'
        ):
            bob.client.get(f"{private}/d")
        client.set(f"{private}/d/@inherit_acl", False)
        assert bob.client.get(f"{private}/d") == {}

    def test_membership_in_groups_of_groups_counts(
        self, client: YtClient, private: str, bob: User, make_group: Callable[[], str]
    ) -> None:
        inner, outer = make_group(), make_group()
        client.add_member(inner, outer)
        client.add_member(bob.name, inner)
        client.set(f"{private}/@acl", [allow(outer, "read")])
        assert bob.client.get(private) == {}
        client.remove_member(bob.name, inner)
        with refused(901, private):
            bob.client.get(private)

    def test_the_owner_in_an_entry_is_whose_the_object_is(
        self, client: YtClient, private: str, bob: User, make_user: Callable[[], User]
    ) -> None:
        other = make_user()
        client.set(f"{private}/@acl", [allow("users", "read", "write"), allow("owner", "remove")])
        bob.client.create("table", f"{private}/bobs")
        other.client.create("table", f"{private}/others")
        assert bob.client.get(f"{private}/bobs/@owner") == bob.name
        with refused(901, "remove"):
            bob.client.remove(f"{private}/others")
        bob.client.remove(f"{private}/bobs")
        with refused(901, "owner"):
            bob.client.set(f"{private}/others/@owner", "root")
        bob.client.set(f"{private}/others/@owner", bob.name)
        assert action(client, bob, "remove", f"{private}/others") == "allow"

    def test_superusers_may_do_everything(self, client: YtClient, private: str, bob: User) -> None:
        client.set(f"{private}/@acl", [deny("everyone", "read", "write", "remove", "administer")])
        client.add_member(bob.name, "superusers")
        bob.client.set(f"{private}/x", 1)
        assert bob.client.get(f"{private}/x") == 1
        bob.client.set(f"{private}/x/@owner", "guest")
        bob.client.remove(f"{private}/x")

    def test_a_refusal_tells_programs_everything(self, client: YtClient, private: str, bob: User) -> None:
        client.set(f"{private}/@acl", [deny(bob.name, "read")])
        with pytest.raises(YtClientError) as caught:
            bob.client.get(private)
        [error] = [item for item in tree_of(caught.value) if item["code"] == 901]
        attributes = error["attributes"]
        assert attributes["user"] == bob.name
        assert attributes["permission"] == ["read"]
        assert attributes["object_name"] == f"node {private}"
        assert attributes["object_id"] == attributes["denied_by"] == client.get(f"{private}/@id")
        assert attributes["denied_for"] == client.get(f"//sys/users/{bob.name}/@id")


class TestDefaults:
    def test_users_work_in_tmp_and_home_and_read_the_rest(self, bob: User) -> None:
        path = f"//tmp/{bob.name}"
        bob.client.create("map_node", path)
        make_queue(bob.client, f"{path}/queue")
        bob.client.remove(path, recursive=True)
        bob.client.create("map_node", f"//home/{bob.name}")
        bob.client.remove(f"//home/{bob.name}")
        assert "users" in bob.client.list("//sys")
        for path in ("//sys/x", "//x", "//sys/queue_agents/queues/@x"):
            with refused(901, "write"):
                bob.client.set(path, 1)
        with refused(901, "remove"):
            bob.client.remove("//sys/queue_agents", recursive=True)
        with refused(901, "write"):
            bob.client.insert_rows("//sys/queue_agents/consumer_registrations", [])

    def test_guests_only_read_and_not_everything(self, client: YtClient, proxy: str, clients: Clients) -> None:
        guest = clients.make(proxy, impersonation_user="guest")
        guest.list("//tmp")
        with refused(901, "guest"):
            guest.list("//sys")
        with refused(901, "guest"):
            guest.set("//tmp/x", 1)

    def test_hashes_of_tokens_are_nobodys_business(self, client: YtClient, bob: User) -> None:
        assert client.get("//sys/cypress_tokens/@count") >= 1
        with refused(901, "cypress_tokens"):
            bob.client.list("//sys/cypress_tokens")
        assert "cypress_tokens" not in str(bob.client.get("//sys/@"))


class TestQuestions:
    def test_the_answer_names_the_entry(self, client: YtClient, private: str, bob: User) -> None:
        client.create("map_node", f"{private}/d")
        client.set(f"{private}/@acl", [allow("users", "read"), deny(bob.name, "write")])
        assert client.check_permission(bob.name, "read", f"{private}/d") == {
            "action": "allow",
            "object_id": client.get(f"{private}/@id"),
            "object_name": f"node {private}",
            "subject_id": client.get("//sys/groups/users/@id"),
            "subject_name": "users",
        }
        denied = client.check_permission(bob.name, "write", f"{private}/d")
        assert denied["action"] == "deny"
        assert denied["subject_name"] == bob.name
        assert client.check_permission(bob.name, "remove", private) == {"action": "deny"}
        assert client.check_permission("root", "remove", private) == {"action": "allow"}

    def test_who_and_what_is_asked_about_must_exist(self, client: YtClient, home: str) -> None:
        with refused(900, "nobody"):
            client.check_permission("nobody", "read", home)
        with refused(1, "fly"):
            client.check_permission("root", "fly", home)
        with refused(500, "nowhere"):
            client.check_permission("root", "read", f"{home}/nowhere")

    def test_the_banned_may_do_nothing(self, client: YtClient, bob: User) -> None:
        client.add_member(bob.name, "superusers")
        client.set(f"//sys/users/{bob.name}/@banned", True)
        assert action(client, bob, "read", "//tmp") == "deny"
        with refused(903, bob.name):
            bob.client.list("//tmp")
        client.set(f"//sys/users/{bob.name}/@banned", False)
        bob.client.list("//tmp")

    def test_lists_can_be_tried_out(self, client: YtClient, bob: User, raw: Any) -> None:
        def ask(entries: list[Ace], **options: Any) -> Any:
            asked = {"permission": "remove", "acl": entries, **options}
            return raw.command("GET", "check_permission_by_acl", asked)

        user = client.get(f"//sys/users/{bob.name}/@id")
        assert ask([allow(bob.name, "remove")], user=bob.name).value == {
            "action": "allow",
            "subject_id": user,
            "subject_name": bob.name,
        }
        assert ask([allow("guest", "remove")], user=bob.name).value == {"action": "deny"}
        assert ask([allow("guest", "remove")]).value == {"action": "allow"}
        entries = [allow(["nobody", bob.name], "remove")]
        assert ask(entries, user=bob.name).error.code == 907
        answer = ask(entries, user=bob.name, ignore_missing_subjects=True).value
        assert (answer["action"], answer["missing_subjects"]) == ("allow", ["nobody"])

    def test_columns_are_as_their_table(self, client: YtClient, home: str, bob: User) -> None:
        path = f"{home}/table"
        client.create("table", path, attributes={"schema": QUEUE_SCHEMA[:1]})
        answer = client.check_permission(bob.name, "read", path, columns=["data"])
        assert answer["action"] == "allow"
        assert [column["action"] for column in answer["columns"]] == ["allow"]
