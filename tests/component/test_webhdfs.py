"""The WebHDFS façade over a local cluster, asked as Hadoop's client asks."""

from __future__ import annotations

import asyncio
import io
import os
import re
import signal
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from typer.testing import CliRunner

from queue_agent.cli.main import application
from queue_agent.config.clusters import ClusterConfig
from queue_agent.errors import ConfigError
from queue_agent.webhdfs.address import address_of
from queue_agent.webhdfs.command import WebHdfsOptions, find_secret, run_webhdfs, serve_clusters
from queue_agent.webhdfs.files import PIECE_SIZE
from queue_agent.webhdfs.paths import cypress_path
from queue_agent.webhdfs.server import WebHdfsServer
from yt_local.testing import LocalCluster
from yt_wire.error import ErrorCode, YtError

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


@pytest.fixture
async def client(yt_cluster: LocalCluster) -> AsyncIterator[Client]:
    yt_cluster.client.create("map_node", ROOT, recursive=True)
    async with serving(yt_cluster) as client:
        yield client


async def test_what_was_written_is_read_back_whole_and_in_parts(client: Client, yt_cluster: LocalCluster) -> None:
    assert await client.create("/a/b/file", b"0123456789") == (201, None)
    assert await client.read("/a/b/file") == b"0123456789"
    assert await client.read("/a/b/file", offset="3", length="4") == b"3456"
    assert await client.read("/a/b/file", offset="8", length="100") == b"89"
    assert await client.read("/a/b/file", offset="10") == b""
    assert yt_cluster.client.read_file(f"{ROOT}/a/b/file").read() == b"0123456789"
    status, document = await client.ask("GET", "/a/b/file", "GETFILESTATUS")
    assert status == 200
    found = document["FileStatus"]
    assert (found["type"], found["length"], found["pathSuffix"]) == ("FILE", 10, "")
    assert found["modificationTime"] > 1_500_000_000_000
    _, document = await client.ask("GET", "/a/b/file", "GETFILEBLOCKLOCATIONS")
    [block] = document["BlockLocations"]["BlockLocation"]
    assert (block["offset"], block["length"]) == (0, 10)


async def test_an_empty_file_is_a_file(client: Client) -> None:
    assert await client.create("/empty", b"") == (201, None)
    assert await client.read("/empty") == b""
    assert (await client.ask("GET", "/empty", "GETFILEBLOCKLOCATIONS"))[1] == {"BlockLocations": {"BlockLocation": []}}


