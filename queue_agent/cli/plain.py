"""Text of strangers for terminals: owners of queues choose names that people see."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final

LONGEST_NAME: Final = 300
"""Characters; comparing longer names takes longer than reading them."""

_HIDDEN: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
"""Categories of Unicode that move the cursor, turn the direction of writing, or show nothing."""


def plain(value: Any, longest: int | None = None) -> Any:
    """A document whose strings, keys among them, change nothing in a terminal but the places they are written to.

    Args:
        value: of JSON.
        longest: characters of a string; what is longer ends with a `…`. None: any length.
    """
    if isinstance(value, str):
        return _plain_text(value, longest)
    if isinstance(value, Mapping):
        return {plain(key, longest): plain(one, longest) for key, one in value.items()}
    if isinstance(value, Sequence):
        return [plain(one, longest) for one in value]
    return value


def _plain_text(text: str, longest: int | None) -> str:
    shown = text
    if longest is not None and len(text) > longest:
        shown = text[: longest - 1] + "…"
    if shown.isascii() and shown.isprintable():
        return shown
    return "".join(
        one.encode("unicode_escape").decode() if unicodedata.category(one) in _HIDDEN else one for one in shown
    )


def is_plain(name: str) -> bool:
    """Whether a name is short, and shows in a terminal as what it is."""
    return name.isprintable() and len(name) <= LONGEST_NAME
