"""Tokens and passwords: who a request is from, and what becomes of requests from nobody."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from yt.wrapper import YtClient
from yt.wrapper.errors import YtTokenError

from tests.conformance.harness import NAMES, Answer, Clients, ClusterThread, RawHttp, refused

# All need a cluster that asks for tokens the tests know.
pytestmark = pytest.mark.local_only

ROOT_TOKEN = "root-token"


@pytest.fixture(scope="module")
def thread() -> Iterator[ClusterThread]:
    """Clusters that ask everybody for a token."""
    with ClusterThread(tokens={ROOT_TOKEN: "root"}, require_token=True) as thread:
        yield thread


@pytest.fixture
def closed(thread: ClusterThread) -> str:
    return thread.address(NAMES[0])


@pytest.fixture
def connect(closed: str, clients: Clients) -> Callable[..., YtClient]:
    """Connects with a token, or without."""
    return lambda token=None, **config: clients.make(closed, token=token, enable_token=token is not None, **config)


@pytest.fixture
def root(connect: Callable[..., YtClient]) -> YtClient:
    return connect(ROOT_TOKEN)


@pytest.fixture
def bob(root: YtClient) -> Iterator[str]:
    root.create("user", attributes={"name": "bob"})
    yield "bob"
    root.remove("//sys/users/bob", force=True)


def ask(address: str, path: str = "/api/v4/list?path=//tmp", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return RawHttp(address).request("GET", path, headers=named)


def tokens_of(client: YtClient, user: str, **password: str) -> list[str]:
    """Hashes of a user's tokens; the client hands them over as they come."""
    hashes: list[str] = json.loads(client.list_user_tokens(user, **password))
    return hashes


class TestRequired:
    @pytest.mark.parametrize(
        ("headers", "reason"),
        [
            ({}, "missing credentials"),
            ({"Authorization": "OAuth nonsense"}, "Token is missing in Cypress"),
            ({"Authorization": "OAuth "}, "missing credentials"),
            ({"Authorization": "Basic cm9vdDpyb290"}, "Malformed Authorization header"),
            ({"Authorization": ROOT_TOKEN}, "Malformed Authorization header"),
            ({"Authorization": "OAuth \xff\xfe"}, "Token is missing in Cypress"),
            ({"X-YT-User-Name": "root"}, "missing credentials"),
        ],
    )
    def test_requests_from_nobody_are_answered_with_401(
        self, closed: str, headers: dict[str, str], reason: str
    ) -> None:
        answer = ask(closed, **headers)
        assert answer.status == 401
        assert answer.headers["WWW-Authenticate"].startswith("OAuth")
        error = answer.error
        assert error is not None
        assert error.find(900) and error.find(111)
        assert reason in str(error)
        assert json.loads(answer.body)["code"] == error.code

    def test_the_client_says_that_it_is_the_token(self, connect: Callable[..., YtClient]) -> None:
        for client in (connect(), connect("nonsense")):
            with pytest.raises(YtTokenError):
                client.list("/")
            with pytest.raises(YtTokenError):
                client.insert_rows("//tmp/t", [{"a": 1}])

    @pytest.mark.parametrize("scheme", ["OAuth", "Bearer"])
    def test_a_token_says_who_asks(self, closed: str, scheme: str) -> None:
        assert ask(closed, Authorization=f"{scheme} {ROOT_TOKEN}").status == 200
        whoami = ask(closed, "/auth/whoami", Authorization=f"{scheme} {ROOT_TOKEN}")
        assert json.loads(whoami.body)["login"] == "root"

    def test_what_tells_where_to_go_is_told_to_everybody(self, closed: str) -> None:
        for path in ("/api", "/api/v4", "/hosts", "/ping", "/version", "/api/v4/discover_proxies?type=http"):
            assert ask(closed, path).status == 200, path
        assert ask(closed, "/auth/whoami").status == 401
        assert json.loads(ask(closed, "/hosts").body) == [closed]

    def test_the_address_of_hosts_is_the_one_the_client_knows(self, closed: str) -> None:
        connection = HTTPConnection(closed)
        connection.request("GET", "/hosts", headers={"Host": "cluster.example.net:80"})
        assert json.loads(connection.getresponse().read()) == ["cluster.example.net:80"]
        connection.close()

    def test_users_at_work_do_not_get_into_each_others_way(
        self, root: YtClient, connect: Callable[..., YtClient], bob: str
    ) -> None:
        as_bob = connect(root.issue_token(bob))
        for number in range(5):
            assert as_bob.get_current_user() == {"user": bob}
            as_bob.set(f"//tmp/{number}", number)
            root.set(f"//tmp/root-{number}", number)
            assert root.get(f"//tmp/{number}/@owner") == bob
            assert root.get(f"//tmp/root-{number}/@owner") == "root"
        for name in root.list("//tmp"):
            root.remove(f"//tmp/{name}")


