"""A stand-in for an agent with thousands of queues: it answers what pages ask, and tests say what happens."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final

from aiohttp import web

from queue_agent.adapters.serving.console_pages import ConsolePages, confine
from queue_agent.adapters.serving.openapi import make_document
from queue_agent.adapters.serving.overview_api import WAIT_SECONDS

QUEUE_COUNT: Final = 5000
HOSTILE: Final = (
    "<img src=x onerror=\"document.title='broken in'\">",
    "\x1b]0;owned\x07\x1b[31mred\x1b[0m",
    "\u202egnp.exe\u202c \u200f\u2066",
    "a" * 4096,
    "'\"><script>document.title='broken in'</script>&amp;",
)
"""What strangers may call things."""
LOSING: Final = "Loses 101 rows/s since 09:53 (41,200 rows); alpha://home/c2 trims ahead of it"


class StandIn:
    """Serves until it is left; an async context manager."""

    def __init__(self, queue_count: int = QUEUE_COUNT) -> None:
        self.version = 1
        self.queues = [make_queue(number) for number in range(queue_count)]
        self.consumers = [make_consumer(number) for number in range(queue_count)]
        self.problems: list[Mapping[str, Any]] = []
        self.offsets = [100, 200, 300]
        self.url = ""
        self._changed = asyncio.Condition()
        self._delta: Mapping[str, Any] = {}
        application = web.Application(middlewares=[compressed])
        application.on_response_prepare.append(confine)
        application.add_routes(
            [
                *ConsolePages().routes(),
                web.get("/health/ready", self._health),
                web.get("/api/v1/openapi.json", self._openapi),
                web.get("/api/v1/session", self._session),
                web.get("/api/v1/overview", self._overview),
                web.get("/api/v1/series", self._series),
                web.get("/api/v1/events", self._events),
                web.get("/api/v1/consumers/{cluster}/{path:.+}", self._consumer),
            ]
        )
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)

    async def __aenter__(self) -> StandIn:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def change(self, **delta: Any) -> None:
        """Tell whoever follows the overview what is new."""
        self.version += 1
        self.problems = delta.get("problems", self.problems)
        self._delta = {"version": self.version, "queues": [], "consumers": [], "gone": [], **delta}
        async with self._changed:
            self._changed.notify_all()

    async def _health(self, request: web.Request) -> web.Response:
        return web.json_response(
            {"status": "ok", "agent_pass": {"pass_index": 7, "pass_instant": now(), "error": None}}
        )

    async def _openapi(self, request: web.Request) -> web.Response:
        return web.json_response(make_document())

    async def _session(self, request: web.Request) -> web.Response:
        may = {"status": True, "rows": False, "acts": []}
        return web.json_response(
            {
                "user": None,
                "login": "none",
                "clusters": ["alpha"],
                "logins": {},
                "may": may,
                "csrf": None,
                "offers": {"rows": False, "acts": []},
                "stage": "production",
                "agent": HOSTILE[0],
            }
        )

    async def _overview(self, request: web.Request) -> web.Response:
        if int(request.query.get("since", "0")) == self.version:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(WAIT_SECONDS), self._changed:
                    await self._changed.wait()
                    return web.json_response(self._delta)
            return web.json_response({"version": self.version})
        if "since" in request.query:
            return web.json_response(self._delta)
        return web.json_response(
            {"version": self.version, "problems": self.problems, "queues": self.queues, "consumers": self.consumers}
        )

    async def _series(self, request: web.Request) -> web.Response:
        step, count = 60, 1440
        last = int(time.clock_gettime(time.CLOCK_REALTIME))
        times = [last - step * (count - number) for number in range(count)]
        values = [
            None if 600 <= number < 660 else 500 + 400 * math.sin(number / 90) + (number * 7919) % 60
            for number in range(count)
        ]
        names = ("write_rows_rate", "backlog_rows", "trimmed_rows", "lag_rows", "lag_time", "read_rows_rate")
        series = dict.fromkeys(names, values)
        return web.json_response({"step": step, "times": times, "series": series, "source": "memory"})

    async def _events(self, request: web.Request) -> web.Response:
        before = int(request.query.get("before", "250"))
        wanted = request.query.get("kind", "")
        numbers = range(before - 1, max(-1, before - 101), -1)
        kinds = ("trim", "loss", "hand_over", "rewind", "act", "export")
        events = [
            {
                "id": str(n),
                "instant": now(),
                "kind": kinds[n % 6],
                "queue": "alpha://q",
                "consumer": f"alpha://{HOSTILE[n % 5]}" if n % 2 else None,
                "actor": f"host:{n}",
                "subject": HOSTILE[n % 5],
                "reason": f"{n}: {HOSTILE[n % 5]}",
                "details": {HOSTILE[n % 5]: HOSTILE[n % 5], "row_count": n},
            }
            for n in numbers
            if not wanted or kinds[n % 6] in wanted.split(",")
        ]
        page = {
            "events": events,
            "next": str(min(numbers)) if min(numbers) else None,
            "persisted": True,
            "acts_read": True,
        }
        return web.json_response(page)

    async def _consumer(self, request: web.Request) -> web.Response:
        return web.json_response(consumer_document(self.offsets))


@web.middleware
async def compressed(request: web.Request, handler: Any) -> web.StreamResponse:
    """Large answers travel compressed, as an agent's do."""
    response: web.StreamResponse = await handler(request)
    if isinstance(response, web.Response) and response.content_type == "application/json":
        response.enable_compression()
    return response


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())


