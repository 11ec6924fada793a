"""Attributes that tell what accounts may use and do use, and what users may use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from yt_local.cypress.settable_attributes import SETTABLE, is_user
from yt_local.cypress.transaction_attributes import Computed
from yt_local.store.model import Node
from yt_local.store.state import TreeState

_MEDIUM: Final = "default"
_QUOTA: Final = 2**50
"""Of bytes and of objects: an account has room for everything."""


_USED: Final = (
    "resource_usage",
    "committed_resource_usage",
    "recursive_resource_usage",
    "recursive_committed_resource_usage",
)


def resource_usage(node_count: int, disk_space: int, media: Iterable[str] = (_MEDIUM,)) -> dict[str, Any]:
    """Resources in use, in the shape of `@resource_usage`; `disk_space` in bytes, all on the default medium."""
    return {
        "node_count": node_count,
        "chunk_count": 0,
        "tablet_count": 0,
        "tablet_static_memory": 0,
        "disk_space": disk_space,
        "disk_space_per_medium": {medium: disk_space if medium == _MEDIUM else 0 for medium in media},
        "chunk_host_cell_master_memory": 0,
        "master_memory": {"total": 0, "chunk_host": 0, "per_cell": {}},
        "detailed_master_memory": {"nodes": 0, "chunks": 0, "attributes": 0, "tablets": 0, "schemas": 0},
    }


def resource_limits(media: Iterable[str] = (_MEDIUM,)) -> dict[str, Any]:
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


def account_attributes(state: TreeState, find_used_bytes: Callable[[Node], int]) -> Mapping[str, Computed]:
    """By name.

    Args:
        state: the nodes of the cluster.
        find_used_bytes: gives the size of what a node holds.
    """

    def names(directory: str) -> list[str]:
        root = state.root
        system = None if root is None else state.child(root.id, "sys")
        parent = None if system is None else state.child(system.id, directory)
        return [] if parent is None else sorted(node.name for node in state.children(parent.id))

    def usage(account: Node) -> dict[str, Any]:
        nodes = [node for node in _walk(state) if account_of(node) == account.name]
        return resource_usage(len(nodes), sum(map(find_used_bytes, nodes)), names("media"))

    return {
        **dict.fromkeys(
            (
                "resource_usage",
                "committed_resource_usage",
                "recursive_resource_usage",
                "recursive_committed_resource_usage",
            ),
            (_is_account, usage),
        ),
        "resource_limits": (_is_account, lambda _: resource_limits(names("media"))),
        "total_children_resource_limits": (_is_account, lambda _: resource_limits(names("media"))),
        "recursive_violated_resource_limits": (_is_account, lambda _: {}),
        "allow_children_limit_overcommit": (_is_account, lambda _: False),
        "parent_name": (_is_account, lambda _: "root"),
        "hashed_password": (_has_password, lambda node: node.value["hash"]),
        "password_salt": (_has_password, lambda node: node.value["salt"]),
        "usable_accounts": (is_user, lambda _: names("accounts")),
        "usable_tablet_cell_bundles": (is_user, lambda _: names("tablet_cell_bundles")),
        "usable_network_projects": (is_user, lambda _: []),
    }


def account_of(node: Node) -> str:
    """Name of the account that a node is charged to."""
    return str(node.attributes.get("account", SETTABLE["account"].default))


def _walk(state: TreeState) -> Iterator[Node]:
    """All nodes, the root first."""
    waiting = [state.root]
    while waiting:
        node = waiting.pop()
        if node is not None:
            yield node
            waiting.extend(state.children(node.id) if node.type == "map_node" else ())


def _has_password(node: Node) -> bool:
    return is_user(node) and bool(node.value)


def _is_account(node: Node) -> bool:
    return node.type == "account"
