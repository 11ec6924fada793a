"""Bodies that are compressed, both ways."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import brotli
import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import Clients, RawHttp, make_queue
from yt_local.proxy.http.block_codecs import BlockDecoder, BlockEncoder, find_block_codec
from yt_local.proxy.http.zstd_library import zstd
from yt_wire import yson

ZHE = "\N{CYRILLIC SMALL LETTER ZHE}"


def yson_format(style: str) -> Any:
    return yson.with_attributes("yson", {"format": style})


@pytest.fixture
def queue(client: YtClient, home: str) -> str:
    path = make_queue(
        client,
        f"{home}/q",
        schema=[{"name": "data", "type": "string"}, {"name": "u", "type": "uint64"}, {"name": "a", "type": "any"}],
    )
    client.insert_rows(path, [{"data": ZHE, "u": yson.Uint64(2**63), "a": {"$x": [1.0, None]}}, {}])
    return path


def pull(raw: RawHttp, queue: str, output_format: Any) -> bytes:
    parameters = {"queue_path": queue, "partition_index": 0, "output_format": output_format}
    answer = raw.command("GET", "pull_queue", parameters)
    assert answer.status == 200, answer.body
    return answer.body


def block_stream(codec_name: str, data: bytes) -> bytes:
    codec = find_block_codec(codec_name)
    assert codec
    encoder = BlockEncoder(codec)
    return encoder.feed(data) + encoder.finish()


def unblocked(data: bytes) -> bytes:
    decoder = BlockDecoder()
    decoded = b"".join(decoder.feed(data))
    decoder.check_complete()
    return decoded


COMPRESSIONS: Mapping[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip-called-gzip": ("gzip", gzip.compress),
    "zlib-called-gzip": ("gzip", zlib.compress),
    "zlib-called-deflate": ("deflate", zlib.compress),
    "two-members": ("gzip", lambda data: gzip.compress(data[:5]) + gzip.compress(data[5:])),
    "brotli": ("br", brotli.compress),
    "zstd": ("zstd", zstd.compress),
    "two-frames": ("zstd", lambda data: zstd.compress(data[:5]) + zstd.compress(data[5:])),
    "blocks-of-zstd": ("z-zstd_3", lambda data: block_stream("zstd_3", data)),
    "blocks-of-snappy": ("z-snappy", lambda data: block_stream("snappy", data)),
    "blocks-of-brotli": ("z-brotli_6", lambda data: block_stream("brotli_6", data)),
    "blocks-of-lz4": ("z-lz4", lambda data: block_stream("lz4", data)),
    "blocks-as-they-are": ("z-null", lambda data: block_stream("null", data)),
    "identity": ("identity", bytes),
}


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_bodies_come_compressed(raw: RawHttp, client: YtClient, home: str, name: str) -> None:
    path = make_queue(client, f"{home}/q")
    encoding, compress = COMPRESSIONS[name]
    body = compress(yson.dumps_rows([{"data": "x" * 10_000}]))
    parameters = {"path": path, "input_format": "yson"}
    answer = raw.command("PUT", "insert_rows", parameters, body, {"Content-Encoding": encoding})
    assert answer.status == 200, answer.body
    assert len(list(client.pull_queue(path, offset=0, partition_index=0))) == 1


@pytest.mark.parametrize(
    ("accepted", "named", "decompress"),
    [
        ("gzip", "gzip", gzip.decompress),
        ("deflate, gzip", "deflate", zlib.decompress),
        ("compress, br;q=0.1, gzip;q=1", "br", brotli.decompress),
        ("zstd", "zstd", zstd.decompress),
        ("z-zstd_3", "z-zstd_3", unblocked),
        ("z-snappy,gzip", "z-snappy", unblocked),
        ("identity", "identity", bytes),
        ("*, identity", "identity", bytes),
    ],
)
def test_answers_come_in_the_first_compression_that_is_known(
    raw: RawHttp, queue: str, accepted: str, named: str, decompress: Callable[[bytes], bytes]
) -> None:
    rows = pull(raw, queue, yson_format("text"))
    for command, parameters in {
        "pull_queue": {"queue_path": queue, "partition_index": 0, "output_format": yson_format("text")},
        "select_rows": {"query": f"* from [{queue}]", "output_format": yson_format("text")},
        "read_table": {"path": queue, "output_format": yson_format("text")},
        "get": {"path": f"{queue}/@type"},
    }.items():
        answer = raw.command("GET", command, parameters, headers={"Accept-Encoding": accepted})
        assert answer.status == 200, answer.body
        assert answer.headers["Content-Encoding"] == named
        plain = raw.command("GET", command, parameters)
        assert plain.headers["Content-Encoding"] == "identity"
        assert decompress(answer.body) == plain.body
        assert command != "pull_queue" or plain.body == rows


def test_answers_that_nobody_could_read_are_refused(raw: RawHttp, queue: str) -> None:
    parameters = {"path": f"{queue}/@type"}
    for accepted in ("", "*", "compress;q=1", "z-lzma_3, lzma"):
        answer = raw.command("GET", "get", parameters, headers={"Accept-Encoding": accepted})
        assert answer.status == 415
        assert answer.error and "feasible content encoding" in answer.error.message
        assert "Content-Encoding" not in answer.headers


def test_the_client_compresses_as_it_is_told(clients: Clients, proxy: str, home: str) -> None:
    for encoding in ("br", "gzip", "identity"):
        client = clients.make(proxy, proxy={"content_encoding": encoding, "accept_encoding": encoding})
        path = f"{home}/{encoding}"
        client.write_table(path, [{"data": "x" * 1000}] * 100)
        assert list(client.read_table(path)) == [{"data": "x" * 1000}] * 100
        client.write_file(f"{path}.file", b"y" * 10_000)
        assert client.read_file(f"{path}.file").read() == b"y" * 10_000


@pytest.mark.parametrize(
    ("encoding", "body", "status"),
    [
        ("gzip", b"this is not compressed", 400),
        ("gzip", gzip.compress(b"{data=a}" * 100, mtime=0)[:-9], 400),
        ("br", b"whatever", 400),
        ("z-zstd_3", block_stream("zstd_3", b"{data=a}")[:-1], 400),
        ("z-zstd_3", block_stream("zstd_3", b"{data=a}") + b"more", 400),
        ("z-zstd_3", b"no block at all", 400),
        ("bzip2", b"whatever", 415),
        ("z-lzma_3", b"whatever", 415),
    ],
)
def test_bodies_that_cannot_be_unpacked_change_nothing(
    raw: RawHttp, client: YtClient, home: str, encoding: str, body: bytes, status: int
) -> None:
    path = make_queue(client, f"{home}/q")
    parameters = {"path": path, "input_format": "yson"}
    answer = raw.command("PUT", "insert_rows", parameters, body, {"Content-Encoding": encoding})
    assert answer.status == status
    assert answer.error
    assert list(client.pull_queue(path, offset=0, partition_index=0)) == []
