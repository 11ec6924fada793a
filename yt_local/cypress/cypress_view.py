"""Commands on the tree, as part of one transaction or of none."""

from __future__ import annotations

from yt_local.cypress.attributes import Attributes
from yt_local.cypress.cypress import Cypress
from yt_local.cypress.kinds import Kinds
from yt_local.cypress.resolver import Resolver
from yt_local.security.permissions import Permissions
from yt_local.store.state import TreeState


class CypressView:
    """Everything that reads and changes one state of the tree.

    Args:
        state: the state of a cluster, or that of a transaction.
        kinds: what nodes may be.
    """

    def __init__(self, state: TreeState, kinds: Kinds) -> None:
        self.state = state
        self.resolver = Resolver(state, lambda object_id: kinds.find_object(state, self.resolver, object_id))
        self.permissions = Permissions(state, self.resolver)
        self.attributes = Attributes(state, self.resolver, kinds)
        self.cypress = Cypress(state, self.resolver, self.attributes, kinds.tablets(state, self.resolver))
