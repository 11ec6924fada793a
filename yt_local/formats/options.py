"""Attributes of formats, read as leniently as real clusters read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from yt_wire import yson
from yt_wire.error import YtError

Attributes = Mapping[str, Any]

_BOOLEANS: Final[Mapping[Any, bool]] = {"true": True, "1": True, "false": False, "0": False, True: True, False: False}


def boolean(attributes: Attributes, name: str, default: bool = False) -> bool:
    """A boolean; people write `encode_utf8=false`, which in YSON is a string, and numbers."""
    value = yson.plain(attributes.get(name, default))
    if not isinstance(value, (str, int)) or value not in _BOOLEANS:
        raise YtError(f'Format attribute "{name}" must be a boolean, got {value!r}')
    return _BOOLEANS[value]


def count(attributes: Attributes, name: str, default: int) -> int:
    """A number of things, 0 or more."""
    value = yson.plain(attributes.get(name, default))
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise YtError(f'Format attribute "{name}" must be a number of 0 or more, got {value!r}')
    return value


def choice(attributes: Attributes, name: str, *allowed: str) -> str:
    """One of the allowed words, of which the first is the default."""
    value = yson.plain(attributes.get(name, allowed[0]))
    if value not in allowed:
        raise YtError(f'Format attribute "{name}" must be one of {", ".join(allowed)}, got {value!r}')
    return str(value)
