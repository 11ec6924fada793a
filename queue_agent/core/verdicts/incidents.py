"""Losses that follow each other are one incident, with a cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from queue_agent.core.verdicts.values import Loss, LossCause, Seconds

INCIDENT_ENDS_AFTER: Final = 600.0

_CLOCKS_DIFFER: Final = 5.0
"""Seconds between the clocks of a cluster, which are those of rows, and that of the agent."""


@dataclass(frozen=True, slots=True)
class Blame:
    """Why rows were trimmed of which no record tells."""

    cause: LossCause = LossCause.FOREIGN
    subject: str | None = None
    data_ttl: Seconds | None = None
    """The cluster removes older rows, so they may have gone that way; None: it removes none."""


NOBODY: Final = Blame()


def blame_age(blame: Blame, written: Seconds | None, loss: Loss | None, now: Seconds) -> Blame:
    """Whom to blame, once it is known how old the first of the removed rows was.

    Args:
        blame: whom to blame if it was not the TTL.
        written: when that row was written; None: not known.
        loss: the last incident; one by TTL that is not over continues, for its rows get older.
        now: when the row was seen to be gone.
    """
    if blame.data_ttl is None or blame.cause is not LossCause.FOREIGN:
        return blame
    if written is None:
        is_old = loss is not None and loss.cause is LossCause.TTL and now - loss.until <= INCIDENT_ENDS_AFTER
    else:
        is_old = now - written >= blame.data_ttl - _CLOCKS_DIFFER
    return Blame(LossCause.TTL) if is_old else blame


def extend_loss(
    loss: Loss | None, lost: int, possibly_lost: int, blame: Blame, now: Seconds, data_weight: int | None = None
) -> Loss:
    """The incident after more rows were trimmed before they were committed: the same, or a new one after a pause.

    Args:
        loss: the last incident.
        lost: rows that the reader cannot have had in flight.
        possibly_lost: the others.
        blame: why.
        now: when.
        data_weight: bytes of the lost rows; None: not known.
    """
    if loss is None or now - loss.until > INCIDENT_ENDS_AFTER:
        return Loss(now, now, blame.cause, blame.subject, lost + possibly_lost, lost, data_weight)
    total = None if loss.data_weight is None or data_weight is None else loss.data_weight + data_weight
    rows = loss.rows + lost + possibly_lost
    return Loss(loss.since, now, blame.cause, blame.subject, rows, loss.proved + lost, total)
