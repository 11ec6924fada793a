"""Endpoints of `/api/v1`: routes and the OpenAPI document are both made of this table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from queue_agent.adapters.process.build import VERSION

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something a client can say in the address."""

    name: str
    description: str
    type: str = "string"
    place: str = "query"
    is_required: bool = False

    def to_map(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "in": self.place,
            "required": self.is_required,
            "description": self.description,
            "schema": {"type": self.type},
        }


@dataclass(frozen=True, slots=True)
class Operation:
    """One endpoint."""

    name: str
    """`operationId` of the document, which generated clients call their methods."""

    path: str
    """With `{cluster}` and `{path}` where an object is named."""

    summary: str
    answer: Document
    """Schema of the body of an answer with status 200."""

    parameters: Sequence[Parameter] = ()
    method: str = "get"
    errors: Mapping[int, str] = field(default_factory=dict)
    body: Document | None = None
    """Schema of the request's body; None: there is none."""

    @property
    def route(self) -> str:
        """As aiohttp has it: paths of objects contain slashes."""
        return self.path.replace("{path}", "{path:.+}")

    def to_map(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "operationId": self.name,
            "summary": self.summary,
            "parameters": [parameter.to_map() for parameter in self.parameters],
            "responses": {
                "200": {"description": "The answer.", "content": _json(self.answer)},
                **{
                    str(status): {"description": description, "content": _json(_ERROR_REF)}
                    for status, description in self.errors.items()
                },
            },
        }
        return document if self.body is None else {**document, "requestBody": {"content": _json(self.body)}}


def _json(schema: Document) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _object(description: str, **properties: Document) -> dict[str, Any]:
    return {"type": "object", "description": description, "properties": properties}


_ERROR_REF: Final = {"$ref": "#/components/schemas/Error"}
_STRING: Final = {"type": "string"}
_INTEGER: Final = {"type": "integer"}
_NULLABLE_STRING: Final = {"type": ["string", "null"]}

_SCHEMAS: Final[Document] = {
    "Error": _object(
        "Error of YTsaurus.",
        code=_INTEGER,
        message=_STRING,
        attributes={"type": "object"},
        inner_errors={"type": "array", "items": _ERROR_REF},
    ),
    "Object": _object(
        "Queue or consumer.",
        cluster=_STRING,
        path=_STRING,
        name={**_STRING, "description": "Name of a consumer in a table that holds several; absent for others."},
        role={"type": "string", "enum": ["leading", "following", "error"]},
        pass_index={**_INTEGER, "description": "Passes since the agent began to lead or follow the object."},
        pass_instant=_NULLABLE_STRING,
        error={"oneOf": [_ERROR_REF, {"type": "null"}]},
        overview={
            "description": "With overview=true: a map for a queue, a list with an entry for each queue of a consumer."
        },
        status={"type": "object", "description": "Value of @queue_status or @queue_consumer_status."},
        partitions={"description": "Value of @queue_partitions or @queue_consumer_partitions."},
    ),
    "Event": _object(
        "Something that happened.",
        instant=_STRING,
        id={**_STRING, "description": "No two events have the same."},
        kind=_STRING,
        queue=_NULLABLE_STRING,
        consumer=_NULLABLE_STRING,
        actor={**_STRING, "description": "Who did or noticed it: host and process of an agent, or the user of an act."},
        subject={**_NULLABLE_STRING, "description": "Whom or what it is about beside both."},
        reason={**_STRING, "description": "A sentence."},
        details={"type": "object", "description": "Numbers and instants, by name."},
    ),
    "Plan": _object("What would be done, and why."),
    "Scaling": _object(
        "Load of a consumer in one queue.",
        value={**_INTEGER, "description": "Drainable rows, each partition counted up to target_rows."},
        active={"type": "boolean", "description": "Whether at least one reader is needed."},
        partitions_with_rows=_INTEGER,
        excluded={"type": "object", "additionalProperties": _INTEGER},
        verdict=_STRING,
    ),
}

