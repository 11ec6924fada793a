"""Whether what a trimming plan was made from can still be believed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from queue_agent.core.queues.snapshots import ConsumerSnapshot
from queue_agent.core.state.rows import Registration
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef

STATE_AGE_LIMIT = timedelta(minutes=1)
"""Registrations and rows read longer ago say nothing about vital consumers of today."""

_LEAST_POSITION_AGE_LIMIT = timedelta(seconds=10)
_POSITION_AGE_IN_PASSES = 5


def find_reason_to_wait(
    state_instant: datetime | None,
    registrations: Collection[Registration],
    consumers: Mapping[CrossClusterRef, ConsumerSnapshot],
    pass_period: timedelta,
    now: datetime,
    origin: Origin,
) -> ErrorInfo | None:
    """A reason not to carry out what was decided; None if there is none.

    Args:
        state_instant: when the state tables were read successfully last; None: never.
        registrations: those of the queue.
        consumers: the snapshots decided by.
        pass_period: of the consumers' controllers.
        now: by the clock that the instants are of.
        origin: of errors.
    """
    if state_instant is None or not _is_recent(state_instant, now, STATE_AGE_LIMIT):
        since = "never" if state_instant is None else encode_instant(state_instant)
        return origin.error(f"Trimming iteration skipped since the state tables were read last: {since}")
    limit = max(_LEAST_POSITION_AGE_LIMIT, pass_period * _POSITION_AGE_IN_PASSES)
    for registration in sorted(registrations):
        position = consumers.get(registration.consumer)
        if registration.vital and position is not None and not _is_recent(position.pass_instant, now, limit):
            return origin.error(
                f'Trimming iteration skipped since vital consumer "{registration.consumer}" was looked at last:'
                f" {encode_instant(position.pass_instant)}"
            )
    return None


def _is_recent(instant: datetime, now: datetime, limit: timedelta) -> bool:
    """Whether an instant is no older than the limit; one to come tells of a clock that was set back, not of its age."""
    return timedelta(0) <= now - instant <= limit
