"""Who gets what at an agent's HTTP port, tried by people who should get less."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
from structlog.testing import capture_logs

from queue_agent.adapters.cluster.callers import Callers
from queue_agent.adapters.serving.openapi import OPERATIONS
from queue_agent.adapters.serving.openapi_access import ACCESS_OPERATIONS
from queue_agent.config.clusters import ClusterConfig
from queue_agent.core.access.identity import ALWAYS_OPEN
from queue_agent.core.access.sessions import Login
from queue_agent.errors import ClusterError
from tests.component.console_world import (
    ALLOWED,
    ANN_TOKEN,
    BOB_TOKEN,
    OF_QUEUE,
    PAIR,
    QUEUE,
    ROOT_TOKEN,
    ConsoleWorld,
    console_world,
)
from tests.component.raw_server import raw_server
from tests.component.running_agent import running_agent
from yt_local.runner import LocalClusters

ROWS: Final = f"/api/v1/rows?cluster=pythia&path={QUEUE}"
HEADER: Final = {"login": "header", "header": {"peers": ["127.0.0.0/8"]}, "rows": True, "acts": ["unmount", "reset"]}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ConsoleWorld]:
    async with console_world(tmp_path) as world:
        yield world


def addresses() -> list[tuple[str, str]]:
    """Method and address of every endpoint, with something in place of its parameters."""
    found = [(one.method.upper(), one.path) for one in (*OPERATIONS, *ACCESS_OPERATIONS)]
    filled = [
        (method, path.replace("{cluster}", "pythia").replace("{path}", "home%2Fqueue").replace("{act}", "reset"))
        for method, path in found
    ]
    return [*filled, ("GET", "/orchid"), ("GET", "/orchid/queue_agent"), ("GET", "/health/live"), ("GET", "/")]


async def test_without_a_login_nothing_is_shown_but_health_where_configuration_says_so(tmp_path: Path) -> None:
    async with console_world(tmp_path, {**ALLOWED, "anonymous": "health"}) as world:
        stranger, ann = world.browser(), await world.ann()
        for method, path in addresses():
            async with world.session.request(method, world.agent.origin + path) as response:
                open_to_all = path in ALWAYS_OPEN and not (path == "/api/v1/session" and method == "DELETE")
                assert (response.status == 401) == (not open_to_all), (method, path, response.status)
        for path in ("/api/v1/no", "/nothing", "/api/v1/session/../queues", "/api/v1//queues", "/%61pi/v1/queues"):
            assert (await stranger.ask("GET", path))[0] == 401, path
        assert (await ann.ask("GET", "/api/v1/queues"))[0] == 200
        assert (await stranger.ask("GET", "/api/v1/session"))[1]["may"] == {"status": False, "rows": False, "acts": []}


async def test_without_a_login_there_are_no_rows_and_no_acts_whatever_else_is_shown(world: ConsoleWorld) -> None:
    stranger = world.browser()
    assert (await stranger.ask("GET", "/api/v1/queues"))[0] == 200
    assert (await stranger.ask("GET", ROWS))[0] == 401
    assert (await stranger.preview("unmount", OF_QUEUE))[0] == 401
    assert (await stranger.ask("POST", "/api/v1/acts/no", {}))[0] == 401


async def test_everything_is_off_by_default(tmp_path: Path) -> None:
    async with console_world(tmp_path, {}) as world:
        stranger = world.browser()
        assert (await stranger.log_in(ANN_TOKEN))[0] == 403
        assert (await stranger.ask("GET", ROWS))[0] == 401
        assert (await stranger.ask("GET", "/api/v1/session"))[1]["offers"] == {"rows": False, "acts": []}
    async with console_world(tmp_path, {"login": "token"}) as world:
        ann = await world.ann()
        assert (await ann.ask("GET", ROWS))[0] == 403
        status, error = await ann.preview("unmount", OF_QUEUE)
        assert (status, "console.acts" in error["message"]) == (409, True)


async def test_only_valid_tokens_of_known_clusters_log_in(world: ConsoleWorld) -> None:
    stranger = world.browser()
    for body in (
        {"token": "guessed-000000000000", "cluster": "pythia"},
        {"token": ANN_TOKEN, "cluster": "elsewhere"},
        {"token": f"{ANN_TOKEN}\r\nX-YT-User-Name: root", "cluster": "pythia"},
        {"token": [ANN_TOKEN], "cluster": "pythia"},
        {"token": ANN_TOKEN},
        [ANN_TOKEN],
    ):
        status, document = await stranger.ask("POST", "/api/v1/session", body)
        assert status in (400, 403)
        assert ANN_TOKEN not in str(document)
    assert stranger.cookie == ""


async def test_a_cookie_is_out_of_reach_of_scripts_and_other_sites(world: ConsoleWorld) -> None:
    ann = await world.ann()
    for word in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=28800"):
        assert word in ann.set_cookie
    assert ANN_TOKEN not in ann.set_cookie
    first = ann.cookie
    await ann.log_in(ANN_TOKEN)
    assert ann.cookie != first
    thief = world.browser()
    thief.cookie = first
    assert (await thief.ask("GET", ROWS))[0] == 401


async def test_a_stolen_cookie_alone_changes_nothing_and_ends_with_the_session(world: ConsoleWorld) -> None:
    ann, thief = await world.ann(), world.browser()
    thief.cookie = ann.cookie
    assert (await thief.preview("unmount", OF_QUEUE))[0] == 403
    thief.csrf = "guessed"
    assert (await thief.preview("unmount", OF_QUEUE))[0] == 403
    assert (await thief.ask("DELETE", "/api/v1/session"))[0] == 403
    assert (await ann.ask("DELETE", "/api/v1/session"))[0] == 200
    assert "Max-Age=0" in ann.set_cookie
    assert (await thief.ask("GET", ROWS))[0] == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
async def test_pages_of_other_servers_can_do_nothing(world: ConsoleWorld, headers: dict[str, str]) -> None:
    ann, victim = await world.ann(), world.browser()
    assert (await victim.log_in(BOB_TOKEN, **headers))[0] == 403
    assert (await ann.ask("GET", ROWS, **headers))[0] == 403
    assert (await ann.ask("POST", "/api/v1/acts/unmount", {**OF_QUEUE, "dry_run": True}, **headers))[0] == 403
    assert (await ann.ask("DELETE", "/api/v1/session", **headers))[0] == 403
    assert (await ann.ask("GET", ROWS))[0] == 200


async def test_forms_can_not_send_what_acts_need(world: ConsoleWorld) -> None:
    ann = await world.ann()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        status, _ = await ann.ask("POST", "/api/v1/acts/unmount", {**OF_QUEUE, "dry_run": True}, Content_Type=kind)
        assert status == 415
        assert (await world.browser().log_in(ANN_TOKEN, Content_Type=kind))[0] == 415


async def test_a_name_that_somebody_had_resolved_to_a_playground_is_not_served() -> None:
    """Where any token is good, DNS rebinding would make a page's own origin the agent's."""
    async with LocalClusters({"pythia": 0}) as clusters, aiohttp.ClientSession() as session:
        console = {"login": "token", "rows": True, "trust_clusters_without_tokens": True}
        async with running_agent(session, {"pythia": clusters.addresses["pythia"]}, console=console) as agent:
            body = {"token": "anything-at-all", "cluster": "pythia"}
            port = agent.origin.rpartition(":")[2]
            for host, status in ((f"evil.example:{port}", 403), (f"127.0.0.1:{port}", 200), (f"localhost:{port}", 200)):
                headers = {"Host": host, "Origin": f"http://{host}"}
                async with session.post(f"{agent.origin}/api/v1/session", json=body, headers=headers) as response:
                    assert response.status == status, host


async def test_a_cluster_that_takes_any_token_proves_nothing() -> None:
    async with LocalClusters({"pythia": 0}) as clusters, aiohttp.ClientSession() as session:
        console = {"login": "token", "rows": True}
        async with running_agent(session, {"pythia": clusters.addresses["pythia"]}, console=console) as agent:
            body = {"token": "anything-at-all", "cluster": "pythia"}
            async with session.post(f"{agent.origin}/api/v1/session", json=body) as response:
                document = await response.json()
                assert response.status == 403
                assert "takes any token" in document["message"]


async def test_sessions_of_one_user_do_not_take_those_of_others(tmp_path: Path) -> None:
    console = {**ALLOWED, "max_sessions": 4, "max_sessions_per_user": 2}
    async with console_world(tmp_path, console) as world:
        bob = await world.bob()
        anns = [await world.ann() for _ in range(6)]
        assert [(await ann.ask("GET", ROWS))[0] for ann in anns] == [401] * 4 + [200] * 2
        assert (await bob.ask("GET", ROWS))[0] == 200
        statuses = await asyncio.gather(*(world.browser().log_in("guessed-000000000000") for _ in range(60)))  # noqa: TID251 - all at once is the point
        assert {status for status, _ in statuses} <= {403, 429}
        assert (await bob.ask("GET", ROWS))[0] == 200


async def test_a_revoked_token_ends_its_session(tmp_path: Path) -> None:
    async with console_world(tmp_path, {**ALLOWED, "recheck_period": 1}) as world:
        ann = await world.ann()
        assert (await ann.ask("GET", ROWS))[0] == 200
        await world.root.run("revoke_token", user="ann", token_sha256=sha256(ANN_TOKEN.encode()).hexdigest())
        assert (await ann.ask("GET", "/api/v1/session"))[1]["user"] is None
        assert (await ann.ask("GET", ROWS))[0] == 401


async def test_a_proxy_says_who_somebody_is_and_nobody_else_does(tmp_path: Path) -> None:
    async with console_world(tmp_path, HEADER) as world:
        ann = world.browser(X_Forwarded_User="ann")
        status, session = await ann.ask("GET", "/api/v1/session")
        assert (status, session["user"]) == (200, "ann")
        ann.csrf = session["csrf"]
        assert (await ann.ask("GET", ROWS))[0] == 200
        bob = world.browser(X_Forwarded_User="bob")
        assert (await bob.preview("unmount", OF_QUEUE))[0] == 403
        bob.csrf = session["csrf"]  # that of another user
        assert (await bob.preview("unmount", OF_QUEUE))[0] == 403
        bob.csrf = (await bob.ask("GET", "/api/v1/session"))[1]["csrf"]
        status, error = await bob.preview("unmount", OF_QUEUE)
        assert (status, "lacks the permission" in error["message"]) == (403, True)
        assert (await ann.carry_out("unmount", OF_QUEUE))[0] == 200
        [record] = await world.journal()
        assert (record["user"], record["login"], record["outcome"]) == ("ann", "header", "done")
        nobody = world.browser(X_Forwarded_User="carol")
        nobody.csrf = (await nobody.ask("GET", "/api/v1/session"))[1]["csrf"]
        assert (await nobody.ask("GET", ROWS))[0] == 403
        assert (await world.browser().ask("GET", ROWS))[0] == 401
        assert (await world.browser(X_Forwarded_User="ann, root").ask("GET", ROWS))[0] == 401
        assert (await world.browser(X_Forwarded_User="").ask("GET", ROWS))[0] == 401


@pytest.mark.parametrize("headers", [{}, {"X_Forwarded_For": "10.1.2.3"}, {"Forwarded": "for=10.1.2.3"}])
async def test_a_peer_that_is_no_proxy_is_not_believed(tmp_path: Path, headers: dict[str, str]) -> None:
    async with console_world(tmp_path, {**HEADER, "header": {"peers": ["10.1.2.3/32"]}}) as world:
        liar = world.browser(X_Forwarded_User="root", **headers)
        assert (await liar.ask("GET", "/api/v1/session"))[1]["user"] is None
        assert (await liar.ask("GET", ROWS))[0] == 401
        assert (await liar.preview("unmount", OF_QUEUE))[0] == 401


async def test_an_agent_that_may_not_act_for_others_does_nothing_in_its_own_name(tmp_path: Path) -> None:
    """Its own rights would be more than the caller's, or less; they are never used."""
    async with console_world(tmp_path, HEADER) as world:
        (tmp_path / "token").write_text(BOB_TOKEN)  # the agent's token is read again
        ann = world.browser(X_Forwarded_User="ann")
        ann.csrf = (await ann.ask("GET", "/api/v1/session"))[1]["csrf"]
        status, error = await ann.preview("unmount", OF_QUEUE)
        assert (status, "act in the name of ann" in error["message"]) == (403, True)
        assert (await ann.ask("GET", ROWS))[0] == 403


