"""Being one of the agents of a stage: joining, staying, leaving, and keeping the state tables if nobody else does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Final

import structlog

from queue_agent.controllers.group.leadership import Leadership, boot_seconds
from queue_agent.controllers.passes.origins import Origins, describe_pass_error
from queue_agent.controllers.passes.pass_loop import Schedule
from queue_agent.controllers.status.board import Board
from queue_agent.core.group.members import GroupView
from queue_agent.errors import ClusterError, QueueAgentError
from queue_agent.ports.group import AgentGroup
from queue_agent.ports.passes import Clock, PassObserver
from yt_wire.error import ErrorCode

log = structlog.get_logger(__name__)

KIND: Final = "membership"

FAILED: Final = "queue_agent_membership_failed"
"""Category of the alert: this agent is no member, and does nothing to queues."""

_JOINING_PERIOD: Final = timedelta(milliseconds=250)


class Membership:
    """Of this agent.

    Args:
        group: the agents of the stage.
        leadership: hears of every success, and of elections.
        board: gets alerts.
        joined: set when a membership begins, so that what waits for one need not wait longer.
        elected: set when this agent begins to keep the state tables.
        clock, origins, observer: of the passes.
    """

    def __init__(
        self,
        group: AgentGroup,
        leadership: Leadership,
        board: Board,
        joined: asyncio.Event,
        elected: asyncio.Event,
        clock: Clock,
        origins: Origins,
        observer: PassObserver,
    ) -> None:
        self._group = group
        self._leadership = leadership
        self._board = board
        self._joined = joined
        self._elected = elected
        self._clock = clock
        self._origins = origins
        self._observer = observer
        self._membership: str | None = None
        self._is_leaving = False
        self._has_joined = False

    @property
    def schedule(self) -> Schedule:
        """Of the passes: pings must not wait the longer the more of them have failed."""
        terms = self._leadership.terms
        timeout = timedelta(seconds=terms.freshness)
        if self._membership is None:
            return Schedule(_JOINING_PERIOD, timeout, enable=not self._is_leaving)
        return Schedule(timedelta(seconds=terms.ping_period), timeout, enable=not self._is_leaving, max_slowdown=1)

    @property
    def is_joined(self) -> bool:
        """Whether there is a membership, as far as is known."""
        return self._membership is not None

    @property
    def takes_part(self) -> bool:
        """Whether there has ever been a membership, and it has not been ended by this agent itself."""
        return self._has_joined and not self._is_leaving

    async def do_pass(self, pass_index: int) -> None:
        """Become a member, or stay one."""
        sent = boot_seconds()
        if self._membership is None:
            membership = await self._group.join(self._leadership.terms.lease)
            if self._is_leaving:
                await self._group.leave(membership)
                return
            self._membership = membership
            self._leadership.begin()
            self._leadership.prolong(sent)
            self._has_joined = True
            self._joined.set()
            log.info("joined", address=self._leadership.address, membership=self._membership)
        else:
            await self._ping(self._membership)
            self._leadership.prolong(sent)

    async def _ping(self, membership: str) -> None:
        try:
            await self._group.ping(membership)
        except ClusterError as error:
            if self._is_leaving:
                return
            if error.code == ErrorCode.NO_SUCH_TRANSACTION:
                self._forget()
                log.warning("membership ended", membership=membership)
            raise

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """Raise an alert while there is no membership to rely on; tell the observer."""
        if error is None:
            self._board.put_alerts(KIND, {})
        elif not self._leadership.is_member and not self._is_leaving:
            origin = self._origins.make(self._clock.now())
            cause = describe_pass_error(error, origin)
            alert = origin.error(
                "This agent has not joined its stage, and does nothing to queues", inner_errors=[cause]
            )
            self._board.put_alerts(KIND, {FAILED: alert})
        self._observer.pass_finished(KIND, pass_index, seconds, error)

    async def stand_for_election(self, view: GroupView, is_wanted: Callable[[], bool]) -> None:
        """Begin to keep the state tables if nobody does; or cease to, if that is not wanted any more.

        Args:
            view: of the group, as of now.
            is_wanted: whether this agent is to keep them at all.
        """
        membership = self._membership
        if membership is None or self._is_leaving:
            return
        # What the cluster has carried out, though its answer was lost, is seen only there.
        is_elected = view.synchronizer == membership
        if not is_wanted():
            if self._leadership.is_elected or is_elected:
                self._leadership.is_elected = False
                await self._group.resign_synchronizer(membership)
                log.info("keeps the state tables no longer")
            return
        if self._leadership.is_elected or not (is_elected or view.synchronizer is None):
            return
        is_elected = is_elected or await self._group.claim_synchronizer(membership)
        if is_elected and membership == self._membership:
            self._leadership.is_elected = True
            self._elected.set()
            log.info("keeps the state tables")

    async def leave(self) -> None:
        """End the membership; nothing is being done any more."""
        self._is_leaving = True
        membership = self._membership
        self._forget()
        if membership is None:
            return
        try:
            async with asyncio.timeout(self._leadership.terms.action):
                await self._group.leave(membership)
        except (QueueAgentError, TimeoutError) as error:
            log.warning("membership not ended, it will run out", membership=membership, error=repr(error))

    def _forget(self) -> None:
        self._membership = None
        self._leadership.lose()