_MISSING: Final = {
    "type": "array",
    "description": "Agents of whom this answer says nothing; empty: it is about the whole stage.",
    "items": _object(
        "An agent.",
        agent={**_NULLABLE_STRING, "description": "host:port of its RPC; null: objects that no agent leads."},
        reason=_STRING,
        objects={**_INTEGER, "description": "Tables it leads, as far as is known."},
    ),
}
_OBJECT: Final = (
    Parameter("cluster", "Cluster of the object.", place="path", is_required=True),
    Parameter("path", "Path with or without its leading //; encode slashes as %2F.", place="path", is_required=True),
)
_CONSUMER: Final = (*_OBJECT, Parameter("name", "Name of the consumer in a table that holds several."))
_LIMIT: Final = Parameter("limit", "Entries in the answer, from 1 to 1000; 100 by default.", "integer")
_PAGE: Final = (
    _LIMIT,
    Parameter("after", "Value of next in the previous answer."),
    Parameter("overview", "With true, each object has its figures.", "boolean"),
)
_BAD: Final = {400: "A parameter is invalid."}
_UNKNOWN: Final = {404: "No agent of the stage serves this object."}


def _page(name: str) -> dict[str, Any]:
    objects = {"type": "array", "items": {"$ref": "#/components/schemas/Object"}}
    return _object("Page of a list.", **{name: objects}, total=_INTEGER, next=_NULLABLE_STRING, missing=_MISSING)


def _list(name: str) -> dict[str, Any]:
    return _object(
        "Entries, and how many there are in all.", **{name: {"type": "array"}}, total=_INTEGER, missing=_MISSING
    )


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


