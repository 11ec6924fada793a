from yt_wire.proto import core_pb2 as _core_pb2
from yt_wire.proto import rpc_pb2 as _rpc_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TYPathHeaderExt(_message.Message):
    __slots__ = ("mutating", "target_path", "original_target_path")
    YPATH_HEADER_EXT_FIELD_NUMBER: _ClassVar[int]
    ypath_header_ext: _descriptor.FieldDescriptor
    MUTATING_FIELD_NUMBER: _ClassVar[int]
    TARGET_PATH_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_TARGET_PATH_FIELD_NUMBER: _ClassVar[int]
    mutating: bool
    target_path: bytes
    original_target_path: bytes
    def __init__(self, mutating: _Optional[bool] = ..., target_path: _Optional[bytes] = ..., original_target_path: _Optional[bytes] = ...) -> None: ...

class TAttributeFilter(_message.Message):
    __slots__ = ("keys", "paths")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    paths: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ..., paths: _Optional[_Iterable[bytes]] = ...) -> None: ...

class TReqGet(_message.Message):
    __slots__ = ("attributes", "limit", "ignore_opaque", "options")
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    IGNORE_OPAQUE_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    attributes: TAttributeFilter
    limit: int
    ignore_opaque: bool
    options: _core_pb2.TAttributeDictionary
    def __init__(self, attributes: _Optional[_Union[TAttributeFilter, _Mapping]] = ..., limit: _Optional[int] = ..., ignore_opaque: _Optional[bool] = ..., options: _Optional[_Union[_core_pb2.TAttributeDictionary, _Mapping]] = ...) -> None: ...

class TRspGet(_message.Message):
    __slots__ = ("value",)
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: bytes
    def __init__(self, value: _Optional[bytes] = ...) -> None: ...

class TReqList(_message.Message):
    __slots__ = ("attributes", "limit")
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    attributes: TAttributeFilter
    limit: int
    def __init__(self, attributes: _Optional[_Union[TAttributeFilter, _Mapping]] = ..., limit: _Optional[int] = ...) -> None: ...

class TRspList(_message.Message):
    __slots__ = ("value",)
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: bytes
    def __init__(self, value: _Optional[bytes] = ...) -> None: ...

class TReqExists(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TRspExists(_message.Message):
    __slots__ = ("value",)
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: bool
    def __init__(self, value: _Optional[bool] = ...) -> None: ...

class TReqExecute(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TRspExecute(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
