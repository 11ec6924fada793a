"""Whether this agent may act, asked just before it does: who else might be acting is a matter of time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from queue_agent.core.group.lease import Hold, LeaseTerms, Tenure
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.terms import Term
from queue_agent.errors import ActionRefused


def boot_seconds() -> float:
    """Seconds on a clock that is never set, and runs on while the process, or the machine, is stopped."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class Leadership:
    """What this agent leads, and what it is doing about it; implements `ports.LeadershipGuard`.

    What one agent does for a whole stage is here too: whoever decides on it says so, and others ask.

    Args:
        address: of this agent, as the mapping names it.
        lease: of all agents of the stage.
    """

    def __init__(self, address: str, lease: timedelta) -> None:
        self.address = address
        self._tenure: Tenure[CrossClusterRef] = Tenure(LeaseTerms(lease.total_seconds()))
        self.is_elected = False
        """Whether the membership is the one elected to keep the state tables."""

        self.distributes = False
        """Whether this agent is the one that says who leads what."""

        self._actions = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def terms(self) -> LeaseTerms:
        return self._tenure.terms

    @property
    def is_member(self) -> bool:
        """Whether others still count on this agent."""
        return self._tenure.is_member(boot_seconds())

    @property
    def is_informed(self) -> bool:
        """Whether the state tables have been read lately."""
        return self._tenure.is_informed(boot_seconds())

    @property
    def keeps_tables(self) -> bool:
        """Whether this agent is the one that keeps the state tables."""
        return self.is_elected and self.is_member

    def begin(self) -> None:
        """A membership has begun."""
        self._tenure.begin(boot_seconds())

    def prolong(self, sent: float) -> None:
        """The cluster has agreed to a request for membership, sent then."""
        self._tenure.prolong(sent)

    def lose(self) -> None:
        """The membership has ended."""
        self.is_elected = False
        self._tenure.lose()

    def observe(self, sent: float, led: Mapping[CrossClusterRef, int]) -> None:
        """The mapping, asked for then, has just been read; see `Tenure.observe`, the same object if nothing changed."""
        self._tenure.observe(sent, boot_seconds(), led)

    def saw_alone(self, sent: float) -> None:
        """No other agent has ever been registered, or is a member, asked then."""
        self._tenure.saw_alone(sent)

    def find_hold(self, refs: Collection[CrossClusterRef]) -> Hold | None:
        """Why this agent may not act on all these objects now; None: it may."""
        now = boot_seconds()
        holds = (self._tenure.find_hold(ref.table, now) for ref in refs)
        return next((hold for hold in holds if hold is not None), None)

    def find_term(self, refs: Collection[CrossClusterRef]) -> Term:
        """See `ports.LeadershipGuard`."""
        return Term(max(self._tenure.since(ref.table) for ref in refs), boot_seconds())

    def permit(self, refs: Collection[CrossClusterRef]) -> ActionPermit:
        """See `ports.LeadershipGuard`."""
        return ActionPermit(self, refs)

    @contextmanager
    def acting(self, refs: Collection[CrossClusterRef]) -> Iterator[ActionPermit]:
        """See `ports.LeadershipGuard`."""
        self._actions += 1
        self._idle.clear()
        try:
            yield self.permit(refs)
        finally:
            self._actions -= 1
            if not self._actions:
                self._idle.set()

    async def retire(self) -> None:
        """Never act again; returns when all that was begun has ended."""
        self._tenure.leave()
        await self._idle.wait()


@dataclass(frozen=True, slots=True)
class ActionPermit:
    """`ports.Permit` for what has to be led here."""

    leadership: Leadership
    refs: Collection[CrossClusterRef]

    @property
    def seconds(self) -> float:
        """How long an action may take."""
        return self.leadership.terms.action

    def check(self) -> None:
        """Raise `ActionRefused` if the action may not begin now."""
        hold = self.leadership.find_hold(self.refs)
        if hold is not None:
            names = ", ".join(f'"{ref}"' for ref in self.refs)
            raise ActionRefused(f"{names} left alone since {hold.reason}")
