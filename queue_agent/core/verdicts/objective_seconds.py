"""Counting the seconds of freshness objectives: from poll to poll, what each second was."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import inf
from typing import Final

from queue_agent.core.verdicts.ledger import Reading
from queue_agent.core.verdicts.objectives import Objective, ObjectiveSeconds
from queue_agent.core.verdicts.values import Seconds

COUNTING_PERIOD: Final = 60.0
"""Seconds of a consumer with an objective are counted at least so often."""


def count_poll(
    seconds: ObjectiveSeconds,
    objective: Objective | None,
    readings: Iterable[Reading],
    last: Seconds,
    now: Seconds,
    *,
    is_blind: bool,
    is_complete: bool,
    has_lost: bool,
) -> ObjectiveSeconds:
    """The seconds after a poll.

    A lost row makes the time since the last poll bad, whatever the lag is: trimming ends a lag, and no reader meets its
    objective that way. One partition that is late is enough to be bad, one of which nothing is known to be unknown.

    Args:
        seconds: after the poll before.
        objective: in force; None: nothing is counted.
        readings: of the partitions that can be read.
        last: the poll before.
        now: of the poll.
        is_blind: long after the poll before.
        is_complete: all partitions can be read.
        has_lost: rows were lost since the poll before.
    """
    if objective is None or objective.max_lag is None:
        return stop_counting(seconds)
    pending = [one for one in readings if one.drainable]
    ages = [one.next_row_time for one in pending if one.next_row_time is not None]
    late_at = min(ages, default=inf) + objective.max_lag
    is_known = is_complete and len(ages) == len(pending)
    since = seconds.until
    if since is None:
        return replace(seconds, until=now, late_at=late_at, is_known=is_known)
    if is_blind:
        counted = seconds.added(max(since, now), unknown=max(0.0, now - since))
    else:
        # Polls that found nothing new did not count; nothing had changed until the last of them.
        counted = seconds.through(last)
        since = counted.until or last
        if has_lost:
            counted = counted.added(max(since, now), bad=max(0.0, now - since))
        else:
            counted = replace(counted, late_at=late_at, is_known=is_known).through(now)
    return replace(counted, late_at=late_at, is_known=is_known)


def count_without_poll(seconds: ObjectiveSeconds, objective: Objective | None, now: Seconds) -> ObjectiveSeconds:
    """The seconds while the consumer cannot be polled: they are unknown."""
    if objective is None or objective.max_lag is None:
        return stop_counting(seconds)
    since = seconds.until
    if since is None or now <= since:
        return replace(seconds, until=now) if since is None else seconds
    return replace(seconds.added(now, unknown=now - since), late_at=inf, is_known=False)


def stop_counting(seconds: ObjectiveSeconds) -> ObjectiveSeconds:
    """The seconds while there is no objective: time passes, and is in no part."""
    return seconds if seconds.until is None else replace(seconds, until=None, late_at=inf, is_known=False)
