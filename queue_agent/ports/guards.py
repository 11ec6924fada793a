"""What has to agree before an agent acts: nobody who acts may be built without them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from queue_agent.core.group.lease import Hold
from queue_agent.core.state.rows import Registration
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.terms import Term
from queue_agent.ports.cluster import Permit


class LeadershipGuard(Protocol):
    """Tells which objects this agent leads at the moment."""

    def find_hold(self, refs: Collection[CrossClusterRef]) -> Hold | None:
        """Reason why this agent may not act on all these objects now; None: it may."""
        ...

    def find_term(self, refs: Collection[CrossClusterRef]) -> Term:
        """Since when this agent has led all these objects, by a clock that is never set."""
        ...

    def permit(self, refs: Collection[CrossClusterRef]) -> Permit:
        """Permission that holds while this agent leads all these objects."""
        ...

    def acting(self, refs: Collection[CrossClusterRef]) -> AbstractContextManager[Permit]:
        """Permission for actions that all end with the context; an agent retires only after that.

        Args:
            refs: the objects to lead: those acted on, and those acted for.
        """
        ...


class ConnectionGuard(Protocol):
    """Tells whether clusters agree with the configuration about their names and the table of registrations."""

    def find_mismatch(self, clusters: Collection[str], origin: Origin) -> ErrorInfo | None:
        """Reason why not all vital consumers of a queue may be known here; None: they are.

        Args:
            clusters: of the queue and of its vital consumers.
            origin: of errors.
        """
        ...


class RegistrationGuard(Protocol):
    """Tells which registrations there are now, and not only when the agent's own pass read them."""

    async def read(self) -> Mapping[CrossClusterRef, Sequence[Registration]]:
        """All registrations by queue; a registration that was made before the question is among them.

        Raises:
            ClusterError: they could not be read.
        """
        ...
