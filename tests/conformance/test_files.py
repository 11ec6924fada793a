"""Files through ytsaurus-client and the `yt` command, and the cache that finds them by their hash."""

from __future__ import annotations

import hashlib
import socket
from pathlib import Path

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import Cli, Clients, ClusterThread, RawHttp, refused, wait_for
from yt_wire import yson

BLOCK = 2**20


def content_of(size: int) -> bytes:
    return bytes(number * number % 251 for number in range(1000)) * (size // 1000 + 1)


@pytest.fixture
def path(client: YtClient, home: str) -> str:
    client.create("file", f"{home}/f")
    return f"{home}/f"


def test_a_file_holds_what_was_written_last(client: YtClient, path: str) -> None:
    assert client.read_file(path).read() == b""
    assert client.get(f"{path}/@chunk_ids") == []
    client.write_file(path, b"some_data")
    client.write_file(path, b"other")
    assert client.read_file(path).read() == b"other"
    assert client.get(f"{path}/@uncompressed_data_size") == 5
    assert client.get(f"{path}/@chunk_count") == 1
    assert client.get(f"{path}/@type") == "file"
    assert client.get(path) is None or client.get(path) == yson.loads(b"#")
    client.write_file(path, b"")
    assert client.get(f"{path}/@chunk_count") == 0


def test_more_is_added_behind_what_is_there(client: YtClient, path: str) -> None:
    client.write_file(path, b"some_data")
    client.write_file(f"<append=%true>{path}", b"+more")
    assert client.read_file(path).read() == b"some_data+more"
    assert len(client.get(f"{path}/@chunk_ids")) == 2


def test_a_part_of_a_file_is_read(client: YtClient, path: str) -> None:
    content = content_of(3 * BLOCK + 17)
    client.write_file(path, content)
    for offset, length in ((0, 5), (9, 212), (BLOCK - 1, 2), (BLOCK, BLOCK), (2 * BLOCK + 5, None), (len(content), 9)):
        expected = content[offset:] if length is None else content[offset : offset + length]
        assert client.read_file(path, offset=offset, length=length).read() == expected, (offset, length)
    with refused(1, "length"):
        client.read_file(path, length=-1).read()


def test_only_files_are_files(client: YtClient, home: str) -> None:
    client.create("table", f"{home}/t")
    for path in (home, f"{home}/t"):
        with refused(1, '"file"'):
            client.read_file(path).read()
        with refused(1, '"file"'):
            client.write_file(path, b"x", force_create=False)
    with refused(500):
        client.read_file(f"{home}/nowhere").read()


def test_a_hash_is_kept_when_it_was_asked_for(client: YtClient, home: str, path: str) -> None:
    append = f"<append=%true>{path}"
    client.write_file(append, b"abacaba", compute_md5=True)
    assert client.get(f"{path}/@md5") == hashlib.md5(b"abacaba").hexdigest()
    with refused(1, "md5"):
        client.set(f"{path}/@md5", "test")
    client.write_file(append, b"new", compute_md5=True)
    assert client.get(f"{path}/@md5") == hashlib.md5(b"abacabanew").hexdigest()
    client.copy(path, f"{home}/copy")
    assert client.get(f"{home}/copy/@md5") == client.get(f"{path}/@md5")
    client.write_file(append, b"!")
    assert not client.exists(f"{path}/@md5")
    with refused(1, "MD5"):
        client.write_file(append, b"!", compute_md5=True)


def test_files_are_concatenated(client: YtClient, home: str) -> None:
    for name in "ab":
        client.write_file(f"{home}/{name}", name.encode(), compute_md5=True)
    client.concatenate([f"{home}/a", f"{home}/b"], f"{home}/f")
    assert client.read_file(f"{home}/f").read() == b"ab"
    assert not client.exists(f"{home}/f/@md5")
    client.concatenate([f"{home}/b"], f"<append=%true>{home}/f")
    assert client.read_file(f"{home}/f").read() == b"abb"


def test_files_are_found_by_their_hash(client: YtClient, home: str, path: str) -> None:
    content, cache = b"abacaba", f"{home}/cache"
    md5 = hashlib.md5(content).hexdigest()
    client.create("map_node", cache)
    client.write_file(path, content)
    with refused(1, "MD5"):
        client.put_file_to_cache(path, md5, cache_path=cache)
    client.write_file(path, content, compute_md5=True)
    with refused(1, "MD5"):
        client.put_file_to_cache(path, "invalid", cache_path=cache)
    assert client.get_file_from_cache(md5, cache_path=cache) == ""
    cached = client.put_file_to_cache(path, md5, cache_path=cache)
    assert cached == f"{cache}/{md5[-2:]}/{md5}"
    assert client.read_file(cached).read() == content
    assert client.get(f"{cached}/@touched")
    assert client.exists(path)
    node_id = client.get(f"{cached}/@id")
    assert client.put_file_to_cache(path, md5, cache_path=cache) == cached
    assert client.get(f"{cached}/@id") == node_id
    assert client.get_file_from_cache(md5, cache_path=cache) == cached
    client.write_file(cached, b"something else", compute_md5=True)
    assert client.get_file_from_cache(md5, cache_path=cache) == ""
    assert client.get_file_from_cache("", cache_path=cache) == ""
    assert client.get_file_from_cache("no/hash", cache_path=cache) == ""


def test_ytsaurus_client_uploads_a_file_once(client: YtClient, tmp_path: Path) -> None:
    file = tmp_path / "upload"
    file.write_bytes(b"#!/bin/sh\n")
    first = client.smart_upload_file(str(file))
    assert client.read_file(str(first)).read() == b"#!/bin/sh\n"
    assert str(client.smart_upload_file(str(file))) == str(first)


def test_the_yt_command_uploads_and_downloads(cli: Cli, home: str) -> None:
    content = content_of(100_000)
    assert cli.run("upload", f"{home}/f", stdin=content).returncode == 0
    assert cli.run("download", f"{home}/f").stdout == content
    assert cli.run("write-file", f"<append=%true>{home}/f", stdin=b"end").returncode == 0
    assert cli.run("read-file", f"{home}/f").stdout == content + b"end"


def test_a_large_file_is_written_in_parallel_and_read_so(clients: Clients, proxy: str, home: str) -> None:
    parallel = clients.make(
        proxy,
        write_parallel={"enable": True, "max_thread_count": 3},
        read_parallel={"enable": True, "max_thread_count": 3, "data_size_per_thread": BLOCK},
        write_retries={"chunk_size": BLOCK},
    )
    content = content_of(5 * BLOCK + 3)
    parallel.write_file(f"{home}/f", content)
    assert parallel.get(f"{home}/f/@chunk_count") > 1
    assert parallel.read_file(f"{home}/f").read() == content


@pytest.mark.local_only
def test_an_upload_whose_connection_is_cut_leaves_nothing(
    local: ClusterThread, client: YtClient, proxy: str, home: str, path: str
) -> None:
    client.write_file(path, b"before")
    client.write_table(f"{home}/t", [{"a": "before"}])
    before = local.ask(lambda cluster: set(cluster.state.chunks.ids))

    def added() -> set[str]:
        """What others have left may be freed meanwhile."""
        return local.ask(lambda cluster: set(cluster.state.chunks.ids)) - before

    host, port = proxy.split(":")
    piece = b'{"a"="%s"};' % (b"x" * 1000)
    for command, target in (("write_file", path), ("write_table", f"{home}/t")):
        with socket.create_connection((host, int(port))) as connection:
            head = f"PUT /api/v4/{command} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
            head += f'X-YT-Header-Format: <format=text>yson\r\nX-YT-Parameters: {{path="{target}"}}\r\n\r\n'
            connection.sendall(head.encode())
            for _ in range(40):
                data = piece * 1000
                connection.sendall(b"%x\r\n%s\r\n" % (len(data), data))
            # Enough has been kept to be looked after when the rest does not come.
            wait_for(lambda: bool(added()))
        wait_for(lambda: not added())
    assert client.read_file(path).read() == b"before"
    assert [row["a"] for row in client.read_table(f"{home}/t")] == ["before"]
    assert client.get(f"{path}/@lock_count") == 0


def test_a_reader_gets_the_content_it_began_with(raw: RawHttp, client: YtClient, proxy: str, path: str) -> None:
    content = content_of(20 * BLOCK)
    client.write_file(path, content)
    host, port = proxy.split(":")
    with socket.create_connection((host, int(port))) as connection, connection.makefile("rb") as answer:
        head = f"GET /api/v4/read_file?path={path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode())
        assert b"200" in answer.readline()
        client.write_file(path, b"new")
        client.remove(path)
        received = answer.read()
    assert len(received) > len(content)
    assert content[-400:] in received[-450:]


def test_a_file_that_is_known_is_not_sent_again(raw: RawHttp, client: YtClient, path: str) -> None:
    client.write_file(path, b"hello")
    first = raw.command("GET", "read_file", {"path": path})
    tag = first.headers["ETag"]
    file_id, _, revision = tag.partition(":")
    assert (file_id, int(revision)) == (client.get(f"{path}/@id"), client.get(f"{path}/@revision"))
    told = yson.loads(first.headers["X-YT-Response-Parameters"].encode())
    assert told == {"id": file_id, "revision": int(revision)}
    for known in (tag, revision):
        answer = raw.command("GET", "read_file", {"path": path}, headers={"If-None-Match": known})
        assert (answer.status, answer.body, answer.headers["ETag"]) == (304, b"", tag)
    for unknown in (f"1-2-3-4:{revision}", f"{file_id}:1", "1"):
        answer = raw.command("GET", "read_file", {"path": path}, headers={"If-None-Match": unknown})
        assert (answer.status, answer.body) == (200, b"hello")
    refusal = raw.command("GET", "read_file", {"path": path}, headers={"If-None-Match": "x"})
    assert refusal.status == 400
    assert refusal.error
    assert "Failed to parse etag" in refusal.error.message
    client.write_file(path, b"other")
    assert raw.command("GET", "read_file", {"path": path}, headers={"If-None-Match": tag}).body == b"other"
