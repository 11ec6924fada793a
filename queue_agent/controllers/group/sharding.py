"""The sharding manager: looks who is there; the first of the agents says which of them leads what."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Final

import structlog

from queue_agent.controllers.group.leadership import Leadership, boot_seconds
from queue_agent.controllers.group.membership import Membership
from queue_agent.controllers.passes.origins import Origins, describe_pass_error
from queue_agent.controllers.status.board import SHARDING, Board
from queue_agent.core.group.members import GroupView
from queue_agent.core.group.sharding import Rendezvous, find_orphans, plan_hosts, split_by_stage
from queue_agent.core.state.rows import StateRows
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, QueueAgentError
from queue_agent.ports.group import AgentGroup
from queue_agent.ports.passes import Clock, PassObserver
from queue_agent.ports.state import HostStore
from yt_wire.farm_hash import fingerprint

log = structlog.get_logger(__name__)

PASS_FAILED: Final = "queue_agent_sharding_manager_pass_failed"
PASS_FAILED_CODE: Final = 3050


class ShardingManager:
    """Keeps the mapping of objects to agents.

    Args:
        stage: whose objects are distributed.
        group: the agents of the stage.
        store: gets the mapping.
        find_state: what the agent has read of the state tables last; None: nothing yet.
        leadership: whether this agent may write; hears whether it is the one that distributes.
        membership: stands for election in every pass.
        keeps_tables: whether this agent would keep the state tables if nobody else does.
        board: gets alerts and the facts of passes.
        written: set after something was written, so that others need not wait to see it.
        clock, origins, observer: of the passes.
    """

    def __init__(
        self,
        stage: str,
        group: AgentGroup,
        store: HostStore,
        find_state: Callable[[], StateRows | None],
        leadership: Leadership,
        membership: Membership,
        keeps_tables: Callable[[], bool],
        board: Board,
        written: asyncio.Event,
        clock: Clock,
        origins: Origins,
        observer: PassObserver,
    ) -> None:
        self._stage = stage
        self._group = group
        self._store = store
        self._find_state = find_state
        self._leadership = leadership
        self._membership = membership
        self._keeps_tables = keeps_tables
        self._board = board
        self._written = written
        self._clock = clock
        self._origins = origins
        self._observer = observer
        self._rendezvous = Rendezvous(fingerprint)
        self._pass_instant = clock.now()
        self._orphans: Collection[CrossClusterRef] = frozenset()
        self._agreement: tuple[StateRows, list[str]] | None = None
        """Tables and members between which there is nothing to do."""

    async def do_pass(self, pass_index: int) -> None:
        """Look who is there, and have the mapping fit if this agent is the first of them."""
        self._pass_instant = self._clock.now()
        view = await self._look()
        if self._leadership.address not in view.instances and self._membership.is_joined:
            await self._group.register()  # somebody took it for one that is gone; others must not think they are alone
        await self._membership.stand_for_election(view, self._keeps_tables)
        eligible = view.eligible
        self._leadership.distributes = eligible[:1] == [self._leadership.address]
        if not view.members:
            raise QueueAgentError("No queue agents in discovery")
        if not eligible:
            raise QueueAgentError("All active instances are banned, leading host can't be chosen, skipping pass")
        if self._leadership.distributes:
            await self._distribute(eligible)

    async def _look(self) -> GroupView:
        sent = boot_seconds()
        try:
            view = await self._group.look()
        except ClusterError:
            self._leadership.distributes = False
            raise
        if view.has_only(self._leadership.address):
            self._leadership.saw_alone(sent)
        self._board.put_group(view)
        return view

    async def _distribute(self, eligible: list[str]) -> None:
        rows = self._find_state()
        if rows is None:
            return
        if not self._leadership.is_informed:
            raise QueueAgentError("State tables have not been read lately, objects are not distributed")
        if self._agreement is not None and self._agreement[0] is rows and self._agreement[1] == eligible:
            return
        tables = split_by_stage(rows, self._stage)
        self._rendezvous.forget_all_but(tables.own)
        changes = plan_hosts(tables, rows.hosts, eligible, self._rendezvous, self._orphans)
        self._orphans = find_orphans(tables, rows.hosts)
        if not changes.any:
            self._agreement = None if self._orphans else (rows, eligible)
            return
        if not self._leadership.is_member:
            return  # others may be at it already
        if changes.write:
            await self._store.write_hosts(changes.write)
        if changes.delete:
            await self._store.delete_hosts(changes.delete)
        self._written.set()
        log.info("objects distributed", members=eligible, moved=len(changes.write), gone=len(changes.delete))

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """Put on the board how the pass went; tell the observer."""
        failure = None
        alerts: dict[str, ErrorInfo] = {}
        if error is not None:
            origin = self._origins.make(self._pass_instant)
            failure = describe_pass_error(error, origin)
            alerts[PASS_FAILED] = origin.error(
                "Error performing queue agent manager pass", PASS_FAILED_CODE, inner_errors=[failure]
            )
        self._board.put_alerts(SHARDING, alerts)
        self._board.finish_pass(SHARDING, pass_index, self._pass_instant, failure)
        self._observer.pass_finished(SHARDING, pass_index, seconds, error)
