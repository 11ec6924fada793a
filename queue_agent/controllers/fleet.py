"""One task per object, started and stopped to match what is wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import structlog

from queue_agent.core.reconcile import plan_fleet
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.snapshots import Role

log = structlog.get_logger(__name__)


class Fleet:
    """The controllers of all queues, or of all consumers.

    Args:
        group: owns the tasks.
        run: runs the controller of an object until cancelled.
    """

    def __init__(
        self, group: asyncio.TaskGroup, run: Callable[[CrossClusterRef, Role], Coroutine[Any, Any, None]]
    ) -> None:
        self._group = group
        self._run = run
        self._tasks: dict[CrossClusterRef, tuple[Role, asyncio.Task[None]]] = {}

    @property
    def running(self) -> Mapping[CrossClusterRef, Role]:
        """The objects that have a controller."""
        return {ref: role for ref, (role, task) in self._tasks.items() if not task.done()}

    async def match(self, wanted: Mapping[CrossClusterRef, Role]) -> None:
        """Stop and start controllers until there is one for each object wanted, in the role wanted.

        What is to be stopped has ended before anything is started: no object ever has two controllers.
        """
        changes = plan_fleet(self.running, wanted)
        stopping = [self._tasks[ref][1] for ref in changes.stop]
        for task in stopping:
            task.cancel()
        if stopping:
            await asyncio.wait(stopping)
        for ref in changes.stop:
            del self._tasks[ref]
            log.info("controller stopped", cluster=ref.cluster, path=ref.path)
        for ref, role in changes.start.items():
            self._tasks[ref] = (role, self._group.create_task(self._run(ref, role)))
            log.info("controller started", cluster=ref.cluster, path=ref.path, role=role.value)