OPERATIONS: Final = (
    Operation("list_queues", "/api/v1/queues", "Queues of the stage.", _page("queues"), _PAGE, errors=_BAD),
    Operation("show_queue", "/api/v1/queues/{cluster}/{path}", "One queue.", _ref("Object"), _OBJECT, errors=_UNKNOWN),
    Operation(
        "plan_trim",
        "/api/v1/queues/{cluster}/{path}/trim-plan",
        "What trimming would do.",
        _ref("Plan"),
        _OBJECT,
        "post",
        _BAD | _UNKNOWN,
        _object("Policy in the form of @auto_trim_config; without a body that of the queue."),
    ),
    Operation(
        "plan_export",
        "/api/v1/queues/{cluster}/{path}/export-plan",
        "What static exports would do.",
        _ref("Plan"),
        _OBJECT,
        "post",
        _UNKNOWN,
    ),
    Operation(
        "list_consumers",
        "/api/v1/consumers",
        "Consumers of the stage.",
        _page("consumers"),
        _PAGE,
        errors=_BAD,
    ),
    Operation(
        "list_verdicts",
        "/api/v1/verdicts",
        "Verdicts on the consumers of the stage, worst first.",
        _list("verdicts"),
        (Parameter("verdict", "Verdicts to show, separated by commas; all by default."), _LIMIT),
        errors=_BAD,
    ),
    Operation(
        "list_alerts",
        "/api/v1/alerts",
        "What somebody should look at, with what to do.",
        _list("alerts"),
        (_LIMIT,),
        errors=_BAD,
    ),
    Operation(
        "list_agents",
        "/api/v1/agents",
        "Agents of the stage, first the one that is asked.",
        _object("What each says of itself.", agents={"type": "array", "items": {"type": "object"}}, missing=_MISSING),
    ),
    Operation(
        "list_events",
        "/api/v1/events",
        "What happened to queues and consumers, newest first, whichever agent noticed it.",
        _object(
            "Page of events.",
            events={"type": "array", "items": _ref("Event")},
            next={**_NULLABLE_STRING, "description": "What to give as before to see older ones; null: there are none."},
            persisted={
                "type": "boolean",
                "description": "False: the table cannot be read, and these are the last events of this agent.",
            },
            acts_read={"type": "boolean", "description": "False: the audit journal cannot be read; acts are missing."},
        ),
        (
            Parameter("since", "Instant with its zone, such as 2026-05-01T10:00:00Z; a day ago by default."),
            Parameter("before", "Value of next in the previous answer."),
            Parameter("queue", "Queue as cluster://path."),
            Parameter("consumer", "Consumer as cluster://path."),
            Parameter("kind", "Kinds to show, separated by commas; all by default."),
            _LIMIT,
        ),
        errors=_BAD,
    ),
    # Before the consumer: its path would take in the last word.
    Operation(
        "scale_consumer",
        "/api/v1/consumers/{cluster}/{path}/scaling",
        "How many readers a consumer needs in one queue.",
        _ref("Scaling"),
        (
            *_CONSUMER,
            Parameter("queue", "Queue as cluster://path.", is_required=True),
            Parameter("target_rows", "Drainable rows for each reader; at least 1.", "integer", is_required=True),
            Parameter("activation_rows", "A partition with more drainable rows activates; 0 by default.", "integer"),
        ),
        errors=_BAD
        | {
            404: "No agent of the stage serves the consumer, or it is not registered with the queue.",
            503: "Nobody knows the number of rows. An autoscaler has to use its fallback.",
        },
    ),
    Operation(
        "show_consumer",
        "/api/v1/consumers/{cluster}/{path}",
        "One consumer.",
        _ref("Object"),
        _CONSUMER,
        errors=_UNKNOWN,
    ),
    Operation(
        "show_overview",
        "/api/v1/overview",
        "What the stage has, with problems first, or what is new of that.",
        _object(
            "With since: changed rows only, and problems if they have changed.",
            version={**_INTEGER, "description": "What to give as since to hear what is new."},
            full={"type": "boolean", "description": "Present and true if this is everything."},
            problems={"type": "array", "items": {"type": "object"}, "description": "As alerts are."},
            queues={"type": "array", "items": {"type": "object"}},
            consumers={"type": "array", "items": {"type": "object"}, "description": "One for each queue."},
            missing=_MISSING,
            gone={"type": "array", "description": "Rows that are no more: their kind, and what names them."},
        ),
        (Parameter("since", "Version of an earlier answer; waits up to 20 s for something newer.", "integer"),),
        errors=_BAD,
    ),
    Operation(
        "show_series",
        "/api/v1/series",
        "Figures over time of a queue, or of a consumer in a queue: as the agent that leads it remembers them, and"
        " before that as its history has them.",
        _object(
            "A value for each time; null: a gap.",
            step={
                **_INTEGER,
                "description": "Seconds between times; after two hours there are averages, ten times as far apart.",
            },
            times={"type": "array", "items": _INTEGER, "description": "Seconds since 1970, ascending."},
            series={"type": "object", "description": "Values by name; empty for an object that is not remembered."},
            source={"type": "string", "enum": ["memory", "history"]},
            history_until={
                "type": ["integer", "null"],
                "description": "Figures before this come from the history; null: all are remembered.",
            },
            note={**_NULLABLE_STRING, "description": "Which figures are missing, and why."},
        ),
        (
            Parameter("kind", "queue or consumer.", is_required=True),
            Parameter("cluster", "Cluster of the object.", is_required=True),
            Parameter("path", "Path with its leading //.", is_required=True),
            Parameter("name", "Name of the consumer in a table that holds several."),
            Parameter("queue_cluster", "With consumer: cluster of the queue."),
            Parameter("queue_path", "With consumer: path of the queue."),
            Parameter("hours", "From 1 to 24; 24 by default.", "integer"),
        ),
        errors=_BAD,
    ),
    Operation("show_openapi", "/api/v1/openapi.json", "This document.", {"type": "object"}),
)


_TOKEN: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": (
        "Of programs, with `console.login: token`: a YTsaurus token, as `Authorization: OAuth TOKEN` or `Bearer TOKEN`;"
        " `X-YT-Cluster` names the cluster that knows it, by default that of the state tables."
    ),
}


def make_document(operations: Sequence[Operation] = OPERATIONS) -> dict[str, Any]:
    """The OpenAPI 3.1 document of endpoints."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method] = operation.to_map()
    return {
        "openapi": "3.1.0",
        "info": {"title": "yt-queue-agent", "version": VERSION},
        "paths": paths,
        "security": [{}, {"token": []}],
        "components": {"schemas": _SCHEMAS, "securitySchemes": {"token": _TOKEN}},
    }
