"""YTsaurus's errors as the agent's own."""

from __future__ import annotations

from typing import Final

from queue_agent.adapters.cluster.trailer_http import HttpAnswer
from queue_agent.errors import (
    AccessDenied,
    ClusterError,
    ClusterUnavailable,
    ObjectNotFound,
    OutcomeUnknown,
    TabletNotMounted,
)
from yt_wire import http, json_text
from yt_wire.error import ErrorCode, YtError

PROXY_BANNED: Final = 2100
QUEUE_SIZE_LIMIT_EXCEEDED: Final = 904

RETRIABLE_CODES: Final = (
    ErrorCode.TRANSPORT,
    ErrorCode.UNAVAILABLE,
    ErrorCode.REQUEST_QUEUE_SIZE_LIMIT_EXCEEDED,
    QUEUE_SIZE_LIMIT_EXCEEDED,
    PROXY_BANNED,
)
"""Codes of failures on the way: the request may succeed when it is repeated."""

_REFUSALS: Final = (ErrorCode.REQUEST_QUEUE_SIZE_LIMIT_EXCEEDED, QUEUE_SIZE_LIMIT_EXCEEDED, PROXY_BANNED)
"""Codes of requests that were not begun."""

_KINDS: Final[dict[int, type[ClusterError]]] = {
    ErrorCode.TIMEOUT: ClusterUnavailable,
    **dict.fromkeys(RETRIABLE_CODES, ClusterUnavailable),
    ErrorCode.RESOLVE: ObjectNotFound,
    ErrorCode.NO_SUCH_TABLET: TabletNotMounted,
    ErrorCode.TABLET_NOT_MOUNTED: TabletNotMounted,
    ErrorCode.RPC_AUTHENTICATION: AccessDenied,
    ErrorCode.INVALID_CREDENTIALS: AccessDenied,
    ErrorCode.AUTHENTICATION: AccessDenied,
    ErrorCode.AUTHORIZATION: AccessDenied,
    ErrorCode.USER_BANNED: AccessDenied,
}

_OUTCOMES: Final[dict[type[ClusterError], str]] = {
    ClusterUnavailable: "unavailable",
    OutcomeUnknown: "unavailable",
    ObjectNotFound: "not_found",
    TabletNotMounted: "not_mounted",
    AccessDenied: "denied",
}

_CODES: Final[dict[int, ErrorCode]] = {
    401: ErrorCode.AUTHENTICATION,
    403: ErrorCode.AUTHORIZATION,
    500: ErrorCode.UNAVAILABLE,
    502: ErrorCode.UNAVAILABLE,
    503: ErrorCode.UNAVAILABLE,
    504: ErrorCode.UNAVAILABLE,
}
"""By HTTP status."""


def find_error(answer: HttpAnswer) -> YtError | None:
    """The error of an answer: headers and trailers say it first, then status and body."""
    try:
        error = http.find_error(answer.headers)
        if error is None and answer.status >= 400:
            document = json_text.loads(answer.body)
            if isinstance(document, dict) and "message" in document:
                error = YtError.from_map(document)
    except ValueError:
        error = None
    if error is not None or (answer.status == 200 and answer.headers.get(http.RESPONSE_CODE, "0") == "0"):
        return error
    code = _CODES.get(answer.status, ErrorCode.UNAVAILABLE if answer.is_a_strangers else ErrorCode.GENERIC)
    return YtError(f"{_who(answer)} answered HTTP status {answer.status} without an error of its own", code)


def _who(answer: HttpAnswer) -> str:
    return "somebody who does not seem to be a proxy" if answer.is_a_strangers else "the proxy"


def to_cluster_error(error: YtError, request: str) -> ClusterError:
    """Translate an answer; the outermost code of the tree that means anything to the agent decides on the class.

    Args:
        error: what the cluster sent.
        request: command, path and cluster, for the message.
    """
    known = error.find(*_KINDS)
    kind = ClusterError if known is None else _KINDS[known.code]
    result = kind(f"{request} failed: {error}", (known or error).code, error.to_map())
    result.__cause__ = error
    return result


def leaves_open(error: YtError) -> bool:
    """Whether a request that was answered with an error may still have been carried out.

    So it is where a proxy, or something before it, has lost touch with whoever was to carry it out.
    """
    known = error.find(*_KINDS)
    return known is not None and _KINDS[known.code] is ClusterUnavailable and error.find(*_REFUSALS) is None


def unknown_outcome(error: ClusterError) -> ClusterError:
    """The last failure of a request that changes something and may have been carried out.

    Returns:
        OutcomeUnknown in place of ClusterUnavailable; any other error tells that the request was not carried out.
    """
    if not isinstance(error, ClusterUnavailable):
        return error
    message = f"{error.message}. Whether it was carried out is not known: look before you send it again"
    result = OutcomeUnknown(message, error.code, error.details)
    result.__cause__ = error.__cause__
    return result


def has_code(error: ClusterError, code: ErrorCode) -> bool:
    """Whether an error, or one inside of it, has a code."""
    return error.code == code or (error.details is not None and YtError.from_map(error.details).find(code) is not None)


def outcome_of(error: ClusterError | None) -> str:
    """Label of a finished request: one of the words of `ports.RequestObserver`."""
    return "ok" if error is None else _OUTCOMES.get(type(error), "error")
