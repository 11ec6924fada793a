"""Published values as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from queue_agent.core.values.encoding import Entity
from yt_wire import yson


def to_json(value: Any) -> Any:
    """A value fit for `json.dumps`.

    Attributes become `{"$attributes": ..., "$value": ...}`, bytes that are no UTF-8 as Latin-1, and what is no
    number as null.
    """
    if isinstance(value, Entity):
        return {"$attributes": to_json(value.attributes), "$value": None}
    attributes = yson.attributes_of(value)
    if attributes:
        return {"$attributes": to_json(attributes), "$value": _to_json_without_attributes(value)}
    return _to_json_without_attributes(value)


def _to_json_without_attributes(value: Any) -> Any:
    match value:
        case Mapping():
            return {_text(key): to_json(item) for key, item in value.items()}
        case list() | tuple():
            return [to_json(item) for item in value]
    if yson.is_string(value):
        return _text(value)
    scalar = yson.plain(value)
    return None if isinstance(scalar, float) and not math.isfinite(scalar) else scalar


def _text(value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    content = yson.bytes_of(value)
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("latin-1")
