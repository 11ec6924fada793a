"""What can go wrong with a request, each with the HTTP code it is answered with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPException
from typing import ClassVar, Final

from yt.packages.requests.exceptions import Timeout
from yt.packages.urllib3.exceptions import NewConnectionError, ReadTimeoutError
from yt.wrapper import YtError

TIMEOUT: Final = 3
LOCK_CONFLICT: Final = 1700
INVALID_PRODUCER_EPOCH: Final = 3101
ZOMBIE_PRODUCER_EPOCH: Final = 3102
CONFLICTS: Final = (LOCK_CONFLICT, INVALID_PRODUCER_EPOCH, ZOMBIE_PRODUCER_EPOCH)
"""Codes that say that somebody else was faster; who tries again may be luckier."""


class CommentServiceError(Exception):
    """A request was not done; the message is for whoever sent it."""

    status: ClassVar[int]


class IncorrectRequest(CommentServiceError):
    status = 400


class NotFound(CommentServiceError):
    status = 404


class Conflict(CommentServiceError):
    status = 409


class Unavailable(CommentServiceError):
    status = 503


class TimedOut(CommentServiceError):
    status = 524


@contextmanager
def cluster_failures() -> Iterator[None]:
    """What ytsaurus-client raises inside becomes a failure of ours."""
    try:
        yield
    except (YtError, OSError, HTTPException) as error:  # requests' errors are OSErrors
        raise _failure(error) from error


def is_conflict(error: YtError) -> bool:
    """Whether two wrote the same at the same time."""
    return any(error.contains_code(code) for code in CONFLICTS)


def _failure(error: YtError | OSError | HTTPException) -> CommentServiceError:
    if not isinstance(error, YtError):
        # Some timeouts arrive as the cause of a broken connection.
        causes = (error, *error.args)
        if any(isinstance(cause, Timeout | ReadTimeoutError | TimeoutError) for cause in causes):
            return TimedOut("The cluster did not answer in time")
        if any(isinstance(getattr(cause, "reason", None), NewConnectionError) for cause in causes):
            return Unavailable("The cluster cannot be reached: nothing was done")
        return Unavailable(
            "The cluster did not answer: what was asked for may have been done. Look before you repeat it"
        )
    words = "; ".join(_messages(error))
    if is_conflict(error):
        return Conflict(f"Somebody else has written there at the same time: {words}")
    if error.contains_code(TIMEOUT):
        return TimedOut(words)
    return Unavailable(words)


def _messages(error: YtError) -> Sequence[str]:
    """What the cluster says, from the outside in."""
    described = error.simplify()
    # The client's own words about its request are around that; they are for the log alone.
    pending = [*(described.get("inner_errors") or [described])]
    messages: list[str] = []
    while pending:
        item = pending.pop(0)
        messages.append(str(item["message"]).partition("\n")[0])
        pending.extend(item.get("inner_errors", ()))
    return messages
