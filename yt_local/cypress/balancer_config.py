"""`@tablet_balancer_config`: what owners tell the balancer of tablets; nothing is balanced here."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, Final

from yt_wire import yson
from yt_wire.error import YtError

TABLET_BALANCER_CONFIG: Final = "tablet_balancer_config"

DEFAULT_BALANCER_CONFIG: Final[Mapping[str, Any]] = {
    "enable_auto_reshard": True,
    "enable_auto_tablet_move": True,
    "enable_verbose_logging": False,
}

_SIZES: Final = ("min_tablet_size", "desired_tablet_size", "max_tablet_size")
"""None of them is greater than one behind it."""

_NUMBERS: Final = (*_SIZES, "desired_tablet_count", "min_tablet_count")


def checked_balancer_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with its defaults, unknown keys kept; YtError if it makes no sense."""
    known = {**DEFAULT_BALANCER_CONFIG, **config}
    for name in DEFAULT_BALANCER_CONFIG:
        known[name] = yson.as_boolean(known[name])
        if not isinstance(known[name], bool):
            raise YtError(f"Invalid value {yson.shown(known[name])} of option /{name}")
    for name in _NUMBERS:
        value = known.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise YtError(f"Invalid value {yson.shown(value)} of option /{name}")
    for lower, upper in combinations(_SIZES, 2):
        if known.get(lower) is not None and known.get(upper) is not None and known[lower] > known[upper]:
            raise YtError(f'"{lower}" must be less than or equal to "{upper}"')
    return known
