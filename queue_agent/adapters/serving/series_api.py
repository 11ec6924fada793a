"""Time series as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from queue_agent.core.status.time_series import STEP
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.ports.status import SeriesTeller, ToldSeries
from yt_wire.error import YtError

MAX_HOURS: Final = 24


async def show_series(source: SeriesTeller | None, asked: Mapping[str, str]) -> Mapping[str, Any]:
    """Figures of the queue, or of the consumer in the queue, that is named; none of what is not remembered."""
    kind = asked.get("kind")
    hours = asked.get("hours", str(MAX_HOURS))
    if not (hours.isascii() and hours.isdigit() and 1 <= int(hours[:4]) <= MAX_HOURS):
        raise YtError(f'Parameter "hours" must be a number from 1 to {MAX_HOURS}')
    ref = CrossClusterRef(_need(asked, "cluster"), _need(asked, "path"), asked.get("name", ""))
    if kind == "queue":
        told = ToldSeries(None) if source is None else await source.queue_series(ref, int(hours))
    elif kind == "consumer":
        queue = CrossClusterRef(_need(asked, "queue_cluster"), _need(asked, "queue_path"))
        told = ToldSeries(None) if source is None else await source.consumer_series(ref, queue, int(hours))
    else:
        raise YtError('Parameter "kind" must be "queue" or "consumer"')
    view, until = told.view, told.history_until
    return {
        "step": STEP,
        "times": [int(time.timestamp()) for time in view.times] if view else [],
        "series": {name: list(values) for name, values in view.series.items()} if view else {},
        "source": "memory" if until is None else "history",
        "history_until": None if until is None else int(until.timestamp()),
        "note": told.note,
    }


def _need(asked: Mapping[str, str], name: str) -> str:
    value = asked.get(name)
    if not value:
        raise YtError(f'Parameter "{name}" is missing')
    return value
