"""The YPath request inside an Orchid call: both directions, its path, and the way down a tree."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Final

from yt_wire import rpc, yson
from yt_wire.bus import Part
from yt_wire.error import ErrorCode, YtError
from yt_wire.proto.rpc_pb2 import TRequestHeader
from yt_wire.proto.ypath_pb2 import (
    TReqExists,
    TReqGet,
    TReqList,
    TRspExists,
    TRspGet,
    TRspList,
    TYPathHeaderExt,
)
from yt_wire.ypath import escape_literal, tokenize, unescape_literal

SERVICE: Final = "OrchidService"
METHOD: Final = "Execute"


class Verb(enum.StrEnum):
    """What can be asked of a read-only tree."""

    GET = "Get"
    LIST = "List"
    EXISTS = "Exists"


_REQUESTS: Final[Mapping[Verb, type[TReqGet | TReqList | TReqExists]]] = {
    Verb.GET: TReqGet,
    Verb.LIST: TReqList,
    Verb.EXISTS: TReqExists,
}


def encode_request(verb: Verb, path: str) -> list[Part]:
    """Attachments of the outer request."""
    header = TRequestHeader(service="", method=verb)
    header.Extensions[TYPathHeaderExt.ypath_header_ext].target_path = path.encode("utf-8", "surrogateescape")
    return rpc.encode_request(header, _REQUESTS[verb]().SerializeToString())


def decode_request(attachments: Sequence[Part]) -> rpc.Request:
    """Read attachments of the outer request; YtError 101 if they are no request."""
    message = rpc.decode_message(attachments)
    if not isinstance(message, rpc.Request):
        raise YtError("Attachments of an Orchid call are not a request", ErrorCode.PROTOCOL)
    return message


def decode_response(attachments: Sequence[Part]) -> rpc.Response:
    """Read attachments of the outer response; YtError 101 if they are no response."""
    message = rpc.decode_message(attachments)
    if not isinstance(message, rpc.Response):
        raise YtError("Attachments of an Orchid answer are not a response", ErrorCode.PROTOCOL)
    return message


def decode_value(verb: Verb, response: rpc.Response) -> yson.Yson:
    """The answer in a successful response: a value, a list of keys, or a bool."""
    match verb:
        case Verb.GET:
            return yson.loads(rpc.parse(TRspGet, response.body).value)
        case Verb.LIST:
            return yson.loads(rpc.parse(TRspList, response.body).value)
        case Verb.EXISTS:
            return rpc.parse(TRspExists, response.body).value


def find_path_header(request: rpc.Request) -> TYPathHeaderExt | None:
    """Where a YPath request goes, None if it does not say."""
    if TYPathHeaderExt.ypath_header_ext not in request.header.Extensions:
        return None
    extension: TYPathHeaderExt = request.header.Extensions[TYPathHeaderExt.ypath_header_ext]
    return extension


def split_path(path: str) -> list[str]:
    r"""Keys of a path, unescaped: `//a/b\/c` gives `["a", "b/c"]`, `/` is the root.

    Raises:
        YtError: not an absolute path made of keys alone.
    """
    tokens = tokenize(path)
    if tokens[:1] != ["/"]:
        raise YtError(f'Path {path!r} does not start with "/"')
    separators, keys = tokens[1::2], tokens[2::2]
    if len(separators) != len(keys) or any(token != "/" for token in separators):
        raise YtError(f"Error parsing path {path!r}: only keys separated by slashes are supported")
    for key in keys:
        if key[0] in "/@&*[{":
            raise YtError(f"Error parsing path {path!r}: unexpected {key!r}")
    return [unescape_literal(key) for key in keys]


def split_attribute(path: str) -> tuple[str, list[str] | None]:
    r"""Part the path of a node from that of an attribute: `//a/@b/c` gives `//a` and `["b", "c"]`.

    `//a/@` stands for all attributes, an empty list; None: the path has nothing to do with attributes.

    Raises:
        YtError: something else than keys follows the `@`.
    """
    tokens = tokenize(path)
    if "@" not in tokens:
        return path, None
    at = tokens.index("@")
    keys = split_path("".join(["/", *(("/", *tokens[at + 1 :]) if tokens[at + 1 :] else ())]))
    if at < 1 or tokens[at - 1] != "/":
        raise YtError(f'Error parsing path {path!r}: unexpected "@"')
    return "".join(tokens[: at - 1]) or "/", keys


def resolve_attribute(attributes: Mapping[str, yson.Yson], keys: Sequence[str], node: Sequence[str]) -> yson.Yson:
    """The value at a path inside a node's attributes; all of them for an empty one.

    Args:
        attributes: of the node.
        keys: as `split_attribute` gives them.
        node: path of the node, for the words of errors.

    Raises:
        YtError: code 500, the path does not resolve.
    """
    if not keys:
        return attributes
    if keys[0] not in attributes:
        raise YtError(f'Attribute "{escape_literal(keys[0])}" is not found', ErrorCode.RESOLVE)
    return resolve(attributes[keys[0]], keys[1:], [*node, f"@{keys[0]}"])


def join_path(keys: Sequence[str]) -> str:
    """Undo `split_path`."""
    return "/" + "".join("/" + escape_literal(key) for key in keys)


def resolve(value: yson.Yson, path: Sequence[str], prefix: Sequence[str] = ()) -> yson.Yson:
    """Walk down maps and lists of a value.

    Args:
        path: unescaped keys; in a list an index, from the end if negative.
        prefix: where the value itself is, for the words of errors.

    Raises:
        YtError: code 500, the path does not resolve.
    """
    for depth, key in enumerate(path):
        place = _shown_path([*prefix, *path[:depth]])
        match value:
            case Mapping():
                if key not in value:
                    raise no_such_child([*prefix, *path[:depth]], key)
                value = value[key]
            case list() | tuple():
                value = value[_parse_index(place, key, len(value))]
            case _:
                raise YtError(f"Node {place} cannot have children", ErrorCode.RESOLVE)
    return value


def no_such_child(keys: Sequence[str], key: str) -> YtError:
    """The error of a map, at a path of keys, that lacks a key."""
    return YtError(f'Node {_shown_path(keys)} has no child with key "{escape_literal(key)}"', ErrorCode.RESOLVE)


def _shown_path(keys: Sequence[str]) -> str:
    """A path as errors show it: below the root of the tree that is asked, which has no name."""
    return "".join("/" + escape_literal(key) for key in keys) or "/"


def _parse_index(place: str, key: str, length: int) -> int:
    try:
        index = int(key)
    except ValueError:
        raise YtError(f'Node {place} is a list, "{escape_literal(key)}" is no index', ErrorCode.RESOLVE) from None
    if not -length <= index < length:
        raise YtError(f"Node {place} has no child with index {index}", ErrorCode.RESOLVE)
    return index
