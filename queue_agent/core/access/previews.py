"""Previews of acts: each is good for one act of whoever asked for it, as long as the world is as it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from queue_agent.core.access.acts import ActRequest

LIFETIME: Final = timedelta(minutes=5)
MAX_PER_OWNER: Final = 16
MAX_COUNT: Final = 512
MAX_PARTITIONS: Final = 100_000
"""Of all previews together: a reset of a queue of very many partitions takes half a kilobyte for each."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What an act would do."""

    plan: Mapping[str, Any]
    """As it is shown."""

    facts: Mapping[str, Any]
    """What the plan rests on: if one of them changes, the act must not be done."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A plan that somebody has seen."""

    owner: str
    """Whose session it was."""

    request: ActRequest
    prepared: Prepared
    made: datetime

    @property
    def partition_count(self) -> int:
        return len(self.prepared.plan.get("partitions", ()))


class Previews:
    """Those that may still be acted upon. Time is given by whoever calls."""

    def __init__(self) -> None:
        self._previews: dict[str, Preview] = {}

    def __len__(self) -> int:
        return len(self._previews)

    def put(self, token: str, preview: Preview) -> None:
        """Keep a preview under a token; who has too many loses the oldest of their own, or else the oldest goes."""
        self._forget_old(preview.made)
        own = [key for key, one in self._previews.items() if one.owner == preview.owner]
        if len(own) >= MAX_PER_OWNER:
            del self._previews[own[0]]
        elif len(self._previews) >= MAX_COUNT:
            del self._previews[next(iter(self._previews))]
        while self._previews and self._partition_count + preview.partition_count > MAX_PARTITIONS:
            del self._previews[next(iter(self._previews))]
        self._previews[token] = preview

    def take(self, token: str, owner: str, request: ActRequest, now: datetime) -> Preview | None:
        """The preview of a token, which is worth nothing afterwards; None if it is not of this owner and request."""
        self._forget_old(now)
        preview = self._previews.get(token)
        if preview is None or preview.owner != owner:
            return None
        del self._previews[token]
        return preview if preview.request == request else None

    @property
    def _partition_count(self) -> int:
        return sum(one.partition_count for one in self._previews.values())

    def _forget_old(self, now: datetime) -> None:
        for token in [token for token, one in self._previews.items() if now - one.made >= LIFETIME]:
            del self._previews[token]


def find_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Names of the facts that are not as they were."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
