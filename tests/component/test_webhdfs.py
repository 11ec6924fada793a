"""The WebHDFS façade over a local cluster, asked as Hadoop's client asks."""

from __future__ import annotations

import asyncio
import io
import os
import re
import signal
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
from typer.testing import CliRunner

from queue_agent.cli.main import application
from queue_agent.config.clusters import ClusterConfig
from queue_agent.errors import ConfigError
from queue_agent.webhdfs.address import address_of
from queue_agent.webhdfs.command import WebHdfsOptions, run_webhdfs
from queue_agent.webhdfs.files import PIECE_SIZE
from queue_agent.webhdfs.paths import cypress_path
from tests.component.webhdfs_client import ROOT, Client, serving
from tests.waiting import LIMIT_SECONDS
from yt_local.testing import LocalCluster
from yt_wire.error import ErrorCode, YtError


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
    async with asyncio.timeout(LIMIT_SECONDS):
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
        async with asyncio.timeout(LIMIT_SECONDS):
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
        (["--secret-file=/no/such/file"], "secret cannot be read"),
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
