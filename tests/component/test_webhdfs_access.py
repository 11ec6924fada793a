"""Who is served by WebHDFS: those who know its secret, and no web page."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from queue_agent.config.clusters import ClusterConfig
from queue_agent.errors import ConfigError
from queue_agent.webhdfs.command import WebHdfsOptions, find_secret, run_webhdfs
from queue_agent.webhdfs.server import WebHdfsServer
from tests.component.webhdfs_client import ROOT, SECRET, Client, serving
from tests.waiting import LIMIT_SECONDS
from yt_local.testing import LocalCluster


@pytest.fixture
async def client(yt_cluster: LocalCluster) -> AsyncIterator[Client]:
    yt_cluster.client.create("map_node", ROOT, recursive=True)
    async with serving(yt_cluster) as client:
        yield client


async def test_nothing_is_served_without_the_secret(yt_cluster: LocalCluster) -> None:
    yt_cluster.client.create("map_node", ROOT, recursive=True)
    async with serving(yt_cluster, name="local") as client:
        inside = client.below(f"/{SECRET}/local")
        assert (await inside.create("/file", b"1"))[0] == 201
        assert await inside.names("") == ["file"]
        bare = client.below("")
        for path in (
            "",
            "/",
            "/file",
            "/local/file",
            f"/{SECRET}/file",
            f"/{SECRET}x/local/file",
            f"/{SECRET}/local2/file",
        ):
            for method, op in (("GET", "GETFILESTATUS"), ("GET", "LISTSTATUS"), ("GET", "OPEN"), ("PUT", "CREATE")):
                assert (await bare.ask(method, path, op))[0] == 404, path
        assert await inside.ask("PUT", "/file", "RENAME", destination="/new") == (200, {"boolean": True})
        assert (await bare.ask("PUT", f"/{SECRET}/local/new", "RENAME", destination="/file"))[0] == 404
        assert await bare.ask("GET", "/", "GETHOMEDIRECTORY") == (200, {"Path": "/user/bob"})


def test_there_is_no_server_without_a_secret() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(ValueError, match="needs a secret"):
        WebHdfsServer({}, listener, secret="", hosts=())


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "rebound.example"},
        {"Host": "rebound.example", "Origin": "http://rebound.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
async def test_a_web_page_is_served_nothing_even_if_it_knows_the_secret(
    client: Client, headers: dict[str, str]
) -> None:
    await client.create("/file", b"1")
    address = f"{client.origin}/webhdfs/v1/{SECRET}/file"
    async with aiohttp.ClientSession(headers=headers) as session:
        for method, op in (("GET", "OPEN"), ("PUT", "CREATE"), ("DELETE", "DELETE"), ("OPTIONS", "")):
            async with session.request(method, address, params={"op": op, "data": "true"}) as response:
                assert response.status == 403, (method, op)
                assert "Access-Control-Allow-Origin" not in response.headers
                document = await response.json(content_type=None)
                assert document["RemoteException"]["exception"] == "AccessControlException"
    assert await client.read("/file") == b"1"


async def test_clients_of_a_proxy_that_speaks_tls_are_sent_back_to_it(client: Client) -> None:
    headers = {"Host": "files.example:443", "X-Forwarded-Proto": "https"}
    address = f"{client.origin}/webhdfs/v1/{SECRET}/file"
    async with (
        aiohttp.ClientSession() as session,
        session.put(address, params={"op": "CREATE"}, headers=headers, allow_redirects=False) as response,
    ):
        assert response.headers["Location"].startswith(f"https://files.example:443/webhdfs/v1/{SECRET}/file?")


def test_there_is_a_secret_always(tmp_path: Path) -> None:
    secret = tmp_path / "secret"

    def options(host: str, with_secret: bool) -> WebHdfsOptions:
        return WebHdfsOptions(ClusterConfig(proxy="localhost:80"), "/", host, 0, secret if with_secret else None, ())

    first, second = (find_secret(options("127.0.0.1", False)) for _ in range(2))
    assert first != second
    assert len(first) == len(second) == len("secret-") + 32
    for host in ("0.0.0.0", "example.org", "::"):
        with pytest.raises(ConfigError, match="secret"):
            find_secret(options(host, False))
    made = find_secret(options("0.0.0.0", True))
    assert len(made) == len(first)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert find_secret(options("0.0.0.0", True)) == made
    for text in ("", "short", "with/slash/and/more/letters"):
        secret.write_text(text)
        with pytest.raises(ConfigError, match="secret"):
            find_secret(options("0.0.0.0", True))
    secret.write_text("0123456789abcdef\n")
    assert find_secret(options("0.0.0.0", True)) == "0123456789abcdef"


async def test_the_command_tells_a_secret_that_is_in_no_file(yt_cluster: LocalCluster) -> None:
    options = WebHdfsOptions(ClusterConfig(proxy=yt_cluster.url), "//tmp", "127.0.0.1", 0, None, ["files.example"])
    ready: asyncio.Queue[str] = asyncio.Queue()
    async with asyncio.TaskGroup() as group, aiohttp.ClientSession() as session:
        running = group.create_task(run_webhdfs(options, ready.put_nowait))
        match = re.fullmatch(r"ready: webhdfs (127\.0\.0\.1:\d+)/(secret-[0-9a-f]{32})", await ready.get())
        assert match
        assert await Client(session, f"http://{match[1]}", f"/{match[2]}").create("/file", b"1") == (201, None)
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(LIMIT_SECONDS):
            await running