async def test_a_file_larger_than_what_is_held_in_memory_passes_through(client: Client) -> None:
    content = bytes(range(256)) * ((2 * PIECE_SIZE + 5000) // 256)
    assert await client.create("/large", io.BytesIO(content)) == (201, None)
    assert await client.read("/large") == content


async def test_a_file_is_not_there_before_it_is_complete(client: Client) -> None:
    half_sent = asyncio.Event()
    go_on = asyncio.Event()

    async def content() -> AsyncIterator[bytes]:
        yield b"x" * (PIECE_SIZE + 1)
        half_sent.set()
        await go_on.wait()
        yield b"end"

    async with asyncio.TaskGroup() as group:
        upload = group.create_task(client.create("/file", content()))
        await half_sent.wait()
        assert (await client.ask("GET", "/file", "GETFILESTATUS"))[0] == 404
        go_on.set()
    assert upload.result() == (201, None)
    assert len(await client.read("/file")) == PIECE_SIZE + 4


async def test_an_upload_that_breaks_off_leaves_nothing(client: Client, yt_cluster: LocalCluster) -> None:
    async def content() -> AsyncIterator[bytes]:
        yield b"x" * (PIECE_SIZE + 1)
        raise ConnectionError("the client is gone")

    with pytest.raises((ConnectionError, aiohttp.ClientError)):
        await client.create("/file", content())
    async with asyncio.timeout(60):
        while yt_cluster.client.list("//sys/transactions"):
            await client.names("/")
    assert (await client.ask("GET", "/file", "GETFILESTATUS"))[0] == 404


async def test_a_file_is_replaced_only_if_that_is_asked_for(client: Client) -> None:
    await client.create("/file", b"old")
    status, document = await client.create("/file", b"new")
    assert (status, document["RemoteException"]["exception"]) == (403, "FileAlreadyExistsException")
    assert await client.read("/file") == b"old"
    assert (await client.create("/file", b"new", overwrite="true"))[0] == 201
    assert await client.read("/file") == b"new"
    await client.ask("PUT", "/dir", "MKDIRS")
    assert (await client.create("/dir", b"new", overwrite="true"))[0] == 403


async def test_a_rename_onto_something_is_refused_and_changes_nothing(client: Client) -> None:
    await client.create("/first", b"1")
    await client.create("/second", b"2")
    assert await client.ask("PUT", "/first", "RENAME", destination="/second") == (200, {"boolean": False})
    assert await client.read("/second") == b"2"
    assert await client.ask("PUT", "/first", "RENAME", destination="/third") == (200, {"boolean": True})
    assert await client.names("/") == ["second", "third"]
    assert await client.ask("PUT", "/first", "RENAME", destination="/fourth") == (200, {"boolean": False})
    assert await client.ask("PUT", "/third", "RENAME", destination="/no/such/directory") == (200, {"boolean": False})


async def test_of_many_renames_onto_one_name_one_wins(client: Client) -> None:
    for number in range(8):
        await client.create(f"/{number}", str(number).encode())
    async with asyncio.TaskGroup() as group:
        renames = [
            group.create_task(client.ask("PUT", f"/{number}", "RENAME", destination="/won")) for number in range(8)
        ]
    won = [number for number, rename in enumerate(renames) if rename.result()[1] == {"boolean": True}]
    assert len(won) == 1
    assert await client.read("/won") == str(won[0]).encode()
    assert len(await client.names("/")) == 8


async def test_directories_are_made_listed_and_removed(client: Client) -> None:
    for _ in range(2):
        assert await client.ask("PUT", "/a/b/c", "MKDIRS") == (200, {"boolean": True})
    await client.create("/a/file", b"1")
    assert await client.names("/a") == ["b", "file"]
    assert await client.names("/a/file") == [""]
    status, document = await client.ask("DELETE", "/a", "DELETE")
    assert (status, document["RemoteException"]["exception"]) == (403, "PathIsNotEmptyDirectoryException")
    assert await client.ask("DELETE", "/a", "DELETE", recursive="true") == (200, {"boolean": True})
    assert await client.ask("DELETE", "/a", "DELETE", recursive="true") == (200, {"boolean": False})
    assert await client.ask("DELETE", "/", "DELETE", recursive="true") == (200, {"boolean": False})
    assert await client.names("/") == []


async def test_nothing_can_be_put_below_a_file(client: Client) -> None:
    await client.create("/file", b"1")
    for path in ("/file", "/file/dir"):
        status, document = await client.ask("PUT", path, "MKDIRS")
        assert (status, document["RemoteException"]["exception"]) == (403, "ParentNotDirectoryException"), path
    status, document = await client.create("/file/inner", b"1")
    assert (status, document["RemoteException"]["exception"]) == (403, "ParentNotDirectoryException")


async def test_what_is_missing_is_not_found(client: Client) -> None:
    for method, op in (("GET", "GETFILESTATUS"), ("GET", "LISTSTATUS"), ("GET", "OPEN")):
        status, document = await client.ask(method, "/none", op)
        error = document["RemoteException"]
        assert (status, error["javaClassName"]) == (404, "java.io.FileNotFoundException"), op
        assert error["exception"] == "FileNotFoundException"


async def test_what_is_not_of_the_protocol_is_refused(client: Client) -> None:
    await client.create("/file", b"1")
    for method, op in (
        ("PUT", "SETXATTR"),
        ("GET", ""),
        ("POST", "CREATE"),
    ):
        status, document = await client.ask(method, "/file", op)
        assert (status, document["RemoteException"]["exception"]) == (400, "IllegalArgumentException"), op
    status, document = await client.ask("PUT", "/file", "RENAME", destination="relative")
    assert (status, document["RemoteException"]["exception"]) == (400, "InvalidPathException")
    for offset in ("-1", "9" * 5000):
        _, location = await client.ask("GET", "/file", "OPEN", offset=offset)
        async with aiohttp.ClientSession() as session, session.get(location) as response:
            assert response.status == 400


async def test_failures_of_the_cluster_are_told_and_small_files_are_tried_again(
    client: Client, yt_cluster: LocalCluster
) -> None:
    with yt_cluster.faults.refuse("write_file", count=2):
        assert await client.create("/file", b"1") == (201, None)
    with yt_cluster.faults.refuse("write_file"):
        status, document = await client.create("/other", b"1")
        assert (status, document["RemoteException"]["exception"]) == (503, "RetriableException")
    with yt_cluster.faults.refuse("get", error=YtError("Access denied", ErrorCode.AUTHORIZATION)):
        status, document = await client.ask("GET", "/file", "GETFILESTATUS")
        assert (status, document["RemoteException"]["exception"]) == (403, "AccessControlException")
    assert await client.names("/") == ["file"]


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


async def test_the_whole_of_cypress_can_be_the_root(yt_cluster: LocalCluster) -> None:
    async with serving(yt_cluster, root="/") as client:
        assert (await client.ask("GET", "/", "GETFILESTATUS"))[1]["FileStatus"]["type"] == "DIRECTORY"
        assert "tmp" in await client.names("/")
        assert (await client.create("/tmp/a&b [c]@d*{e}", b"odd"))[0] == 201
        assert await client.read("/tmp/a&b [c]@d*{e}") == b"odd"
        assert await client.ask("PUT", "/", "MKDIRS") == (200, {"boolean": True})


def test_paths_never_lead_above_the_root() -> None:
    assert cypress_path("//home/x", "/") == "//home/x"
    assert cypress_path("//home/x", "/../../a/./b//c/") == "//home/x/a/b/c"
    assert cypress_path("", "/") == "/"
    assert cypress_path("", "//a") == "//a"
    assert cypress_path("//home/x", "/a@b") == "//home/x/a\\@b"


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
        async with asyncio.timeout(60):
            await running


async def test_the_command_serves_until_it_is_told_to_stop(yt_cluster: LocalCluster, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef")
    options = WebHdfsOptions(ClusterConfig(proxy=yt_cluster.url), "//tmp", "127.0.0.1", 0, secret, ())
    ready: asyncio.Queue[str] = asyncio.Queue()
    async with asyncio.TaskGroup() as group, aiohttp.ClientSession() as session:
        running = group.create_task(run_webhdfs(options, ready.put_nowait))
        match = re.fullmatch(r"ready: webhdfs (127\.0\.0\.1:\d+), webhdfs secret (\S+)", await ready.get())
        assert match
        assert match[2] == str(secret)
        assert await Client(session, f"http://{match[1]}", "/0123456789abcdef").create("/file", b"1") == (201, None)
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(60):
            await running
    assert yt_cluster.client.read_file("//tmp/file").read() == b"1"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{port}"):
            await run_webhdfs(replace(options, port=port), ready.put_nowait)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--root=home"], "--root"),
        (["--root=/home"], "--root"),
        (["--listen=nowhere"], "host:port"),
        (["--listen=0.0.0.0:0"], "--secret-file"),
        (["--secret-file=/no/such/file"], "secret can not be read"),
        (["--allowed-host=files.example:9870"], "--allowed-host"),
    ],
)
def test_wrong_arguments_of_the_command_are_named(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(application, ["webhdfs", "--proxy=localhost:1", *arguments])
    assert (result.exit_code, words in result.output) == (2, True), result.output


def test_addresses_to_listen_on_are_host_and_port() -> None:
    assert address_of("127.0.0.1:9870") == ("127.0.0.1", 9870)
    assert address_of("[::1]:0") == ("::1", 0)
    for text in ("9870", "host:", ":1", "host:70000", "host:x"):
        with pytest.raises(ConfigError):
            address_of(text)
