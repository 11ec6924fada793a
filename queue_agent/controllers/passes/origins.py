"""Where errors come from: the process, the task and the pass."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime

from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.errors import ClusterError, QueueAgentError
from yt_wire.guid import Guid


@dataclass(frozen=True, slots=True)
class Process:
    """This process, as errors name it."""

    host: str
    pid: int
    tid: int


class Origins:
    """Makes the origin of each pass of one task.

    Args:
        process: the one this is.
        thread: name with number, such as `Controller:0`.
        randomness: for ids.
    """

    def __init__(self, process: Process, thread: str, randomness: random.Random) -> None:
        self._process = process
        self._thread = thread
        self._randomness = randomness
        self._fid = randomness.getrandbits(64)

    def make(self, now: datetime) -> Origin:
        """A new origin, with a trace of its own."""
        return Origin(
            host=self._process.host,
            pid=self._process.pid,
            tid=self._process.tid,
            thread=self._thread,
            fid=self._fid,
            trace_id=str(Guid(self._randomness.getrandbits(64), self._randomness.getrandbits(64))),
            span_id=self._randomness.getrandbits(64),
            instant=now,
        )


def describe_pass_error(error: Exception, origin: Origin) -> ErrorInfo:
    """What made a whole pass fail, for those who read the status."""
    match error:
        case ClusterError():
            return origin.cluster_error(error)
        case QueueAgentError():
            return origin.error(str(error))
        case TimeoutError():
            return origin.error("Pass did not end in time")
        case _:
            return origin.error(f"Pass failed: {error!r}")
