"""Attributes that tell what accounts may use and do use, and what users may use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from yt_local.cypress.account_limits import RESOURCE_LIMITS
from yt_local.cypress.account_tree import OVERCOMMIT, PARENT_NAME, AccountTree, is_account, is_limited, parent_of
from yt_local.cypress.settable_attributes import is_user
from yt_local.cypress.transaction_attributes import Computed
from yt_local.store.charges import DEFAULT_ACCOUNT, Usage
from yt_local.store.model import Node
from yt_local.store.state import TreeState

_MEDIUM: Final = "default"


def resource_usage(used: Usage, media: Iterable[str] = (_MEDIUM,)) -> dict[str, Any]:
    """Resources in use, in the shape of `@resource_usage`."""
    return {
        "node_count": used.node_count,
        "chunk_count": used.chunk_count,
        "tablet_count": used.tablet_count,
        "tablet_static_memory": 0,
        "disk_space": used.disk_space,
        "disk_space_per_medium": {medium: used.disk_space if medium == _MEDIUM else 0 for medium in media},
        "chunk_host_cell_master_memory": 0,
        "master_memory": {"total": 0, "chunk_host": 0, "per_cell": {}},
        "detailed_master_memory": {"nodes": 0, "chunks": 0, "attributes": 0, "tablets": 0, "schemas": 0},
    }


UsageOf = Callable[[str], Usage]
"""Usage of an account, by its name."""


def usage_of_accounts(state: TreeState, of_chunks: Computed) -> tuple[UsageOf, UsageOf]:
    """Two functions: usage of an account, and the part of it that is outside of transactions.

    Args:
        state: the nodes of the cluster.
        of_chunks: the attribute `resource_usage` of what consists of chunks.
    """
    _, content = of_chunks
    committed = state.committed

    def of_table(node: Node) -> Usage:
        found = content(node)
        return Usage(0, found["chunk_count"], len(committed.tablets.of(node.id)), found["disk_space"])

    def of_tablets(account: str) -> Usage:
        return sum(map(of_table, committed.charges.dynamic_tables(account)), Usage())

    return (
        lambda account: committed.charges.usage(account) + of_tablets(account),
        lambda account: committed.charges.committed_usage(account) + of_tablets(account),
    )


def account_attributes(tree: AccountTree, usage_of: UsageOf, committed_usage_of: UsageOf) -> Mapping[str, Computed]:
    """By name.

    Args:
        tree: the accounts.
        usage_of: see `usage_of_accounts`.
        committed_usage_of: likewise.
    """

    def shown(counted: UsageOf, *, recursive: bool) -> Computed:
        def usage(account: Node) -> dict[str, Any]:
            names = tree.subtree(account.name) if recursive else [account.name]
            return resource_usage(sum(map(counted, names), Usage()), tree.media())

        return (is_account if recursive else is_limited, usage)

    return {
        "resource_usage": shown(usage_of, recursive=False),
        "committed_resource_usage": shown(committed_usage_of, recursive=False),
        "recursive_resource_usage": shown(usage_of, recursive=True),
        "recursive_committed_resource_usage": shown(committed_usage_of, recursive=True),
        RESOURCE_LIMITS: (is_limited, tree.limits),
        "total_children_resource_limits": (is_account, lambda account: tree.total_of_children(account.name)),
        "recursive_violated_resource_limits": (is_account, lambda _: {}),
        OVERCOMMIT: (is_limited, lambda account: account.attributes.get(OVERCOMMIT, False)),
        PARENT_NAME: (is_limited, parent_of),
        "hashed_password": (_has_password, lambda node: node.value["hash"]),
        "password_salt": (_has_password, lambda node: node.value["salt"]),
        "usable_accounts": (is_user, lambda _: [account.name for account in tree.all() if is_limited(account)]),
        "usable_tablet_cell_bundles": (is_user, lambda _: tree.names("tablet_cell_bundles")),
        "usable_network_projects": (is_user, lambda _: []),
    }


def account_of(node: Node) -> str:
    """Name of the account that a node is charged to."""
    return str(node.attributes.get("account", DEFAULT_ACCOUNT))


def _has_password(node: Node) -> bool:
    return is_user(node) and bool(node.value)
