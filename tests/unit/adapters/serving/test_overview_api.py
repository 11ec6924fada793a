from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request

from queue_agent.adapters.serving.overview_api import OverviewApi
from tests.waiting import LIMIT_SECONDS
from yt_wire.error import YtError

HOSTILE = "<script>\x1b\u202e"


class Source:
    def __init__(self) -> None:
        self.version = 7
        self.waited: list[tuple[int | None, float]] = []
        self.made = 0

    async def wait(self, since: int | None, seconds: float) -> None:
        self.waited.append((since, seconds))

    def changes(self, since: int) -> Mapping[str, Any] | None:
        self.made += 1
        return {"version": self.version, "queues": [since]} if since > 5 else None

    async def everything(self) -> Mapping[str, Any]:
        self.made += 1
        return {"version": self.version, "queues": [HOSTILE]}


async def ask(api: OverviewApi, query: str = "", encoding: str = "gzip") -> Any:
    response = await api.show(make_mocked_request("GET", f"/api/v1/overview{query}", {"Accept-Encoding": encoding}))
    assert isinstance(response.body, bytes)
    assert response.content_type == "application/json"
    assert response.headers.get("Content-Encoding") == ("gzip" if encoding == "gzip" else None)
    return json.loads(gzip.decompress(response.body) if encoding == "gzip" else response.body)


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
async def test_all_of_it_or_what_is_new(encoding: str) -> None:
    source = Source()
    api = OverviewApi(source, 3)
    assert await ask(api, encoding=encoding) == {"version": 7, "full": True, "queues": [HOSTILE]}
    assert await ask(api, "?since=6", encoding) == {"version": 7, "queues": [6]}
    assert await ask(api, "?since=1", encoding) == {"version": 7, "full": True, "queues": [HOSTILE]}
    assert source.waited == [(None, 3), (6, 3), (1, 3)]


async def test_viewers_share_an_answer_until_there_is_another() -> None:
    source = Source()
    api = OverviewApi(source)
    for _ in range(10):
        await ask(api, "?since=6")
    assert source.made == 1
    source.version = 8
    assert (await ask(api, "?since=6"))["version"] == 8
    assert source.made == 2
    for since in range(6, 60):
        await ask(api, f"?since={since}")
    assert len(api._kept) <= 16


async def test_nobody_waits_for_news_at_the_end() -> None:
    class Silence(Source):
        async def wait(self, since: int | None, seconds: float) -> None:
            await asyncio.Event().wait()

    api = OverviewApi(Silence())
    async with asyncio.timeout(LIMIT_SECONDS), asyncio.TaskGroup() as group:
        viewer = group.create_task(ask(api, "?since=7"))
        await asyncio.sleep(0)
        api.close()
    assert viewer.cancelled()


@pytest.mark.parametrize("since", ["", "-1", "x", "1.5", "9" * 20, "%D9%A3"])
async def test_what_is_no_version_is_refused(since: str) -> None:
    with pytest.raises(YtError, match='"since"'):
        await ask(OverviewApi(Source()), f"?since={since}")
