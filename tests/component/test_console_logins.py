"""Logins that fail too often, and programs that send their token with each request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
from yarl import URL

from queue_agent.cli.agent_api import LoginNeeded
from queue_agent.cli.statuses import fetch_overview
from queue_agent.core.access.attempts import AT_ONCE
from tests.component.console_world import (
    ALLOWED,
    ANN_TOKEN,
    BOB_TOKEN,
    CONSUMER,
    OF_QUEUE,
    QUEUE,
    Browser,
    ConsoleWorld,
    console_world,
)
from tests.component.running_agent import running_agent
from yt_local.runner import LocalClusters

CLOSED: Final = {**ALLOWED, "anonymous": "health"}
GUESS: Final = "guessed-000000000000"
ROWS: Final = f"/api/v1/rows?cluster=pythia&path={QUEUE}"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ConsoleWorld]:
    async with console_world(tmp_path, CLOSED) as world:
        yield world


@asynccontextmanager
async def neighbour(world: ConsoleWorld) -> AsyncIterator[Browser]:
    """Somebody at another address."""
    connector = aiohttp.TCPConnector(local_addr=("127.0.0.2", 0))
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield Browser(world.agent.origin, session)


async def metric(world: ConsoleWorld, outcome: str) -> float:
    async with world.session.get(f"{world.agent.origin}/metrics") as response:
        lines = (await response.text()).splitlines()
    [line] = [line for line in lines if line.startswith(f'queue_agent_logins_total{{outcome="{outcome}"}}')]
    return float(line.rpartition(" ")[2])


async def ask(world: ConsoleWorld, path: str, token: str, **headers: str) -> tuple[int, Any, Mapping[str, str]]:
    sent = {"Authorization": f"OAuth {token}", **{name.replace("_", "-"): one for name, one in headers.items()}}
    async with world.session.get(URL(world.agent.origin + path, encoded=True), headers=sent) as response:
        return response.status, await response.json(), response.headers


class StoppedClock:
    """`ports.Clock`: however long guesses take, no failure is forgotten meanwhile."""

    def now(self) -> datetime:
        return datetime(2026, 3, 1, 12, tzinfo=UTC)


async def test_an_address_that_guesses_tokens_waits_and_nobody_else_does(tmp_path: Path) -> None:
    async with console_world(tmp_path, CLOSED, clock=StoppedClock()) as world:
        await guess_tokens(world)


async def guess_tokens(world: ConsoleWorld) -> None:
    ann = await world.ann()
    for index in range(AT_ONCE):
        status, _ = await world.browser().log_in(f"{GUESS}{index}")
        assert status == 403
    refused = {"cluster": "pythia", "token": ANN_TOKEN}
    async with world.session.post(f"{world.agent.origin}/api/v1/session", json=refused) as response:
        document = await response.json()
        assert (response.status, document["message"]) == (
            429,
            "Too many logins from 127.0.0.1 have failed: try again in 6 s",
        )
        assert response.headers["Retry-After"] == "6"
    assert (await ask(world, "/api/v1/queues", BOB_TOKEN))[0] == 429
    assert (await ann.ask("GET", ROWS))[0] == 200, "who has logged in goes on"
    async with neighbour(world) as other:
        assert (await other.log_in(BOB_TOKEN))[0] == 200
    assert (await metric(world, "refused"), await metric(world, "accepted")) == (AT_ONCE, 2)
    assert await metric(world, "limited") == 2


async def test_behind_a_known_proxy_each_browser_has_a_limit_of_its_own(tmp_path: Path) -> None:
    """What the proxy adds counts, not what the browser claims."""
    async with console_world(tmp_path, {**CLOSED, "proxies": ["127.0.0.1/32"]}, clock=StoppedClock()) as world:
        for index in range(AT_ONCE):
            guesser = world.browser(X_Forwarded_For=f"198.51.100.{index}, 192.0.2.1")
            assert (await guesser.log_in(f"{GUESS}{index}"))[0] == 403
        status, error = await world.browser(X_Forwarded_For="198.51.100.99, 192.0.2.1").log_in(GUESS)
        assert (status, error["message"]) == (429, "Too many logins from 192.0.2.1 have failed: try again in 6 s")
        ann = world.browser(X_Forwarded_For="192.0.2.2")
        assert (await ann.log_in(ANN_TOKEN))[0] == 200
        assert (await ann.carry_out("unmount", OF_QUEUE))[0] == 200
        [record] = await world.journal()
        assert record["peer"] == "192.0.2.2"


async def test_who_is_no_proxy_cannot_guess_in_the_name_of_others(tmp_path: Path) -> None:
    async with console_world(tmp_path, {**CLOSED, "proxies": ["10.0.3.7/32"]}, clock=StoppedClock()) as world:
        statuses = [
            (await world.browser(X_Forwarded_For=f"192.0.2.{index}").log_in(GUESS))[0] for index in range(AT_ONCE + 1)
        ]
        assert statuses == [403] * AT_ONCE + [429]


async def test_logins_that_succeed_or_that_no_cluster_answers_are_not_counted(tmp_path: Path) -> None:
    async with console_world(tmp_path, {**CLOSED, "max_sessions_per_user": 2}) as world:
        for _ in range(2 * AT_ONCE):
            assert (await world.browser().log_in(ANN_TOKEN))[0] == 200
    async with aiohttp.ClientSession() as session, LocalClusters({"pythia": 0}, require_token=True) as clusters:
        proxies = {"pythia": clusters.addresses["pythia"], "hume": "127.0.0.1:1"}
        async with running_agent(session, proxies, console=CLOSED) as agent:
            for _ in range(AT_ONCE + 1):
                body = {"cluster": "hume", "token": ANN_TOKEN}
                async with session.post(f"{agent.origin}/api/v1/session", json=body) as response:
                    assert response.status == 503


async def test_a_program_has_the_rights_of_a_session_without_a_cookie(world: ConsoleWorld) -> None:
    status, queues, headers = await ask(world, "/api/v1/queues", ANN_TOKEN)
    assert (status, queues["missing"], "Set-Cookie" in headers) == (200, [], False)
    status, session, _ = await ask(world, "/api/v1/session", ANN_TOKEN)
    assert (status, session["user"], session["csrf"], session["may"]["rows"]) == (200, "ann", None, True)
    assert (await ask(world, ROWS, BOB_TOKEN))[0] == 200
    program = world.browser(Authorization=f"OAuth {ANN_TOKEN}")
    assert (await program.carry_out("unmount", OF_QUEUE))[0] == 200
    [record] = await world.journal()
    assert (record["user"], record["login"], record["outcome"]) == ("ann", "token", "done")
    bob = world.browser(Authorization=f"OAuth {BOB_TOKEN}")
    status, error = await bob.preview("mount", OF_QUEUE)
    assert (status, "lacks the permission" in error["message"]) == (403, True)
    assert await metric(world, "accepted") == 2, "a cluster is asked once for each token"


async def test_a_preview_of_one_program_is_not_good_for_another(world: ConsoleWorld) -> None:
    ann, bob = (world.browser(Authorization=f"OAuth {token}") for token in (ANN_TOKEN, BOB_TOKEN))
    _, document = await ann.preview("unmount", OF_QUEUE)
    assert (await bob.confirm("unmount", OF_QUEUE, document["preview"]))[0] in (403, 409)
    assert await world.root.run("get", path=f"{QUEUE}/@tablet_state") is not None
    assert await world.journal() == []


async def test_a_token_that_is_none_is_refused_and_not_taken_for_the_cookie(world: ConsoleWorld) -> None:
    ann = await world.ann()
    for header in (f"OAuth {GUESS}", "OAuth", f"OAuth {ANN_TOKEN} {ANN_TOKEN}"):
        status, error = await ann.ask("GET", "/api/v1/queues", Authorization=header)
        assert (status, ANN_TOKEN in str(error)) == (401, False), header
    status, error, headers = await ask(world, "/api/v1/queues", GUESS)
    assert (status, headers["WWW-Authenticate"]) == (401, "OAuth")
    status, error, _ = await ask(world, "/api/v1/queues", ANN_TOKEN, X_YT_Cluster="elsewhere")
    assert (status, error["message"]) == (401, "X-YT-Cluster must be one of pythia")
    for open_to_all in ("/health/live", "/api/v1/openapi.json"):
        assert (await ask(world, open_to_all, GUESS))[0] == 200


async def test_a_revoked_token_of_a_program_ends(tmp_path: Path) -> None:
    async with console_world(tmp_path, {**CLOSED, "recheck_period": 1}) as world:
        assert (await ask(world, "/api/v1/queues", ANN_TOKEN))[0] == 200
        await world.root.run("revoke_token", user="ann", token_sha256=sha256(ANN_TOKEN.encode()).hexdigest())
        assert (await ask(world, "/api/v1/queues", ANN_TOKEN))[0] == 401


async def test_a_page_of_another_server_is_no_program(world: ConsoleWorld) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Sec_Fetch_Site": "cross-site"}):
        assert (await ask(world, "/api/v1/queues", ANN_TOKEN, **headers))[0] == 403


async def test_a_page_that_had_its_name_resolved_to_a_playground_is_no_program() -> None:
    async with LocalClusters({"pythia": 0}) as clusters, aiohttp.ClientSession() as session:
        console = {**CLOSED, "trust_clusters_without_tokens": True}
        async with running_agent(session, {"pythia": clusters.addresses["pythia"]}, console=console) as agent:
            headers = {"Authorization": "OAuth anything-at-all"}
            for host, status in (("evil.example", 403), ("127.0.0.1", 200)):
                url = f"{agent.origin}/api/v1/queues"
                async with session.get(url, headers={**headers, "Host": host}) as response:
                    assert response.status == status, host


async def test_where_a_proxy_names_callers_tokens_count_for_nothing(tmp_path: Path) -> None:
    console = {"login": "header", "anonymous": "health", "header": {"peers": ["10.1.2.3/32"]}}
    async with console_world(tmp_path, console) as world:
        status, _, headers = await ask(world, f"/api/v1/consumers/pythia/{CONSUMER.strip('/')}", ANN_TOKEN)
        assert (status, "WWW-Authenticate" in headers) == (401, False)


async def test_commands_send_the_token_of_whoever_runs_them_where_an_agent_asks(
    world: ConsoleWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("YT_TOKEN", "YT_TOKEN_PATH", "QUEUE_AGENT_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(LoginNeeded, match="give your YTsaurus token in YT_TOKEN"):
        await fetch_overview([world.agent.origin])
    monkeypatch.setenv("YT_TOKEN", GUESS)
    with pytest.raises(LoginNeeded, match="does not know this token"):
        await fetch_overview([world.agent.origin])
    monkeypatch.setenv("YT_TOKEN", BOB_TOKEN)
    assert (await fetch_overview([world.agent.origin])).agents[0]["version"]


async def test_an_agent_that_shows_status_to_everybody_never_sees_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YT_TOKEN", ANN_TOKEN)
    async with console_world(tmp_path) as world:
        assert (await fetch_overview([world.agent.origin])).agents[0]["version"]
        assert await metric(world, "accepted") == 0
