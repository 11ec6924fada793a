"""The tree an agent serves to masters and people."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from queue_agent.controllers.board import Board
from queue_agent.core.controller_info import controller_info
from queue_agent.core.encoding import Entity, encode_instant
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.status import pass_node
from queue_agent.ports import Clock
from queue_agent.wire import yson
from queue_agent.wire.error import ErrorCode, YtError
from queue_agent.wire.orchid import join_path, no_such_child, resolve

SERVICE_NAME = "queue_agent"

_QUEUES = ("queues", "owned_queues")
_CONSUMERS = ("consumers", "owned_consumers")
_KINDS = (*_QUEUES, *_CONSUMERS, "multi_consumers", "owned_multi_consumers")


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A node whose value is made when it is asked for."""

    make: Callable[[], Any]
    opaque: bool = False
    """Whoever asks for a map above sees an entity in its place."""


_Branch = Mapping[str, "_Leaf | _Branch"]


@dataclass(frozen=True, slots=True)
class TreeFacts:
    """What the tree shows beside the board; what can change is asked for each time."""

    version: str
    """Of the build."""

    synchronizer_active: Callable[[], bool]
    """Whether the synchronizer works in this process."""

    display_limit: Callable[[], int]
    """Length of the lists in `controller_info`."""

    nodes: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    """Further nodes at the top, such as the configuration."""


