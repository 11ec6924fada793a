"""Whether nobody reads for a consumer any more."""

from __future__ import annotations

from typing import Final

from queue_agent.core.verdicts.position import Position
from queue_agent.core.verdicts.queue_state import QueueState
from queue_agent.core.verdicts.values import Seconds, Verdict

_SILENT: Final = frozenset({Verdict.STOPPED, Verdict.NOT_STARTED})


def find_silence(state: QueueState) -> Seconds | None:
    """For how long a consumer has been silent in all partitions where it has rows to read.

    Returns:
        None if it reads somewhere, has nothing to read, or if that is not known of a partition: an error is no death.
    """
    verdict = state.verdict
    if verdict is None or verdict.unreadable_partition_count or not verdict.partitions:
        return None
    behind = [index for index, one in verdict.partitions.items() if one.drainable]
    if not behind or any(verdict.partitions[index].activity not in _SILENT for index in behind):
        return None
    assert state.last_poll is not None, "there is a verdict on partitions"
    return min(_silence(state.positions[index], state.last_poll) for index in behind)


def _silence(position: Position, now: Seconds) -> Seconds:
    """Without an offset there is no commit to count from: it has had rows to read since it is `not_started`."""
    if position.activity is Verdict.NOT_STARTED:
        return now - position.since
    return position.silent
