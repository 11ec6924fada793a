"""RPC messages: requests, responses, cancelations and streams as parts of bus messages, and errors inside them."""

from __future__ import annotations

import enum
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from google.protobuf.message import DecodeError, Message

from yt_wire import yson
from yt_wire.bus import Part
from yt_wire.error import ErrorCode, YtError
from yt_wire.guid import Guid
from yt_wire.proto.core_pb2 import TAttribute, TAttributeDictionary, TError, TGuid
from yt_wire.proto.rpc_pb2 import (
    TRequestCancelationHeader,
    TRequestHeader,
    TResponseHeader,
    TSerializedMessageEnvelope,
    TStreamingFeedbackHeader,
    TStreamingPayloadHeader,
)
from yt_wire.streams import Streams

M = TypeVar("M", bound=Message)

_NO_COMPRESSION: Final = 0
_TYPE: Final = struct.Struct("<I")
_ENVELOPE: Final = struct.Struct("<II")


class MessageType(enum.IntEnum):
    """The first four bytes of a message."""

    REQUEST = 0x69637072
    CANCELATION = 0x63637072
    RESPONSE = 0x6F637072
    STREAM_PAYLOAD = 0x70637072
    STREAM_FEEDBACK = 0x66637072


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came."""

    header: TRequestHeader
    body_part: Part
    """Still in its envelope; see `body`."""

    attachments: Sequence[Part] = ()
    streams: Streams | None = None
    """What travels between the request and its response, if the caller wants streams."""

    @property
    def request_id(self) -> Guid:
        """Null if the header has none, as in requests inside an Orchid call."""
        return from_proto_guid(self.header.request_id)

    @property
    def body(self) -> bytes:
        """The serialized message; YtError 101 if it is malformed or compressed."""
        for codec in (self.header.request_codec, self.header.response_codec):
            _check_codec(codec)
        return _unwrap(self.body_part, bare=self.header.HasField("request_codec"))


@dataclass(frozen=True, slots=True)
class Response:
    """A response as it came, or as it is to be sent."""

    header: TResponseHeader
    body_part: Part = None
    """Still in its envelope; see `body`."""

    attachments: Sequence[Part] = ()

    @property
    def request_id(self) -> Guid:
        return from_proto_guid(self.header.request_id)

    @property
    def error(self) -> YtError | None:
        """What went wrong, None after success."""
        if not self.header.HasField("error") or self.header.error.code == 0:
            return None
        return from_proto_error(self.header.error)

    @property
    def body(self) -> bytes:
        """The serialized message; YtError 101 if it is malformed or compressed."""
        _check_codec(self.header.codec)
        return _unwrap(self.body_part, bare=self.header.HasField("codec"))


@dataclass(frozen=True, slots=True)
class Cancelation:
    """The caller no longer wants an answer."""

    request_id: Guid


@dataclass(frozen=True, slots=True)
class StreamPayload:
    """A piece of the caller's stream."""

    request_id: Guid
    sequence_number: int
    attachments: Sequence[Part]


@dataclass(frozen=True, slots=True)
class StreamFeedback:
    """How much of our stream the caller has used up."""

    request_id: Guid
    read_position: int


RpcMessage: TypeAlias = Request | Response | Cancelation | StreamPayload | StreamFeedback


def parse(message_type: type[M], data: bytes) -> M:
    """Read a protobuf message; YtError 101 if it is malformed."""
    message = message_type()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise YtError(f"Error parsing {message_type.__name__}: {error}", ErrorCode.PROTOCOL) from error
    if not message.IsInitialized():  # the parser does not look
        raise YtError(f"Error parsing {message_type.__name__}: required fields are missing", ErrorCode.PROTOCOL)
    return message


def decode_message(parts: Sequence[Part]) -> RpcMessage:
    """Read headers of a message, leaving bodies alone.

    Raises:
        YtError: code 101, there is no way to tell what or whom to answer.
    """
    head = parts[0] if parts else None
    if head is None or len(head) < _TYPE.size:
        raise YtError("RPC message has no header", ErrorCode.PROTOCOL)
    (message_type,) = _TYPE.unpack_from(head)
    header = head[_TYPE.size :]
    body_part = parts[1] if len(parts) > 1 else None
    match message_type:
        case MessageType.REQUEST:
            return Request(parse(TRequestHeader, header), body_part, parts[2:])
        case MessageType.RESPONSE:
            return Response(parse(TResponseHeader, header), body_part, parts[2:])
        case MessageType.CANCELATION:
            return Cancelation(from_proto_guid(parse(TRequestCancelationHeader, header).request_id))
        case MessageType.STREAM_PAYLOAD:
            payload = parse(TStreamingPayloadHeader, header)
            _check_codec(payload.codec)
            return StreamPayload(from_proto_guid(payload.request_id), payload.sequence_number, parts[1:])
        case MessageType.STREAM_FEEDBACK:
            feedback = parse(TStreamingFeedbackHeader, header)
            return StreamFeedback(from_proto_guid(feedback.request_id), feedback.read_position)
        case _:
            raise YtError(f"Unknown type of RPC message: {message_type:#x}", ErrorCode.PROTOCOL)


