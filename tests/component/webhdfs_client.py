"""A client of WebHDFS that hides nothing, and the server it asks."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from queue_agent.config.clusters import ClusterConfig
from queue_agent.webhdfs.command import serve_clusters
from yt_local.testing import LocalCluster

ROOT = "//home/files"


SECRET = "secret-of-these-tests"


class Client:
    """Sends operations and looks at bare answers; all paths begin with a prefix."""

    def __init__(self, session: aiohttp.ClientSession, origin: str, prefix: str = f"/{SECRET}") -> None:
        self._session = session
        self._prefix = prefix
        self.origin = origin

    def below(self, prefix: str) -> Client:
        """The same, with another prefix."""
        return Client(self._session, self.origin, prefix)

    async def ask(self, method: str, path: str, op: str, **query: str) -> tuple[int, Any]:
        address = f"{self.origin}/webhdfs/v1{self._prefix}{path}"
        if query.get("destination", "").startswith("/"):
            query["destination"] = self._prefix + query["destination"]
        async with self._session.request(
            method, address, params={"op": op, "user.name": "bob", **query}, allow_redirects=False
        ) as response:
            if response.status != 307:
                assert "Content-Type" not in response.headers
            document = (
                await response.json(content_type=None) if response.status != 307 else response.headers["Location"]
            )
            return response.status, document

    async def create(self, path: str, content: Any, **query: str) -> tuple[int, Any]:
        status, location = await self.ask("PUT", path, "CREATE", **query)
        assert status == 307
        async with self._session.put(location, data=content) as response:
            return response.status, await response.json(content_type=None) if response.status >= 400 else None

    async def read(self, path: str, **query: str) -> bytes:
        status, location = await self.ask("GET", path, "OPEN", **query)
        assert status == 307
        async with self._session.get(location) as response:
            assert response.status == 200
            return await response.read()

    async def names(self, path: str) -> list[str]:
        _, document = await self.ask("GET", path, "LISTSTATUS")
        return [status["pathSuffix"] for status in document["FileStatuses"]["FileStatus"]]


@asynccontextmanager
async def serving(
    cluster: LocalCluster, name: str = "", root: str = ROOT, proxy: str | None = None
) -> AsyncIterator[Client]:
    clusters = {name: (ClusterConfig(proxy=proxy or cluster.url, discover_proxies=False, retry_count=0), root)}
    listener = socket.create_server(("127.0.0.1", 0))
    served = serve_clusters(clusters, listener, secret=SECRET, hosts=["files.example"])
    async with served, aiohttp.ClientSession() as session:
        yield Client(session, f"http://127.0.0.1:{listener.getsockname()[1]}")