class TestTokens:
    def test_a_token_is_shown_once_and_kept_as_its_hash(
        self, root: YtClient, connect: Callable[..., YtClient], bob: str
    ) -> None:
        token = root.issue_token(bob)
        assert re.fullmatch(r"ytct-[0-9a-f]{4}-[0-9a-f]{32}", token)
        digest = sha256(token.encode()).hexdigest()
        assert tokens_of(root, bob) == [digest]
        assert root.get(f"//sys/cypress_tokens/{digest}/@user") == bob
        assert connect(token).get_user_name() == bob
        root.revoke_token(bob, token=token)
        assert tokens_of(root, bob) == []
        with pytest.raises(YtTokenError):
            connect(token).list("/")
        with refused(1, "not recognized"):
            root.revoke_token(bob, token=token)

    def test_a_token_can_be_put_there_by_hand(self, root: YtClient, connect: Callable[..., YtClient], bob: str) -> None:
        digest = sha256(b"by-hand").hexdigest()
        root.create("map_node", f"//sys/cypress_tokens/{digest}")
        root.set(f"//sys/cypress_tokens/{digest}/@user", bob)
        assert connect("by-hand").get_user_name() == bob
        root.remove(f"//sys/cypress_tokens/{digest}")

    def test_tokens_go_with_their_user(self, root: YtClient, closed: str, bob: str) -> None:
        token = root.issue_token(bob)
        root.remove(f"//sys/users/{bob}")
        root.create("user", attributes={"name": bob})
        assert ask(closed, Authorization=f"OAuth {token}").status == 401

    def test_metadata_come_if_they_are_asked_for(self, root: YtClient, closed: str, bob: str) -> None:
        headers = {"Authorization": f"OAuth {ROOT_TOKEN}"}
        raw = RawHttp(closed)
        token = raw.command("POST", "issue_token", {"user": bob, "description": "mine"}, headers=headers).value
        [(digest, about)] = raw.command(
            "GET", "list_user_tokens", {"user": bob, "with_metadata": True}, headers=headers
        ).value.items()
        assert digest == sha256(token.encode()).hexdigest()
        assert about["description"] == "mine"
        assert about["token_prefix"] == token[:10]
        assert about["creation_time"].endswith("Z")

    def test_people_need_their_password_for_their_own_tokens(
        self, root: YtClient, connect: Callable[..., YtClient], bob: str
    ) -> None:
        root.create("user", attributes={"name": "eve"})
        root.set_user_password(bob, "secret")
        as_bob, as_eve = connect(root.issue_token(bob)), connect(root.issue_token("eve"))
        token = as_bob.issue_token(bob, password="secret")
        assert len(tokens_of(as_bob, bob, password="secret")) == 2
        for wrong in ("guess", None):
            with refused(1, "invalid password"):
                as_bob.issue_token(bob, password=wrong)
        with refused(1, "theirselves"):
            as_eve.issue_token(bob, password="secret")
        with refused(1, "theirselves"):
            as_eve.revoke_token(bob, token=token, password="secret")
        with refused(1, "invalid password"):
            as_eve.issue_token("eve", password="")
        as_bob.set_user_password(bob, "changed", current_password="secret")
        with refused(1, "invalid password"):
            as_bob.revoke_token(bob, token=token, password="secret")
        as_bob.revoke_token(bob, token=token, password="changed")
        root.remove("//sys/users/eve")

    def test_passwords_are_not_to_be_seen(self, root: YtClient, bob: str) -> None:
        root.set_user_password(bob, "secret")
        listed = root.get(f"//sys/users/{bob}/@")
        assert (listed["hashed_password"], listed["password_salt"]) == (None, None)  # entities: they have to be named
        shown = f"{root.get(f'//sys/users/{bob}')} {listed}"
        assert sha256(b"secret").hexdigest() not in shown
        salt, hashed = (root.get(f"//sys/users/{bob}/@{name}") for name in ("password_salt", "hashed_password"))
        assert hashed == sha256((salt + sha256(b"secret").hexdigest()).encode()).hexdigest()

    def test_tokens_of_nobody_are_not_made(self, root: YtClient) -> None:
        with refused(900, "nobody"):
            root.issue_token("nobody")


