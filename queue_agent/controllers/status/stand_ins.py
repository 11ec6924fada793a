"""Statuses in place of those of a leader that does not answer: what this agent sees of the object itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

from queue_agent.controllers.passes.origins import Origins
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.forwarding import Silence
from queue_agent.core.queues.snapshots import ConsumerSnapshot, QueueSnapshot, Role
from queue_agent.core.state.rows import Registration, StateRows
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.ports.passes import Clock

LEADER_SILENT: Final = "queue_agent_leader_silent"
"""Category of the alert in such a status."""

AT_ONCE: Final = 16
"""Objects that are looked at; everybody may ask for them while their leader is away."""

FRESH_SECONDS: Final = 10.0
"""What this agent has seen of a queue by following it is used if it is not older."""


class Look(Protocol):
    """A controller that looks at an object once, and puts what it sees on its board."""

    async def do_pass(self, pass_index: int) -> None: ...


MakeLook = Callable[[CrossClusterRef, Role, Board], Look]
"""Makes the controller of an object for a board."""


class StandIns:
    """Makes nodes of objects that other agents lead, without them.

    Looks change nothing: controllers that follow neither trim nor export nor write to ledgers.

    Args:
        board: has the rows, and perhaps snapshots of what this agent follows.
        host: published as `queue_agent_host`.
        look_at_queue, look_at_consumer: see `MakeLook`.
        clock, origins: of the looks.
    """

    def __init__(
        self,
        board: Board,
        host: str,
        look_at_queue: MakeLook,
        look_at_consumer: MakeLook,
        clock: Clock,
        origins: Origins,
    ) -> None:
        self._board = board
        self._host = host
        self._look_at_queue = look_at_queue
        self._look_at_consumer = look_at_consumer
        self._clock = clock
        self._origins = origins
        self._places = asyncio.Semaphore(AT_ONCE)

    async def queue(self, ref: CrossClusterRef, silence: Silence) -> Mapping[str, Any] | None:
        """The node of a queue; None if the state tables do not have it."""
        board = self._make_board([ref], self._board.registrations_of_queue(ref))
        async with self._places:
            snapshot = await self._see_queue(ref, board)
        if snapshot is None:
            return None
        alert = self._alert(silence, snapshot)
        board.put_queue(replace(snapshot, role=Role.LEADING, alerts={LEADER_SILENT: alert}))
        return board.queue_node(ref)

    async def consumer(self, ref: CrossClusterRef, silence: Silence) -> Mapping[str, Any] | None:
        """The node of a consumer; None if the state tables do not have it."""
        registrations = self._board.registrations_of_consumer(ref)
        board = self._make_board([one.queue for one in registrations], registrations, ref)
        async with self._places:
            snapshot = await self._see_consumer(ref, board)
        if snapshot is None:
            return None
        # Counts of what was lost or skipped are in the ledger, which only the leader opens: zeros would be wrong.
        board.put_consumer(replace(snapshot, role=Role.LEADING, verdicts={}))
        node = board.consumer_node(ref)
        assert node is not None, "it has just been put there"
        alerts = {LEADER_SILENT: self._alert(silence, snapshot).to_map()}
        return {**node, "status": {**node["status"], "alerts": alerts}}

    def _make_board(
        self,
        queues: Collection[CrossClusterRef],
        registrations: Collection[Registration],
        consumer: CrossClusterRef | None = None,
    ) -> Board:
        """A board with the rows of a few objects, and with nothing seen."""
        consumers = {one.consumer for one in registrations} | ({consumer} if consumer else set())
        rows = [self._board.find_queue_row(ref) for ref in dict.fromkeys(queues)]
        consumer_rows = [self._board.find_consumer_row(ref) for ref in consumers]
        mappings = [self._board.find_mapping(ref) for ref in {*queues, *(one.table for one in consumers)}]
        board = Board(self._host, self._clock)
        board.put_registrations(registrations)
        board.put_rows(
            StateRows(
                queues=[row for row in rows if row is not None],
                consumers=[row for row in consumer_rows if row is not None],
                registrations=list(registrations),
                mappings=[row for row in mappings if row is not None],
            )
        )
        return board

    async def _see_queue(self, ref: CrossClusterRef, board: Board) -> QueueSnapshot | None:
        followed = self._board.find_queue(ref)
        if followed is not None and self._is_fresh(followed):
            board.put_queue(followed)
        elif board.find_queue_row(ref) is not None:
            await self._look_at_queue(ref, Role.FOLLOWING, board).do_pass(0)
        return board.find_queue(ref)

    async def _see_consumer(self, ref: CrossClusterRef, board: Board) -> ConsumerSnapshot | None:
        # One that is followed here was compared only with those of its queues that this agent leads.
        if board.find_consumer_row(ref) is None:
            return None
        async with asyncio.TaskGroup() as group:
            for queue in {one.queue for one in board.registrations_of_consumer(ref)}:
                group.create_task(self._see_queue(queue, board))
        await self._look_at_consumer(ref, Role.FOLLOWING, board).do_pass(0)
        return board.all_consumers.get(ref)

    def _is_fresh(self, snapshot: QueueSnapshot) -> bool:
        age = (self._clock.now() - snapshot.pass_instant).total_seconds()
        return snapshot.role is Role.FOLLOWING and snapshot.pass_index > 0 and age <= FRESH_SECONDS

    def _alert(self, silence: Silence, snapshot: QueueSnapshot | ConsumerSnapshot) -> ErrorInfo:
        now = self._clock.now()
        age = max(0.0, (now - snapshot.pass_instant).total_seconds())
        return self._origins.make(now).error(
            f"Agent {silence.leader}, which leads this object, has not answered for {silence.seconds:.1f} s. Another"
            f" agent looked at the object {age:.1f} s ago: it may not know rates, trims, exports and verdicts"
        )