class OrchidTree:
    """`adapters.orchid.OrchidTree` over the board.

    Values of `queues` and `consumers` are opaque: whoever gets the maps sees the keys alone. Those of `owned_queues`
    and `owned_consumers` are shown when the map itself is asked for.

    Args:
        board: everything served.
        facts: everything else.
        clock: of the process; it starts now.
    """

    def __init__(self, board: Board, facts: TreeFacts, clock: Clock) -> None:
        self._board = board
        self._facts = facts
        service = {"name": SERVICE_NAME, "version": facts.version, "start_time": encode_instant(clock.now())}
        self._root: _Branch = {
            "service": _Leaf(lambda: service, opaque=True),
            **{name: _Leaf(make) for name, make in facts.nodes.items()},
            "alerts": _Leaf(board.alerts, opaque=True),
            "cypress_synchronizer": _Leaf(self._synchronizer),
            "queue_agent": {
                **{
                    name: _Leaf(partial(self._pass_fact, name)) for name in ("pass_instant", "pass_index", "pass_error")
                },
                **{kind: _Leaf(partial(self._keys, kind), opaque=True) for kind in _KINDS if not _is_owned(kind)},
                **{kind: _Leaf(partial(self._nodes, kind), opaque=True) for kind in _KINDS if _is_owned(kind)},
                "controller_info": _Leaf(
                    lambda: controller_info(
                        board.all_queues, board.all_consumers, board.multi_consumers(), facts.display_limit()
                    )
                ),
            },
        }

    async def get(self, path: Sequence[str]) -> Any:
        """The value at a path of keys.

        Raises:
            YtError: code 500 for a path that leads nowhere, 3105 for an object that is not served here.
        """
        match list(path):
            case ["queue_agent", kind, key, *rest] if kind in _KINDS:
                return resolve(self._object(kind, key, rest), rest, path[:3])
        node, inside = self._walk(path)
        if isinstance(node, _Leaf):
            return resolve(node.make(), inside, path[: len(path) - len(inside)])
        return _show(node)

    async def list(self, path: Sequence[str]) -> list[str]:
        """Keys of the map at a path; errors as of `get`."""
        match list(path):
            case ["queue_agent", kind] if kind in _KINDS:
                return list(self._keys(kind))
        value = await self.get(path)
        if not isinstance(value, Mapping):
            raise YtError(f"Node {join_path(path)} is not a map, it has no keys")
        return [str(key) for key in value]

    async def attributes(self, path: Sequence[str]) -> Mapping[str, Any]:
        """Attributes of the node at a path; errors as of `get`."""
        match list(path):
            case ["queue_agent", kind] if kind in _KINDS:
                return {"opaque": True, "count": len(self._refs(kind))}
            case ["queue_agent", kind, *_] if kind in _KINDS:
                return _attributes_of(await self.get(path))
        node, inside = self._walk(path)
        if not isinstance(node, _Leaf):
            return {}
        if inside:
            return _attributes_of(await self.get(path))
        return {"opaque": True} if node.opaque else {}

    def _walk(self, path: Sequence[str]) -> tuple[_Leaf | _Branch, Sequence[str]]:
        """The branch a path leads to, or the leaf with the keys that go on inside it."""
        node: _Leaf | _Branch = self._root
        for depth, key in enumerate(path):
            if isinstance(node, _Leaf):
                return node, path[depth:]
            if key not in node:
                raise no_such_child(join_path(path[:depth]), key)
            node = node[key]
        return node, ()

    def _pass_fact(self, name: str) -> Any:
        return pass_node(self._board.agent_pass())[name]

    def _synchronizer(self) -> Mapping[str, Any]:
        return {"active": self._facts.synchronizer_active(), **pass_node(self._board.synchronizer_pass())}

    def _refs(self, kind: str) -> Collection[CrossClusterRef]:
        board = self._board
        if kind in _QUEUES:
            return board.queues().keys()
        return [*(board.consumers() if kind in _CONSUMERS else ()), *board.multi_consumers()]

    def _keys(self, kind: str) -> dict[str, None]:
        return dict.fromkeys(map(str, self._refs(kind)))

    def _nodes(self, kind: str) -> dict[str, Any]:
        return {str(ref): self._parts(kind, ref)[""](ref) for ref in self._refs(kind)}

    def _parts(self, kind: str, ref: CrossClusterRef) -> Mapping[str, Callable[[CrossClusterRef], Any]]:
        """What there is to see of an object, by key; the whole node is behind the empty one."""
        board = self._board
        if kind in _QUEUES:
            return {"status": board.queue_status, "partitions": board.queue_partitions, "": board.queue_node}
        if kind in _CONSUMERS and not board.is_served_multi_consumer(ref):
            return {"status": board.consumer_status, "partitions": board.consumer_partitions, "": board.consumer_node}
        return {
            "status": board.multi_consumer_status,
            "partitions": board.multi_consumer_partitions,
            "": board.multi_consumer_node,
        }

    def _object(self, kind: str, key: str, rest: Sequence[str]) -> Mapping[str, Any]:
        """The node of an object; when status or partitions are asked for, these alone, for the others may be large."""
        try:
            ref = CrossClusterRef.parse(key)
        except ValueError as error:
            raise YtError(f"Error parsing object reference: {error}", ErrorCode.RESOLVE) from error
        parts = self._parts(kind, ref)
        part = rest[0] if rest and rest[0] in parts else ""
        value = parts[part](ref)
        if value is None:
            raise self._unknown(ref, kind)
        return {part: value} if part else value

    def _unknown(self, ref: CrossClusterRef, kind: str) -> YtError:
        is_queue = self._board.is_served_queue(ref)
        is_multi_consumer = self._board.is_served_multi_consumer(ref)
        is_consumer = is_multi_consumer or self._board.is_served_consumer(ref)
        is_of_kind = is_queue if kind in _QUEUES else is_consumer if kind in _CONSUMERS else is_multi_consumer
        if is_of_kind:
            return YtError(f"Object {ref} is missing")
        if is_queue or is_consumer:
            return no_such_child(join_path(["queue_agent", kind]), str(ref))
        return YtError(f"Object {ref} is not mapped to any queue agent", ErrorCode.QUEUE_AGENT_OBJECT_IS_NOT_MAPPED)


def _attributes_of(value: Any) -> Mapping[str, Any]:
    return value.attributes if isinstance(value, Entity) else yson.attributes_of(value)


def _is_owned(kind: str) -> bool:
    return kind.startswith("owned_")


def _show(node: _Leaf | _Branch) -> Any:
    if isinstance(node, _Leaf):
        return None if node.opaque else node.make()
    return {name: _show(child) for name, child in node.items()}
