"""Manual of a command: what its parameters and its descriptor do not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from yt_local.calls.meanings import SHARED

NOTHING: Final = "`{}`"
"""The answer of a structured command without a result."""

NO_SUCH_NODE: Final = "no such node"
LEADS_NOWHERE: Final = "the path leads nowhere"
EXISTS: Final = "something is there already, and neither `ignore_existing` nor `force` says what to do"
LONG_STRING: Final = "a string is longer than 64 KiB"
LONG_NAME: Final = "a name is longer than 4 KiB"
NOT_REGISTERED: Final = "the consumer is not registered for the queue; permissions"
OVER_LIMITS: Final = "the account would have more than its `@resource_limits`"
HAS_ANOTHER_LOCK: Final = (
    "another transaction has a lock that does not go with it (400 and 401: the own one, or a descendant)"
)
WRITTEN_BY_OTHERS: Final = "another transaction has locked it, or it has been changed while it was written to"
TABLET_STATE_ERRORS: Final = {
    1: "no table, or a static one; a range of tablets that is none; inside of a master transaction",
    402: "another transaction has locked the table",
    500: NO_SUCH_NODE,
}
READ_ERRORS: Final = {
    1702: "a tablet is neither mounted nor frozen",
    1736: "a replicated table has no synchronous replica that has everything",
    11000: "no such tablet transaction",
}


@dataclass(frozen=True, slots=True)
class Manual:
    """One command as people look it up; texts are Markdown of one line."""

    does: str
    result: str = NOTHING
    errors: Mapping[int, str] = field(default_factory=dict)
    """When which code is answered, beyond what any command may answer; 1 is for errors without a code of their own."""

    ignored: tuple[str, ...] = ()
    """Parameters of the real command that are accepted and have no effect, whether they are read or not."""

    refused: str = ""
    """Values and parameters that the real command takes and this one answers with an error."""

    differs: str = ""
    """What else is otherwise than on a real cluster."""

    parameters: Mapping[str, str] = field(default_factory=dict)
    """What parameters are for, unless `meanings.SHARED` says it."""

    def meaning(self, parameter: str) -> str | None:
        """What a parameter is for, in one line; None if nobody has written that down."""
        return self.parameters.get(parameter, SHARED.get(parameter))
