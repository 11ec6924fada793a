from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt_wire.bus import (
    HANDSHAKE_PACKET_ID,
    Decoder,
    Packet,
    PacketType,
    decode_handshake,
    encode_ack,
    encode_handshake,
    encode_message,
    is_handshake,
)
from yt_wire.error import ErrorCode, YtError
from yt_wire.guid import Guid
from yt_wire.proto.bus_pb2 import THandshake
from yt_wire.proto.core_pb2 import TGuid

CPP_HANDSHAKE = bytes.fromhex(
    "4f6d61780000000001000000000000000000000000000000" "01000000b84fb75c8171d133"
    "1e000000a30dabd1e092ab103ccc86f7819b9a44"
    "627573680a1209f4d5b3c54105e3ca113d929c5a6aaadd33100018012000"
)  # fmt: skip
ID = bytes(range(16))

PACKETS = st.builds(
    Packet,
    st.just(PacketType.MESSAGE),
    st.binary(min_size=16, max_size=16),
    st.lists(st.none() | st.binary(max_size=40), max_size=4).map(tuple),
    st.booleans(),
) | st.builds(Packet, st.just(PacketType.ACK), st.binary(min_size=16, max_size=16))


def encode(packet: Packet) -> bytes:
    if packet.type is PacketType.ACK:
        return encode_ack(packet.packet_id)
    return encode_message(packet.packet_id, packet.parts, request_ack=packet.ack_requested)


def drain(decoder: Decoder) -> list[Packet]:
    packets = []
    while (packet := decoder.next_packet()) is not None:
        packets.append(packet)
    return packets


def decode(data: bytes) -> list[Packet]:
    decoder = Decoder()
    decoder.feed(data)
    return drain(decoder)


def test_handshake_of_the_cpp_client_is_understood() -> None:
    [packet] = decode(CPP_HANDSHAKE)
    assert packet.type is PacketType.MESSAGE
    assert packet.packet_id == HANDSHAKE_PACKET_ID
    assert not packet.ack_requested
    assert is_handshake(packet)
    assert decode_handshake(packet) == Guid(first=0xCAE30541C5B3D5F4, second=0x33DDAA6A5A9C923D)


def test_a_message_is_written_as_the_cpp_client_does_but_without_checksums() -> None:
    expected = bytearray(CPP_HANDSHAKE)
    expected[28:36] = bytes(8)
    expected[40:56] = bytes(16)
    [packet] = decode(CPP_HANDSHAKE)
    assert encode_message(packet.packet_id, packet.parts) == bytes(expected)


def test_our_handshake_is_one_and_does_not_offer_tls() -> None:
    [packet] = decode(encode_handshake(Guid(1, 2)))
    assert is_handshake(packet)
    assert decode_handshake(packet) == Guid(1, 2)
    handshake = THandshake.FromString((packet.parts[0] or b"")[4:])
    assert not handshake.HasField("encryption_mode")


def test_a_message_with_the_id_of_a_handshake_but_other_content_is_none() -> None:
    [packet] = decode(encode_message(HANDSHAKE_PACKET_ID, [b"rpci"]))
    assert not is_handshake(packet)


def test_a_peer_that_requires_tls_is_refused() -> None:
    handshake = THandshake(connection_id=TGuid(first=1, second=2), encryption_mode=2).SerializeToString()
    [packet] = decode(encode_message(HANDSHAKE_PACKET_ID, [b"bush" + handshake]))
    with pytest.raises(YtError, match="TLS"):
        decode_handshake(packet)


@pytest.mark.parametrize("content", [b"\xff\xff", b"", b"\x0a\x00"])
def test_a_malformed_handshake_is_a_transport_error(content: bytes) -> None:
    [packet] = decode(encode_message(HANDSHAKE_PACKET_ID, [b"bush" + content]))
    with pytest.raises(YtError) as caught:
        decode_handshake(packet)
    assert caught.value.code == ErrorCode.TRANSPORT


def test_an_ack_is_a_bare_header_with_the_id_of_what_it_confirms() -> None:
    ack = encode_ack(ID)
    assert len(ack) == 36
    assert decode(ack) == [Packet(PacketType.ACK, ID)]


def test_null_and_empty_parts_stay_apart() -> None:
    assert decode(encode_message(ID, [None, b"", b"x", None]))[0].parts == (None, b"", b"x", None)


@given(st.lists(PACKETS, max_size=5), st.data())
def test_any_split_of_a_stream_decodes_alike(packets: list[Packet], data: st.DataObject) -> None:
    stream = b"".join(map(encode, packets))
    cuts = sorted(data.draw(st.sets(st.integers(min_value=0, max_value=len(stream)), max_size=12)))
    decoder = Decoder()
    decoded = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        decoder.feed(stream[start:end])
        decoded += drain(decoder)
    assert decoded == packets


@given(st.lists(PACKETS, max_size=2), st.binary(max_size=80))
def test_any_bytes_give_packets_or_a_transport_error(packets: list[Packet], garbage: bytes) -> None:
    decoder = Decoder(max_packet_size=1000)
    decoder.feed(b"".join(map(encode, packets)))
    assert drain(decoder) == packets
    decoder.feed(garbage)
    try:
        drain(decoder)
    except YtError as error:
        assert error.code == ErrorCode.TRANSPORT


def test_packets_before_garbage_are_delivered() -> None:
    decoder = Decoder()
    decoder.feed(encode_ack(ID) + b"GET / HTTP/1.1\r\n" + bytes(40))
    assert decoder.next_packet() == Packet(PacketType.ACK, ID)
    with pytest.raises(YtError, match="signature mismatch"):
        decoder.next_packet()


def test_an_unknown_packet_type_is_refused() -> None:
    decoder = Decoder()
    decoder.feed(struct.pack("<IhH16sIQ", 0x78616D4F, 7, 0, ID, 0, 0))
    with pytest.raises(YtError, match="Unknown packet type 7"):
        decoder.next_packet()


@pytest.mark.parametrize("count", [0xFFFFFFFF, (1 << 20) + 1, 100])
def test_an_absurd_part_count_is_refused_by_the_header_alone(count: int) -> None:
    decoder = Decoder(max_packet_size=1000)
    decoder.feed(struct.pack("<IhH16sIQ", 0x78616D4F, 0, 0, ID, count, 0))
    with pytest.raises(YtError) as caught:
        decoder.next_packet()
    assert caught.value.code == ErrorCode.TRANSPORT


def test_a_packet_above_the_limit_is_refused_before_its_parts_arrive() -> None:
    packet = encode_message(ID, [bytes(900), bytes(900)])
    decoder = Decoder(max_packet_size=1000)
    decoder.feed(packet[:68])
    with pytest.raises(YtError, match="too large"):
        decoder.next_packet()


def test_a_packet_of_exactly_the_limit_is_accepted() -> None:
    packet = encode_message(ID, [bytes(900)])
    decoder = Decoder(max_packet_size=len(packet))
    decoder.feed(packet)
    assert decoder.next_packet() is not None
