"""Bus packets: messages of parts, acknowledgements and the handshake, as bytes and back."""

from __future__ import annotations

import enum
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from google.protobuf.message import DecodeError

from yt_wire.checksum import checksum
from yt_wire.error import ErrorCode, YtError
from yt_wire.guid import Guid
from yt_wire.proto.bus_pb2 import THandshake
from yt_wire.proto.core_pb2 import TGuid

Part: TypeAlias = bytes | None
"""A part of a message; None is the null part, which is not the empty one."""

MAX_PART_COUNT: Final = 1 << 20

DEFAULT_MAX_PACKET_SIZE: Final = 256 << 20
"""Bytes, headers included."""

HANDSHAKE_PACKET_ID: Final = bytes([1]) + bytes(15)

_SIGNATURE: Final = 0x78616D4F
_HANDSHAKE_SIGNATURE: Final = struct.pack("<I", 0x68737562)
_ACK_REQUESTED: Final = 1
_NULL_PART_SIZE: Final = 0xFFFFFFFF
_CHECKSUM: Final = struct.Struct("<Q")
_NO_CHECKSUM: Final = 0
_HEADER: Final = struct.Struct("<IhH16sIQ")
_ENCRYPTION_REQUIRED: Final = 2


class PacketType(enum.IntEnum):
    MESSAGE = 0
    ACK = 1
    TLS_ACK = 2


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet; checksums are neither kept nor verified."""

    type: PacketType
    packet_id: bytes
    """16 bytes; an acknowledgement repeats those of the packet it confirms."""

    parts: Sequence[Part] = ()
    ack_requested: bool = False
    has_checksums: bool = False
    """Who sends checksums may insist on getting some, as the Go client does."""


def encode_message(
    packet_id: bytes, parts: Sequence[Part], *, request_ack: bool = False, with_checksums: bool = False
) -> bytes:
    """Write a message packet; checksums that are left out are 0."""
    count = len(parts)
    sizes = [_NULL_PART_SIZE if part is None else len(part) for part in parts]
    flags = _ACK_REQUESTED if request_ack else 0
    header = _encode_header(PacketType.MESSAGE, flags, packet_id, count, with_checksum=with_checksums)
    variable_header = struct.pack(f"<{count}I", *sizes)
    if with_checksums:
        variable_header += struct.pack(f"<{count}Q", *(checksum(part or b"") for part in parts))
        variable_header += _CHECKSUM.pack(checksum(variable_header))
    else:
        variable_header += bytes(_CHECKSUM.size * (count + 1))
    return b"".join([header, variable_header, *(part for part in parts if part)])


def encode_ack(packet_id: bytes, *, with_checksum: bool = False) -> bytes:
    """Write the acknowledgement of a packet."""
    return _encode_header(PacketType.ACK, 0, packet_id, 0, with_checksum=with_checksum)


def encode_handshake(connection_id: Guid, *, with_checksums: bool = False) -> bytes:
    """Write the handshake packet of a side that does not speak TLS."""
    handshake = THandshake(connection_id=TGuid(first=connection_id.first, second=connection_id.second))
    parts = [_HANDSHAKE_SIGNATURE + handshake.SerializeToString()]
    return encode_message(HANDSHAKE_PACKET_ID, parts, with_checksums=with_checksums)


def _encode_header(kind: PacketType, flags: int, packet_id: bytes, count: int, *, with_checksum: bool) -> bytes:
    header = _HEADER.pack(_SIGNATURE, kind, flags, packet_id, count, _NO_CHECKSUM)
    if not with_checksum:
        return header
    header = header[: -_CHECKSUM.size]
    return header + _CHECKSUM.pack(checksum(header))


def is_handshake(packet: Packet) -> bool:
    """Whether this message is a handshake rather than an RPC message."""
    first = packet.parts[0] if packet.parts else None
    return packet.packet_id == HANDSHAKE_PACKET_ID and first is not None and first.startswith(_HANDSHAKE_SIGNATURE)


def decode_handshake(packet: Packet) -> Guid:
    """Read a handshake.

    Returns:
        The peer's connection id.

    Raises:
        YtError: malformed, or the peer insists on TLS.
    """
    handshake = THandshake()
    try:
        handshake.ParseFromString((packet.parts[0] or b"")[len(_HANDSHAKE_SIGNATURE) :])
    except DecodeError as error:
        raise YtError("Malformed handshake packet", ErrorCode.TRANSPORT) from error
    if not handshake.IsInitialized():  # the parser does not look
        raise YtError("Handshake packet lacks a connection id", ErrorCode.TRANSPORT)
    if handshake.encryption_mode >= _ENCRYPTION_REQUIRED:
        raise YtError("TLS/SSL is required by the peer, but is not supported here", ErrorCode.TRANSPORT)
    return Guid(handshake.connection_id.first, handshake.connection_id.second)


class Decoder:
    """Packets out of a byte stream that arrives in pieces of any size.

    Args:
        max_packet_size: bytes; a larger packet is refused as soon as its headers are there.
    """

    def __init__(self, max_packet_size: int = DEFAULT_MAX_PACKET_SIZE) -> None:
        self._max_packet_size = max_packet_size
        self._buffer = bytearray()
        self._needed = _HEADER.size

    @property
    def size(self) -> int:
        """Bytes of what is not a whole packet yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self._buffer += data

    def next_packet(self) -> Packet | None:
        """The next complete packet, None if more bytes are needed.

        Raises:
            YtError: what is next is not a packet, or is too large; the stream cannot be read any further.
        """
        if not self._holds(_HEADER.size):
            return None
        signature, type_number, flags, packet_id, count, header_checksum = _HEADER.unpack_from(self._buffer)
        if signature != _SIGNATURE:
            raise YtError(f"Packet header signature mismatch: {signature:#x}", ErrorCode.TRANSPORT)
        try:
            packet_type = PacketType(type_number)
        except ValueError:
            raise YtError(f"Unknown packet type {type_number}", ErrorCode.TRANSPORT) from None
        if count > MAX_PART_COUNT:
            raise YtError(f"Packet has {count} parts, at most {MAX_PART_COUNT} are allowed", ErrorCode.TRANSPORT)
        end = _HEADER.size
        sizes: Sequence[int] = ()
        if packet_type is PacketType.MESSAGE or count:
            end += 4 * count + _CHECKSUM.size * (count + 1)
            self._check_size(end)
            if not self._holds(end):
                return None
            sizes = struct.unpack_from(f"<{count}I", self._buffer, _HEADER.size)
        start = end
        end += sum(size for size in sizes if size != _NULL_PART_SIZE)
        self._check_size(end)
        if not self._holds(end):
            return None
        parts = self._cut(start, sizes)
        del self._buffer[:end]
        self._needed = _HEADER.size
        return Packet(packet_type, packet_id, parts, bool(flags & _ACK_REQUESTED), header_checksum != _NO_CHECKSUM)

    def _holds(self, size: int) -> bool:
        # Most calls end here: a large packet is looked at again only when all of it has come.
        self._needed = max(self._needed, size)
        return len(self._buffer) >= self._needed

    def _check_size(self, size: int) -> None:
        if size > self._max_packet_size:
            raise YtError(
                f"Packet of {size} bytes or more is too large, the limit is {self._max_packet_size}",
                ErrorCode.TRANSPORT,
            )

    def _cut(self, position: int, sizes: Sequence[int]) -> tuple[Part, ...]:
        parts: list[Part] = []
        with memoryview(self._buffer) as view:
            for size in sizes:
                if size == _NULL_PART_SIZE:
                    parts.append(None)
                else:
                    parts.append(bytes(view[position : position + size]))
                    position += size
        return tuple(parts)
