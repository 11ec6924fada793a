"""The dashboard for Grafana of all queues and consumers."""

from __future__ import annotations

from typing import Final

from queue_agent.dashboards.grafana_queries import (
    ALL,
    CLUSTER,
    LINKS,
    PAIR_BY,
    PAIR_LEGEND,
    QUEUE_BY,
    QUEUE_LEGEND,
    RATE,
)
from queue_agent.dashboards.panels import Dashboard, Panel, Row, Target


def _stat(title: str, expr: str, unit: str, description: str, warn_above: float | None = None) -> Panel:
    return Panel(title, [Target(expr)], unit, description, "stat", width=4, height=4, warn_above=warn_above)


_RED: Final = "unreadable|ahead|losing|stopped|stalled"

OVERVIEW: Final = Dashboard(
    "yt-queue-agent-overview",
    "Queues: overview",
    "All queues and consumers, the worst first.",
    (
        Row(
            "Now",
            (
                _stat("Queues", f"count(queue_agent_queue_readable{{{ALL}}})", "short", "Queues that are led."),
                _stat(
                    "Consumers",
                    f"count(queue_agent_consumer_readable{{{ALL}}})",
                    "short",
                    "Consumers that are led.",
                ),
                _stat(
                    "Queues in problem",
                    f"count(queue_agent_queue_readable{{{ALL}}} == 0"
                    f' or max by (cluster, {QUEUE_BY}) (queue_agent_queue_partitions{{{ALL},state="error"}}) > 0)'
                    " or vector(0)",
                    "short",
                    "Queues that cannot be read, in whole or in part.",
                    1,
                ),
                _stat(
                    "Consumers in problem",
                    f'count(queue_agent_consumer_verdict{{{ALL},verdict=~"{_RED}"}}) or vector(0)',
                    "short",
                    "Consumers with a red verdict, counted for each queue.",
                    1,
                ),
                _stat(
                    "Oldest unread row",
                    f"max(queue_agent_consumer_lag_seconds{{{ALL}}})",
                    "s",
                    "Of all consumers.",
                    3600,
                ),
                _stat(
                    "Rows lost",
                    f"sum(queue_agent_consumer_lost_rows_total{{{ALL}}}) or vector(0)",
                    "short",
                    "Rows that were trimmed before a consumer read them, since the agent first polled it.",
                    1,
                ),
                _stat(
                    "Alerts",
                    f'count(ALERTS{{alertstate="firing",{ALL},alertname=~".*(Queue|Consumer|Registration).*"}})'
                    " or vector(0)",
                    "short",
                    "Alerts that are firing.",
                    1,
                ),
            ),
        ),
        Row(
            "The worst consumers",
            (
                Panel(
                    "Oldest unread row",
                    [
                        Target(
                            f"topk(10, max by ({PAIR_BY}) (queue_agent_consumer_lag_seconds{{{ALL}}}))",
                            PAIR_LEGEND,
                        )
                    ],
                    "s",
                    "Absent where a queue has no $timestamp.",
                ),
                Panel(
                    "Unread rows",
                    [Target(f"topk(10, max by ({PAIR_BY}) (queue_agent_consumer_lag_rows{{{ALL}}}))", PAIR_LEGEND)],
                    "short",
                    "Trimmed ones included.",
                ),
                Panel(
                    "Falling behind",
                    [
                        Target(
                            f"topk(10, deriv(queue_agent_consumer_lag_seconds{{{ALL}}}[15m]) > 0)",
                            PAIR_LEGEND,
                        )
                    ],
                    "short",
                    "Seconds of lag gained each second; 1: it reads nothing.",
                ),
                Panel(
                    "Consumers by verdict",
                    [Target(f"count by (verdict) (queue_agent_consumer_verdict{{{ALL}}})", "{{verdict}}")],
                    "short",
                    "Each consumer counts once for each of its queues.",
                ),
            ),
        ),
        Row(
            "The busiest queues",
            (
                Panel(
                    "Rows written",
                    [
                        Target(
                            f"topk(10, sum by ({QUEUE_BY})"
                            f" (rate(queue_agent_queue_rows_written_total{{{ALL}}}{RATE})))",
                            QUEUE_LEGEND,
                        )
                    ],
                    "cps",
                    "Rows a second.",
                ),
                Panel(
                    "Bytes there",
                    [Target(f"topk(10, max by ({QUEUE_BY}) (queue_agent_queue_bytes{{{ALL}}}))", QUEUE_LEGEND)],
                    "decbytes",
                    "Absent where a queue has no $cumulative_data_weight.",
                ),
                Panel(
                    "Rows that stay for somebody",
                    [
                        Target(
                            f"topk(10, max by ({QUEUE_BY}, kind) (queue_agent_queue_trim_held_rows{{{ALL}}}))",
                            QUEUE_LEGEND + " {{kind}}",
                        )
                    ],
                    "short",
                    "Rows that could be trimmed but for what holds their partitions back.",
                ),
                Panel(
                    "Partitions by what holds them back",
                    [
                        Target(
                            f"sum by (kind) (queue_agent_queue_trim_constraint_partitions{{{ALL}}})",
                            "{{kind}}",
                        )
                    ],
                    "short",
                    "Of queues that ask to be trimmed.",
                ),
            ),
        ),
    ),
    (CLUSTER,),
    LINKS,
)
