"""Blocks of `z-<codec>` are those that other clients write and read."""

from __future__ import annotations

import struct

import pytest

from yt_local.proxy.http.block_codecs import MAX_BLOCK_BYTES, BlockDecoder, BlockEncoder, codec_id, find_block_codec
from yt_wire.error import YtError

ROW = b"{a=1};\n"

STREAMS = {  # as the Go client writes the row
    "null": "ccd4 0700000000000000 7b613d317d3b0a | ccd4 0000000000000000",
    "snappy": "2ac7 0900000000000000 0718 7b613d317d3b0a | 2ac7 0100000000000000 00",
    "lz4": "a317 1000000000000000 0700000000000000 707b613d317d3b0a | a317 0900000000000000 0000000000000000 00",
    "zstd_3": "0c5b 1c00000000000000 0700000000000000 28b52ffd04003900007b613d317d3b0a1890f2e5"
    " | 0c5b 0800000000000000 0000000000000000",
    "brotli_6": "f3f6 1300000000000000 0700000000000000 0b03807b613d317d3b0a03"
    " | f3f6 0900000000000000 0000000000000000 3b",
}

IDS = {
    "null": 0xD4CC,
    "snappy": 0xC72A,
    "zstd08_1": 0xD6EB,
    "zstd08_3": 0x5B0C,
    "zstd08_8": 0xF3E2,
    "zstd08_22": 0x8689,
    "brotli_1": 0xBF33,
    "brotli_11": 0x1C49,
    "zlib-0": 0x5C07,
    "zlib-6": 0xA061,
    "zlib-9": 0xADA8,
    "lz4-fast14-safe": 0x17A3,
    "lz4-hc-safe": 0xF584,
    "lz4-fast14-fast": 0xF468,
}


def decoded(stream: bytes, size: int = 1 << 20) -> bytes:
    decoder = BlockDecoder()
    pieces = [b"".join(decoder.feed(stream[start : start + size])) for start in range(0, len(stream), size)]
    decoder.check_complete()
    return b"".join(pieces)


def encoded(name: str, data: bytes) -> bytes:
    codec = find_block_codec(name)
    assert codec
    encoder = BlockEncoder(codec)
    return encoder.feed(data) + encoder.finish()


@pytest.mark.parametrize("name", IDS)
def test_the_id_is_a_hash_of_the_name(name: str) -> None:
    assert codec_id(name) == IDS[name]


@pytest.mark.parametrize(("alias", "name"), [("zstd_3", "zstd08_3"), ("zlib", "zlib-6"), ("lz4hc", "lz4-hc-safe")])
def test_an_alias_is_the_same_codec(alias: str, name: str) -> None:
    assert find_block_codec(alias) is find_block_codec(name) is not None


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("name", STREAMS)
def test_what_others_write_is_read_wherever_it_is_cut(name: str, size: int) -> None:
    assert decoded(bytes.fromhex(STREAMS[name].replace("|", "")), size) == ROW


@pytest.mark.parametrize("name", ["null", "snappy", "lz4", "brotli_6"])
def test_what_is_written_is_what_others_write(name: str) -> None:
    assert encoded(name, ROW) == bytes.fromhex(STREAMS[name].replace("|", ""))


@pytest.mark.parametrize("name", ["null", "snappy", "lz4", "lz4hc", "lz4fast", "zstd_1", "zlib", "brotli_1"])
def test_a_large_body_has_many_blocks(name: str) -> None:
    data = bytes(range(256)) * 1000
    stream = encoded(name, data)
    assert decoded(stream, 10_000) == data
    assert encoded(name, b"") == stream[-len(encoded(name, b"")) :]


@pytest.mark.parametrize(
    "stream",
    [
        bytes.fromhex("ccd4 0700000000000000 7b613d317d3b0a"),  # no end
        bytes.fromhex("ccd4 0700000000000000 7b61"),
        bytes.fromhex("ccd4"),
        encoded("null", ROW) + encoded("null", ROW),
        bytes.fromhex("0100 0700000000000000 7b613d317d3b0a"),  # no such codec
        bytes.fromhex("a317 0200000000000000 0700"),
        bytes.fromhex("0c5b 1000000000000000 0700000000000000 28b52ffd04003900"),
        bytes.fromhex("2ac7 0300000000000000 ffffff"),
        b"\x0c\x5b" + struct.pack("<QQ", 1 << 40, 7),
        b"\x0c\x5b" + struct.pack("<QQ", 8, MAX_BLOCK_BYTES + 1),
    ],
)
def test_broken_blocks_are_refused(stream: bytes) -> None:
    with pytest.raises(YtError, match="Error decompressing request body"):
        decoded(stream)


@pytest.mark.parametrize("name", ["zstd_3", "brotli_6", "zlib", "lz4"])
def test_a_block_is_no_longer_than_it_says(name: str) -> None:
    stream = bytearray(encoded(name, bytes(1000)))
    stream[10:18] = struct.pack("<Q", 999)
    with pytest.raises(YtError, match="Error decompressing request body"):
        decoded(bytes(stream))
