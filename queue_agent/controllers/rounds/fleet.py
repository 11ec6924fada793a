"""One controller per object, started and stopped to match what is wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import structlog

from queue_agent.controllers.rounds.round_member import Controller, Member
from queue_agent.controllers.rounds.rounds import Rounds
from queue_agent.core.group.reconcile import plan_fleet
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import UnexpectedError
from queue_agent.isolation import isolate

log = structlog.get_logger(__name__)


class Fleet:
    """The controllers of all queues, or of all consumers.

    Args:
        rounds: has the controllers do their passes.
        make: makes the controller of an object.
    """

    def __init__(self, rounds: Rounds, make: Callable[[CrossClusterRef, Role], Controller]) -> None:
        self._rounds = rounds
        self._make = make
        self._members: dict[CrossClusterRef, tuple[Role, Member]] = {}

    @property
    def running(self) -> Mapping[CrossClusterRef, Role]:
        """The objects that have a controller."""
        return {ref: role for ref, (role, _) in self._members.items()}

    async def match(self, wanted: Mapping[CrossClusterRef, Role]) -> Mapping[CrossClusterRef, UnexpectedError]:
        """Stop and start controllers until there is one for each object wanted, in the role wanted.

        What is to be stopped has ended before anything is started: no object ever has two controllers.

        Returns:
            The objects for which none could be made; the next call tries again.
        """
        changes = plan_fleet(self.running, wanted)
        await self._rounds.remove([self._members.pop(ref)[1] for ref in changes.stop])
        for ref in changes.stop:
            log.info("controller stopped", cluster=ref.cluster, path=ref.path)
        failures: dict[CrossClusterRef, UnexpectedError] = {}
        for ref, role in changes.start.items():
            controller = isolate("fleet", ref, partial(self._make, ref, role))
            if isinstance(controller, UnexpectedError):
                failures[ref] = controller
                continue
            self._members[ref] = role, self._rounds.add(ref, controller)
            log.info("controller started", cluster=ref.cluster, path=ref.path, role=role.value)
        return failures
