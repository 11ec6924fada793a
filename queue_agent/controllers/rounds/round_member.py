"""An object that takes part in rounds, and the controller that looks at it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from queue_agent.core.values.observed import Poll, Watch
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError

FirstAnswer = Poll | ClusterError | None
"""What the first question of a pass was answered a moment ago; None: it has to be asked."""


class Controller(Protocol):
    """Looks at one object again and again."""

    @property
    def kind(self) -> str:
        """For log lines, such as `queue_controller`."""
        ...

    def find_watch(self) -> Watch | None:
        """The table, on the object's own cluster, that is looked at first in the next pass; None: there is no such."""
        ...

    def pass_quietly(self, pass_index: int, poll: Poll, pass_instant: datetime) -> bool:
        """Do a pass by a poll alone, if nothing has happened since the last one.

        Args:
            pass_index: as for `do_pass`.
            poll: of what `find_watch` gave.
            pass_instant: just before the poll was asked for.

        Returns:
            Whether what `do_pass` would publish has been published. If not, nothing has been done.
        """
        ...

    async def do_pass(self, pass_index: int, first_answer: FirstAnswer = None) -> None:
        """Look at the object once.

        Args:
            pass_index: counts from 0.
            first_answer: to a poll of what `find_watch` gives; not older than a few milliseconds, or an error.
        """
        ...

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """Hear of every pass, how it went."""
        ...


@dataclass(slots=True, eq=False)
class Member:
    """An object that takes part."""

    ref: CrossClusterRef
    controller: Controller
    pass_index: int = 0
    failures: int = 0
    """In a row."""

    not_before: float = 0.0
    """Time of the loop."""

    busy: bool = False
    """It has a pass of its own, or waits for one."""

    slow: bool = False
    """It looks alone."""

    removed: bool = False
    task: asyncio.Task[Any] | None = None
    """While it has a pass of its own."""

    @property
    def log_fields(self) -> dict[str, str]:
        """Of log lines about it."""
        return {"kind": self.controller.kind, "cluster": self.ref.cluster, "path": self.ref.path}
