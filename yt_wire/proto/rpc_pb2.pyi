from yt_wire.proto import core_pb2 as _core_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import python_message as _python_message
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TStreamingParameters(_message.Message):
    __slots__ = ("window_size", "read_timeout", "write_timeout")
    WINDOW_SIZE_FIELD_NUMBER: _ClassVar[int]
    READ_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    WRITE_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    window_size: int
    read_timeout: int
    write_timeout: int
    def __init__(self, window_size: _Optional[int] = ..., read_timeout: _Optional[int] = ..., write_timeout: _Optional[int] = ...) -> None: ...

class TRequestHeader(_message.Message):
    __slots__ = ("request_id", "service", "method", "start_time", "realm_id", "protocol_version_major", "timeout", "retry", "user", "mutation_id", "user_agent", "protocol_version_minor", "request_codec", "response_codec", "user_tag", "server_attachments_streaming_parameters")
    Extensions: _python_message._ExtensionDict
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    REALM_ID_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_MAJOR_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    MUTATION_ID_FIELD_NUMBER: _ClassVar[int]
    USER_AGENT_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_MINOR_FIELD_NUMBER: _ClassVar[int]
    REQUEST_CODEC_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_CODEC_FIELD_NUMBER: _ClassVar[int]
    USER_TAG_FIELD_NUMBER: _ClassVar[int]
    SERVER_ATTACHMENTS_STREAMING_PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    request_id: _core_pb2.TGuid
    service: str
    method: str
    start_time: int
    realm_id: _core_pb2.TGuid
    protocol_version_major: int
    timeout: int
    retry: bool
    user: str
    mutation_id: _core_pb2.TGuid
    user_agent: str
    protocol_version_minor: int
    request_codec: int
    response_codec: int
    user_tag: str
    server_attachments_streaming_parameters: TStreamingParameters
    def __init__(self, request_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., service: _Optional[str] = ..., method: _Optional[str] = ..., start_time: _Optional[int] = ..., realm_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., protocol_version_major: _Optional[int] = ..., timeout: _Optional[int] = ..., retry: _Optional[bool] = ..., user: _Optional[str] = ..., mutation_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., user_agent: _Optional[str] = ..., protocol_version_minor: _Optional[int] = ..., request_codec: _Optional[int] = ..., response_codec: _Optional[int] = ..., user_tag: _Optional[str] = ..., server_attachments_streaming_parameters: _Optional[_Union[TStreamingParameters, _Mapping]] = ...) -> None: ...

class TCredentialsExt(_message.Message):
    __slots__ = ("token",)
    CREDENTIALS_EXT_FIELD_NUMBER: _ClassVar[int]
    credentials_ext: _descriptor.FieldDescriptor
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    token: str
    def __init__(self, token: _Optional[str] = ...) -> None: ...

class TStreamingPayloadHeader(_message.Message):
    __slots__ = ("request_id", "service", "method", "realm_id", "sequence_number", "codec")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    REALM_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_NUMBER_FIELD_NUMBER: _ClassVar[int]
    CODEC_FIELD_NUMBER: _ClassVar[int]
    request_id: _core_pb2.TGuid
    service: str
    method: str
    realm_id: _core_pb2.TGuid
    sequence_number: int
    codec: int
    def __init__(self, request_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., service: _Optional[str] = ..., method: _Optional[str] = ..., realm_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., sequence_number: _Optional[int] = ..., codec: _Optional[int] = ...) -> None: ...

class TStreamingFeedbackHeader(_message.Message):
    __slots__ = ("request_id", "service", "method", "realm_id", "read_position")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    REALM_ID_FIELD_NUMBER: _ClassVar[int]
    READ_POSITION_FIELD_NUMBER: _ClassVar[int]
    request_id: _core_pb2.TGuid
    service: str
    method: str
    realm_id: _core_pb2.TGuid
    read_position: int
    def __init__(self, request_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., service: _Optional[str] = ..., method: _Optional[str] = ..., realm_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., read_position: _Optional[int] = ...) -> None: ...

class TRequestCancelationHeader(_message.Message):
    __slots__ = ("request_id", "service", "method", "realm_id")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    REALM_ID_FIELD_NUMBER: _ClassVar[int]
    request_id: _core_pb2.TGuid
    service: str
    method: str
    realm_id: _core_pb2.TGuid
    def __init__(self, request_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., service: _Optional[str] = ..., method: _Optional[str] = ..., realm_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ...) -> None: ...

class TResponseHeader(_message.Message):
    __slots__ = ("request_id", "error", "format", "codec")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    CODEC_FIELD_NUMBER: _ClassVar[int]
    request_id: _core_pb2.TGuid
    error: _core_pb2.TError
    format: int
    codec: int
    def __init__(self, request_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., error: _Optional[_Union[_core_pb2.TError, _Mapping]] = ..., format: _Optional[int] = ..., codec: _Optional[int] = ...) -> None: ...

class TSerializedMessageEnvelope(_message.Message):
    __slots__ = ("codec",)
    CODEC_FIELD_NUMBER: _ClassVar[int]
    codec: int
    def __init__(self, codec: _Optional[int] = ...) -> None: ...

class TReqDiscover(_message.Message):
    __slots__ = ("reply_delay",)
    REPLY_DELAY_FIELD_NUMBER: _ClassVar[int]
    reply_delay: int
    def __init__(self, reply_delay: _Optional[int] = ...) -> None: ...

class TRspDiscover(_message.Message):
    __slots__ = ("up", "suggested_addresses")
    UP_FIELD_NUMBER: _ClassVar[int]
    SUGGESTED_ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    up: bool
    suggested_addresses: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, up: _Optional[bool] = ..., suggested_addresses: _Optional[_Iterable[str]] = ...) -> None: ...
