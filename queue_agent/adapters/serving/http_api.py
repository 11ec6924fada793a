"""The agent's HTTP interface: health, metrics, and as JSON the Orchid tree and what is published."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any, Final
from urllib.parse import unquote

from aiohttp import web

from queue_agent.adapters.process.json_values import to_json
from queue_agent.adapters.serving.console_api import ConsoleApi, Counter
from queue_agent.adapters.serving.console_pages import ConsolePages, confine
from queue_agent.adapters.serving.event_requests import read_event_query
from queue_agent.adapters.serving.http_requests import read_integer, read_policy, read_question, read_ref
from queue_agent.adapters.serving.http_server import MAX_BODY_BYTES, HttpServer
from queue_agent.adapters.serving.liveness import LIVE, Liveness
from queue_agent.adapters.serving.metrics_server import MetricsServer
from queue_agent.adapters.serving.openapi import OPERATIONS, make_document
from queue_agent.adapters.serving.openapi_access import ACCESS_OPERATIONS
from queue_agent.adapters.serving.orchid import OrchidTree, keys_of, read_attribute
from queue_agent.adapters.serving.overview_api import OverviewApi, OverviewSource
from queue_agent.adapters.serving.own_answers import OwnAnswers, facts_of, name_of, not_served, summary_of
from queue_agent.adapters.serving.refusals import Refusal
from queue_agent.adapters.serving.stage_answers import WholeStage
from queue_agent.adapters.serving.tls import ServerTls
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.status.scaling import ScalingTarget, find_scaling
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.values import Verdict
from queue_agent.ports.events import EventSource
from queue_agent.ports.group import StageAnswers
from queue_agent.ports.passes import Clock
from queue_agent.ports.status import StatusSource
from yt_wire.error import ErrorCode, YtError
from yt_wire.gate import Gate

READY_WITHIN: Final = timedelta(minutes=1)
"""An agent is ready if a pass of its own that began no longer ago than this has succeeded."""

_NOT_FOUND_CODES: Final = (ErrorCode.RESOLVE, ErrorCode.QUEUE_AGENT_OBJECT_IS_NOT_MAPPED)
_ORCHID: Final = "/orchid"


class HttpApi:
    """Serves until it is left; an async context manager.

    Args:
        source: what is to be shown.
        metrics: served at `/metrics` and `/solomon/all`, unless they have a port of their own.
        tree: shown at `/orchid`.
        clock: readiness is a matter of time.
        host, port: address to listen on; with port 0 see `port`.
        gate: decides who gets in, and how long everyone stays.
        own: answers of what is led here; by default of `source`, and nothing else.
        stage: the other agents; without them there are none.
        overview: of the whole stage, for the console; without it there is none.
        events: tells what happened; without it there is no such page.
        counter: where people are served who have logged in; without it nobody is, and everybody sees status.
        tls: for HTTPS in place of HTTP.
        find_hung: kinds of passes that hang.
    """

    def __init__(
        self,
        source: StatusSource,
        metrics: MetricsServer | None,
        tree: OrchidTree,
        clock: Clock,
        host: str,
        port: int,
        gate: Gate,
        own: OwnAnswers | None = None,
        stage: StageAnswers | None = None,
        overview: OverviewSource | None = None,
        events: EventSource | None = None,
        counter: Counter | None = None,
        tls: ServerTls | None = None,
        find_hung: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._source = source
        self._tree = tree
        self._clock = clock
        self._host, self._number = host, port
        self._log = gate.log
        self._stage = WholeStage(own or OwnAnswers(source), stage)
        self._overview = None if overview is None else OverviewApi(overview)
        self._events = events
        self._access = None if counter is None else counter.access
        self._operations = OPERATIONS if counter is None else (*OPERATIONS, *ACCESS_OPERATIONS)
        handlers: dict[str, Callable[[web.Request], Awaitable[web.Response]]] = {
            **({} if counter is None else ConsoleApi(counter).handlers),
            "list_queues": self._list_queues,
            "show_queue": self._show_queue,
            "plan_trim": self._plan_trim,
            "plan_export": self._plan_export,
            "list_consumers": self._list_consumers,
            "list_verdicts": self._list_verdicts,
            "list_alerts": self._list_alerts,
            "list_agents": self._list_agents,
            "list_events": self._list_events,
            "scale_consumer": self._scale_consumer,
            "show_consumer": self._show_consumer,
            "show_overview": self._show_overview,
            "show_series": self._show_series,
            "show_openapi": self._show_openapi,
        }
        guards = [] if counter is None else [counter.access.admit]
        liveness = Liveness(find_hung, gate.log)
        application = web.Application(middlewares=[self._errors_as_json, *guards], client_max_size=MAX_BODY_BYTES)
        application.on_response_prepare.append(confine)
        application.add_routes(
            [
                web.get(LIVE, liveness.show),
                web.get("/health/ready", self._ready),
                *(() if metrics is None else metrics.routes()),
                *ConsolePages().routes(),
                web.get(_ORCHID, self._orchid),
                web.get(_ORCHID + "/{path:.*}", self._orchid),
                *(web.route(one.method, one.route, handlers[one.name]) for one in self._operations),
            ]
        )
        self._server = HttpServer(application, gate, liveness.answer_at_once, tls)

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

    async def _ready(self, request: web.Request) -> web.Response:
        ready = self._is_ready()
        document = {"status": "ok" if ready else "not ready", "agent_pass": facts_of(self._source.agent_pass())}
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
        # `service` answers as soon as the process serves, as with the C++ agent: the k8s operator waits for that before
        # it makes the agent's user and tables (`doSync` in its `queue_agent.go`).
        return _json_response(await self._tree.get(path))

    async def _list_queues(self, request: web.Request) -> web.Response:
        return _json_response(await self._stage.list_objects(read_question(request, "list_queues"), "queues"))

    async def _list_consumers(self, request: web.Request) -> web.Response:
        return _json_response(await self._stage.list_objects(read_question(request, "list_consumers"), "consumers"))

    async def _list_verdicts(self, request: web.Request) -> web.Response:
        return _json_response(await self._stage.list_verdicts(read_question(request, "list_verdicts")))

    async def _list_alerts(self, request: web.Request) -> web.Response:
        return _json_response(await self._stage.list_alerts(read_question(request, "list_alerts")))

    async def _list_agents(self, request: web.Request) -> web.Response:
        return _json_response(await self._stage.list_agents())

    async def _show_queue(self, request: web.Request) -> web.Response:
        ref = read_ref(request)
        snapshot = self._source.queues().get(ref)
        if snapshot is None:
            return _json_response(await self._find_elsewhere("queues", ref))
        status, partitions = self._source.queue_status(ref), self._source.queue_partitions(ref)
        return _json_response({**summary_of(snapshot), "status": status, "partitions": partitions})

    async def _plan_trim(self, request: web.Request) -> web.Response:
        body = await request.read()
        read_policy(body)  # what makes no sense is refused here
        question = read_question(request, "plan_trim", body.decode("utf-8", "replace"))
        return _json_response(await self._stage.ask_leader(question))

    async def _plan_export(self, request: web.Request) -> web.Response:
        return _json_response(await self._stage.ask_leader(read_question(request, "plan_export")))

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
        return _json_response(await self._stage.ask_leader(read_question(request, "show_series")))

    async def _list_events(self, request: web.Request) -> web.Response:
        if self._events is None:
            raise web.HTTPNotFound
        names_people = self._access is not None and self._access.knows(request)
        page = await self._events.find(read_event_query(request, self._clock.now(), names_people=names_people))
        events = [event.to_map() for event in page.events]
        document = {"events": events, "next": page.next, "persisted": page.is_persisted, "acts_read": page.has_acts}
        return _json_response(document)

    async def _show_openapi(self, request: web.Request) -> web.Response:
        return _json_response(make_document(self._operations))

    async def _find_consumer(self, ref: CrossClusterRef) -> Mapping[str, Any]:
        snapshot = self._source.consumers().get(ref)
        if snapshot is None:
            return await self._find_elsewhere("consumers", ref)
        status, partitions = self._source.consumer_status(ref), self._source.consumer_partitions(ref)
        return {**summary_of(snapshot), "status": status, "partitions": partitions}

    async def _find_elsewhere(self, kind: str, ref: CrossClusterRef) -> Mapping[str, Any]:
        """What another agent says of an object it leads."""
        try:
            node = await self._tree.get(["queue_agent", kind, str(ref)])
        except YtError as error:
            if error.find(*_NOT_FOUND_CODES):
                raise not_served(ref) from error
            raise
        leads = node.get("leading") is True
        return {
            **name_of(ref),
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
        except Refusal as error:
            response = _error_response(error, error.status)
            response.headers.update(error.headers)
            return response
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


def _json_response(value: Any, status: int = 200) -> web.Response:
    return web.Response(text=json.dumps(to_json(value)), status=status, content_type="application/json")


def _error_response(error: YtError, status: int) -> web.Response:
    return _json_response(error.to_map(), status)
