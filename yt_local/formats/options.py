"""Attributes of formats, read as leniently as real clusters read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yt_local.base import scalars
from yt_wire import yson
from yt_wire.error import YtError

Attributes = Mapping[str, Any]


def boolean(attributes: Attributes, name: str, default: bool = False) -> bool:
    """A boolean; people write `encode_utf8=false`, which in YSON is a string, and numbers."""
    value = attributes.get(name, default)
    try:
        return scalars.boolean(value)
    except ValueError as error:
        raise YtError(f'Format attribute "{name}" must be a boolean, got {yson.shown(value)}') from error


def count(attributes: Attributes, name: str, default: int) -> int:
    """A number of things, 0 or more."""
    value = yson.plain(attributes.get(name, default))
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise YtError(f'Format attribute "{name}" must be a number of 0 or more, got {yson.shown(value)}')
    return value


def choice(attributes: Attributes, name: str, *allowed: str) -> str:
    """One of the allowed words, of which the first is the default."""
    value = yson.plain(attributes.get(name, allowed[0]))
    if value not in allowed:
        raise YtError(f'Format attribute "{name}" must be one of {", ".join(allowed)}, got {yson.shown(value)}')
    return str(value)
