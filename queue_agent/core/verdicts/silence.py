"""Whether nobody reads for a consumer any more."""

from __future__ import annotations

from typing import Final

from queue_agent.core.verdicts.position import Position
from queue_agent.core.verdicts.queue_state import QueueState
from queue_agent.core.verdicts.values import QueueVerdict, Seconds, Verdict

_SILENT: Final = frozenset({Verdict.STOPPED, Verdict.NOT_STARTED})


def find_silence(state: QueueState) -> Seconds | None:
    """For how long a consumer has been silent in all partitions where it has rows to read.

    Returns:
        None if it reads somewhere, has nothing to read, or if that is not known of a partition: an error is no death.
    """
    behind = [] if state.verdict is None else _silent_partitions(state.verdict)
    if not behind:
        return None
    assert state.last_poll is not None, "there is a verdict on partitions"
    return min(_silence(state.positions[index], state.last_poll) for index in behind)


def is_silent(verdict: QueueVerdict) -> bool:
    """Whether `find_silence` finds any."""
    return bool(_silent_partitions(verdict))


def _silent_partitions(verdict: QueueVerdict) -> list[int]:
    """Those with rows to read, if nobody reads any of them."""
    behind = [index for index, one in verdict.partitions.items() if one.drainable]
    is_known = not verdict.unreadable_partition_count
    return behind if is_known and all(verdict.partitions[index].activity in _SILENT for index in behind) else []


def _silence(position: Position, now: Seconds) -> Seconds:
    """Without an offset there is no commit to count from: it has had rows to read since it is `not_started`."""
    if position.activity is Verdict.NOT_STARTED:
        return now - position.since
    return position.silent
