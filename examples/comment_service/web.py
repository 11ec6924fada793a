"""The service over HTTP."""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from pydantic import ValidationError

from examples.comment_service.api_models import ErrorDocument, Parameters
from examples.comment_service.clients import Clients
from examples.comment_service.events import Events
from examples.comment_service.failures import CommentServiceError, Conflict, IncorrectRequest
from examples.comment_service.methods import METHODS, Method
from examples.comment_service.openapi import build_openapi
from examples.comment_service.settings import Settings
from examples.comment_service.store import CommentStore
from examples.comment_service.tables import Tables
from examples.comment_service.turns import Turns

log = logging.getLogger("comment_service")

PAGE: Final = Path(__file__).parent / "static"
MAX_BODY_SIZE: Final = 4 << 20
"""Of a request, in bytes; a text of the greatest length is less, however it is escaped."""

TURN_PATIENCE: Final = 60.0
LONGEST_PAUSE: Final = 1.0
"""Seconds between two attempts at what conflicts with another change."""

HEADERS: Final = {
    # The page and what it needs come from here; texts of comments can bring nothing along.
    "Content-Security-Policy": "default-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}


def build_app(
    settings: Settings, instance: str, now: Callable[[], int], new_guid: Callable[[], str]
) -> web.Application:
    """The service as an application of aiohttp.

    Args:
        settings: where the cluster is.
        instance: name of this process among those that serve the same tables.
        now: POSIX seconds.
        new_guid: a guid that nobody has yet.
    """
    tables = Tables(settings.table_path)
    clients = Clients(settings.cluster, settings.timeout)
    store = CommentStore(
        clients, tables, Events(tables, instance), settings.transaction_timeout, now=now, new_guid=new_guid
    )
    pool = ThreadPoolExecutor(settings.workers, thread_name_prefix="comments")
    turns = Turns(TURN_PATIENCE)
    pauses = [min(LONGEST_PAUSE, 0.05 * 2**attempt) for attempt in range(settings.attempts - 1)]

    async def end(_: web.Application) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(pool.shutdown)
        clients.close()

    app = web.Application(middlewares=[_log_requests(), _errors_as_documents], client_max_size=MAX_BODY_SIZE)
    app.cleanup_ctx.append(end)
    for method in METHODS:
        app.router.add_route(method.verb, method.path, _handler(method, store, pool, turns, pauses))
    app.router.add_get("/openapi.json", _openapi)
    app.router.add_get("/", _page)
    app.router.add_static("/static", PAGE)
    app.on_response_prepare.append(_add_headers)
    return app


def _handler(
    method: Method, store: CommentStore, pool: ThreadPoolExecutor, turns: Turns, pauses: Sequence[float]
) -> Handler:
    """Reads the parameters, and lets a thread of the pool work on them; after a conflict again, after each pause."""

    async def handle(request: web.Request) -> web.Response:
        parameters = await _read_parameters(method, request)
        loop = asyncio.get_running_loop()
        async with _turn(method, parameters, turns):
            for pause in [*pauses, None]:
                try:
                    document = await loop.run_in_executor(pool, _run, method, store, parameters)
                    break
                except Conflict:  # nothing was done
                    if pause is None:
                        raise
                    await asyncio.sleep(pause * random.random())
        return web.Response(status=method.status, body=document, content_type="application/json")

    return handle


def _run(method: Method, store: CommentStore, parameters: Parameters) -> bytes:
    # The document is written here, too: one of 50,000 comments takes a while.
    return method.answer.dump_json(method.run(store, parameters))


def _turn(method: Method, parameters: Parameters, turns: Turns) -> AbstractAsyncContextManager[None]:
    topic_id: str | None = getattr(parameters, "topic_id", None)
    if method.verb == "GET" or topic_id is None:
        return nullcontext()
    return turns.turn(topic_id)


async def _read_parameters(method: Method, request: web.Request) -> Parameters:
    try:
        if method.verb == "GET":
            return method.parameters.model_validate(dict(request.query))
        return method.parameters.model_validate_json(await request.read())
    except ValidationError as error:
        raise IncorrectRequest(_describe(error)) from error


def _describe(error: ValidationError) -> str:
    return "; ".join(
        ": ".join([*(str(part) for part in item["loc"]), item["msg"]])
        for item in error.errors(include_url=False, include_input=False)
    )


@web.middleware
async def _errors_as_documents(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except CommentServiceError as error:
        return _error(error.status, str(error))
    except web.HTTPRequestEntityTooLarge:
        return _error(400, f"A request may have {MAX_BODY_SIZE} bytes")
    except web.HTTPException as error:
        if error.status < 400:
            raise
        return _error(error.status, error.reason)
    except Exception:  # a bug: say so in the log, and to the client in the form of all errors
        log.exception("Request failed because of a bug")
        return _error(500, "Internal error")


def _error(status: int, message: str) -> web.Response:
    return web.Response(
        status=status, text=ErrorDocument(error=message).model_dump_json(), content_type="application/json"
    )


def _log_requests() -> Middleware:
    """A middleware: one line at the start of a request and one at its end."""
    numbers = itertools.count(1)

    @web.middleware
    async def log_request(request: web.Request, handler: Handler) -> web.StreamResponse:
        number = next(numbers)
        started = time.monotonic()
        log.info("Request %d from %s started: %s %s", number, request.remote, request.method, request.path_qs)
        status: int | str = "none: its sender is gone"
        try:
            response = await handler(request)
            status = response.status
            return response
        finally:
            milliseconds = 1000 * (time.monotonic() - started)
            log.info("Request %d completed with code %s in %.0f ms", number, status, milliseconds)

    return log_request


async def _openapi(_: web.Request) -> web.Response:
    return web.json_response(build_openapi(METHODS))


async def _page(_: web.Request) -> web.FileResponse:
    return web.FileResponse(PAGE / "page.html")


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)
