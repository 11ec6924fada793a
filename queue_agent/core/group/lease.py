"""What an agent may rely on, by its own clock: when it may act on an object, and why not."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

NEVER: Final = float("-inf")


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """Times in seconds that follow from the length of a lease; all agents of a stage must have the same.

    Whoever acts has read the mapping no longer than `freshness` ago. Whoever becomes the leader of an object waits for
    `wait`, which is longer than that and an action together: one that led before has noticed meanwhile, or has stopped
    for not having read, and what it had begun has ended. `tests/model` searches all orders of events for one in which
    two act.
    """

    lease: float
    """Without a ping for so long an agent is no member any more; also how long a new leader waits."""

    @property
    def ping_period(self) -> float:
        return self.lease / 6

    @property
    def freshness(self) -> float:
        """For so long what was read of the mapping may be acted by, from the moment it was asked for."""
        return self.lease / 3

    @property
    def action(self) -> float:
        """A single action is done, or given up, within this."""
        return self.lease / 5

    @property
    def margin(self) -> float:
        """For clocks that do not go equally fast."""
        return self.lease / 10

    @property
    def wait(self) -> float:
        """From the moment somebody first sees that it leads an object until it acts."""
        return self.lease


@dataclass(frozen=True, slots=True)
class Hold:
    """Why an agent may not act on an object."""

    reason: str
    """For people; goes on after "since"."""

    seconds: float | None = None
    """For so long at least, if that is known."""


class Tenure(Generic[K]):
    """What one agent leads, and since when.

    Every time is one of the agent's own clock, which never stops and is never set; decisions hold for the moment they
    are asked for.
    """

    def __init__(self, terms: LeaseTerms) -> None:
        self.terms = terms
        self._begun = NEVER
        self._lease_end = NEVER
        self._asked = NEVER
        self._led_since: dict[K, float] = {}
        self._led: Mapping[K, int] = {}
        self._alone_at = NEVER
        self._is_leaving = False

    def begin(self, now: float) -> None:
        """A membership has begun; the one before may have been that of another agent with the same address."""
        self._begun = now

    def prolong(self, sent: float) -> None:
        """The membership was begun, or pinged, by a request sent then, and the cluster has agreed."""
        self._lease_end = sent + self.terms.lease

    def lose(self) -> None:
        """The membership has ended."""
        self._lease_end = NEVER

    def leave(self) -> None:
        """Never act again."""
        self._is_leaving = True

    def is_member(self, now: float) -> bool:
        """Whether what is begun now ends before anybody can think this agent is gone."""
        return not self._is_leaving and now + self.terms.action + self.terms.margin <= self._lease_end

    def is_informed(self, now: float) -> bool:
        """Whether the mapping was read so lately that it may be acted by."""
        return now - self._asked <= self.terms.freshness

    def observe(self, sent: float, received: float, led: Mapping[K, int]) -> None:
        """The mapping was read.

        Args:
            sent: when it was asked for.
            received: when the answer was there.
            led: all that this agent leads by it, each with a number that grows whenever the mapping of it is written:
                others may have led it between two readings. The same object if nothing has changed.
        """
        if led is not self._led:
            self._led_since = {
                key: self._led_since[key] if self._led.get(key) == version else received for key, version in led.items()
            }
        self._led = led
        self._asked = sent

    def saw_alone(self, sent: float) -> None:
        """No other agent has ever been registered, or is a member, asked then."""
        self._alone_at = sent

    def since(self, key: K) -> float:
        """From when on no other agent can have led an object; `NEVER`: it is not led here."""
        return max(self._led_since[key], self._begun) if key in self._led_since else NEVER

    def find_hold(self, key: K, now: float) -> Hold | None:
        """Why the agent may not act on an object now; None: it may, if that takes no longer than `terms.action`."""
        if self._is_leaving:
            return Hold("this agent is being stopped")
        if not self.is_member(now):
            return Hold("this agent is no member of its stage's agents, or may not be one for much longer")
        if not self.is_informed(now):
            return Hold(
                "this agent does not know for certain what it leads: the mapping cannot be read, or not quickly"
            )
        if key not in self._led_since:
            return Hold("another agent leads it, or none")
        since = self.since(key)
        if since < self._alone_at:
            return None
        rest = since + self.terms.wait - now
        if rest <= 0:
            return None
        return Hold(f"the agent that led it before may still act, for {rest:.0f} s more", rest)
