"""Removing nodes when their time has come."""

from __future__ import annotations

import math
from collections.abc import Iterable

from yt_local.cypress.resolver import Resolver
from yt_local.cypress.subtrees import Subtrees
from yt_local.store.model import Node
from yt_local.store.state import ClusterState
from yt_wire.error import YtError


class Expiration:
    """Ends nodes with an `expiration_time` or an `expiration_timeout`.

    Args:
        state: of the cluster.
        subtrees: removes them.
    """

    def __init__(self, state: ClusterState, subtrees: Subtrees) -> None:
        self._state = state
        self._subtrees = subtrees

    def touch(self, resolver: Resolver, paths: Iterable[str]) -> None:
        """Restart the timeouts of what these paths lead to; of nothing, if they lead nowhere."""
        if not self._state.touched:
            return
        for path in paths:
            try:
                target = resolver.resolve(path)
            except YtError:
                continue
            if not target.missing and target.node.id in self._state.touched:
                self._state.touched[target.node.id] = self._state.clock.seconds()

    def touch_locked(self) -> None:
        """Have timeouts begin with the end of the last lock, whatever it is for."""
        if self._state.touched:
            now = self._state.clock.seconds()
            for lock in self._state.versions.locks:
                if lock.acquired and lock.node_id in self._state.touched:
                    self._state.touched[lock.node_id] = now

    def look(self) -> None:
        """Remove what is due; what a transaction has locked stays until it is done."""
        now = self._state.clock.seconds()
        if now < self._state.earliest_expiry:
            return
        with self._state.change():
            for node_id in list(self._state.touched):
                node = self._state.find_node(node_id)
                if node and self._is_due(node, now) and self._state.is_in_tree(node):
                    self._remove(node)
        self._state.earliest_expiry = min(map(self._expiry, self._state.touched), default=math.inf)

    def _remove(self, node: Node) -> None:
        try:
            self._subtrees.delete(node)
        except YtError:
            return  # somebody has locked it, what it is part of, or some of what is below it

    def _is_due(self, node: Node, now: float) -> bool:
        return node.expiry(self._state.touched[node.id]) <= now

    def _expiry(self, node_id: str) -> float:
        return self._state.node(node_id).expiry(self._state.touched[node_id])
