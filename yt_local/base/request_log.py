"""The requests that a cluster got, for tests to look at."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from yt_local.base.faults import EVERYTHING, Scope

CAPACITY: Final = 10_000
"""Requests that are remembered where they are; the oldest are forgotten first."""


@dataclass(slots=True)
class LoggedRequest:
    """One request for a command, however it ended."""

    user: str
    command: str
    parameters: Mapping[str, Any]
    """As they were sent, by whatever way."""

    status: int | None = None
    """Of HTTP; None: no answer, none yet, or one over RPC."""

    error_code: int = 0
    """Of YTsaurus's error; 0: none."""

    fault: str | None = None
    """Kind of the fault that befell the whole request, such as `drop`."""

    started: float = field(default_factory=time.monotonic)
    """Seconds on the machine's monotonic clock, which all its processes share."""

    finished: float | None = None
    """When nothing more was done about it; None: not yet."""


class RequestLog:
    """Requests in the order in which they came; nothing is kept before `start`."""

    def __init__(self) -> None:
        self._requests: deque[LoggedRequest] = deque(maxlen=0)

    def start(self) -> None:
        """Keep requests from now on."""
        self._requests = deque(maxlen=CAPACITY)

    def add(self, user: str, command: str, parameters: Mapping[str, Any]) -> LoggedRequest:
        """A request that has come; whoever answers it notes the end."""
        request = LoggedRequest(user, command, parameters)
        self._requests.append(request)
        return request

    def find(self, scope: Scope = EVERYTHING) -> Sequence[LoggedRequest]:
        """Those that were about something; a batch is if any part of it is."""
        return [request for request in self._requests if scope.concerns_any(request.command, request.parameters)]

    def clear(self) -> None:
        self._requests.clear()
