"""Limits of accounts as they are set and shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from yt_wire import yson
from yt_wire.error import ErrorCode, YtError

RESOURCE_LIMITS: Final = "resource_limits"
PER_MEDIUM: Final = "disk_space_per_medium"
_PER_CELL: Final = "master_memory/per_cell/"
"""Where any name may stand: cells of masters, of which there is one."""

_QUOTA: Final = 2**50
"""Of bytes and of objects: an account has room for everything until somebody limits it."""


def resource_limits(media: Iterable[str]) -> dict[str, Any]:
    """Resources that may be used, in the shape of `@resource_limits`."""
    return {
        "node_count": _QUOTA,
        "chunk_count": _QUOTA,
        "tablet_count": _QUOTA,
        "tablet_static_memory": _QUOTA,
        "disk_space": _QUOTA,
        "disk_space_per_medium": dict.fromkeys(media, _QUOTA),
        "chunk_host_cell_master_memory": _QUOTA,
        "master_memory": {"total": _QUOTA, "chunk_host": _QUOTA, "per_cell": {}},
    }


def checked_limits(value: Any, present: Mapping[str, Any]) -> dict[str, Any]:
    """Limits as they are kept.

    Args:
        value: what somebody wants them to be; what is missing is 0, as on masters.
        present: those in force now, which name all media.

    Raises:
        YtError: a limit is unknown, or no count.
    """
    if not isinstance(value, dict):
        raise YtError(f"Limits of an account must be a map, got {yson.shown(value)}")
    limits = {**zero_limits(present), **_checked(value, present, "")}
    limits[PER_MEDIUM] = {**zero_limits(present[PER_MEDIUM]), **limits[PER_MEDIUM]}
    total = sum(limits[PER_MEDIUM].values())
    stated = limits["disk_space"]
    if "disk_space" in value and stated not in (total, present["disk_space"]):
        raise YtError(f'Limit "disk_space" is the sum of "{PER_MEDIUM}", which is {total} and not {stated}: set that')
    return {**limits, "disk_space": total}


def _checked(value: Any, known: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Limits of one map, each a count or a map of them; `place` is where it stands, with a slash at its end."""
    checked: dict[str, Any] = {}
    for name, item in value.items():
        if name not in known and place == f"{PER_MEDIUM}/":
            raise YtError(f'No such medium "{_shown(name)}"', ErrorCode.NO_SUCH_MEDIUM)
        if name not in known and not (place == _PER_CELL and isinstance(name, str)):
            raise YtError(
                f'Unknown limit "{place}{_shown(name)}" of an account; those known are {", ".join(sorted(known))}'
            )
        inner = known.get(name)
        if inner is None or not isinstance(inner, dict):
            checked[name] = _count(f"{place}{_shown(name)}", item)
        elif isinstance(item, dict):
            checked[name] = _checked(item, inner, f"{place}{name}/")
        else:
            raise YtError(f'Limit "{place}{name}" of an account must be a map, got {yson.shown(item)}')
    return checked


def _shown(name: Any) -> str:
    """A key in an error: one that is not UTF-8 is no `str`."""
    return name if isinstance(name, str) else repr(yson.bytes_of(name))


def _count(key: str, value: Any) -> int:
    plain = yson.plain(value)
    if isinstance(plain, bool) or not isinstance(plain, int) or plain < 0:
        raise YtError(f'Limit "{key}" of an account must be an integer of at least 0, got {yson.shown(value)}')
    return int(plain)


def zero_limits(limits: Mapping[str, Any]) -> dict[str, Any]:
    """Limits of 0 in the shape of others."""
    return {key: zero_limits(item) if isinstance(item, dict) else 0 for key, item in limits.items()}
