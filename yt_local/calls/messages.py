"""From messages to parameters of commands: fields have the names of parameters, nearly all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from yt_wire import rpc, yson
from yt_wire.error import ErrorCode, YtError
from yt_wire.guid import NULL_GUID
from yt_wire.ypath import parse_rich

NO_NAMES: Final[Mapping[str, str]] = {}

_PATH_FIELDS: Final = ("path", "paths")


def request_parameters(message: Message, names: Mapping[str, str] = NO_NAMES) -> dict[str, Any]:
    """What a message says, as the parameters of a command; what it leaves out, and has no default, is left out.

    Ids become text, YSON is read, enumerations become the words that stand for them; options that many messages have
    become the parameters they stand for. Rowsets and streams are not among them.

    Args:
        message: a request.
        names: parameters by field, where they differ; an empty name leaves a field out.

    Raises:
        YtError: text that is none, YSON that cannot be read.
    """
    found: dict[str, Any] = {}
    fields: Sequence[Any] = message.DESCRIPTOR.fields  # typed as one of two implementations
    for field in fields:
        name = names.get(field.name, field.name)
        if not name:
            continue
        value = getattr(message, field.name)
        convert = _conversion(field)
        if field.is_repeated:
            if convert is not None and value:
                found[name] = [convert(field, item) for item in value]
        elif message.HasField(field.name) or field.has_default_value:
            if convert is not None:
                found[name] = convert(field, value)
            elif field.message_type.name in _OPTIONS:
                found |= _OPTIONS[field.message_type.name](value)
    return found


def text(value: str | bytes) -> str:
    """Text of a message; protobuf gives bytes where it is none: YtError 101 then."""
    if isinstance(value, bytes):
        raise YtError(f"Text is not UTF-8: {yson.shown(value)}", ErrorCode.PROTOCOL)
    return value


def decoded(data: bytes) -> str:
    """Text of a field that may hold any bytes; YtError 101 if it is none."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise YtError(f"Text is not UTF-8: {yson.shown(data)}", ErrorCode.PROTOCOL) from error


def rich_path(value: str | bytes) -> Any:
    """A path of a message as parameters have it: what stands before it, in whatever YSON, are its attributes."""
    path = parse_rich(value)
    return yson.with_attributes(path.path, path.attributes) if path.attributes else path.path


def path_text(path: yson.Yson) -> str:
    """A path of an answer with its attributes in front, as text."""
    attributes = yson.dumps(yson.with_attributes(None, yson.attributes_of(path)), "text").decode()
    return attributes.removesuffix("#") + str(path)


def _convert_scalar(field: Any, value: Any) -> Any:
    if field.enum_type is not None:
        # A_FULL, TRM_SYNC, ...: what is behind the abbreviation is the word.
        return field.enum_type.values_by_number[value].name.partition("_")[2].lower()
    if field.type == FieldDescriptor.TYPE_BYTES:
        return yson.loads(value)
    if field.type != FieldDescriptor.TYPE_STRING:
        return value
    return rich_path(value) if field.name.endswith(_PATH_FIELDS) else text(value)


def _conversion(field: Any) -> Callable[[Any, Any], Any] | None:
    return _convert_scalar if field.message_type is None else _CONVERSIONS.get(field.message_type.name)


_CONVERSIONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "TGuid": lambda _, value: str(rpc.from_proto_guid(value)),
    "TAttributeDictionary": lambda _, value: {decoded(item.key): yson.loads(item.value) for item in value.attributes},
    "TRegistrationPartitions": lambda _, value: list(value.items),
    "TColumns": lambda _, value: [text(item) for item in value.items],
}


def _transaction(options: Any) -> dict[str, Any]:
    transaction_id = rpc.from_proto_guid(options.transaction_id)
    return {} if transaction_id == NULL_GUID else {"transaction_id": str(transaction_id)}


def _prerequisites(options: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if options.transactions:
        ids = [rpc.from_proto_guid(item.transaction_id) for item in options.transactions]
        found["prerequisite_transaction_ids"] = list(map(str, ids))
    if options.revisions:
        found["prerequisite_revisions"] = [
            {"path": rich_path(item.path), "revision": item.revision} for item in options.revisions
        ]
    return found


def _mutation(options: Any) -> dict[str, Any]:
    mutation_id = rpc.from_proto_guid(options.mutation_id)
    return {} if mutation_id == NULL_GUID else {"mutation_id": str(mutation_id)}


def _access_tracking(options: Any) -> dict[str, Any]:
    return {"suppress_expiration_timeout_renewal": options.suppress_expiration_timeout_renewal}


_OPTIONS: Final[Mapping[str, Callable[[Any], dict[str, Any]]]] = {
    "TTransactionalOptions": _transaction,
    "TPrerequisiteOptions": _prerequisites,
    "TMutatingOptions": _mutation,
    "TSuppressableAccessTrackingOptions": _access_tracking,
    "TTabletRangeOptions": request_parameters,
    "TRowBatchReadOptions": request_parameters,
}
