"""Nodes made of values: what `set` makes of a map or a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from yt_local.cypress.attributes import Attributes
from yt_local.cypress.master_transactions import MasterTransactions
from yt_local.cypress.node_places import NodePlaces, Place
from yt_local.cypress.nodes import child_name, new_node, node_type_of
from yt_local.security.permissions import ACCESS_CONTROL, UNLIMITED, Access
from yt_local.store.model import LIST, Node
from yt_local.store.state import ClusterState, TreeState
from yt_wire import yson
from yt_wire.error import YtError


class ValueNodes:
    """Steps of changes; the change around them is the caller's."""

    def __init__(self, state: TreeState, attributes: Attributes, places: NodePlaces) -> None:
        self._state = state
        self._attributes = attributes
        self._places = places

    def create(self, access: Access, place: Place, value: Any) -> str:
        """Make a node, with all below it, of a value and its attributes; returns its id.

        Raises:
            YtError: there is no node of such a value.
        """
        node = self._places.owned(access, new_node(self._state, node_type_of(value), place.parent.id, place.name))
        for key, item in yson.attributes_of(value).items():
            if key in ACCESS_CONTROL:
                access.check(self._state.node(place.parent.id), "administer")
            access.check_owner(key, item)
            node = self._attributes.with_value(node, key, item)
        if node.type in ("map_node", LIST):
            self._places.put(place, node)
            self.fill(access, node, value)
        else:
            self._places.put(place, replace(node, value=yson.plain(value)))
        return node.id

    def fill(self, access: Access, node: Node, value: Mapping[Any, Any] | Sequence[Any]) -> None:
        """Make nodes of what is in a value, below a map or list that has none yet."""
        if isinstance(value, Mapping):
            for key, item in value.items():
                self.create(access, Place(node, child_name(key)), item)
        elif value:
            items = [self.create(access, Place(node), item) for item in value]
            self._places.fill(self._state.node(node.id), items)

    def fill_with_documents(self, node: Node, values: Sequence[Any]) -> None:
        """Make documents of what a list is to have, whatever it is."""
        items: list[str] = []
        for value in values:
            item = replace(new_node(self._state, "document", node.id, ""), value=value)
            self._state.put_node(item)
            items.append(item.id)
        self._places.fill(node, items)


def convert_earlier_lists(state: ClusterState, transactions: MasterTransactions, nodes: ValueNodes) -> None:
    """Make nodes of the items of lists that a file of an earlier version keeps as values.

    Transactions that have locked or changed such lists are aborted. Items that can be no nodes, such as null, become
    documents, and so do all others of their list.
    """
    lists = [node for node in state.nodes() if _is_earlier(node)]
    holders = {lock.transaction_id for node in lists for lock in state.versions.locks_of(node.id)}
    holders |= {branch.transaction_id for branch in state.versions.branches if _is_earlier(branch.node)}
    for transaction_id in holders:
        if state.versions.find_transaction(transaction_id):  # it may have ended with another one
            transactions.abort(transaction_id)
    for node in lists:
        if state.find_node(node.id) is None:
            continue  # a transaction had made it
        empty = replace(node, value=None)
        try:
            with state.change():
                state.put_node(empty)
                nodes.fill(UNLIMITED, empty, node.value)
        except YtError:
            with state.change():
                state.put_node(empty)
                nodes.fill_with_documents(empty, node.value)


def _is_earlier(node: Node) -> bool:
    return node.type == LIST and node.value is not None
