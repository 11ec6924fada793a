"""When an account will be full, at the rate at which it has grown lately, and whose rows make it grow."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final, NamedTuple

from queue_agent.core.verdicts.recent import PARTS, rate_of
from queue_agent.core.verdicts.sentences import duration
from queue_agent.core.verdicts.values import Forecast, Rate, Seconds

WINDOW: Final[Seconds] = 6 * 3600.0
"""Growth is that of the last hours, or of all readings while there are fewer."""

_LEAST: Final[Seconds] = 60.0
"""Of readings, before anything is forecast."""

_LEAST_READINGS: Final = 5
_DISTANCES: Final = 4 * PARTS
"""Readings in a window are at least this part of it apart, but for the last."""

_HORIZON: Final[Seconds] = 30 * 86400.0
"""What is later is not worth a number."""

SOON: Final[Seconds] = 86400.0
_MOSTLY: Final = 0.5
"""Share of the growth from which on somebody who holds rows is the one to act."""

DISK_SPACE: Final = "disk_space"
CHUNK_COUNT: Final = "chunk_count"
_PER_MEDIUM: Final = "disk_space_per_medium"

ATTRIBUTES: Final = ("resource_limits", "resource_usage")
"""Of an account."""


class Account(NamedTuple):
    """An account on a cluster."""

    cluster: str
    name: str

    def __str__(self) -> str:
        return f"{self.name} on {self.cluster}"


class Resource(NamedTuple):
    """Something that an account has a limit of."""

    name: str
    medium: str = ""
    """Of disk space."""

    def __str__(self) -> str:
        return f"disk space of medium {self.medium}" if self.medium else "chunks"


class Amount(NamedTuple):
    """Of a resource: bytes, or a number of chunks."""

    used: int
    limit: int


class Holder(NamedTuple):
    """Who keeps rows of a queue from being trimmed."""

    queue: str
    subject: str
    """A vital consumer, or the name of an export."""


@dataclass(frozen=True, slots=True)
class Readings:
    """Values of something over time, oldest first; those too close together are left out."""

    values: Sequence[tuple[Seconds, float]] = ()

    def after(self, now: Seconds, value: float) -> Readings:
        """With one more; one at the same time as the last, or earlier, adds nothing."""
        if self.values and now <= self.values[-1][0]:
            return self
        values = [*self.values]
        while len(values) > 1 and values[1][0] <= now - WINDOW:
            del values[0]
        if len(values) > 1 and values[-1][0] - values[-2][0] < (now - values[0][0]) / _DISTANCES:
            del values[-1]
        return Readings([*values, (now, value)])

    @property
    def growth(self) -> Rate | None:
        """A second, in equal parts of the window; None: not known yet."""
        if len(self.values) < _LEAST_READINGS:
            return None
        end = self.values[-1][0]
        start = max(self.values[0][0], end - WINDOW)
        length = end - start
        if length < _LEAST:
            return None
        bounds = [self._at(start + length * part / PARTS) for part in range(PARTS + 1)]
        return rate_of([after - before for before, after in pairwise(bounds)], length)

    def _at(self, instant: Seconds) -> float:
        """The value at an instant, on the line between two readings."""
        index = bisect_left(self.values, instant, lo=1, hi=len(self.values) - 1, key=lambda one: one[0])
        (since, before), (until, after) = self.values[index - 1], self.values[index]
        share = min(1.0, (instant - since) / (until - since))
        return before + (after - before) * share


@dataclass(frozen=True, slots=True)
class AccountState:
    """What is known of an account from its readings."""

    account: Account
    amounts: Mapping[Resource, Amount] = field(default_factory=dict)
    used: Mapping[Resource, Readings] = field(default_factory=dict)
    held: Mapping[Holder, Readings] = field(default_factory=dict)
    """Bytes on disk of the rows that somebody holds."""

    error: str | None = None
    """Why it could not be read the last time."""


@dataclass(frozen=True, slots=True)
class Quota:
    """The resource of an account that is used up first."""

    account: Account
    resource: Resource
    amount: Amount
    growth: float | None
    """A second; None: not known."""

    time_to_full: Forecast
    """The cause is `growth`, `full`, or says why there is no value; the subject is whoever holds most of the growth."""

    held_share: float | None
    """Share of the growth that is rows which vital consumers and exports hold; None: not known, or nothing grows."""

    holder: Holder | None
    """Whose rows grow most."""

    @property
    def is_urgent(self) -> bool:
        """Whether the account is full within a day because of rows that somebody holds."""
        left = self.time_to_full.value
        return left is not None and left < SOON and (self.held_share or 0.0) > _MOSTLY

    def is_held_by(self, queue: str) -> bool:
        """Whether it is urgent, and rows of this queue make the account grow most."""
        return self.is_urgent and self.holder is not None and self.holder.queue == queue

    @property
    def sentence(self) -> str:
        """What was measured, as one sentence."""
        used = f"{self.amount.used:,} of {self.amount.limit:,} {'bytes of ' if self.resource.medium else ''}"
        left = self.time_to_full.value
        when = "is full" if left == 0 else f"will be full in {duration(left)}" if left is not None else "is not full"
        text = f"Account {self.account} {when}: {used}{self.resource} used"
        if self.holder is not None and self.held_share is not None:
            text += f"; {self.holder.subject} holds rows of {self.holder.queue}"
            text += f" ({min(1.0, self.held_share):.0%} of the growth is held)"
        return text

    def to_map(self) -> dict[str, Any]:
        """The published form."""
        return {
            "account": self.account.name,
            "resource": self.resource.name,
            "medium": self.resource.medium or None,
            "used": self.amount.used,
            "limit": self.amount.limit,
            "growth_per_second": self.growth,
            "held_share": self.held_share,
            **self.time_to_full.to_map(),
        }


def parse_amounts(attributes: Mapping[str, Any]) -> dict[Resource, Amount]:
    """Disk space by medium, and chunks; what has no limit, or makes no sense, is left out.

    Args:
        attributes: `ATTRIBUTES` of an account.
    """
    limits, usage = (_map(attributes.get(name)) for name in ATTRIBUTES)
    pairs = [(Resource(CHUNK_COUNT), usage.get(CHUNK_COUNT), limits.get(CHUNK_COUNT))]
    used = _map(usage.get(_PER_MEDIUM))
    pairs += [
        (Resource(DISK_SPACE, str(medium)), used.get(medium, 0), limit)
        for medium, limit in _map(limits.get(_PER_MEDIUM)).items()
    ]
    # A medium that nobody uses, and may not be used, is not full.
    return {
        resource: Amount(used, limit)
        for resource, used, limit in pairs
        if isinstance(used, int) and isinstance(limit, int) and (used or limit)
    }


def observe(
    state: AccountState, amounts: Mapping[Resource, Amount], held: Mapping[Holder, float], now: Seconds
) -> AccountState:
    """The state after a reading.

    Args:
        state: before.
        amounts: of all resources; others are forgotten.
        held: bytes on disk by holder; who holds nothing any more is forgotten.
        now: of the reading.
    """
    return AccountState(
        state.account,
        amounts,
        {one: state.used.get(one, Readings()).after(now, amount.used) for one, amount in amounts.items()},
        {one: state.held.get(one, Readings()).after(now, size) for one, size in held.items()},
    )


def with_error(state: AccountState, error: str) -> AccountState:
    """The state after a reading that failed; the next one that succeeds goes on from those before."""
    return replace(state, error=error)


def find_quotas(state: AccountState) -> Sequence[Quota]:
    """Forecasts of all resources, the first one to be used up first; none while the account cannot be read."""
    if state.error is not None:
        return []
    held = {one: rate.mean for one, readings in state.held.items() if (rate := readings.growth) and rate.mean > 0}
    holder = max(held, key=lambda one: (held[one], one), default=None)
    disk = sum(
        rate.mean for one, readings in state.used.items() if one.medium and (rate := readings.growth) and rate.mean > 0
    )
    share = sum(held.values()) / disk if disk else None
    subject = None if holder is None else holder.subject
    found = []
    for resource, amount in state.amounts.items():
        rate = state.used[resource].growth
        left = _time_to_full(amount, rate)
        growth = None if rate is None else rate.mean
        found.append(Quota(state.account, resource, amount, growth, replace(left, subject=subject), share, holder))
    return sorted(found, key=_by_urgency)


def _by_urgency(quota: Quota) -> tuple[bool, float, float, Resource]:
    """Without a forecast, the one that has least left comes first."""
    left, amount = quota.time_to_full.value, quota.amount
    return left is None, left or 0.0, -amount.used / max(1, amount.limit), quota.resource


def _time_to_full(amount: Amount, growth: Rate | None) -> Forecast:
    left = amount.limit - amount.used
    if left <= 0:
        return Forecast(0.0, "full", 0.0, 0.0)
    if growth is None:
        return Forecast(None, "unknown")
    earliest, value, latest = (_seconds(left, rate) for rate in (growth.high, growth.mean, growth.low))
    if value is None:
        return Forecast(None, "not_growing" if growth.mean <= 0 else "none", earliest)
    return Forecast(value, "growth", earliest, latest)


def _seconds(left: int, rate: float) -> Seconds | None:
    seconds = left / rate if rate > 0 else _HORIZON
    return seconds if seconds < _HORIZON else None


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
