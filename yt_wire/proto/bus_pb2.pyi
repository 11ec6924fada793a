from yt_wire.proto import core_pb2 as _core_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class THandshake(_message.Message):
    __slots__ = ("connection_id", "multiplexing_band", "encryption_mode", "verification_mode")
    CONNECTION_ID_FIELD_NUMBER: _ClassVar[int]
    MULTIPLEXING_BAND_FIELD_NUMBER: _ClassVar[int]
    ENCRYPTION_MODE_FIELD_NUMBER: _ClassVar[int]
    VERIFICATION_MODE_FIELD_NUMBER: _ClassVar[int]
    connection_id: _core_pb2.TGuid
    multiplexing_band: int
    encryption_mode: int
    verification_mode: int
    def __init__(self, connection_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., multiplexing_band: _Optional[int] = ..., encryption_mode: _Optional[int] = ..., verification_mode: _Optional[int] = ...) -> None: ...
