from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TGuid(_message.Message):
    __slots__ = ("first", "second")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    SECOND_FIELD_NUMBER: _ClassVar[int]
    first: int
    second: int
    def __init__(self, first: _Optional[int] = ..., second: _Optional[int] = ...) -> None: ...

class TAttribute(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    value: bytes
    def __init__(self, key: _Optional[bytes] = ..., value: _Optional[bytes] = ...) -> None: ...

class TAttributeDictionary(_message.Message):
    __slots__ = ("attributes",)
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    attributes: _containers.RepeatedCompositeFieldContainer[TAttribute]
    def __init__(self, attributes: _Optional[_Iterable[_Union[TAttribute, _Mapping]]] = ...) -> None: ...

class TError(_message.Message):
    __slots__ = ("code", "message", "attributes", "inner_errors")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    INNER_ERRORS_FIELD_NUMBER: _ClassVar[int]
    code: int
    message: bytes
    attributes: TAttributeDictionary
    inner_errors: _containers.RepeatedCompositeFieldContainer[TError]
    def __init__(self, code: _Optional[int] = ..., message: _Optional[bytes] = ..., attributes: _Optional[_Union[TAttributeDictionary, _Mapping]] = ..., inner_errors: _Optional[_Iterable[_Union[TError, _Mapping]]] = ...) -> None: ...
