"""YPath: tokens of a path, literals and their escapes, rich paths with attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from yt_wire import yson
from yt_wire.error import YtError

_BARE = re.compile(r"(?:[^\\\[{]++|\\.|\\\Z)*+", re.DOTALL)
_COMPONENT = re.compile(r"[/@&*]|[\[{].*|(?:[^\\/@&*\[{]++|\\.|\\\Z)++", re.DOTALL)
"""Nothing in these goes back over what it has matched: long paths take time in proportion."""

_SPECIAL = frozenset(b"\\/@&*[{")
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|([\\/@&*\[\]{}]))|\\")


@dataclass(frozen=True, slots=True)
class RichPath:
    """A path with its attributes, e.g. `<cluster=hume>//tmp/c`."""

    path: str
    attributes: Mapping[str, yson.Yson] = field(default_factory=dict)

    @property
    def cluster(self) -> str | None:
        """Cluster the path names, None for the one that executes the command."""
        return self.attributes.get("cluster")

    @property
    def columns_and_ranges(self) -> str:
        """Text behind the path proper, such as `{a,b}[#0:#10]`; empty if there is none."""
        return self.path[len(self.bare) :]

    @property
    def bare(self) -> str:
        """The path without column and row selectors."""
        return split_selectors(self.path)[0]


def split_selectors(path: str) -> tuple[str, str]:
    """Divide `//t{a}[#1]` into `//t` and `{a}[#1]`."""
    match = _BARE.match(path)
    assert match is not None
    return match[0], path[match.end() :]


def parse_rich(value: yson.Yson) -> RichPath:
    """Read a path parameter: a string with attributes, or a string that starts with `<...>` or `cluster:`.

    Args:
        value: bytes, too, where they are not known to be text: the attributes in front may be binary.

    Raises:
        YtError: not a string, the prefix is not YSON, or the cluster has no name.
    """
    if not yson.is_string(value):
        raise YtError("Path must be a string")
    is_text = isinstance(value, str)
    attributes = yson.attributes_of(value)
    data = str(value).encode("utf-8", "surrogateescape") if is_text else yson.bytes_of(value)
    if data.startswith(b"<"):
        # The prefix is YSON, the path behind it is not: give the parser a value in its place.
        prefix_end = _attribute_prefix_end(data)
        prefixed = yson.loads(data[:prefix_end] + b"#")
        attributes = {**yson.attributes_of(prefixed), **attributes}
        data = data[prefix_end:].lstrip()
    try:
        text = data.decode("utf-8", "surrogateescape" if is_text else "strict")
    except UnicodeDecodeError as error:
        raise YtError("Path is not UTF-8") from error
    cluster, separator, rest = text.partition("://")
    if separator and cluster and re.fullmatch(r"[A-Za-z0-9_.-]+", cluster):
        attributes = {"cluster": cluster, **attributes}
        text = "//" + rest
    if not isinstance(attributes.get("cluster"), str | None):
        raise YtError('Attribute "cluster" of a path must be a string')
    return RichPath(text, attributes)


_TOKEN = re.compile(
    rb'"(?:[^"\\]|\\.)*"|[^"<>\x01-\x06]+|[<>]|\x01|[\x02\x06][\x80-\xff]*[\x00-\x7f]|\x03.{8}|[\x04\x05]', re.DOTALL
)
"""Of YSON, text or binary: what the brackets of attributes may not be looked for in is one."""

_LENGTH = re.compile(rb"[\x80-\xff]*[\x00-\x7f]")


def _attribute_prefix_end(data: bytes) -> int:
    depth = position = 0
    while match := _TOKEN.match(data, position):
        position = match.end()
        token = match[0]
        if token == b"\x01":
            position = _string_end(data, position)
        elif token in (b"<", b">"):
            depth += 1 if token == b"<" else -1
            if depth == 0:
                return position
    raise YtError(f"Error parsing attributes of path {data!r}: unmatched <")


def _string_end(data: bytes, position: int) -> int:
    """Where a binary string ends whose length stands here."""
    match = _LENGTH.match(data, position)
    if match is None:
        return len(data)
    zigzag = sum((byte & 0x7F) << 7 * index for index, byte in enumerate(match[0]))
    return match.end() + (zigzag >> 1)


def escape_literal(literal: str) -> str:
    r"""Write a key so that it is one path component: special characters get a backslash, odd bytes `\xNN`."""
    out = []
    for byte in literal.encode("utf-8", "surrogateescape"):
        if byte in _SPECIAL:
            out.append("\\" + chr(byte))
        elif 0x20 <= byte < 0x7F:
            out.append(chr(byte))
        else:
            out.append(f"\\x{byte:02x}")
    return "".join(out)


def unescape_literal(text: str) -> str:
    """Undo `escape_literal`; YtError on an escape that does not exist."""

    def replace(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return bytes([int(match[1], 16)])
        if match[2]:
            return match[2]
        raise YtError(f"Error parsing YPath: unknown escape in {text!r}")

    if "\\" not in text:
        return text
    try:
        return _ESCAPE.sub(replace, text.encode("utf-8", "surrogateescape")).decode()
    except UnicodeDecodeError as error:
        raise YtError(f"Error parsing YPath: {text!r} is not UTF-8") from error


def tokenize(path: str) -> list[str]:
    r"""Cut a path into `/`, `@`, `&`, `*`, literals (still escaped) and a trailing selector `[...]` or `{...}`.

    `//tmp/a\/b/@x` gives `["/", "/", "tmp", "/", "a\/b", "/", "@", "x"]`.
    """
    return _COMPONENT.findall(path)
