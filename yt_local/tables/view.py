"""The tree with its tables, as part of one transaction or of none."""

from __future__ import annotations

from collections.abc import Mapping

from yt_local.cypress.cypress_view import CypressView
from yt_local.cypress.resolver import Resolver
from yt_local.cypress.transaction_attributes import Computed
from yt_local.store.model import Node
from yt_local.store.state import TreeState
from yt_local.tables.dynamic.tablets import Tablets
from yt_local.tables.replication.directory import ClusterDirectory
from yt_local.tables.replication.replica_attributes import replica_attributes
from yt_local.tables.replication.replication import Replication
from yt_local.tables.static.content_attributes import find_chunk_object
from yt_local.tables.table_attributes import table_attributes


class TableKinds:
    """`cypress.kinds.Kinds` of tables.

    Args:
        replication: of the cluster.
    """

    def __init__(self, replication: Replication) -> None:
        self._replication = replication

    def find_object(self, state: TreeState, resolver: Resolver, object_id: str) -> Node | None:
        """See `Kinds`."""
        return find_chunk_object(state.committed, resolver, object_id)

    def table_attributes(self, state: TreeState) -> Mapping[str, Computed]:
        """See `Kinds`."""
        return table_attributes(state, self._replication)

    def replica_attributes(self, state: TreeState, resolver: Resolver) -> Mapping[str, Computed]:
        """See `Kinds`."""
        return replica_attributes(state.committed, self._replication, resolver)

    def tablets(self, state: TreeState, resolver: Resolver) -> Tablets:
        """See `Kinds`."""
        return Tablets(state, resolver)


class TableView(CypressView):
    """Everything that reads and changes one state of the tree, and the tablets of its tables.

    Args:
        state: the state of a cluster, or that of a transaction.
        replication: of the cluster; None for one that knows no others.
    """

    def __init__(self, state: TreeState, replication: Replication | None = None) -> None:
        super().__init__(state, TableKinds(replication or Replication(state.committed, ClusterDirectory())))
        self.tablets = Tablets(state, self.resolver)