async def test_tokens_are_in_no_log_and_no_error(world: ConsoleWorld) -> None:
    said: list[Any] = []
    with capture_logs() as logs:
        ann = await world.ann()
        said += [await ann.ask("GET", ROWS + "&partition=7"), await ann.ask("GET", ROWS.replace(QUEUE, "//no/such"))]
        said += [await ann.carry_out("reset", {**PAIR, "to": "earliest"})]
        said += [await ann.preview("unmount", {"cluster": "pythia", "path": "//sys/queue_agents/queues"})]
        said += [await ann.ask("POST", "/api/v1/session", f'{{"token": "{ANN_TOKEN}"')]
        said += [await ann.ask("GET", f"/api/v1/session?token={ANN_TOKEN}"), await ann.ask("GET", "/api/v1/session")]
        said += await world.journal()
    told = f"{logs}{said}"
    for token in (ANN_TOKEN, ROOT_TOKEN, ann.cookie.partition("=")[2]):
        assert token not in told
    assert (await world.agent.get("/orchid/config"))[1]["console"]["login"] == "token"


async def test_a_proxy_that_repeats_a_token_in_its_error_does_not_get_it_into_ours() -> None:
    error = json.dumps({"code": 1, "message": f"bad header OAuth {ANN_TOKEN}", "attributes": {}, "inner_errors": []})

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 400 Bad\r\nX-YT-Error: {error}\r\nX-YT-Response-Code: 1\r\nContent-Length: {len(error)}"
        writer.write(f"{head}\r\nConnection: close\r\n\r\n{error}".encode())
        await writer.drain()

    async with raw_server(connected) as address:
        configs = {"pythia": ClusterConfig(proxy=address, retry_count=0, discover_proxies=False)}
        logins = {"pythia": Login("ann", ANN_TOKEN, datetime(2026, 3, 1, tzinfo=UTC))}
        caller = Callers(configs, trust_clusters_without_tokens=True).of_tokens(logins, "127.0.0.1", "session")
        with capture_logs() as logs, pytest.raises(ClusterError) as failed:
            async with caller.clusters({"pythia"}) as clusters:
                await clusters["pythia"].get("//home")
        assert "bad header OAuth <token>" in str(failed.value)
        assert ANN_TOKEN not in f"{failed.value}{failed.value.details}{logs}{caller}"
