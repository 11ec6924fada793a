"""The page docs/metrics.md, made from the catalogue of metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from queue_agent.adapters.metrics.compatible_families import COMPATIBLE_AGENT_FAMILIES, COMPATIBLE_OBJECT_FAMILIES
from queue_agent.adapters.metrics.metric_families import OWN_AGENT_FAMILIES, OWN_OBJECT_FAMILIES, Family

_INTRODUCTION: Final = """\
# Metrics

Generated from the code (`make docs`). The agent serves them on `http.port` (10030), or on a port of their own alone
(`metrics.listen`; the chart has 10031):

| path | content | format |
| --- | --- | --- |
| `/metrics` | our own metrics, and those of the process (`process_...`) | classic text, or OpenMetrics if asked for |
| `/solomon/all` | the same, and those of the C++ agent under its own names | classic text |

Scrape one of them. Dashboards and rules of this project need our own metrics. Official dashboards of
YTsaurus need those of the C++ agent (`metrics.compatible: false` turns them off). The official dashboards also need
the labels `service="yt-queue-agent"` and any `cluster`. Your scrape configuration adds them, as in
`deploy/prometheus/prometheus.yml`.

* **Unknown values are absent**, never 0 or NaN. A removed object has no series. With several agents, only the leader
  of an object has its series.
* **Scrapes ask no cluster.** A thread builds pages from the latest snapshots, every `metrics.period` while
  somebody scrapes. It reuses unchanged parts.
* **There is a budget** of `metrics.max_series` for series of objects. Beyond it, the agent leaves out passes over
  single objects, then histograms, then single partitions, then whole objects, the newest first.
  `queue_agent_series{outcome="shed"}` counts them.
* Totals over all partitions of an object always exist. `metrics.partitions`, `metrics.worst_partitions` and
  `metrics.all_partitions_of` choose single partitions.
* Labels with a path or a consumer's name are cut to 200 bytes. `queue_tag` and `consumer_tag` are the attributes
  `@queue_profiling_tag` and `@queue_consumer_profiling_tag`, or `none`. Only a consumer in a multi-consumer has
  `consumer_name`.
* Values of `kind` are [what can hold partitions back](trimming.md#why-are-these-rows-still-there).
* Durations are in seconds, except in `lag_time_histogram`, which has the C++ agent's milliseconds.

See also [dashboards and alerts](monitoring.md).
"""


def metrics_page() -> str:
    """The whole page, as Markdown."""
    sections = (
        ("Our own: the agent", OWN_AGENT_FAMILIES),
        ("Our own: queues and consumers", OWN_OBJECT_FAMILIES),
        ("Those of the C++ agent: the agent", COMPATIBLE_AGENT_FAMILIES),
        ("Those of the C++ agent: queues and consumers", COMPATIBLE_OBJECT_FAMILIES),
    )
    return "\n".join([_INTRODUCTION, *(line for title, families in sections for line in _section(title, families))])


def _section(title: str, families: Iterable[Family]) -> Iterable[str]:
    yield f"## {title}"
    yield ""
    yield "| metric | type | level | labels | meaning |"
    yield "| --- | --- | --- | --- | --- |"
    for family in families:
        labels = ", ".join(f"`{label}`" for label in family.labels)
        yield f"| `{family.name}` | {family.kind} | {family.level.value} | {labels} | {family.help} |"
    yield ""
