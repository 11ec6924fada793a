"""Connections that lead to somebody who is no proxy: an address that another pod has now, or a balancer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from queue_agent.adapters.cluster.yt_http import YtHttp
from queue_agent.config.clusters import ClusterConfig
from queue_agent.errors import ClusterError, ClusterUnavailable
from tests.component.raw_server import raw_server
from yt_wire import http

STRANGER = b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\nContent-Type: text/plain\r\n\r\nno!"
OK = b"HTTP/1.1 200 OK\r\nX-YT-Proxy: pythia\r\nContent-Length: 1\r\n\r\n#"
REFUSAL = b"HTTP/1.1 404 Not Found\r\nX-YT-Proxy: pythia\r\nContent-Length: 0\r\n\r\n"


class Backends:
    """Every connection is answered for its whole life by who was there when it was made."""

    def __init__(self) -> None:
        self.answer = STRANGER
        self.connections = 0
        self.address = ""

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answer = self.answer
        self.connections += 1
        while True:
            try:
                await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                return
            writer.write(answer)
            await writer.drain()


@asynccontextmanager
async def backends() -> AsyncIterator[Backends]:
    found = Backends()
    async with raw_server(found.connected) as address:
        found.address = address
        yield found


def config(address: str, retry_count: int = 0) -> ClusterConfig:
    return ClusterConfig(
        proxy=f"http://{address}", discover_proxies=False, retry_count=retry_count, request_timeout=timedelta(seconds=5)
    )


@pytest.mark.parametrize("command", ["get", "read_table"])
async def test_a_connection_whose_answers_are_nobodys_is_given_up(command: str) -> None:
    async with backends() as found, YtHttp("pythia", config(found.address)) as client:
        with pytest.raises(ClusterUnavailable, match="does not seem to be a proxy answered HTTP status 404"):
            await client.call(command, {"path": "//tmp"})
        found.answer = OK
        assert await client.call(command, {"path": "//tmp"}) is None
        assert found.connections == 2


async def test_a_repeat_gets_through_once_a_proxy_is_back() -> None:
    async with backends() as found, YtHttp("pythia", config(found.address, retry_count=3)) as client:
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(client.call("get", {"path": "//tmp"}))
            while not found.connections:  # noqa: ASYNC110 - a server of bytes tells nobody
                await asyncio.sleep(0)
            found.answer = OK
        assert asking.result() is None


async def test_requests_that_are_under_way_are_not_cut_off_with_the_others() -> None:
    async def ask(number: int) -> str:
        with pytest.raises(ClusterUnavailable) as caught:
            await client.call("get", {"path": f"//tmp/{number}"})
        return str(caught.value)

    async with backends() as found, YtHttp("pythia", config(found.address)) as client:
        async with asyncio.TaskGroup() as group:
            asking = [group.create_task(ask(number)) for number in range(20)]
        assert all("HTTP status 404" in task.result() for task in asking)


async def test_a_proxy_that_refuses_keeps_its_connection() -> None:
    async with backends() as found, YtHttp("pythia", config(found.address)) as client:
        found.answer = REFUSAL
        for _ in range(2):
            with pytest.raises(ClusterError, match=r"the proxy answered HTTP status 404") as caught:
                await client.call("get", {"path": "//tmp"})
            assert not isinstance(caught.value, ClusterUnavailable)
        assert found.connections == 1


def test_headers_that_sign_an_answer_are_those_of_the_api() -> None:
    assert http.PROXY.startswith("X-YT-")
