"""Checksums of bus packets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt_wire import bus
from yt_wire.checksum import checksum
from yt_wire.guid import Guid

POLYNOMIAL = 1 << 64 | 0xE543279765927881

HANDSHAKE = bytes.fromhex(
    "4f6d6178" "0000" "0000" "01000000000000000000000000000000" "01000000" "b84fb75c8171d133"
    "1e000000" "a30dabd1e092ab10" "3ccc86f7819b9a44"
    "62757368" "0a12" "09f4d5b3c54105e3ca" "113d929c5a6aaadd33" "1000" "1801" "2000"
)  # fmt: skip
"""Of the C++ client."""


def remainder(data: bytes) -> int:
    """What the definition says, a bit at a time."""
    value = int.from_bytes(data) << 64
    while (excess := value.bit_length() - 65) >= 0:
        value ^= POLYNOMIAL << excess
    return value


def test_the_sums_of_a_clients_packet_are_found() -> None:
    assert checksum(HANDSHAKE[:28]).to_bytes(8, "little") == HANDSHAKE[28:36]
    assert checksum(HANDSHAKE[36:48]).to_bytes(8, "little") == HANDSHAKE[48:56]
    assert checksum(HANDSHAKE[56:]).to_bytes(8, "little") == HANDSHAKE[40:48]


@given(st.binary(max_size=300))
def test_the_sum_is_the_remainder(data: bytes) -> None:
    assert checksum(data) == remainder(data)


@pytest.mark.parametrize("size", [63, 64, 65, 128, 129, 32767, 32768, 32769, 70000])
def test_it_is_so_at_every_size(size: int) -> None:
    data = bytes(position * 7 & 0xFF for position in range(size))
    assert checksum(data) == remainder(data)


def test_packets_can_have_all_their_sums() -> None:
    packet_id, parts = bytes(range(16)), [b"part", None, b""]
    message = bus.encode_message(packet_id, parts, with_checksums=True)
    sizes_and_sums = 3 * 12
    assert message[28:36] == checksum(message[:28]).to_bytes(8, "little")
    assert message[36 + 12 : 36 + 20] == checksum(b"part").to_bytes(8, "little")
    end = 36 + sizes_and_sums
    assert message[end : end + 8] == checksum(message[36:end]).to_bytes(8, "little")
    ack = bus.encode_ack(packet_id, with_checksum=True)
    assert ack[28:] == checksum(ack[:28]).to_bytes(8, "little")


@pytest.mark.parametrize("with_checksums", [True, False])
def test_who_sends_sums_is_told_from_who_does_not(with_checksums: bool) -> None:
    decoder = bus.Decoder()
    decoder.feed(bus.encode_handshake(Guid(1, 2), with_checksums=with_checksums))
    packet = decoder.next_packet()
    assert packet is not None and packet.has_checksums is with_checksums
