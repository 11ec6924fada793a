"""Whether the agent lives: it answers, and its passes end other than by its own faults. Clusters do not matter."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Final

from aiohttp import web

from queue_agent.adapters.process.presence import HEADER, PROCESS
from yt_wire.sparse_log import SparseLog

LIVE: Final = "/health/live"
_HUNG: Final = "passes hang, or fail by a fault of the agent"
_END_OF_HEAD: Final = b"\r\n\r\n"


class Liveness:
    """Answers at `LIVE`.

    Args:
        find_hung: kinds of passes that hang, or fail by a fault of the agent.
        log: says so.
    """

    def __init__(self, find_hung: Callable[[], Sequence[str]], log: SparseLog) -> None:
        self._find_hung = find_hung
        self._log = log

    async def show(self, request: web.Request) -> web.Response:
        """Answer a request."""
        status, body = self._answer()
        return web.Response(text=body, status=status, content_type="application/json", headers={HEADER: PROCESS})

    def answer_at_once(self, head: bytes) -> bytes | None:
        """The answer to a whole request for liveness, None to all else.

        Whoever asks whether the agent lives gets an answer however many others ask for other things.
        """
        if not head.startswith(f"GET {LIVE} HTTP/1.".encode()) or head.find(_END_OF_HEAD) != len(head) - len(
            _END_OF_HEAD
        ):
            return None
        status, body = self._answer()
        return (
            f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json; charset=utf-8\r\n"
            f"{HEADER}: {PROCESS}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
        ).encode()

    def _answer(self) -> tuple[HTTPStatus, str]:
        hung = list(self._find_hung())
        if not hung:
            return HTTPStatus.OK, json.dumps({"status": "ok"})
        self._log.info(_HUNG, kinds=hung)
        return HTTPStatus.SERVICE_UNAVAILABLE, json.dumps({"status": _HUNG, "kinds": hung})
