"""Equal values of many rows, kept once: schemas, errors and names are the same few for thousands of objects."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from yt_wire import yson


class SharedValues:
    """Gives the same object for equal values; nobody may change what comes out of it."""

    def __init__(self) -> None:
        self._known: dict[bytes, Any] = {}

    def share(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row of the same values."""
        return {name: self._share(value) for name, value in row.items()}

    def _share(self, value: Any) -> Any:
        if type(value) is str:  # the bindings' own strings have attributes
            return sys.intern(value)
        if isinstance(value, (dict, list)):
            return self._known.setdefault(yson.dumps(value), value)
        return value
