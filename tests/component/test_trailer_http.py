"""Answers that are streams: read to their end, or known to be broken off."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queue_agent.adapters.cluster import trailer_http
from queue_agent.adapters.cluster.yt_http import YtHttp
from queue_agent.config.clusters import ClusterConfig
from queue_agent.errors import ClusterError, ClusterUnavailable
from tests.component.raw_server import answering, raw_server
from yt_wire import http
from yt_wire.error import YtError

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-YT-Error\r\n\r\n"
ROW = b"7\r\n{a=1};\n\r\n"


async def select(address: str, times: int = 1) -> list[Any]:
    async with YtHttp("hume", ClusterConfig(proxy=address, discover_proxies=False, retry_count=0)) as client:
        for _ in range(times):
            rows = await client.read_rows("select_rows", {"query": "* from [//t]"}, subject="//t")
        return rows


async def test_a_streamed_answer_is_read_to_its_end() -> None:
    async with raw_server(answering(CHUNKED + ROW + ROW + b"0\r\n\r\n", close=True)) as address:
        assert await select(address) == [{"a": 1}, {"a": 1}]


async def test_an_error_in_the_trailers_fails_the_request() -> None:
    headers = http.error_headers(YtError("tablet is gone", 1702))
    trailers = "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode()
    async with raw_server(answering(CHUNKED + ROW + b"0\r\n" + trailers + b"\r\n", close=True)) as address:
        with pytest.raises(ClusterError, match="select_rows //t on cluster hume failed: tablet is gone") as raised:
            await select(address)
    assert raised.value.code == 1702


@pytest.mark.parametrize(
    "answer",
    [
        CHUNKED + ROW,
        CHUNKED + ROW + b"7\r\n{a=",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{a=1};",
        b"HTTP/1.1 200 OK\r\n\r\n{a=1};",
        b"HTTP/1.1 200",
        b"",
        b"garbage\r\n\r\n",
    ],
)
async def test_an_answer_that_breaks_off_or_does_not_tell_its_length_is_an_error(answer: bytes) -> None:
    async with raw_server(answering(answer, close=True)) as address:
        with pytest.raises(ClusterUnavailable, match="select_rows //t on cluster hume failed"):
            await select(address)


@pytest.mark.parametrize(("idle_seconds", "expected"), [(60.0, 1), (-1.0, 3)])
async def test_a_connection_is_used_again_unless_it_was_idle_for_long(
    monkeypatch: pytest.MonkeyPatch, idle_seconds: float, expected: int
) -> None:
    monkeypatch.setattr(trailer_http, "_MAX_IDLE_SECONDS", idle_seconds)
    connections = 0
    whole = CHUNKED + ROW + b"0\r\n\r\n"
    answer = answering(whole, whole, whole, close=False)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await answer(reader, writer)

    async with raw_server(connected) as address:
        await select(address, times=3)
    assert connections == expected


async def test_a_connection_closed_while_idle_is_replaced() -> None:
    whole = CHUNKED + ROW + b"0\r\n\r\n"
    async with raw_server(answering(whole, whole, close=True)) as address:
        assert await select(address, times=2) == [{"a": 1}]
