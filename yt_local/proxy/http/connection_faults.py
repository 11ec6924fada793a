"""What a fault does to an HTTP request as a whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import assert_never

from aiohttp import web

from yt_local.base.faults import Cut, Drop, Fault, Hang, HttpStatus, OnConnection


class ConnectionDropped(Exception):
    """There will be no (further) answer on this connection."""


async def answer_faultily(
    fault: Fault, request: web.BaseRequest, answer: Callable[[], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Answer a request, or do not, as a fault wants it.

    Args:
        fault: of the connection.
        request: what is to be answered.
        answer: gives the right answer.

    Raises:
        ConnectionDropped: the connection is to be closed.
    """
    effect = fault.effect
    assert isinstance(effect, OnConnection)
    match effect:
        case Hang():
            await fault.ended.wait()
        case Drop(executed=True):
            await answer()
        case Drop():
            pass
        case Cut():
            await _send_half(request, await answer())
        case HttpStatus(status):
            return web.Response(status=status)
        case _:
            assert_never(effect)
    raise ConnectionDropped


def hang_up(request: web.BaseRequest) -> web.Response:
    """Close the connection; what has been sent arrives, the answer returned does not."""
    if request.transport is not None:
        request.transport.close()
    return web.Response()


async def _send_half(request: web.BaseRequest, whole: web.StreamResponse) -> None:
    assert isinstance(whole, web.Response), "answers that are to be cut are made as a whole"
    content = whole.body
    assert isinstance(content, bytes)
    whole.headers.popall("Content-Length", None)
    half = web.StreamResponse(status=whole.status, headers=whole.headers)
    half.content_length = len(content)
    await half.prepare(request)
    await half.write(content[: len(content) // 2])
