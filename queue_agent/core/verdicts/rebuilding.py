"""A queue that was resharded or created again: told to a consumer until it shows that it knows."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from queue_agent.core.values.encoding import encode_instant


class RebuildKind(enum.Enum):
    """What became of a queue."""

    RESHARD = "reshard"
    """It has other tablets: rows of one key may be in another partition than before."""

    RECREATION = "recreation"
    """It was removed and created again: offsets are of the queue before."""


@dataclass(frozen=True, slots=True)
class Rebuild:
    """What a consumer has to know of a partition."""

    kind: RebuildKind
    at: float
    """When an agent saw it, in seconds since the epoch."""

    @property
    def phrase(self) -> str:
        """To be put into a sentence."""
        verb = "re-created" if self.kind is RebuildKind.RECREATION else "resharded"
        return f"queue was {verb} at {datetime.fromtimestamp(self.at, UTC):%Y-%m-%dT%H:%M:%SZ}"

    def to_map(self) -> dict[str, Any]:
        return {"kind": self.kind.value, "time": encode_instant(datetime.fromtimestamp(self.at, UTC))}


def newest(rebuilds: Iterable[Rebuild | None]) -> Rebuild | None:
    """The last of those that somebody does not know yet."""
    return max((one for one in rebuilds if one is not None), key=lambda one: one.at, default=None)
