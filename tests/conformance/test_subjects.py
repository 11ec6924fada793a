"""Users and groups: who there is, and who belongs to whom."""

from __future__ import annotations

from collections.abc import Callable

from yt.wrapper import YtClient

from tests.conformance.access import User, allow
from tests.conformance.harness import Cli, refused


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

    def test_accounts_are_made_by_name(self, client: YtClient, home: str, bob: User) -> None:
        name = f"account-{bob.name}"
        with refused(905, name):
            client.create("map_node", f"{home}/early", attributes={"account": name})
        assert not client.exists(f"{home}/early")
        client.create("account", attributes={"name": name})
        client.create("map_node", f"{home}/late", attributes={"account": name})
        client.set(f"{home}/late/below/deeper", 1, recursive=True)
        client.create("table", f"{home}/table")
        client.copy(f"{home}/table", f"{home}/late/copy")
        client.copy(f"{home}/table", f"{home}/late/kept", preserve_account=True)
        client.move(f"{home}/late/below", f"{home}/moved", preserve_account=False)
        accounts = {
            path: client.get(f"{home}/{path}/@account") for path in ("table", "late/copy", "late/kept", "moved")
        }
        assert accounts == {"table": "tmp", "late/copy": name, "late/kept": "tmp", "moved": "tmp"}
        client.move(f"{home}/late/copy", f"{home}/still", preserve_account=True)
        assert client.get(f"{home}/still/@account") == client.get(f"{home}/late/@account") == name
        assert name in client.list("//sys/accounts")
        with refused(501, name):
            client.create("account", attributes={"name": name})
        with refused(901, "account"):
            bob.client.create("account", attributes={"name": "mine"})
        for path in ("late", "still"):
            with refused(1, "its usage is not zero"):
                client.remove(f"//sys/accounts/{name}")
            client.remove(f"{home}/{path}", recursive=True)
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
