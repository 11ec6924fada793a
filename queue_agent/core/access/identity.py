"""Who a request is from, and what that lets them see."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_USER: Final = re.compile(r"[A-Za-z0-9._@+-]{1,128}")
_TOKEN: Final = re.compile(r"[!-~]{1,4096}")
_SCHEMES: Final = ("oauth", "bearer")
"""YTsaurus' own, and the one that most tools can send."""

SESSION: Final = "/api/v1/session"

ALWAYS_OPEN: Final = frozenset(
    {
        "/",
        "/docs",
        "/ui",
        "/ui/{view}",
        "/static/{name}",
        "/health/live",
        "/health/ready",
        "/metrics",
        "/solomon/all",
        SESSION,
        "/api/v1/openapi.json",
    }
)
"""Routes that need no login even where nothing else is shown without one: pages hold no data, and machines ask for the
others."""

NEVER_ANONYMOUS: Final = frozenset({"/api/v1/rows", "/api/v1/acts/{act}"})
"""Routes that need a login whatever the configuration says."""


def is_open(route: str, *, shows_status: bool) -> bool:
    """Whether a route is served without a login.

    Args:
        route: as the table of routes has it, never the address that was asked for.
        shows_status: whether configuration shows status to everybody.
    """
    return route in ALWAYS_OPEN or (shows_status and route not in NEVER_ANONYMOUS)


def names_caller(route: str) -> bool:
    """Whether it matters who asks; pages, health and metrics are the same for everybody."""
    return route == SESSION or route not in ALWAYS_OPEN


def read_authorization(values: Sequence[str]) -> str | None:
    """The token that a program sends; None without one; ValueError if it cannot be one.

    Args:
        values: of the headers `Authorization`. Schemes such as `Basic` are for somebody else, a proxy in between.
    """
    parts = [value.partition(" ") for value in values]
    tokens = [token for scheme, _, token in parts if scheme.lower() in _SCHEMES]
    if len(tokens) > 1:
        raise ValueError("there must be one token")
    return read_token(tokens[0]) if tokens else None


def read_token(value: object) -> str:
    """A token that can be sent in a header; ValueError, which does not quote it, if it is none."""
    text = value.strip() if isinstance(value, str) else ""
    if not _TOKEN.fullmatch(text):
        raise ValueError("the token must be 1 to 4096 visible ASCII characters")
    return text


def read_user(values: Sequence[str]) -> str | None:
    """The user whom a proxy names; None if it names none; ValueError if the header is not one name of a user."""
    if not values:
        return None
    if len(values) > 1 or not _USER.fullmatch(values[0]):
        raise ValueError("the header with the user's name must hold one name")
    return values[0]
