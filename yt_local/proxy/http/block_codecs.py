"""Block codecs of YTsaurus: bodies with a content encoding `z-<codec>` are blocks in one of them.

A stream is blocks up to one that decodes to nothing. A block is the id of its codec (2 bytes), the length of what
follows (8 bytes), and the payload; numbers are little-endian.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import brotli
import cramjam

from yt_local.proxy.http.zstd_library import zstd
from yt_wire.error import YtError

MAX_BLOCK_BYTES: Final = 16 * 2**20
"""Of a decoded block; clients write 32 to 64 KiB, and Go's takes no more than this."""

_WRITTEN_BLOCK_BYTES: Final = 64 * 2**10
_MAX_PAYLOAD_BYTES: Final = MAX_BLOCK_BYTES + MAX_BLOCK_BYTES // 8
_HEADER: Final = struct.Struct("<HQ")
_LENGTH: Final = struct.Struct("<Q")

_ERRORS: Final = (zlib.error, zstd.ZstdError, brotli.error, cramjam.DecompressionError)


@dataclass(frozen=True, slots=True)
class BlockCodec:
    """One codec, which makes payloads and reads them."""

    id: int
    compress: Callable[[bytes], bytes]
    decompress: Callable[[bytes], bytes]
    """Raises YtError if the payload is broken, or decodes to more than `MAX_BLOCK_BYTES`."""


def find_block_codec(name: str) -> BlockCodec | None:
    """The codec of a name without `z-`, which may be an alias."""
    return _BY_NAME.get(name)


class BlockEncoder:
    """Writes a body as blocks of one codec."""

    def __init__(self, codec: BlockCodec) -> None:
        self._codec = codec
        self._held = bytearray()

    def feed(self, data: bytes) -> bytes:
        """The blocks that are full with this data."""
        self._held += data
        full = len(self._held) // _WRITTEN_BLOCK_BYTES * _WRITTEN_BLOCK_BYTES
        blocks = [
            self._block(bytes(self._held[start : start + _WRITTEN_BLOCK_BYTES]))
            for start in range(0, full, _WRITTEN_BLOCK_BYTES)
        ]
        del self._held[:full]
        return b"".join(blocks)

    def finish(self) -> bytes:
        """The last blocks."""
        rest = self._block(bytes(self._held)) if self._held else b""
        return rest + self._block(b"")

    def _block(self, data: bytes) -> bytes:
        payload = self._codec.compress(data)
        return _HEADER.pack(self._codec.id, len(payload)) + payload


class BlockDecoder:
    """Reads a body of blocks, each in the codec that it names."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._started = False
        self._ended = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What the blocks that are complete with this data decode to."""
        self._started = self._started or bool(data)
        self._held += data
        while len(self._held) >= _HEADER.size:
            if self._ended:
                raise YtError("Error decompressing request body: data after the end block")
            codec_id, length = _HEADER.unpack_from(self._held)
            codec = _BY_ID.get(codec_id)
            if codec is None:
                raise YtError(f"Error decompressing request body: no block codec has the id {codec_id:#06x}")
            if length > _MAX_PAYLOAD_BYTES:
                raise YtError(f"Error decompressing request body: a block has {length} bytes")
            end = _HEADER.size + length
            if len(self._held) < end:
                return
            decoded = codec.decompress(bytes(self._held[_HEADER.size : end])) if length else b""
            del self._held[:end]
            self._ended = not decoded
            if decoded:
                yield decoded

    def check_complete(self) -> None:
        """YtError unless the end block came, and nothing behind it."""
        if self._held or self._started != self._ended:
            raise YtError("Error decompressing request body: it has no end block as its last")


def codec_id(name: str) -> int:
    """The id of a codec, given its full name: both halves of a hash of it."""
    hashed = _murmur_hash_2(name.encode())
    return hashed >> 16 ^ hashed & 0xFFFF


def _murmur_hash_2(data: bytes) -> int:
    """MurmurHash2 of 32 bits, with the seed 0."""
    multiplier, mask = 0x5BD1E995, 0xFFFFFFFF
    hashed = len(data)
    whole = len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        word = word * multiplier & mask
        word = (word ^ word >> 24) * multiplier & mask
        hashed = hashed * multiplier & mask ^ word
    if rest := data[whole:]:
        hashed = (hashed ^ int.from_bytes(rest, "little")) * multiplier & mask
    hashed = (hashed ^ hashed >> 13) * multiplier & mask
    return hashed ^ hashed >> 15