class TestImpersonation:
    def test_superusers_may_act_as_others(self, closed: str, connect: Callable[..., YtClient], bob: str) -> None:
        client = connect(ROOT_TOKEN, impersonation_user=bob)
        assert client.get_user_name() == client.get_current_user()["user"] == bob
        with refused(901, bob):
            client.set("//sys/x", 1)

    def test_others_may_not(self, root: YtClient, closed: str, bob: str) -> None:
        answer = ask(closed, Authorization=f"OAuth {root.issue_token(bob)}", X_YT_User_Name="root")
        assert answer.status == 401
        assert "not whitelisted, or a superuser" in str(answer.error)

    def test_the_agent_of_yql_may(self, root: YtClient, closed: str, bob: str) -> None:
        root.create("user", attributes={"name": "yql_agent"})
        token = root.issue_token("yql_agent")
        answer = ask(closed, "/auth/whoami", Authorization=f"OAuth {token}", X_YT_User_Name=bob)
        told = json.loads(answer.body)
        assert (answer.status, told["login"], told["realm"]) == (200, bob, "cypress:impersonation")
        root.remove("//sys/users/yql_agent")

    def test_nobody_acts_as_somebody_who_is_not_there(self, closed: str) -> None:
        answer = ask(closed, Authorization=f"OAuth {ROOT_TOKEN}", X_YT_User_Name="nobody")
        assert answer.status == 403
        assert answer.error is not None and answer.error.find(900)

    def test_the_banned_are_told_so(self, root: YtClient, closed: str, bob: str) -> None:
        token = root.issue_token(bob)
        root.set(f"//sys/users/{bob}/@banned", True)
        answer = ask(closed, Authorization=f"OAuth {token}")
        assert answer.status == 403
        assert answer.error is not None and answer.error.find(903)
        root.set(f"//sys/users/{bob}/@banned", "false")
        assert ask(closed, Authorization=f"OAuth {token}").status == 200


class TestOpen:
    def test_without_a_token_one_is_root(self, proxy: str, local: ClusterThread) -> None:
        alone = json.loads(ask(proxy, "/auth/whoami").body)
        assert (alone["login"], alone["realm"]) == ("root", "YT")
        assert json.loads(ask(proxy, "/auth/whoami", Authorization="OAuth of another cluster").body)["login"] == "root"

    def test_anybody_can_be_had_by_name(self, proxy: str, local: ClusterThread) -> None:
        guest = json.loads(ask(proxy, "/auth/whoami", X_YT_User_Name="guest").body)
        assert (guest["login"], guest["realm"]) == ("guest", "YT")
        assert ask(proxy, X_YT_User_Name="nobody").status == 403
        assert ask(proxy, X_YT_User_Name="owner").status == 403


def test_everything_about_users_survives_a_restart(tmp_path: Path) -> None:
    def start() -> ClusterThread:
        return ClusterThread(tmp_path, tokens={ROOT_TOKEN: "root"}, require_token=True)

    def run(address: str, work: Callable[[YtClient], Any]) -> Any:
        clients = Clients()
        try:
            return work(clients.make(address, token=ROOT_TOKEN))
        finally:
            clients.close()

    def prepare(client: YtClient) -> str:
        client.create("user", attributes={"name": "bob"})
        client.create("group", attributes={"name": "g"})
        client.add_member("bob", "g")
        entry = {"action": "allow", "subjects": ["g"], "permissions": ["write"]}
        client.set("//sys/clusters/@acl", [entry])
        return str(client.issue_token("bob"))

    def look(client: YtClient) -> Any:
        return (
            client.get("//sys/users/bob/@member_of"),
            client.get("//sys/clusters/@acl"),
            client.get("//sys/groups/superusers/@members"),
            client.get("//sys/cypress_tokens/@count"),
        )

    with start() as thread:
        token = run(thread.address(NAMES[0]), prepare)
        before = run(thread.address(NAMES[0]), look)
    with start() as thread:
        assert run(thread.address(NAMES[0]), look) == before
        assert ask(thread.address(NAMES[0]), Authorization=f"OAuth {token}").status == 200
