"""Users, groups, access control lists: what somebody may do, and how a refusal reads."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from yt.wrapper import YtClient
from yt.wrapper import YtError as YtClientError

from tests.conformance.harness import (
    QUEUE_SCHEMA,
    Cli,
    Clients,
    make_queue,
    make_sorted,
    refused,
    rows_of,
    tree_of,
)

Ace = dict[str, Any]


def allow(subjects: str | Sequence[str], *permissions: str, **more: Any) -> Ace:
    return ace("allow", subjects, *permissions, **more)


def deny(subjects: str | Sequence[str], *permissions: str, **more: Any) -> Ace:
    return ace("deny", subjects, *permissions, **more)


def ace(action: str, subjects: str | Sequence[str], *permissions: str, **more: Any) -> Ace:
    names = [subjects] if isinstance(subjects, str) else list(subjects)
    return {"action": action, "subjects": names, "permissions": list(permissions), **more}


@dataclass(frozen=True)
class User:
    """Somebody who is not root."""

    name: str
    client: YtClient


def all_refused(code: int, culprit: str, *changes: Callable[[], object]) -> None:
    """Each change by itself is refused in these words."""
    for change in changes:
        with refused(code, culprit):
            change()


@pytest.fixture
def make_user(client: YtClient, proxy: str, clients: Clients) -> Iterator[Callable[[], User]]:
    """Makes users with tokens of their own."""
    names: list[str] = []

    def make() -> User:
        name = f"user-{uuid.uuid4().hex[:8]}"
        names.append(name)
        client.create("user", attributes={"name": name})
        return User(name, clients.make(proxy, token=client.issue_token(name)))

    yield make
    for name in names:
        if client.exists(f"//sys/users/{name}"):
            client.remove(f"//sys/users/{name}")


@pytest.fixture
def bob(make_user: Callable[[], User]) -> User:
    return make_user()


@pytest.fixture
def make_group(client: YtClient) -> Iterator[Callable[[], str]]:
    names: list[str] = []

    def make() -> str:
        names.append(f"group-{uuid.uuid4().hex[:8]}")
        client.create("group", attributes={"name": names[-1]})
        return names[-1]

    yield make
    for name in names:
        if client.exists(f"//sys/groups/{name}"):
            client.remove(f"//sys/groups/{name}")


@pytest.fixture
def private(client: YtClient, home: str) -> str:
    """A directory nobody but superusers can use."""
    path = f"{home}/private"
    client.create("map_node", path, attributes={"inherit_acl": False})
    return path


def action(client: YtClient, user: User | str, permission: str, path: str, **options: Any) -> str:
    name = user if isinstance(user, str) else user.name
    return str(client.check_permission(name, permission, path, **options)["action"])


class TestSubjects:
    def test_builtin_subjects_are_there_and_in_their_groups(self, client: YtClient) -> None:
        assert {"root", "guest", "owner"} <= set(client.list("//sys/users"))
        assert {"everyone", "users", "superusers", "admins"} <= set(client.list("//sys/groups"))
        assert set(client.get("//sys/groups/everyone/@members")) == {"users", "guest"}
        assert "root" in client.get("//sys/groups/superusers/@members")
        assert client.get("//sys/users/guest/@member_of") == ["everyone"]
        assert {"superusers", "users", "everyone"} <= set(client.get("//sys/users/root/@member_of_closure"))

    def test_a_new_user_is_one_of_the_users(self, client: YtClient, bob: User) -> None:
        assert client.get(f"//sys/users/{bob.name}/@name") == bob.name
        assert client.get(f"//sys/users/{bob.name}/@type") == "user"
        assert not client.get(f"//sys/users/{bob.name}/@banned")
        assert client.get(f"//sys/users/{bob.name}/@member_of") == ["users"]
        assert bob.client.get_current_user() == {"user": bob.name}
        assert bob.client.get_user_name() == bob.name

    def test_names_are_unique_among_users_and_groups(self, client: YtClient, bob: User) -> None:
        with refused(501, bob.name):
            client.create("user", attributes={"name": bob.name})
        with refused(501, bob.name):
            client.create("group", attributes={"name": bob.name})
        with refused(1, "name"):
            client.create("user", attributes={"name": ""})
        known = client.get(f"//sys/users/{bob.name}/@id")
        assert client.create("user", attributes={"name": bob.name}, ignore_existing=True) == known

    def test_groups_contain_users_and_groups_but_never_each_other(
        self, client: YtClient, bob: User, make_group: Callable[[], str]
    ) -> None:
        inner, outer = make_group(), make_group()
        client.add_member(bob.name, inner)
        client.add_member(inner, outer)
        assert client.get(f"//sys/groups/{inner}/@members") == [bob.name]
        assert set(client.get(f"//sys/users/{bob.name}/@member_of")) == {"users", inner}
        assert {inner, outer} <= set(client.get(f"//sys/users/{bob.name}/@member_of_closure"))
        with refused(908, bob.name, inner):
            client.add_member(bob.name, inner)
        with refused(1, "cycle"):
            client.add_member(outer, inner)
        with refused(1, "cycle"):
            client.add_member(inner, inner)
        client.remove_member(bob.name, inner)
        with refused(1, bob.name, inner):
            client.remove_member(bob.name, inner)
        with refused(1, "Cannot modify group"):
            client.add_member(bob.name, "everyone")
        with refused(1, "nobody"):
            client.add_member("nobody", inner)
        with refused(500, "no-group"):
            client.add_member(bob.name, "no-group")

    def test_builtin_subjects_stay(self, client: YtClient) -> None:
        for path in ("//sys/users/root", "//sys/groups/users"):
            with refused(1, "built-in"):
                client.remove(path)
            with refused(1, "built-in"):
                client.set(f"{path}/@name", "other")
        with refused(1, "cannot be banned"):
            client.set("//sys/users/root/@banned", True)

    def test_a_removed_subject_is_gone_from_groups_and_lists(
        self, client: YtClient, home: str, bob: User, make_user: Callable[[], User], make_group: Callable[[], str]
    ) -> None:
        group, other = make_group(), make_user()
        client.add_member(bob.name, group)
        client.create("map_node", f"{home}/d")
        client.set(f"{home}/d/@acl", [allow(bob.name, "read"), allow([bob.name, other.name], "write")])
        bob.client.create("map_node", f"{home}/d/own")
        client.remove(f"//sys/users/{bob.name}")
        assert client.get(f"//sys/groups/{group}/@members") == []
        assert [entry["subjects"] for entry in client.get(f"{home}/d/@acl")] == [[other.name]]
        assert client.get(f"{home}/d/own/@owner") == "root"

    def test_a_renamed_user_keeps_memberships_lists_and_tokens(
        self, client: YtClient, private: str, bob: User, make_group: Callable[[], str]
    ) -> None:
        group, new = make_group(), f"{bob.name}-renamed"
        client.add_member(bob.name, group)
        client.set(f"{private}/@acl", [allow(bob.name, "read")])
        client.set(f"//sys/users/{bob.name}/@name", new)
        assert client.get(f"//sys/groups/{group}/@members") == [new]
        assert client.get(f"{private}/@acl/0/subjects") == [new]
        assert bob.client.get(private) == {}
        client.set(f"//sys/users/{new}/@name", bob.name)
        with refused(501, "root"):
            client.set(f"//sys/users/{bob.name}/@name", "root")

    def test_aliases_stand_for_a_subject_in_lists(
        self, client: YtClient, private: str, bob: User, make_group: Callable[[], str]
    ) -> None:
        alias = f"{bob.name}-alias"
        client.set(f"//sys/users/{bob.name}/@aliases", [alias])
        client.set(f"{private}/@acl", [allow(alias, "read")])
        assert client.get(f"{private}/@acl/0/subjects") == [bob.name]
        with refused(501, alias):
            client.set(f"//sys/groups/{make_group()}/@aliases", [alias])
        with refused(1, "more than once"):
            client.set(f"//sys/users/{bob.name}/@aliases", [alias, alias])

    def test_subjects_have_no_place_among_nodes(self, client: YtClient, home: str, bob: User) -> None:
        for path in ("//sys/users/x", "//sys/groups/x"):
            with refused(1, "without a path"):
                client.create("map_node", path)
        with refused(1, bob.name):
            client.copy(f"//sys/users/{bob.name}", f"{home}/copy")
        with refused(1, bob.name):
            client.move(f"//sys/users/{bob.name}", f"{home}/moved")

    def test_plain_users_neither_make_nor_change_subjects(
        self, client: YtClient, bob: User, make_user: Callable[[], User], make_group: Callable[[], str]
    ) -> None:
        group, other = make_group(), make_user()
        with refused(901, '"create" permission for "user" schema'):
            bob.client.create("user", attributes={"name": "somebody"})
        with refused(901, f'group "{group}"'):
            bob.client.add_member(bob.name, group)
        with refused(901, f'user "{other.name}"'):
            bob.client.set(f"//sys/users/{other.name}/@banned", True)
        with refused(901, f'user "{other.name}"'):
            bob.client.remove(f"//sys/users/{other.name}")
        with refused(901, "superusers"):
            bob.client.add_member(bob.name, "superusers")
        client.set(f"//sys/groups/{group}/@acl", [allow(bob.name, "write")])
        bob.client.add_member(bob.name, group)

    def test_admins_make_subjects(self, client: YtClient, bob: User) -> None:
        client.add_member(bob.name, "admins")
        name = f"made-by-{bob.name}"
        bob.client.create("user", attributes={"name": name})
        assert client.get(f"//sys/users/{name}/@owner") == bob.name
        bob.client.remove(f"//sys/users/{name}")

    def test_accounts_are_made_by_name(self, client: YtClient, bob: User) -> None:
        name = f"account-{bob.name}"
        client.create("account", attributes={"name": name})
        assert name in client.list("//sys/accounts")
        with refused(501, name):
            client.create("account", attributes={"name": name})
        with refused(901, "account"):
            bob.client.create("account", attributes={"name": "mine"})
        client.remove(f"//sys/accounts/{name}")

    def test_other_nodes_may_have_attributes_of_these_names(self, client: YtClient, home: str) -> None:
        for name in ("name", "members", "banned"):
            client.set(f"{home}/@{name}", 1)
            assert client.get(f"{home}/@{name}") == 1
        assert {"name", "members", "banned"} <= set(client.get(f"{home}/@user_attribute_keys"))

    def test_the_command_line_knows_members(self, cli: Cli, client: YtClient, make_group: Callable[[], str]) -> None:
        group = make_group()
        assert cli.run("add-member", "guest", group).returncode == 0
        assert client.get(f"//sys/groups/{group}/@members") == ["guest"]
        assert cli.run("remove-member", "guest", group).returncode == 0
        assert b'"action" = "allow"' in cli.run("check-permission", "root", "write", "//sys").stdout


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
            (allow("root", "read", columns=["a"]), 1, "columns"),
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