def _checked(decompress: Callable[[bytes, int], bytes]) -> Callable[[bytes], bytes]:
    """With the decoded length in front of the payload, as most codecs have it."""

    def read(payload: bytes) -> bytes:
        if len(payload) < _LENGTH.size:
            raise YtError("Error decompressing request body: a block has no length")
        (length,) = _LENGTH.unpack_from(payload)
        if length > MAX_BLOCK_BYTES:
            raise YtError(f"Error decompressing request body: a block decodes to {length} bytes")
        if not length:
            return b""
        try:
            decoded = decompress(payload[_LENGTH.size :], length)
        except _ERRORS as error:
            raise YtError(f"Error decompressing request body: {error}") from error
        if len(decoded) != length:
            raise YtError(f"Error decompressing request body: a block does not decode to {length} bytes")
        return decoded

    return read


def _sized(compress: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda data: _LENGTH.pack(len(data)) + compress(data)


def _read_zlib(payload: bytes, length: int) -> bytes:
    return zlib.decompressobj().decompress(payload, length + 1)


def _read_zstd(payload: bytes, length: int) -> bytes:
    return zstd.ZstdDecompressor().decompress(payload, length + 1)


def _read_brotli(payload: bytes, length: int) -> bytes:
    decompressor = brotli.Decompressor()
    decoded: bytes = decompressor.process(payload, output_buffer_limit=length + 1)
    while not decompressor.is_finished() and len(decoded) <= length:
        more = decompressor.process(b"", output_buffer_limit=length + 1)
        if not more:
            break
        decoded += more
    return decoded


def _read_lz4(payload: bytes, length: int) -> bytes:
    output = bytearray(length)
    count = cramjam.lz4.decompress_block_into(payload, output, length)
    return bytes(output[:count])


def _write_lz4(mode: Literal["default", "fast", "high_compression"], data: bytes) -> bytes:
    return bytes(cramjam.lz4.compress_block(data, mode=mode, store_size=False))


def _read_snappy(payload: bytes) -> bytes:
    try:
        length = cramjam.snappy.decompress_raw_len(payload)
        if length > MAX_BLOCK_BYTES:
            raise YtError(f"Error decompressing request body: a block decodes to {length} bytes")
        return bytes(cramjam.snappy.decompress_raw(payload))
    except cramjam.DecompressionError as error:
        raise YtError(f"Error decompressing request body: {error}") from error


def _write_snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def _codecs() -> Iterator[tuple[BlockCodec, list[str]]]:
    """All codecs, each with its names, the full one first."""

    def sized(
        compress: Callable[[bytes], bytes], read: Callable[[bytes, int], bytes], *names: str
    ) -> tuple[BlockCodec, list[str]]:
        return BlockCodec(codec_id(names[0]), _sized(compress), _checked(read)), list(names)

    yield BlockCodec(codec_id("null"), bytes, bytes), ["null"]
    yield BlockCodec(codec_id("snappy"), _write_snappy, _read_snappy), ["snappy"]
    for level in range(10):
        names = [f"zlib-{level}", *(["zlib"] if level == 6 else [])]
        yield sized(partial(zlib.compress, level=level), _read_zlib, *names)
    for level in range(1, 23):
        yield sized(partial(zstd.compress, level=level), _read_zstd, f"zstd08_{level}", f"zstd_{level}")
    for quality in range(1, 12):
        yield sized(partial(brotli.compress, quality=quality), _read_brotli, f"brotli_{quality}")
    yield sized(partial(_write_lz4, "default"), _read_lz4, "lz4-fast14-safe", "lz4", "lz4-fast-safe")
    yield sized(partial(_write_lz4, "high_compression"), _read_lz4, "lz4-hc-safe", "lz4hc")
    yield sized(partial(_write_lz4, "fast"), _read_lz4, "lz4-fast14-fast", "lz4fast")


_BY_NAME: Final[Mapping[str, BlockCodec]] = {name: codec for codec, names in _codecs() for name in names}
_BY_ID: Final[Mapping[int, BlockCodec]] = {codec.id: codec for codec in _BY_NAME.values()}
