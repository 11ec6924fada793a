"""How long nodes are to be there: values of `expiration_time` and `expiration_timeout`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from yt_local.base.clock import format_instant
from yt_local.store.model import EXPIRATION_TIME, EXPIRATION_TIMEOUT, Node
from yt_local.store.state import TreeState
from yt_wire import yson
from yt_wire.error import YtError

_LONGEST_MILLISECONDS: Final = 100 * 365 * 24 * 3600 * 1000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def checked_lifetime(state: TreeState, node: Node, name: str, value: Any) -> str | int:
    """A value for one of the two attributes in the form it is kept in: an instant, or milliseconds.

    Raises:
        YtError: it is neither, or the node is the root.
    """
    root = state.root
    if root and node.id == root.id:
        raise YtError(f'Cannot set "{name}" for the root')
    try:
        if name == EXPIRATION_TIMEOUT:
            return _milliseconds(value)
        return format_instant(_moment(value).astimezone(UTC))
    except (ValueError, OverflowError) as error:
        raise YtError(f'Invalid value {yson.shown(value)} of attribute "{name}": {error}') from error


def effective_expiration(state: TreeState, node: Node) -> dict[str, Any]:
    """What ends the node first, of its own attributes and those of all it is part of, and where that is set."""
    return {
        "time": _least(state, node, EXPIRATION_TIME),
        "timeout": _least(state, node, EXPIRATION_TIMEOUT),
    }


def touch_time(state: TreeState, node: Node) -> str:
    """When somebody last wanted a node that expires."""
    return format_instant(datetime.fromtimestamp(state.committed.touched[node.id], UTC))


def _least(state: TreeState, node: Node, name: str) -> dict[str, Any] | None:
    holders = [holder for holder in _lineage(state, node) if name in holder.attributes]
    if not holders:
        return None
    holder = min(holders, key=lambda holder: holder.attributes[name])
    return {"value": holder.attributes[name], "path": state.path_of(holder)}


def _lineage(state: TreeState, node: Node) -> Iterator[Node]:
    yield node
    while node.parent_id is not None:
        node = state.node(node.parent_id)
        yield node


def _moment(value: Any) -> datetime:
    if isinstance(value, str):
        moment = datetime.fromisoformat(value)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return _EPOCH + timedelta(milliseconds=_milliseconds(value))


def _milliseconds(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("milliseconds are a whole number")
    if not 0 <= value <= _LONGEST_MILLISECONDS:
        raise ValueError(f"it must be between 0 and {_LONGEST_MILLISECONDS}")
    return int(value)
