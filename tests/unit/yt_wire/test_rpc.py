from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt_wire import rpc, yson
from yt_wire.bus import Part
from yt_wire.error import ErrorCode, YtError
from yt_wire.guid import NULL_GUID, Guid
from yt_wire.proto.core_pb2 import TError
from yt_wire.proto.rpc_pb2 import TReqDiscover, TRequestHeader, TRspDiscover

REQUEST_ID = Guid(7, 8)


def header(**fields: Any) -> TRequestHeader:
    return TRequestHeader(request_id=rpc.to_proto_guid(REQUEST_ID), service="S", method="M", **fields)


def decode_request(parts: list[Part]) -> rpc.Request:
    message = rpc.decode_message(parts)
    assert isinstance(message, rpc.Request)
    return message


def decode_response(parts: list[Part]) -> rpc.Response:
    message = rpc.decode_message(parts)
    assert isinstance(message, rpc.Response)
    return message


def test_a_request_comes_out_as_it_went_in() -> None:
    request = decode_request(rpc.encode_request(header(user="u"), b"body", [None, b"", b"x"]))
    assert (request.header.service, request.header.method, request.header.user) == ("S", "M", "u")
    assert request.request_id == REQUEST_ID
    assert request.body == b"body"
    assert list(request.attachments) == [None, b"", b"x"]


def test_a_body_without_codec_is_in_an_envelope_of_two_sizes() -> None:
    assert rpc.encode_request(header(), b"body")[1] == bytes([0, 0, 0, 0, 4, 0, 0, 0]) + b"body"
    assert rpc.encode_response(header(), b"")[1] == bytes(8)


def test_a_body_with_codec_is_bare() -> None:
    parts = rpc.encode_request(header(request_codec=0), b"body")
    assert parts[1] == b"body"
    assert decode_request(parts).body == b"body"


def test_a_response_mirrors_the_codec_that_was_asked_for() -> None:
    enveloped = decode_response(rpc.encode_response(header(request_codec=0), b"body"))
    bare = decode_response(rpc.encode_response(header(response_codec=0), b"body"))
    assert not enveloped.header.HasField("codec")
    assert bare.header.HasField("codec")
    assert bare.body_part == b"body"
    assert enveloped.body == bare.body == b"body"
    assert enveloped.request_id == bare.request_id == REQUEST_ID


@pytest.mark.parametrize("fields", [{"request_codec": 4}, {"response_codec": 1}])
def test_a_compressed_request_is_a_protocol_error_of_that_request_only(fields: dict[str, int]) -> None:
    request = decode_request(rpc.encode_request(header(**fields), b""))
    with pytest.raises(YtError, match="Codec") as caught:
        assert request.body
    assert caught.value.code == ErrorCode.PROTOCOL


def test_a_codec_inside_the_envelope_is_a_protocol_error() -> None:
    envelope = bytes([8, 4])
    request = rpc.Request(header(), struct.pack("<II", len(envelope), 4) + envelope + b"body")
    with pytest.raises(YtError, match="Codec 4"):
        assert request.body


def test_an_envelope_that_is_not_empty_is_skipped() -> None:
    envelope = bytes([8, 0])
    request = rpc.Request(header(), struct.pack("<II", len(envelope), 4) + envelope + b"body")
    assert request.body == b"body"


@pytest.mark.parametrize(
    "part", [None, b"", bytes(7), struct.pack("<II", 0, 1), struct.pack("<II", 0xFFFFFFFF, 0xFFFFFFFF)]
)
def test_a_damaged_envelope_is_a_protocol_error(part: Part) -> None:
    with pytest.raises(YtError) as caught:
        assert rpc.Request(header(), part).body
    assert caught.value.code == ErrorCode.PROTOCOL


def test_an_error_response_is_its_header_alone() -> None:
    parts = rpc.encode_error_response(header(), YtError("no", 500))
    assert len(parts) == 1
    response = decode_response(parts)
    assert response.request_id == REQUEST_ID
    assert response.error is not None
    assert (response.error.message, response.error.code) == ("no", 500)


def test_an_error_keeps_attributes_causes_and_words() -> None:
    error = YtError(
        "Кто здесь",
        3105,
        {"host": "h", "tid": yson.Uint64(5), "path": b"\xff", "nested": {"a": [1, None]}, "ключ": True},
        [YtError("inner", 2, {}, [YtError("innermost", 100)])],
    )
    result = rpc.from_proto_error(TError.FromString(rpc.to_proto_error(error).SerializeToString()))
    assert [(e.message, e.code) for e in result.walk()] == [("Кто здесь", 3105), ("inner", 2), ("innermost", 100)]
    assert yson.bytes_of(result.attributes.pop("path")) == b"\xff"
    assert isinstance(result.attributes["tid"], yson.Uint64)
    assert result.attributes == {"host": "h", "tid": 5, "nested": {"a": [1, None]}, "ключ": True}


def test_error_words_that_are_not_utf8_survive() -> None:
    result = rpc.from_proto_error(TError(code=1, message=b"bad \xff"))
    assert rpc.to_proto_error(result).message == b"bad \xff"


def test_error_code_zero_is_success() -> None:
    response = decode_response(rpc.encode_error_response(header(), YtError("", 0)))
    assert response.error is None


def test_a_request_without_id_is_answered_without_id() -> None:
    anonymous = TRequestHeader(service="", method="Get")
    assert decode_request(rpc.encode_request(anonymous, b"")).request_id == NULL_GUID
    assert not decode_response(rpc.encode_response(anonymous, b"")).header.HasField("request_id")
    assert not decode_response(rpc.encode_error_response(anonymous, YtError("x"))).header.HasField("request_id")


def test_a_cancelation_names_the_request() -> None:
    assert rpc.decode_message(rpc.encode_cancelation(header())) == rpc.Cancelation(REQUEST_ID)


def test_unknown_fields_are_skipped() -> None:
    future_field = bytes([0xBA, 0x3E, 1, 0x78])  # field 999, one byte
    [head, body] = rpc.encode_request(header(), TReqDiscover().SerializeToString())
    request = decode_request([(head or b"") + future_field, body])
    assert request.header.method == "M"
    assert rpc.parse(TRspDiscover, bytes([8, 1]) + future_field).up


def test_a_message_lacking_a_required_field_is_a_protocol_error() -> None:
    with pytest.raises(YtError) as caught:
        rpc.parse(TRspDiscover, b"")
    assert caught.value.code == ErrorCode.PROTOCOL


TYPES = st.sampled_from([b"rpci", b"rpco", b"rpcc", b"rpcp"])


@given(
    st.lists(st.none() | st.binary(max_size=30), max_size=3)
    | st.builds(lambda kind, rest: [kind + rest], TYPES, st.binary(max_size=40))
)
def test_any_parts_give_a_message_or_a_protocol_error(parts: list[Part]) -> None:
    try:
        message = rpc.decode_message(parts)
        if isinstance(message, rpc.Request):
            assert isinstance(message.request_id, Guid)
            assert isinstance(message.body, bytes)
    except YtError as error:
        assert error.code == ErrorCode.PROTOCOL
