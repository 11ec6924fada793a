"""Which passes hang: they should have begun or ended long ago, and no deadline has ended them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

NEVER: Final = math.inf
"""No sign has to follow: there is nothing to be done."""


@dataclass(frozen=True, slots=True)
class Sign:
    """The last sign of life of one kind of passes: one has begun or ended, or they rest."""

    given_at: float
    """Seconds of a clock that only grows."""

    next_within: float
    """Seconds in which the next sign comes whatever clusters do; NEVER if none has to."""


def find_hung(signs: Mapping[str, Sign], now: float, patience: float) -> list[str]:
    """Kinds of passes whose next sign is overdue.

    Args:
        signs: the last ones, by kind.
        now: seconds of the same clock.
        patience: seconds by which a sign may be late, as on a machine that has too much to do.
    """
    return sorted(kind for kind, sign in signs.items() if now - sign.given_at > sign.next_within + patience)
