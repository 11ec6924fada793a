"""`/test/...` of a local cluster: what tests in any language do to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import ANY

import aiohttp
import pytest

from tests.component.running_agent import eventually
from yt_local.runner import LocalClusters


@dataclass(frozen=True)
class Outsider:
    """Somebody who only has HTTP."""

    session: aiohttp.ClientSession
    origin: str

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer of the controls."""
        async with self.session.request(method, f"{self.origin}/test/{path}", json=body) as response:
            answer = await response.json()
            assert response.status == 200, answer
            return answer

    async def is_wrong(self, method: str, path: str, body: Any = None) -> str:
        """What is wrong with a request that must be."""
        async with self.session.request(method, f"{self.origin}/test/{path}", json=body) as response:
            assert response.status == 400
            return str((await response.json())["message"])

    async def exists(self, path: str) -> Any:
        """Status and document of an answer of the cluster itself."""
        async with self.session.get(f"{self.origin}/api/v4/exists", params={"path": path}) as response:
            return response.status, await response.json(content_type=None)


@pytest.fixture
async def outsider() -> AsyncIterator[Outsider]:
    async with LocalClusters({"a": 0}, test_controls=True) as clusters, aiohttp.ClientSession() as session:
        yield Outsider(session, f"http://{clusters.addresses['a']}")


async def test_controls_are_not_there_unless_they_are_asked_for() -> None:
    async with (
        LocalClusters({"a": 0}) as clusters,
        aiohttp.ClientSession() as session,
        session.get(f"http://{clusters.addresses['a']}/test/clock") as response,
    ):
        assert response.status == 404


async def test_where_tokens_are_required_controls_are_for_superusers() -> None:
    tokens = {"r": "root", "g": "guest"}
    async with (
        LocalClusters({"a": 0}, tokens=tokens, require_token=True, test_controls=True) as clusters,
        aiohttp.ClientSession() as session,
    ):
        url = f"http://{clusters.addresses['a']}/test/clock"
        for headers, status in (({}, 401), ({"Authorization": "OAuth g"}, 400), ({"Authorization": "OAuth r"}, 200)):
            async with session.get(url, headers=headers) as response:
                assert response.status == status, await response.text()


async def test_the_clock(outsider: Outsider) -> None:
    assert (await outsider.ask("POST", "clock", {"set": "2044-05-06T00:00:00Z"}))["now"].startswith("2044-05-06T00:00")
    assert (await outsider.ask("POST", "clock", {"advance": 3600}))["now"].startswith("2044-05-06T01:00")
    assert (await outsider.ask("POST", "clock", {"advance": -7200.5}))["now"].startswith("2044-05-05T22:59")
    assert (await outsider.ask("GET", "clock"))["now"].startswith("2044-05-05T22:59")
    for move in ({"set": "2044-05-06T00:00:00"}, {"set": "soon"}, {"advance": "1 h"}, {}, {"advance": 1, "retreat": 2}):
        assert await outsider.is_wrong("POST", "clock", move)


async def test_faults_are_listed_counted_and_turned_off(outsider: Outsider) -> None:
    error = {"code": 901, "message": "No", "inner_errors": [{"code": 5, "message": "why"}]}
    wanted = {"kind": "refuse", "commands": ["exists"], "path": "//tmp", "count": 2, "error": error}
    fault = await outsider.ask("POST", "faults", wanted)
    status, document = await outsider.exists("//tmp")
    assert (status, document["code"], document["inner_errors"][0]["code"]) == (400, 901, 5)
    assert (await outsider.exists("//home"))[0] == 200
    described = {"kind": "refuse", "commands": ["exists"], "path": "//tmp", "remaining": 1, "hits": 1}
    assert await outsider.ask("GET", "faults") == [{"id": fault["id"], **described}]
    assert await outsider.ask("GET", f"faults/{fault['id']}") == {"id": fault["id"], **described}
    await outsider.ask("DELETE", f"faults/{fault['id']}")
    assert await outsider.ask("GET", "faults") == []
    assert (await outsider.exists("//tmp"))[0] == 200


