"""What a request for events asks for; YtError for what makes no sense."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from aiohttp import web

from queue_agent.adapters.serving.http_requests import read_limit
from queue_agent.core.state.consumer_events import EventQuery
from queue_agent.core.values.refs import CrossClusterRef
from yt_wire.error import YtError

DEFAULT_SPAN: Final = timedelta(days=1)

_CURSOR: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z,[0-9A-Za-z_-]{1,64}", re.ASCII)
_KIND: Final = re.compile(r"[a-z_]{1,64}")


def read_event_query(request: web.Request, now: datetime, *, names_people: bool = False) -> EventQuery:
    """The query in the parameters of a request."""
    query = request.query
    before, kinds = query.get("before"), query.get("kind")
    if before is not None and not _CURSOR.fullmatch(before):
        raise YtError('Parameter "before" must be the value of "next" in the previous answer')
    words = () if kinds is None else tuple(kinds.split(","))
    if not all(map(_KIND.fullmatch, words)):
        raise YtError('Parameter "kind" must be a list of kinds such as loss,verdict, separated by commas')
    return EventQuery(
        since=_read_since(query.get("since"), now),
        limit=read_limit(query.get("limit")),
        before=before,
        queue=_read_ref(query.get("queue"), "queue"),
        consumer=_read_ref(query.get("consumer"), "consumer"),
        kinds=words,
        names_people=names_people,
    )


def _read_since(text: str | None, now: datetime) -> datetime:
    if text is None:
        return now - DEFAULT_SPAN
    try:
        # In an address, a plus that is not encoded is a space.
        instant = datetime.fromisoformat(text.replace(" ", "+"))
        if instant.tzinfo is None:
            raise ValueError("no zone")
        return instant.astimezone(UTC)
    except (ValueError, OverflowError):
        raise YtError('Parameter "since" must be an instant with its zone, such as 2026-05-01T10:00:00Z') from None


def _read_ref(text: str | None, name: str) -> CrossClusterRef | None:
    try:
        return None if text is None else CrossClusterRef.parse(text)
    except ValueError:
        raise YtError(f'Parameter "{name}" must be of the form cluster://path') from None