def make_queue(number: int) -> dict[str, Any]:
    """A row of the overview; the first ones have hostile names."""
    name = HOSTILE[number] if number < len(HOSTILE) else f"queue-{number:05}"
    return {
        "cluster": "alpha" if number % 2 else "beta",
        "path": f"//home/{name}",
        "verdict": "ok",
        "partitions": 8,
        "write_rows_rate": number * 1.5,
        "write_bytes_rate": number * 100.0,
        "rows": (number * 7919) % 100_000,
        "bytes": number * 1000,
        "consumers": 1,
        "vital": number % 2,
        "exports": 0,
        "error": HOSTILE[0] if number == 0 else None,
        "spark": [(number + point * point) % 50 for point in range(30)],
    }


def make_consumer(number: int) -> dict[str, Any]:
    """A row of the overview."""
    queue = make_queue(number)
    return {
        "cluster": queue["cluster"],
        "path": queue["path"] + "-consumer",
        "queue_cluster": queue["cluster"],
        "queue_path": queue["path"],
        "vital": bool(number % 2),
        "verdict": "ok",
        "sentence": None,
        "lag_rows": (number * 31) % 5000,
        "lag_time": (number * 17) % 400,
        "read_rows_rate": number * 1.4,
        "time_to_catch_up": 0.0,
        "time_to_loss": None,
        "rows_trimmed_uncommitted": 0,
        "spark": [(number * 3 + point) % 40 for point in range(30)],
    }


def losing(row: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The row of a consumer that loses rows, and the problem that it is."""
    consumer, queue = f"{row['cluster']}:{row['path']}", f"{row['queue_cluster']}:{row['queue_path']}"
    problem = {
        "kind": "consumer",
        "consumer": consumer,
        "queue": queue,
        "vital": row["vital"],
        "verdict": "losing",
        "color": "red",
        "verdict_since": now(),
        "reason": LOSING,
        "turn": "operator",
        "action": f"yt register-queue-consumer {queue} {consumer} --vital",
        "action_is_command": True,
    }
    return {**row, "verdict": "losing", "sentence": LOSING, "time_to_loss": 0.0}, problem


def consumer_document(offsets: list[int]) -> dict[str, Any]:
    """As `/api/v1/consumers/CLUSTER/PATH` answers."""
    queue = "alpha://home/q"
    forecast = {"value": 600.0, "earliest": 300.0, "latest": 1200.0, "cause": "catching_up", "subject": None}
    verdict = {
        "verdict": "catching_up",
        "activity": "catching_up",
        "color": "blue",
        "verdict_since": now(),
        "reason": f"Catches up {HOSTILE[0]}",
        "confidence": "high",
        "turn": "none",
        "action": None,
        "action_is_command": False,
        "pace": {"usual": 1.0, "patience": 120.0, "known_gaps": 3600},
        "trimmed_uncommitted_row_count": 7,
        "lost_row_count": 5,
        "possibly_lost_row_count": 2,
        "loss": {"since": now(), "until": now(), "cause": "vital_trimming", "subject": HOSTILE[2], "row_count": 5},
        "time_to_catch_up": forecast,
        "time_to_loss": {"value": None, "earliest": None, "latest": None, "cause": "protected", "subject": None},
    }
    status = {"partition_count": len(offsets), "read_row_count_rate": {"current": 5.0}, **verdict}
    partitions = [
        {"next_row_index": offset, "unread_row_count": 1000 - offset, "processing_lag": 60000, "verdict": "catching_up"}
        for offset in offsets
    ]
    registrations = [{"queue": queue, "consumer": "alpha://home/c", "vital": True}]
    return {
        "cluster": "alpha",
        "path": "//home/c",
        "error": None,
        "status": {"registrations": registrations, "queues": {queue: status}},
        "partitions": {queue: partitions},
    }
