"""Sessions, rows and acts over HTTP: what needs to know who asks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from aiohttp import web

from queue_agent.adapters.process.json_values import to_json
from queue_agent.adapters.serving.access import AccessControl, read_document
from queue_agent.adapters.serving.refusals import Handler, forbid, refusing
from queue_agent.adapters.serving.row_cells import show_row
from queue_agent.core.access.acts import ActKind, check_path, read_act
from queue_agent.core.access.looks import MAX_ROWS, FromOffset, FromTail, FromTime, Look, Start
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.ports.acts import Desk, RowLooker
from yt_wire.error import YtError

_DEFAULT_ROWS: Final = 50
_INDEX: Final = re.compile(r"[0-9]{1,18}")
_TOKEN_LENGTH: Final = 100


@dataclass(frozen=True, slots=True)
class Counter:
    """Where people are served who have logged in."""

    access: AccessControl
    rows: RowLooker | None
    """None: nobody looks at rows."""

    desk: Desk


class ConsoleApi:
    """Handlers of endpoints that need to know who asks."""

    def __init__(self, counter: Counter) -> None:
        self._access = counter.access
        self._rows = counter.rows
        self._desk = counter.desk

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By names of operations."""
        own = {
            "show_session": self._access.show,
            "log_in": self._access.log_in,
            "log_out": self._access.log_out,
            "look_at_rows": self._look_at_rows,
            "act": self._act,
        }
        return {name: refusing(handler) for name, handler in own.items()}

    async def _look_at_rows(self, request: web.Request) -> web.Response:
        self._access.check_page(request)
        caller = self._access.caller(request)
        if self._rows is None:
            raise forbid("This agent shows no rows: console.rows of its configuration is off")
        sight = await self._rows.look(caller, _read_look(request.query))
        document = {
            "rows": [show_row(row, sight.columns) for row in sight.rows],
            "columns": list(sight.columns),
            "next": sight.next,
            "lower_row_index": sight.lower_row_index,
            "upper_row_index": sight.upper_row_index,
        }
        return web.json_response(document)

    async def _act(self, request: web.Request) -> web.Response:
        caller = self._access.caller(request)
        self._access.check_change(request)
        try:
            kind = ActKind(request.match_info["act"])
        except ValueError:
            raise web.HTTPNotFound from None
        document = read_document(await request.read(), request)
        try:
            wanted = read_act(kind, document)
        except ValueError as error:
            raise YtError(f"Cannot {kind.value}: {error}") from error
        dry_run = document.get("dry_run", True)
        if not isinstance(dry_run, bool):
            raise YtError('"dry_run" must be true or false')
        if dry_run:
            token, prepared = await self._desk.preview(caller, wanted)
            return web.json_response({"plan": to_json(prepared.plan), "preview": token, "done": False})
        seen = document.get("preview")
        if not isinstance(seen, str) or len(seen) > _TOKEN_LENGTH:
            raise YtError('"preview" must be the token of a preview: ask with "dry_run": true first')
        prepared, failures = await self._desk.act(caller, wanted, seen)
        return web.json_response({"plan": to_json(prepared.plan), "done": not failures, "failures": failures})


def _read_look(query: Mapping[str, str]) -> Look:
    path = query.get("path", "")
    try:
        check_path(path)
    except ValueError as error:
        raise YtError(f'Parameter "path": {error}') from error
    limit = _index(query, "limit", str(_DEFAULT_ROWS))
    if not 1 <= limit <= MAX_ROWS:
        raise YtError(f'Parameter "limit" must be a number from 1 to {MAX_ROWS}')
    queue = CrossClusterRef(query.get("cluster", ""), path)
    return Look(queue, _index(query, "partition", "0"), _read_start(query.get("from", f"tail:{limit}")), limit)


def _read_start(text: str) -> Start:
    kind, _, value = text.partition(":")
    if kind in ("offset", "tail") and _INDEX.fullmatch(value):
        return FromOffset(int(value)) if kind == "offset" else FromTail(min(int(value), MAX_ROWS))
    if kind == "time":
        try:
            instant = datetime.fromisoformat(value)
        except ValueError:
            instant = None
        if instant is not None and instant.tzinfo is not None:
            return FromTime(instant)
    raise YtError('Parameter "from" must be offset:ROW, tail:COUNT, or time:INSTANT such as time:2026-03-01T12:00:00Z')


def _index(query: Mapping[str, str], name: str, default: str) -> int:
    text = query.get(name, default)
    if not _INDEX.fullmatch(text) or not text.isascii():
        raise YtError(f'Parameter "{name}" must be a number')
    return int(text)
