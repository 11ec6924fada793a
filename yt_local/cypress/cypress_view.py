"""Commands on the tree, as part of one transaction or of none."""

from __future__ import annotations

from yt_local.base.directory import ClusterDirectory
from yt_local.cypress.attributes import Attributes
from yt_local.cypress.cypress import Cypress
from yt_local.cypress.resolver import Resolver
from yt_local.cypress.tree_state import TreeState
from yt_local.security.permissions import Permissions
from yt_local.tables.dynamic.tablets import Tablets
from yt_local.tables.replication.replication import Replication
from yt_local.tables.static.content_attributes import find_chunk_object


class CypressView:
    """Everything that reads and changes one state of the tree.

    Args:
        state: the state of a cluster, or that of a transaction.
        replication: of the cluster; None for one that knows no others.
    """

    def __init__(self, state: TreeState, replication: Replication | None = None) -> None:
        self.state = state
        committed = state.committed
        self.resolver = Resolver(state, lambda object_id: find_chunk_object(committed, self.resolver, object_id))
        self.permissions = Permissions(state, self.resolver)
        self.attributes = Attributes(state, self.resolver, replication or Replication(committed, ClusterDirectory()))
        self.tablets = Tablets(state, self.resolver)
        self.cypress = Cypress(state, self.resolver, self.attributes, self.tablets)
