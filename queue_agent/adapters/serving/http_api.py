"""The agent's HTTP interface: health, metrics, and as JSON the Orchid tree and what is published."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Any, Final
from urllib.parse import unquote

from aiohttp import web

from queue_agent.adapters.process.json_values import to_json
from queue_agent.adapters.serving.console_pages import ConsolePages, confine
from queue_agent.adapters.serving.http_requests import read_integer, read_limit, read_policy, read_ref, read_verdicts
from queue_agent.adapters.serving.http_server import MAX_BODY_BYTES, HttpServer
from queue_agent.adapters.serving.metrics_server import MetricsServer
from queue_agent.adapters.serving.openapi import OPERATIONS, make_document
from queue_agent.adapters.serving.orchid import OrchidTree, keys_of, read_attribute
from queue_agent.adapters.serving.overview_api import OverviewApi, OverviewSource
from queue_agent.adapters.serving.series_api import show_series
from queue_agent.core.queues.snapshots import ConsumerSnapshot, PassFacts, QueueSnapshot, Role
from queue_agent.core.status.problems import list_alerts, list_verdicts
from queue_agent.core.status.scaling import ScalingTarget, find_scaling
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.values import Verdict
from queue_agent.errors import UnexpectedError
from queue_agent.isolation import isolate
from queue_agent.ports.exports import ExportPlanner
from queue_agent.ports.passes import Clock
from queue_agent.ports.status import SeriesSource, StatusSource
from queue_agent.ports.trims import TrimPlanner
from yt_wire.error import ErrorCode, YtError
from yt_wire.gate import Gate

READY_WITHIN: Final = timedelta(minutes=1)
"""An agent is ready if a pass of its own that began no longer ago than this has succeeded."""

_NOT_FOUND_CODES: Final = (ErrorCode.RESOLVE, ErrorCode.QUEUE_AGENT_OBJECT_IS_NOT_MAPPED)
_ORCHID: Final = "/orchid"
_LIVE: Final = "/health/live"
_END_OF_HEAD: Final = b"\r\n\r\n"
_ALIVE: Final = {"status": "ok"}


@dataclass(frozen=True, slots=True)
class Planners:
    """Those who tell what would be done, and do nothing."""

    trims: TrimPlanner
    exports: ExportPlanner


class HttpApi:
    """Serves until it is left; an async context manager.

    Args:
        source: what is to be shown.
        metrics: served at `/metrics` and `/solomon/all`.
        tree: shown at `/orchid`.
        clock: readiness is a matter of time.
        host, port: address to listen on; with port 0 see `port`.
        gate: decides who gets in, and how long everyone stays.
        planners: tell what would be done; without them nobody does.
        series: remembers figures; without it nobody does.
        overview: of the console; without it there is none.
    """

    def __init__(
        self,
        source: StatusSource,
        metrics: MetricsServer,
        tree: OrchidTree,
        clock: Clock,
        host: str,
        port: int,
        gate: Gate,
        planners: Planners | None = None,
        series: SeriesSource | None = None,
        overview: OverviewSource | None = None,
    ) -> None:
        self._source = source
        self._tree = tree
        self._clock = clock
        self._host = host
        self._number = port
        self._log = gate.log
        self._planners = planners
        self._series = series
        self._overview = None if overview is None else OverviewApi(overview)
        handlers = {
            "list_queues": self._list_queues,
            "show_queue": self._show_queue,
            "plan_trim": self._plan_trim,
            "plan_export": self._plan_export,
            "list_consumers": self._list_consumers,
            "list_verdicts": self._list_verdicts,
            "list_alerts": self._list_alerts,
            "scale_consumer": self._scale_consumer,
            "show_consumer": self._show_consumer,
            "show_overview": self._show_overview,
            "show_series": self._show_series,
            "show_openapi": self._show_openapi,
        }
        application = web.Application(middlewares=[self._errors_as_json], client_max_size=MAX_BODY_BYTES)
        application.on_response_prepare.append(confine)
        application.add_routes(
            [
                web.get(_LIVE, self._live),
                web.get("/health/ready", self._ready),
                web.get("/metrics", metrics.show_own),
                web.get("/solomon/all", metrics.show_all),
                *ConsolePages().routes(),
                web.get(_ORCHID, self._orchid),
                web.get(_ORCHID + "/{path:.*}", self._orchid),
                *(web.route(one.method, one.route, handlers[one.name]) for one in OPERATIONS),
            ]
        )
        self._server = HttpServer(application, gate, live_at_once)

    async def __aenter__(self) -> HttpApi:
        await self._server.start(self._host, self._number)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._overview is not None:
            self._overview.close()
        await self._server.stop()

    @property
    def port(self) -> int:
        """The port listened on."""
        return self._server.port

    async def _live(self, request: web.Request) -> web.Response:
        return _json_response(_ALIVE)

    async def _ready(self, request: web.Request) -> web.Response:
        ready = self._is_ready()
        document = {"status": "ok" if ready else "not ready", "agent_pass": _facts(self._source.agent_pass())}
        return _json_response(document, 200 if ready else 503)

    def _is_ready(self) -> bool:
        last_success = self._source.agent_pass().last_success_instant
        return last_success is not None and self._clock.now() - last_success <= READY_WITHIN

    async def _orchid(self, request: web.Request) -> web.Response:
        # Keys of objects contain slashes, so the path is cut while it is still encoded.
        encoded = request.rel_url.raw_path.removeprefix(_ORCHID).split("/")
        path = [unquote(key) for key in encoded if key]
        verb = request.query.get("verb", "get")
        if verb not in ("get", "list"):
            raise YtError(f'Verb "{verb}" is not one of "get" and "list"')
        at = next((depth for depth, key in enumerate(path) if key.startswith("@")), None)
        if at is not None:
            keys = [key for key in (path[at][1:], *path[at + 1 :]) if key]
            value = await read_attribute(self._tree, path[:at], keys)
            return _json_response(value if verb == "get" else keys_of(value, keys))
        if verb == "list":
            return _json_response(list(await self._tree.list(path)))
        # Kubernetes asks here whether a C++ agent is ready.
        status = 503 if path == ["service"] and not self._is_ready() else 200
        return _json_response(await self._tree.get(path), status)

    async def _list_queues(self, request: web.Request) -> web.Response:
        return _json_response(_page(request, "queues", self._source.queues(), self._source.queue_overview))

    async def _list_consumers(self, request: web.Request) -> web.Response:
        return _json_response(_page(request, "consumers", self._source.consumers(), self._source.consumer_overview))

    async def _list_verdicts(self, request: web.Request) -> web.Response:
        found = list_verdicts(self._source.consumers(), read_verdicts(request.query.get("verdict")))
        limit = read_limit(request.query.get("limit"))
        return _json_response({"verdicts": found[:limit], "total": len(found)})

    async def _list_alerts(self, request: web.Request) -> web.Response:
        source = self._source
        found = list_alerts(source.alerts(), source.queues().values(), source.consumers())
        limit = read_limit(request.query.get("limit"))
        return _json_response({"alerts": found[:limit], "total": len(found)})

    async def _show_queue(self, request: web.Request) -> web.Response:
        ref = read_ref(request)
        snapshot = self._source.queues().get(ref)
        if snapshot is None:
            return _json_response(await self._find_elsewhere("queues", ref))
        status, partitions = self._source.queue_status(ref), self._source.queue_partitions(ref)
        return _json_response({**_summary(snapshot), "status": status, "partitions": partitions})

    async def _plan_trim(self, request: web.Request) -> web.Response:
        """The body is empty, or a policy in the form of `@auto_trim_config`; one that does not say so is enabled."""
        ref = read_ref(request)
        policy = read_policy(await request.read())
        preview = None if self._planners is None else await self._planners.trims.preview(ref, policy)
        if preview is None:
            raise _not_served(ref)
        return _json_response(preview.to_map())

    async def _plan_export(self, request: web.Request) -> web.Response:
        ref = read_ref(request)
        preview = None if self._planners is None else await self._planners.exports.preview(ref)
        if preview is None:
            raise _not_served(ref)
        return _json_response(preview.to_map())

    async def _show_consumer(self, request: web.Request) -> web.Response:
        return _json_response(await self._find_consumer(read_ref(request)))

    async def _scale_consumer(self, request: web.Request) -> web.Response:
        ref, queue = read_ref(request), request.query.get("queue", "")
        target = ScalingTarget(
            read_integer(request, "target_rows", None, least=1), read_integer(request, "activation_rows", 0, least=0)
        )
        document = await self._find_consumer(ref)
        if document["error"] is not None:
            raise YtError(f"Consumer {ref} cannot be read", ErrorCode.UNAVAILABLE)
        status = document["status"]["queues"].get(queue)
        if status is None:
            raise YtError(f'Consumer {ref} is not registered with queue "{queue}"', ErrorCode.RESOLVE)
        verdict = status.get("verdict", Verdict.UNKNOWN.value)
        scaling = find_scaling(verdict, document["partitions"][queue], target)
        if scaling is None:
            raise YtError(f"Rows of {queue} for {ref} are not known: {verdict}", ErrorCode.UNAVAILABLE)
        return _json_response(scaling.to_map())

    async def _show_overview(self, request: web.Request) -> web.Response:
        if self._overview is None:
            raise web.HTTPNotFound
        return await self._overview.show(request)

    async def _show_series(self, request: web.Request) -> web.Response:
        return _json_response(show_series(self._series, request))

    async def _show_openapi(self, request: web.Request) -> web.Response:
        return _json_response(make_document())

    async def _find_consumer(self, ref: CrossClusterRef) -> Mapping[str, Any]:
        snapshot = self._source.consumers().get(ref)
        if snapshot is None:
            return await self._find_elsewhere("consumers", ref)
        status, partitions = self._source.consumer_status(ref), self._source.consumer_partitions(ref)
        return {**_summary(snapshot), "status": status, "partitions": partitions}

    async def _find_elsewhere(self, kind: str, ref: CrossClusterRef) -> Mapping[str, Any]:
        """What another agent says of an object it leads."""
        try:
            node = await self._tree.get(["queue_agent", kind, str(ref)])
        except YtError as error:
            if error.find(*_NOT_FOUND_CODES):
                raise _not_served(ref) from error
            raise
        leads = node.get("leading") is True
        return {
            **_name(ref),
            "role": (Role.LEADING if leads else Role.ERROR).value,
            "pass_index": node.get("pass_index", 0),
            "pass_instant": node.get("pass_instant"),
            "error": node["status"].get("error"),
            "status": node["status"],
            "partitions": node["partitions"],
        }

    @web.middleware
    async def _errors_as_json(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            return await handler(request)
        except ConnectionError:
            self._log.info("request given up by the client", path=request.path)
            return web.Response()  # to nobody
        except YtError as error:
            if error.find(*_NOT_FOUND_CODES):
                return _error_response(error, 404)
            return _error_response(error, 503 if error.find(ErrorCode.UNAVAILABLE) else 400)
        except web.HTTPException as error:
            words = f"{request.method} {request.path}: {error.reason}"
            code = ErrorCode.RESOLVE if error.status == 404 else ErrorCode.GENERIC
            response = _error_response(YtError(words, code), error.status)
            if "Allow" in error.headers:
                response.headers["Allow"] = error.headers["Allow"]
            return response
        except Exception:  # noqa: BLE001 - a bug in a handler: logged, and answered in the form clients can read
            self._log.exception("handler crashed", path=request.path)
            return _error_response(YtError("Internal error"), 500)


def live_at_once(head: bytes) -> bytes | None:
    """The answer to a whole request for liveness, None to all else.

    Whoever asks whether the agent lives gets an answer however many others ask for other things.
    """
    if not head.startswith(f"GET {_LIVE} HTTP/1.".encode()) or head.find(_END_OF_HEAD) != len(head) - len(_END_OF_HEAD):
        return None
    body = json.dumps(_ALIVE)
    return (
        "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
    ).encode()


def _not_served(ref: CrossClusterRef) -> YtError:
    return YtError(f"Object {ref} is not served by this queue agent", ErrorCode.QUEUE_AGENT_OBJECT_IS_NOT_MAPPED)


def _page(
    request: web.Request,
    name: str,
    snapshots: Mapping[CrossClusterRef, QueueSnapshot] | Mapping[CrossClusterRef, ConsumerSnapshot],
    overview: Callable[[CrossClusterRef], Any],
) -> Mapping[str, Any]:
    """At most `limit` objects behind the reference `after`; `next` is what to give as `after` for the rest, or null.

    With `overview=true` each has its figures.
    """
    with_overview = request.query.get("overview") == "true"
    limit = read_limit(request.query.get("limit"))
    after = request.query.get("after")
    refs = sorted((ref for ref in snapshots if after is None or str(ref) > after), key=str)
    shown = refs[:limit]

    def show(ref: CrossClusterRef) -> Any:
        entry = isolate(
            "page",
            ref,
            lambda: to_json({**_summary(snapshots[ref]), **({"overview": overview(ref)} if with_overview else {})}),
        )
        return (
            {**_name(ref), "error": ErrorInfo(entry.message).to_map()} if isinstance(entry, UnexpectedError) else entry
        )

    return {
        name: [show(ref) for ref in shown],
        "total": len(snapshots),
        "next": str(shown[-1]) if len(refs) > len(shown) else None,
    }


def _name(ref: CrossClusterRef) -> dict[str, Any]:
    return {"cluster": ref.cluster, "path": ref.path, **({"name": ref.name} if ref.name else {})}


def _summary(snapshot: QueueSnapshot | ConsumerSnapshot) -> dict[str, Any]:
    return {
        **_name(snapshot.ref),
        "role": snapshot.role.value,
        "pass_index": snapshot.pass_index,
        "pass_instant": encode_instant(snapshot.pass_instant),
        "error": None if snapshot.error is None else snapshot.error.to_map(),
    }


def _facts(facts: PassFacts) -> Mapping[str, Any]:
    return {
        "pass_index": facts.pass_index,
        "pass_instant": None if facts.pass_instant is None else encode_instant(facts.pass_instant),
        "error": None if facts.error is None else facts.error.to_map(),
        "last_success_instant": (
            None if facts.last_success_instant is None else encode_instant(facts.last_success_instant)
        ),
    }


def _json_response(value: Any, status: int = 200) -> web.Response:
    return web.Response(text=json.dumps(to_json(value)), status=status, content_type="application/json")


def _error_response(error: YtError, status: int) -> web.Response:
    return _json_response(error.to_map(), status)
