"""The tree an agent serves to masters and people."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.forwarding import Forwarder, Silence
from queue_agent.controllers.status.stand_ins import StandIns
from queue_agent.core.status.controller_info import controller_info
from queue_agent.core.status.published import pass_node
from queue_agent.core.values.encoding import Entity, encode_instant
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import UnexpectedError
from queue_agent.isolation import isolate
from queue_agent.ports.passes import Clock
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError
from yt_wire.orchid import join_path, no_such_child, resolve

SERVICE_NAME = "queue_agent"

_FIRST_READING_SECONDS: Final = 5.0
"""How long whoever asks an agent that has just been started waits for it to read who leads what."""

_FIRST_PASS_SECONDS: Final = 2.0
"""How long whoever asks for an object waits for its first pass."""

_PLACE: Final = "orchid"
"""See `isolation`."""

_POLL_SECONDS: Final = 0.02

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

    sharding_active: Callable[[], bool]
    """Whether this process says which agent leads what."""

    nodes: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    """Further nodes at the top, such as the configuration."""


@dataclass(frozen=True, slots=True)
class Others:
    """How questions about objects of other agents are answered."""

    forwarder: Forwarder
    stand_ins: StandIns
    """For leaders that do not answer."""


class OrchidTree:
    """`adapters.orchid.OrchidTree` over the board.

    Values of `queues` and `consumers` are opaque: whoever gets the maps sees the keys alone. Those of `owned_queues`
    and `owned_consumers` are shown when the map itself is asked for. Those two hold what this agent leads; the
    others hold what the stage has, and other agents are asked for what they lead.

    Args:
        board: everything served.
        facts: everything else.
        clock: of the process; it starts now.
        others: the other agents; None: there are none.
    """

    def __init__(self, board: Board, facts: TreeFacts, clock: Clock, others: Others | None = None) -> None:
        self._others = others
        self._board = board
        self._facts = facts
        service = {"name": SERVICE_NAME, "version": facts.version, "start_time": encode_instant(clock.now())}
        self._root: _Branch = {
            "service": _Leaf(lambda: service, opaque=True),
            **{name: _Leaf(make) for name, make in facts.nodes.items()},
            "alerts": _Leaf(board.alerts, opaque=True),
            "queue_agent_sharding_manager": _Leaf(self._sharding_manager),
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
            YtError: code 500 for a path that leads nowhere, 3105 for an object that is not served here, 105 while that
                is not known yet.
        """
        match list(path):
            case ["queue_agent", kind, key, *rest] if kind in _KINDS:
                ref = _parse(key)
                if self._others is not None:
                    await self._wait_for_reading()
                if self._others is not None and not _is_owned(kind):
                    there = ["queue_agent", f"owned_{kind}", key, *rest]
                    stand_in = partial(self._stand_in, self._others.stand_ins, path[:3], ref, rest)
                    answered, answer = await self._others.forwarder.get(ref, there, stand_in)
                    if answered:
                        return answer
                if self._others is not None:
                    await self._wait_for_pass(ref)
                return resolve(self._object(kind, ref, rest), rest, path[:3])
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

    async def _stand_in(
        self, stand_ins: StandIns, prefix: Sequence[str], ref: CrossClusterRef, rest: Sequence[str], silence: Silence
    ) -> Any:
        """The value inside a node of an object whose leader is silent; None if there is no such node.

        Raises:
            YtError: there is nothing at the path.
        """
        kind, placement = prefix[1], self._board.placement
        if kind in _QUEUES and ref in placement.queues:
            node = await stand_ins.queue(ref, silence)
        elif kind in _CONSUMERS and ref in placement.consumers:
            node = await stand_ins.consumer(ref, silence)
        else:
            return None
        return None if node is None else resolve(node, rest, prefix)

    async def _wait_for_reading(self) -> None:
        clock = asyncio.get_running_loop().time
        deadline = clock() + _FIRST_READING_SECONDS
        while self._board.agent_pass().last_success_instant is None:
            if clock() >= deadline:
                message = "This agent has not read yet which agent leads what"
                cause = YtError(message, ErrorCode.QUEUE_AGENT_RETRIABLE)
                raise YtError("Unavailable, retry later", ErrorCode.UNAVAILABLE, inner_errors=[cause])
            await asyncio.sleep(_POLL_SECONDS)

    async def _wait_for_pass(self, ref: CrossClusterRef) -> None:
        """Give an object that has just come from another agent the time for its first pass."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + _FIRST_PASS_SECONDS
        while self._board.is_unprocessed(ref) and clock() < deadline:  # noqa: ASYNC110 - a rare case, not worth a signal
            await asyncio.sleep(_POLL_SECONDS)

    def _walk(self, path: Sequence[str]) -> tuple[_Leaf | _Branch, Sequence[str]]:
        """The branch a path leads to, or the leaf with the keys that go on inside it."""
        node: _Leaf | _Branch = self._root
        for depth, key in enumerate(path):
            if isinstance(node, _Leaf):
                return node, path[depth:]
            if key not in node:
                raise no_such_child(path[:depth], key)
            node = node[key]
        return node, ()

    def _pass_fact(self, name: str) -> Any:
        return pass_node(self._board.agent_pass())[name]

    def _sharding_manager(self) -> Mapping[str, Any]:
        return {"active": self._facts.sharding_active(), **pass_node(self._board.sharding_pass())}

    def _synchronizer(self) -> Mapping[str, Any]:
        return {"active": self._facts.synchronizer_active(), **pass_node(self._board.synchronizer_pass())}

    def _refs(self, kind: str) -> Collection[CrossClusterRef]:
        placement = self._board.placement
        refs = (
            placement.queues
            if kind in _QUEUES
            else [*(placement.consumers if kind in _CONSUMERS else ()), *placement.multi_consumers]
        )
        return [ref for ref in refs if placement.is_here(ref)] if _is_owned(kind) else refs

    def _keys(self, kind: str) -> dict[str, None]:
        return dict.fromkeys(map(str, self._refs(kind)))

    def _is_of_kind(self, kind: str, ref: CrossClusterRef) -> bool:
        placement = self._board.placement
        if kind in _QUEUES:
            return ref in placement.queues
        return ref in placement.multi_consumers or (kind in _CONSUMERS and ref in placement.consumers)

    def _nodes(self, kind: str) -> dict[str, Any]:
        nodes = {str(ref): isolate(_PLACE, ref, partial(self._parts(kind, ref)[""], ref)) for ref in self._refs(kind)}
        return {
            key: {"error": ErrorInfo(node.message).to_map()} if isinstance(node, UnexpectedError) else node
            for key, node in nodes.items()
            if node is not None
        }

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

    def _object(self, kind: str, ref: CrossClusterRef, rest: Sequence[str]) -> Mapping[str, Any]:
        """The node of an object; when status or partitions are asked for, these alone, for the others may be large."""
        error = self._find_error(kind, ref)
        if error is not None:
            raise error
        parts = self._parts(kind, ref)
        part = rest[0] if rest and rest[0] in parts else ""
        value = parts[part](ref)
        if value is None:
            raise YtError(f"Object {ref} is missing")
        return {part: value} if part else value

    def _find_error(self, kind: str, ref: CrossClusterRef) -> YtError | None:
        """Why an object is not to be found here; None: it ought to be."""
        placement = self._board.placement
        host = placement.find_host(ref)
        if host is None:
            message = f"Object {ref} is not mapped to any queue agent"
            return YtError(message, ErrorCode.QUEUE_AGENT_OBJECT_IS_NOT_MAPPED)
        if not self._is_of_kind(kind, ref):
            return no_such_child(join_path(["queue_agent", kind]), str(ref))
        if host == placement.address:
            return None
        cause = YtError(
            f"Object {ref} is not available from instance {placement.address}",
            ErrorCode.QUEUE_AGENT_RETRIABLE,
            {"cached_object_agent_id": host},
        )
        return YtError("Unavailable, retry later", ErrorCode.UNAVAILABLE, inner_errors=[cause])


def _parse(key: str) -> CrossClusterRef:
    try:
        return CrossClusterRef.parse(key)
    except ValueError as error:
        raise YtError(f"Error parsing object reference: {error}", ErrorCode.RESOLVE) from error


def _attributes_of(value: Any) -> Mapping[str, Any]:
    return value.attributes if isinstance(value, Entity) else yson.attributes_of(value)


def _is_owned(kind: str) -> bool:
    return kind.startswith("owned_")


def _show(node: _Leaf | _Branch) -> Any:
    if isinstance(node, _Leaf):
        return None if node.opaque else node.make()
    return {name: _show(child) for name, child in node.items()}
