"""The overview as JSON: all of it, or what is new as soon as there is something."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Mapping
from typing import Any, Final, Protocol

from aiohttp import web

from queue_agent.adapters.process.json_values import to_json
from queue_agent.adapters.serving.http_requests import read_version

WAIT_SECONDS: Final = 20.0
"""For news; less than clients, proxies and this server wait for an answer."""

_MAX_KEPT: Final = 16


class OverviewSource(Protocol):
    """What is known, and since when."""

    version: int

    async def wait(self, since: int | None, seconds: float) -> None:
        """Return once there is something newer, or the time is over."""
        ...

    def changes(self, since: int) -> Mapping[str, Any] | None:
        """What is newer; None if nobody can tell any more."""
        ...

    async def everything(self) -> Mapping[str, Any]:
        """All of it."""
        ...


class OverviewApi:
    """Answers viewers; those who look at the same time share an answer.

    Args:
        source: rows to serve.
        wait_seconds: how long somebody waits who knows all there is.
    """

    def __init__(self, source: OverviewSource, wait_seconds: float = WAIT_SECONDS) -> None:
        self._source = source
        self._wait_seconds = wait_seconds
        self._kept: dict[tuple[int, int | None], bytes] = {}
        self._making = asyncio.Lock()
        self._waiting: set[asyncio.Task[Any]] = set()

    async def show(self, request: web.Request) -> web.Response:
        """With `since` what is newer than that version, else everything."""
        since = read_version(request.query.get("since"))
        await self._wait(since)
        async with self._making:
            body = await self._body(since)
        takes_gzip = "gzip" in request.headers.get("Accept-Encoding", "")
        headers = {"Vary": "Accept-Encoding", **({"Content-Encoding": "gzip"} if takes_gzip else {})}
        plain = body if takes_gzip else await asyncio.to_thread(gzip.decompress, body)
        return web.Response(body=plain, content_type="application/json", charset="utf-8", headers=headers)

    def close(self) -> None:
        """Send away those who wait, so that the server's end does not wait for news."""
        for task in self._waiting:
            task.cancel()

    async def _wait(self, since: int | None) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._waiting.add(task)
        try:
            await self._source.wait(since, self._wait_seconds)
        finally:
            self._waiting.discard(task)

    async def _body(self, since: int | None) -> bytes:
        key = self._source.version, since
        if key not in self._kept:
            changes = None if since is None else self._source.changes(since)
            document = {**await self._source.everything(), "full": True} if changes is None else changes
            text = await asyncio.to_thread(_encode, document)
            if len(self._kept) >= _MAX_KEPT or any(version != key[0] for version, _ in self._kept):
                self._kept.clear()
            self._kept[key] = text
        return self._kept[key]


def _encode(document: Mapping[str, Any]) -> bytes:
    return gzip.compress(json.dumps(to_json(document), separators=(",", ":")).encode(), 3)
