"""Errors with the HTTP status that tells of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from aiohttp import web

from queue_agent.errors import AccessDenied, ActRefused, ClusterError, ClusterUnavailable, ObjectNotFound
from yt_wire.error import ErrorCode, YtError

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.Response]]

TOKENS_ARE_TAKEN: Final = {"WWW-Authenticate": "OAuth"}
"""Header that has a program send its token; browsers ask nobody for one because of it."""


class Refusal(YtError):
    """A request that is answered with an error.

    Args:
        status: of HTTP.
        headers: that go with it.
    """

    def __init__(
        self,
        message: str,
        code: ErrorCode | int,
        status: int,
        *causes: YtError,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, code, inner_errors=causes)
        self.status = status
        self.headers = headers or {}


def need_login(message: str, *, takes_tokens: bool = False) -> Refusal:
    """For whoever has not logged in.

    Args:
        takes_tokens: whether a program may send its token with the request.
    """
    headers = TOKENS_ARE_TAKEN if takes_tokens else {}
    return Refusal(message, ErrorCode.AUTHENTICATION, 401, headers=headers)


def forbid(message: str) -> Refusal:
    """For who must not do this."""
    return Refusal(message, ErrorCode.AUTHORIZATION, 403)


def refusing(handler: Handler) -> Handler:
    """A handler whose errors of clusters and acts are answers; none of them may be stored anywhere."""

    async def handle(request: web.Request) -> web.Response:
        try:
            response = await handler(request)
        except ActRefused as error:
            raise Refusal(str(error), ErrorCode.GENERIC, 409) from error
        except ClusterError as error:
            causes = [] if error.details is None else [YtError.from_map(error.details)]
            raise Refusal(error.message, error.code, _status(error), *causes) from error
        response.headers["Cache-Control"] = "no-store"
        return response

    return handle


def _status(error: ClusterError) -> int:
    match error:
        case AccessDenied():
            return 401 if error.code == ErrorCode.AUTHENTICATION else 403
        case ObjectNotFound():
            return 404
        case ClusterUnavailable():
            return 503
        case _:
            return 400
