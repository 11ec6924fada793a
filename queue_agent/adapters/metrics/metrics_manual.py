"""The page docs/metrics.md, made from the catalogue of metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from queue_agent.adapters.metrics.compatible_families import COMPATIBLE_AGENT_FAMILIES, COMPATIBLE_OBJECT_FAMILIES
from queue_agent.adapters.metrics.metric_families import OWN_AGENT_FAMILIES, OWN_OBJECT_FAMILIES, Family

_INTRODUCTION: Final = """\
# Metrics

Generated from the code (`make docs`). The agent serves them on `http.port` (10030):

| path | what | format |
| --- | --- | --- |
| `/metrics` | our own family, and what the process needs (`process_...`) | classic text, or OpenMetrics if asked for |
| `/solomon/all` | the same, and the family of the C++ agent under its own names | classic text |

One of them is enough to scrape: dashboards and rules of this project need our own family, official dashboards of
YTsaurus that of the C++ agent, which `metrics.compatible: false` turns off. The official dashboards look for the labels
`service="yt-queue-agent"` and any `cluster`, which come from the configuration of the scrape, as in
`deploy/prometheus/prometheus.yml`.

* **What is not known is absent**, never 0 or NaN. Series of an object go with it; of several agents, only the one that
  leads an object has them.
* **Scrapes ask no cluster.** Pages are made in a thread from the latest snapshots, every `metrics.period` while
  somebody scrapes; what has not changed is not made anew.
* **There is a budget.** All partitions of an object together always have their series; single ones those that
  `metrics.partitions`, `metrics.worst_partitions` and `metrics.all_partitions_of` choose. Of objects there are no more
  than `metrics.max_series` series: passes over single objects go first, then histograms, then single partitions, then
  whole objects, the newest first. `queue_agent_series{outcome="shed"}` tells how many went.
* Labels with a path or a consumer's name are cut to 200 bytes. `queue_tag` and `consumer_tag` are the attributes
  `@queue_profiling_tag` and `@queue_consumer_profiling_tag`, or `none`. `consumer_name` is there for one of several
  consumers in a table only.
* Values of `kind` are [what can hold partitions back](trimming.md#why-are-these-rows-still-there).
* Durations are in seconds, but in `lag_time_histogram`, which has the C++ agent's milliseconds.

What to do with them: [dashboards and alerts](monitoring.md).
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
