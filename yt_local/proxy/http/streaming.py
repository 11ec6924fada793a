"""Answers that are sent while they are made."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Final

import structlog
from aiohttp import web

from yt_local.proxy.http.connection_faults import ConnectionDropped

_HELD_BACK_BYTES: Final = 2**20
"""An answer of this size or less is made as a whole before anything is sent: what fails by then is an error as any."""

log = structlog.get_logger(__name__)


async def send_pieces(
    request: web.BaseRequest, pieces: Iterator[bytes], headers: Mapping[str, str]
) -> web.StreamResponse:
    """Answer a request with bytes as they come; others get their turn in between.

    Raises:
        YtError: what making the first megabyte has raised. Later on there is no way to tell an error but to cut the
            answer off.
        ConnectionDropped: the answer has been cut off.
    """
    held = bytearray()
    ended = True
    for piece in pieces:
        held += piece
        if len(held) > _HELD_BACK_BYTES:
            ended = False
            break
        await asyncio.sleep(0)
    if ended:
        return web.Response(body=bytes(held), headers=headers)
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    try:
        await response.write(bytes(held))
        for piece in pieces:
            await response.write(piece)
            await asyncio.sleep(0)
        await response.write_eof()
    except ConnectionError as error:
        raise ConnectionDropped from error
    except Exception as error:
        log.warning("answer cut off", path=request.path, error=repr(error))
        raise ConnectionDropped from error
    return response
