"""Time series as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from queue_agent.core.status.time_series import STEP
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.ports.status import SeriesSource
from yt_wire.error import YtError

MAX_HOURS: Final = 24


def show_series(source: SeriesSource | None, request: web.Request) -> Mapping[str, Any]:
    """Figures of the queue, or of the consumer in the queue, the address names; none of what is not remembered."""
    asked = request.query
    kind = asked.get("kind")
    hours = asked.get("hours", str(MAX_HOURS))
    if not (hours.isascii() and hours.isdigit() and 1 <= int(hours[:4]) <= MAX_HOURS):
        raise YtError(f'Parameter "hours" must be a number from 1 to {MAX_HOURS}')
    ref = CrossClusterRef(_need(asked, "cluster"), _need(asked, "path"), asked.get("name", ""))
    if kind == "queue":
        view = source and source.queue_series(ref, int(hours))
    elif kind == "consumer":
        queue = CrossClusterRef(_need(asked, "queue_cluster"), _need(asked, "queue_path"))
        view = source and source.consumer_series(ref, queue, int(hours))
    else:
        raise YtError('Parameter "kind" must be "queue" or "consumer"')
    return {
        "step": STEP,
        "times": [int(time.timestamp()) for time in view.times] if view else [],
        "series": {name: list(values) for name, values in view.series.items()} if view else {},
        "source": "memory",
    }


def _need(asked: Mapping[str, str], name: str) -> str:
    value = asked.get(name)
    if not value:
        raise YtError(f'Parameter "{name}" is missing')
    return value