def encode_request(header: TRequestHeader, body: bytes, attachments: Sequence[Part] = ()) -> list[Part]:
    """Parts of a request; the body goes bare if the header names a request codec, which has to be 0."""
    body_part = body if header.HasField("request_codec") else _wrap(body)
    return [_encode_header(MessageType.REQUEST, header), body_part, *attachments]


def encode_response(request: TRequestHeader, body: bytes, attachments: Sequence[Part] = ()) -> list[Part]:
    """Parts of a successful response; the body is bare if the request asked for a response codec."""
    header = TResponseHeader()
    if request.HasField("request_id"):
        header.request_id.CopyFrom(request.request_id)
    if request.HasField("response_codec"):
        header.codec = _NO_COMPRESSION
        return [_encode_header(MessageType.RESPONSE, header), body, *attachments]
    return [_encode_header(MessageType.RESPONSE, header), _wrap(body), *attachments]


def encode_error_response(request: TRequestHeader, error: YtError) -> list[Part]:
    """The one part of a response that carries an error."""
    header = TResponseHeader(error=to_proto_error(error))
    if request.HasField("request_id"):
        header.request_id.CopyFrom(request.request_id)
    return [_encode_header(MessageType.RESPONSE, header)]


def encode_cancelation(request: TRequestHeader) -> list[Part]:
    """Parts of the message that calls a request off."""
    header = TRequestCancelationHeader(request_id=request.request_id, service=request.service, method=request.method)
    return [_encode_header(MessageType.CANCELATION, header)]


def encode_payload(request: TRequestHeader, sequence_number: int, part: Part) -> list[Part]:
    """Parts of a message with one piece of our stream; the null part ends it."""
    header = TStreamingPayloadHeader(
        request_id=request.request_id,
        service=request.service,
        method=request.method,
        sequence_number=sequence_number,
    )
    return [_encode_header(MessageType.STREAM_PAYLOAD, header), part]


def encode_feedback(request: TRequestHeader, read_position: int) -> list[Part]:
    """Parts of the message that says how much of the caller's stream was used up."""
    header = TStreamingFeedbackHeader(
        request_id=request.request_id, service=request.service, method=request.method, read_position=read_position
    )
    return [_encode_header(MessageType.STREAM_FEEDBACK, header)]


def to_proto_guid(guid: Guid) -> TGuid:
    return TGuid(first=guid.first, second=guid.second)


def from_proto_guid(guid: TGuid) -> Guid:
    """An absent guid is the null guid."""
    return Guid(guid.first, guid.second)


def to_proto_error(error: YtError) -> TError:
    return TError(
        code=error.code,
        message=_bytes(error.message),
        attributes=to_proto_attributes(error.attributes) if error.attributes else None,
        inner_errors=[to_proto_error(inner) for inner in error.inner_errors],
    )


def from_proto_error(error: TError) -> YtError:
    return YtError(
        _text(error.message),
        error.code,
        from_proto_attributes(error.attributes),
        [from_proto_error(inner) for inner in error.inner_errors],
    )


def to_proto_attributes(attributes: Mapping[str, yson.Yson]) -> TAttributeDictionary:
    return TAttributeDictionary(
        attributes=[TAttribute(key=_bytes(key), value=yson.dumps(value)) for key, value in attributes.items()]
    )


def from_proto_attributes(attributes: TAttributeDictionary) -> dict[str, yson.Yson]:
    """YtError if a value is no YSON."""
    return {_text(attribute.key): yson.loads(attribute.value) for attribute in attributes.attributes}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _encode_header(message_type: MessageType, header: Message) -> bytes:
    return _TYPE.pack(message_type) + header.SerializeToString()


def _check_codec(codec: int) -> None:
    if codec != _NO_COMPRESSION:
        raise YtError(f"Codec {codec} is not supported", ErrorCode.PROTOCOL)


def _wrap(body: bytes) -> bytes:
    return _ENVELOPE.pack(0, len(body)) + body


def _unwrap(part: Part, *, bare: bool) -> bytes:
    if part is None:
        raise YtError("RPC message has no body", ErrorCode.PROTOCOL)
    if bare:
        return part
    if len(part) < _ENVELOPE.size:
        raise YtError("Body is too short for its envelope", ErrorCode.PROTOCOL)
    envelope_size, body_size = _ENVELOPE.unpack_from(part)
    start = _ENVELOPE.size + envelope_size
    if start + body_size > len(part):
        raise YtError("Body is shorter than its envelope says", ErrorCode.PROTOCOL)
    _check_codec(parse(TSerializedMessageEnvelope, part[_ENVELOPE.size : start]).codec)
    return part[start : start + body_size]
