"""Content encodings: bodies of requests decompressed as they come, and answers compressed as they are made."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Protocol

import brotli

from yt_local.proxy.http.block_codecs import BlockDecoder, BlockEncoder, find_block_codec
from yt_local.proxy.http.zstd_library import zstd
from yt_wire.error import YtError

_MEGABYTE: Final = 2**20
"""Decompressed at a time."""

_ANY_WINDOW: Final = zlib.MAX_WBITS | 32
"""Lets zlib tell gzip from its own format: clients say gzip and send the other."""

_GZIP_WINDOW: Final = zlib.MAX_WBITS | 16
_BROTLI_QUALITY: Final = 3
_IDENTITY: Final = "identity"
_BLOCKS: Final = "z-"


class UnsupportedEncoding(YtError):
    """A compression this server does not know, of a body or for an answer."""


class Decoder(Protocol):
    """Decompresses one body."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What a piece decompresses to, a megabyte at a time (of blocks: one at a time); YtError if it is broken."""

    def check_complete(self) -> None:
        """YtError if the body was cut off; nothing at all is taken for an empty body."""


class Encoder(Protocol):
    """Compresses one answer."""

    def feed(self, data: bytes) -> bytes:
        """What of the data is ready to be sent."""

    def finish(self) -> bytes:
        """The rest."""


def body_decoder(encoding: str) -> Decoder | None:
    """How a body with this `Content-Encoding` is read; None: as it is.

    Raises:
        UnsupportedEncoding: it is not known.
    """
    if encoding in ("", _IDENTITY):
        return None
    if encoding.startswith(_BLOCKS) and find_block_codec(encoding.removeprefix(_BLOCKS)):
        return BlockDecoder()
    decoder = _DECODERS.get(encoding)
    if decoder is None:
        raise UnsupportedEncoding("Unsupported Content-Encoding", attributes={"content_encoding": encoding})
    return decoder()


def answer_encoding(accepted: str | None) -> str:
    """The first encoding of an `Accept-Encoding` that is known, in the client's spelling; weights do not count.

    Raises:
        UnsupportedEncoding: none is known.
    """
    if accepted is None:
        return _IDENTITY
    for item in accepted.split(","):
        name = item.partition(";")[0].strip()
        if name == _IDENTITY or name in _ENCODERS or (name.startswith(_BLOCKS) and find_block_codec(name[2:])):
            return name
    raise UnsupportedEncoding(
        "Could not determine feasible content encoding given accept encoding constraints",
        attributes={"client_accept_encoding": accepted},
    )


def compressed(encoding: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """An answer in an encoding of `answer_encoding`."""
    if encoding == _IDENTITY:
        yield from pieces
        return
    codec = find_block_codec(encoding.removeprefix(_BLOCKS)) if encoding.startswith(_BLOCKS) else None
    encoder = BlockEncoder(codec) if codec else _ENCODERS[encoding]()
    for piece in pieces:
        if ready := encoder.feed(piece):
            yield ready
    yield encoder.finish()


class _ZlibDecoder:
    """Reads one or more members, one behind the other."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_ANY_WINDOW)
        self._started = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            self._started = True
            try:
                yield self._member.decompress(data, _MEGABYTE)
            except zlib.error as error:
                raise _broken(error) from error
            data = self._member.unconsumed_tail
            if self._member.eof:
                data = self._member.unused_data
                self._member = zlib.decompressobj(_ANY_WINDOW)
                self._started = bool(data)

    def check_complete(self) -> None:
        if self._started:
            raise _cut_off()


class _ZstdDecoder:
    """Reads one or more frames, one behind the other."""

    def __init__(self) -> None:
        self._frame = zstd.ZstdDecompressor()
        self._started = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data or not self._frame.needs_input:
            self._started = True
            try:
                yield self._frame.decompress(data, _MEGABYTE)
            except zstd.ZstdError as error:
                raise _broken(error) from error
            data = b""
            if self._frame.eof:
                data = self._frame.unused_data
                self._frame = zstd.ZstdDecompressor()
                self._started = bool(data)

    def check_complete(self) -> None:
        if self._started:
            raise _cut_off()


class _BrotliDecoder:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()
        self._started = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._started = self._started or bool(data)
        try:
            piece = self._stream.process(data, output_buffer_limit=_MEGABYTE)
            # It may hold output back though it takes more input.
            while piece or not self._stream.can_accept_more_data():
                yield piece
                if self._stream.is_finished():
                    break
                piece = self._stream.process(b"", output_buffer_limit=_MEGABYTE)
        except brotli.error as error:
            raise _broken(error) from error

    def check_complete(self) -> None:
        if self._started and not self._stream.is_finished():
            raise _cut_off()


class _ZlibEncoder:
    def __init__(self, window: int) -> None:
        self._stream = zlib.compressobj(zlib.Z_BEST_SPEED, wbits=window)
        self.feed = self._stream.compress
        self.finish = self._stream.flush


class _ZstdEncoder:
    def __init__(self) -> None:
        self._stream = zstd.ZstdCompressor()
        self.feed = self._stream.compress
        self.finish = self._stream.flush


class _BrotliEncoder:
    def __init__(self) -> None:
        stream = brotli.Compressor(quality=_BROTLI_QUALITY)
        self.feed: Callable[[bytes], bytes] = stream.process
        self.finish: Callable[[], bytes] = stream.finish


_DECODERS: Final[Mapping[str, Callable[[], Decoder]]] = {
    "gzip": _ZlibDecoder,
    "deflate": _ZlibDecoder,
    "br": _BrotliDecoder,
    "zstd": _ZstdDecoder,
}

_ENCODERS: Final[Mapping[str, Callable[[], Encoder]]] = {
    "gzip": lambda: _ZlibEncoder(_GZIP_WINDOW),
    "deflate": lambda: _ZlibEncoder(zlib.MAX_WBITS),
    "br": _BrotliEncoder,
    "zstd": _ZstdEncoder,
}


def _broken(error: Exception) -> YtError:
    return YtError(f"Error decompressing request body: {error}")


def _cut_off() -> YtError:
    return YtError("Error decompressing request body: it ends early")
