"""Commands on the tree, as part of one transaction or of none."""

from __future__ import annotations

import copy
from typing import Self

from queue_agent.local_cluster.attributes import Attributes
from queue_agent.local_cluster.content_attributes import find_chunk_object
from queue_agent.local_cluster.cypress import Cypress
from queue_agent.local_cluster.directory import ClusterDirectory
from queue_agent.local_cluster.permissions import UNLIMITED, Access, Permissions
from queue_agent.local_cluster.replication import Replication
from queue_agent.local_cluster.resolver import Resolver
from queue_agent.local_cluster.tablets import Tablets
from queue_agent.local_cluster.tree_state import TreeState


class CypressView:
    """Everything that reads and changes one state of the tree.

    Args:
        state: the state of a cluster, or that of a transaction.
        replication: of the cluster; None for one that knows no others.
    """

    def __init__(self, state: TreeState, replication: Replication | None = None) -> None:
        self.state = state
        self.access = UNLIMITED
        committed = state.committed
        self.resolver = Resolver(state, lambda object_id: find_chunk_object(committed, self.resolver, object_id))
        self.permissions = Permissions(state, self.resolver)
        self.attributes = Attributes(state, self.resolver, replication or Replication(committed, ClusterDirectory()))
        self.tablets = Tablets(state, self.resolver)
        self.cypress = Cypress(state, self.resolver, self.attributes, self.tablets)

    def acting_as(self, access: Access) -> Self:
        """The same view, for one user."""
        view = copy.copy(self)
        view.access = access
        view.tablets = self.tablets.acting_as(access)
        view.cypress = self.cypress.acting_as(access)
        return view
