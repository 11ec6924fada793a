"""Endpoints that need to know who asks: sessions, rows and acts."""

from __future__ import annotations

from typing import Any, Final

from queue_agent.adapters.serving.openapi import Operation, Parameter
from queue_agent.core.access.acts import ActKind
from queue_agent.core.access.looks import MAX_ROWS

_STRING: Final = {"type": "string"}
_NULLABLE: Final = {"type": ["string", "null"]}
_INTEGER: Final = {"type": "integer"}
_NAMES: Final = {"type": "array", "items": _STRING}

_LOGIN: Final = {401: "Log in first, or log in to this cluster."}
_FORBIDDEN: Final = {
    403: "The caller lacks a permission, configuration does not allow it, or a page of another server asks."
}
_CSRF: Final = Parameter("X-CSRF-Token", "`csrf` of the session.", place="header", is_required=True)


def _object(description: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "description": description, "properties": properties}


_SESSION: Final = _object(
    "Who asks, and what they may do.",
    user=_NULLABLE,
    login={"type": "string", "enum": ["none", "token", "header"], "description": "How people log in."},
    anonymous={"type": "string", "enum": ["status", "health"], "description": "What is shown without a login."},
    clusters={**_NAMES, "description": "Clusters of this agent."},
    logins={"type": "object", "description": "User by cluster, for each cluster that was given a token."},
    may=_object("What this caller may do.", status={"type": "boolean"}, rows={"type": "boolean"}, acts=_NAMES),
    offers=_object("What callers may do who have logged in.", rows={"type": "boolean"}, acts=_NAMES),
    csrf={**_NULLABLE, "description": "To be sent with everything that changes something."},
    stage=_STRING,
    agent=_STRING,
)

_CELL: Final = _object(
    "Value of a column.",
    type={"type": "string", "enum": ["string", "int64", "uint64", "double", "boolean", "any", "null"]},
    text={"type": "string", "description": "At most 1000 characters; `any` as YSON; binary with \\xNN for bytes."},
    truncated={"type": "boolean"},
    size={"type": "integer", "description": "Bytes, of strings and of `any`."},
    binary={"type": "boolean", "description": "Present and true for a string that is not UTF-8."},
)

ACCESS_OPERATIONS: Final = (
    Operation("show_session", "/api/v1/session", "Who asks, and what they may do.", _SESSION),
    Operation(
        "log_in",
        "/api/v1/session",
        "Log in with a YTsaurus token; with another cluster's, a session is good for both.",
        _SESSION,
        method="post",
        errors={
            400: "The token or the cluster is missing.",
            403: "The cluster does not know the token, or a page of another server asks.",
            429: "Too many people log in at this moment.",
            503: "The cluster does not answer, or there are too many sessions.",
        },
        body=_object("Token, and the cluster that knows it.", token=_STRING, cluster=_STRING),
    ),
    Operation(
        "log_out",
        "/api/v1/session",
        "End the session.",
        {"type": "object"},
        (_CSRF,),
        method="delete",
        errors=_LOGIN | _FORBIDDEN,
    ),
    Operation(
        "look_at_rows",
        "/api/v1/rows",
        "Rows of a partition, with the caller's right to read. No offset moves.",
        _object(
            "Rows in their order.",
            rows={
                "type": "array",
                "items": _object(
                    "A row.",
                    offset=_INTEGER,
                    timestamp=_NULLABLE,
                    columns={"type": "object", "additionalProperties": _CELL},
                ),
            },
            columns=_NAMES,
            next={"type": ["integer", "null"], "description": "Row to ask for next; null at the end."},
            lower_row_index=_INTEGER,
            upper_row_index=_INTEGER,
        ),
        (
            Parameter("cluster", "Cluster of the queue.", is_required=True),
            Parameter("path", "Path with its leading //.", is_required=True),
            Parameter("partition", "0 by default.", "integer"),
            Parameter("from", "offset:ROW, tail:COUNT or time:INSTANT; the last rows by default."),
            Parameter("limit", f"Rows, from 1 to {MAX_ROWS}; 50 by default. Fewer come if they are large.", "integer"),
        ),
        errors={400: "A parameter is invalid."}
        | _LOGIN
        | _FORBIDDEN
        | {404: "There is no such queue.", 409: "The rows cannot be read now.", 503: "The cluster does not answer."},
    ),
    Operation(
        "act",
        "/api/v1/acts/{act}",
        "Have something done with the caller's rights: first with dry_run, then with the preview's token.",
        _object(
            "What would be done, or what was done.",
            plan={"type": "object"},
            preview={"type": "string", "description": "With dry_run: good once, for five minutes, for this request."},
            done={"type": "boolean"},
            failures={"type": "object", "description": "By partition: why it was left where it is."},
        ),
        (
            Parameter("act", f"One of {', '.join(ActKind)}.", place="path", is_required=True),
            _CSRF,
        ),
        method="post",
        errors={400: "The request is invalid."}
        | _LOGIN
        | _FORBIDDEN
        | {
            404: "There is no such act or object.",
            409: "It cannot be done, or something has changed since the preview. Nothing was changed.",
            503: "The cluster does not answer: the message tells whether something may have been done.",
        },
        body=_object(
            "What the act is about; fields as the act needs them.",
            dry_run={"type": "boolean", "description": "true by default: make a preview, and change nothing."},
            preview={"type": "string", "description": "Token of the preview, without dry_run."},
            cluster={**_STRING, "description": "Of the consumer; of the queue for acts on queues."},
            path={**_STRING, "description": "Likewise."},
            name={**_STRING, "description": "Of a consumer in a table that holds several."},
            queue_cluster={**_STRING, "description": "reset, register, unregister."},
            queue_path={**_STRING, "description": "reset, register, unregister."},
            vital={"type": "boolean", "description": "register."},
            to={**_STRING, "description": "reset: earliest, latest, offset:ROW, or time:INSTANT."},
            partitions={"type": ["array", "null"], "items": _INTEGER, "description": "reset: all by default."},
            agent={**_STRING, "description": "ban, unban: address as host:port."},
        ),
    ),
)