async def test_every_kind_of_fault(outsider: Outsider) -> None:
    for fault, error in (
        ({"kind": "drop"}, aiohttp.ServerDisconnectedError),
        ({"kind": "drop", "executed": True}, aiohttp.ServerDisconnectedError),
        ({"kind": "cut"}, aiohttp.ClientPayloadError),
    ):
        await outsider.ask("POST", "faults", fault)
        with pytest.raises(error):
            await outsider.exists("/")
        await outsider.ask("DELETE", "faults")
    await outsider.ask("POST", "faults", {"kind": "http_status", "status": 502})
    async with outsider.session.get(f"{outsider.origin}/api/v4/exists") as response:
        assert (response.status, await response.read()) == (502, b"")
    await outsider.ask("DELETE", "faults")
    await outsider.ask("POST", "faults", {"kind": "delay", "seconds": 0.01})
    assert (await outsider.exists("/"))[0] == 200
    await outsider.ask("DELETE", "faults")
    await outsider.ask("POST", "faults", {"kind": "hang"})
    with pytest.raises(TimeoutError):
        async with outsider.session.get(
            f"{outsider.origin}/api/v4/exists", params={"path": "/"}, timeout=aiohttp.ClientTimeout(total=0.1)
        ):
            pass


async def test_a_fault_that_makes_no_sense_is_refused(outsider: Outsider) -> None:
    for body, culprit in (
        ({"kind": "explode"}, "explode"),
        ({"kind": "delay"}, "seconds"),
        ({"kind": "delay", "seconds": -1}, "seconds"),
        ({"kind": "http_status", "status": 200}, "status"),
        ({"kind": "drop", "count": 0}, "count"),
        ({"kind": "drop", "commands": ["insert_row"]}, "insert_row"),
        ({"kind": "drop", "paths": "//tmp"}, "paths"),
        ([], "body"),
    ):
        assert culprit in await outsider.is_wrong("POST", "faults", body)
    assert "17" in await outsider.is_wrong("DELETE", "faults/17")
    assert "many" in await outsider.is_wrong("GET", "faults/many")
    assert "/test/weather" in await outsider.is_wrong("GET", "weather")
    assert await outsider.ask("GET", "faults") == []


async def test_requests_can_be_looked_at_and_forgotten(outsider: Outsider) -> None:
    await outsider.exists("//tmp/a")
    await outsider.exists("//tmp/b/@x")
    async with outsider.session.get(f"{outsider.origin}/api/v4/get", params={"path": "//tmp/b"}) as response:
        assert response.status == 400
    [first, *_] = await outsider.ask("GET", "requests")
    assert first == {
        "user": "root",
        "command": "exists",
        "parameters": {"path": "//tmp/a"},
        "status": 200,
        "error_code": 0,
        "fault": None,
        "started": ANY,
        "finished": ANY,
    }
    [get] = await outsider.ask("GET", "requests?command=get")
    assert (get["status"], get["error_code"]) == (400, 500)
    assert len(await outsider.ask("GET", "requests?path=//tmp/b")) == 2
    await outsider.ask("DELETE", "requests")
    assert await outsider.ask("GET", "requests") == []


async def test_tablets(outsider: Outsider) -> None:
    async def command(name: str, **parameters: Any) -> Any:
        url = f"{outsider.origin}/api/v4/{name}"
        async with outsider.session.post(url, json=parameters) as response:
            assert response.status == 200
            return await response.json(content_type=None)

    schema = [{"name": "data", "type": "string"}]
    await command(
        "create", type="table", path="//tmp/q", attributes={"dynamic": True, "schema": schema, "tablet_count": 2}
    )
    for action, index, states in (
        ("mount", None, ["mounted", "mounted"]),
        ("freeze", 1, ["mounted", "frozen"]),
        ("unmount", 0, ["unmounted", "frozen"]),
        ("unfreeze", 1, ["unmounted", "mounted"]),
    ):
        await outsider.ask("POST", "tablets", {"action": action, "path": "//tmp/q", "tablet_index": index})
        tablets = (await command("get", path="//tmp/q/@tablets"))["value"]
        assert [tablet["state"] for tablet in tablets] == states
    assert "tablet" in await outsider.is_wrong(
        "POST", "tablets", {"action": "mount", "path": "//tmp/q", "tablet_index": 7}
    )


async def test_a_cluster_can_be_off_for_a_while(outsider: Outsider) -> None:
    assert "seconds" in await outsider.is_wrong("POST", "off", {})
    await outsider.ask("POST", "off", {"seconds": 0.3})
    with pytest.raises(aiohttp.ClientConnectionError):
        await outsider.exists("/")

    async def status() -> int | None:
        try:
            return int((await outsider.exists("/"))[0])
        except aiohttp.ClientConnectionError:
            return None

    assert await eventually(status, lambda status: status is not None) == 200
