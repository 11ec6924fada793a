"""Compressed bodies are read in small pieces, however they are cut and however large they become."""

from __future__ import annotations

import pytest

from yt_local.proxy.http.compression import UnsupportedEncoding, answer_encoding, body_decoder, compressed
from yt_wire.error import YtError

ENCODINGS = ("gzip", "deflate", "br", "zstd", "z-zstd_3", "z-snappy", "z-lz4", "z-brotli_1", "z-zlib", "z-null")
WHOLE_STREAMS = ("gzip", "deflate", "br", "zstd")
DATA = bytes(range(256)) * 2000
MEGABYTE = 2**20


def written(encoding: str, data: bytes) -> bytes:
    return b"".join(compressed(encoding, [data[:10], b"", data[10:]]))


def pieces(encoding: str, body: bytes, size: int) -> list[bytes]:
    decoder = body_decoder(encoding)
    assert decoder
    found = [piece for start in range(0, len(body), size) for piece in decoder.feed(body[start : start + size])]
    decoder.check_complete()
    return found


@pytest.mark.parametrize("size", [7, 1000, MEGABYTE])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_is_written_is_read_wherever_it_is_cut(encoding: str, size: int) -> None:
    assert b"".join(pieces(encoding, written(encoding, DATA), size)) == DATA


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_nothing_is_compressed_too(encoding: str) -> None:
    assert b"".join(pieces(encoding, written(encoding, b""), 7)) == b""
    assert pieces(encoding, b"", 7) == []


@pytest.mark.parametrize("encoding", WHOLE_STREAMS)
def test_a_small_body_that_becomes_large_comes_in_pieces(encoding: str) -> None:
    body = written(encoding, bytes(50 * MEGABYTE))
    assert len(body) < MEGABYTE // 4
    found = pieces(encoding, body, len(body))
    assert sum(map(len, found)) == 50 * MEGABYTE
    assert max(map(len, found)) <= 2 * MEGABYTE


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_body_that_is_cut_off_is_refused(encoding: str) -> None:
    body = written(encoding, DATA)
    for end in (1, len(body) // 2, len(body) - 1):
        with pytest.raises(YtError, match="Error decompressing request body"):
            pieces(encoding, body[:end], MEGABYTE)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_follows_a_body_is_refused(encoding: str) -> None:
    with pytest.raises(YtError, match="Error decompressing request body"):
        pieces(encoding, written(encoding, DATA) + b"no more of it", MEGABYTE)


@pytest.mark.parametrize(
    ("accepted", "chosen"),
    [
        (None, "identity"),
        ("identity", "identity"),
        ("lzma, gzip;q=0.5, br;q=1", "gzip"),
        ("z-lzma_1,z-brotli_11,gzip", "z-brotli_11"),
        ("*, z-zstd_3", "z-zstd_3"),
    ],
)
def test_the_first_encoding_that_is_known_is_chosen(accepted: str | None, chosen: str) -> None:
    assert answer_encoding(accepted) == chosen


@pytest.mark.parametrize("accepted", ["", "*", "lzma", "z-", "z-lzma_1", "GZIP"])
def test_an_answer_needs_an_encoding_that_is_known(accepted: str) -> None:
    with pytest.raises(UnsupportedEncoding):
        answer_encoding(accepted)


@pytest.mark.parametrize("encoding", ["lzma", "z-", "z-lzma_1", "*"])
def test_a_body_needs_one_too(encoding: str) -> None:
    with pytest.raises(UnsupportedEncoding, match="Unsupported Content-Encoding"):
        body_decoder(encoding)
