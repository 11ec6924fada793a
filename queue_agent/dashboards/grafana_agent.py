"""The dashboard for Grafana of the agents themselves."""

from __future__ import annotations

from typing import Final

from queue_agent.dashboards.grafana_queries import AGENT_IS, CLUSTER, LINKS, RATE
from queue_agent.dashboards.panels import Dashboard, Panel, Row, Target, Variable

AGENT: Final = Dashboard(
    "yt-queue-agent-agent",
    "Queues: the agents",
    "Passes, requests, and what the processes need.",
    (
        Row(
            "Agents",
            (
                Panel(
                    "Answers",
                    [Target(f'up{{service="yt-queue-agent",{AGENT_IS}}}', "{{instance}}")],
                    "short",
                    "1 if the latest scrape has succeeded.",
                ),
                Panel(
                    "Member, and keeper of the state tables",
                    [
                        Target(f"queue_agent_group_member{{{AGENT_IS}}}", "member {{instance}}"),
                        Target(f"queue_agent_state_keeper{{{AGENT_IS}}}", "keeper {{instance}}"),
                    ],
                    "short",
                    "One keeps the tables.",
                ),
                Panel(
                    "Objects",
                    [
                        Target(
                            f"sum by (instance, kind, state) (queue_agent_objects{{{AGENT_IS}}})",
                            "{{instance}} {{kind}} {{state}}",
                        )
                    ],
                    "short",
                    "Looked after by each agent.",
                ),
                Panel(
                    "Alerts of agents",
                    [
                        Target(
                            f"sum by (instance, category) (queue_agent_alerts{{{AGENT_IS}}}) or vector(0)",
                            "{{instance}} {{category}}",
                        )
                    ],
                    "short",
                ),
            ),
        ),
        Row(
            "Passes",
            (
                Panel(
                    "Age of the last success",
                    [
                        Target(
                            f"time() - queue_agent_last_successful_pass_timestamp_seconds{{{AGENT_IS}}}",
                            "{{instance}} {{kind}}",
                        )
                    ],
                    "s",
                    "Of passes of the agent itself.",
                ),
                Panel(
                    "Duration, 99th percentile",
                    [
                        Target(
                            "histogram_quantile(0.99, sum by (instance, kind, le)"
                            f" (rate(queue_agent_pass_duration_seconds_bucket{{{AGENT_IS}}}{RATE})))",
                            "{{instance}} {{kind}}",
                        )
                    ],
                    "s",
                ),
                Panel(
                    "Passes",
                    [
                        Target(
                            f"sum by (instance, kind) (rate(queue_agent_passes_total{{{AGENT_IS}}}{RATE}))",
                            "{{instance}} {{kind}}",
                        )
                    ],
                    "cps",
                ),
                Panel(
                    "Failed passes",
                    [
                        Target(
                            f"sum by (instance, kind) (rate(queue_agent_pass_errors_total{{{AGENT_IS}}}{RATE}))",
                            "{{instance}} {{kind}}",
                        )
                    ],
                    "cps",
                ),
            ),
        ),
        Row(
            "Requests to clusters",
            (
                Panel(
                    "Requests",
                    [
                        Target(
                            "sum by (yt_cluster, command, outcome)"
                            f" (rate(queue_agent_cluster_requests_total{{{AGENT_IS}}}{RATE}))",
                            "{{yt_cluster}} {{command}} {{outcome}}",
                        )
                    ],
                    "reqps",
                    "A batch is one.",
                ),
                Panel(
                    "Duration, 99th percentile",
                    [
                        Target(
                            "histogram_quantile(0.99, sum by (yt_cluster, command, le)"
                            f" (rate(queue_agent_cluster_request_duration_seconds_bucket{{{AGENT_IS}}}{RATE})))",
                            "{{yt_cluster}} {{command}}",
                        )
                    ],
                    "s",
                ),
            ),
        ),
        Row(
            "Processes",
            (
                Panel(
                    "Processor time",
                    [Target(f"rate(process_cpu_seconds_total{{{AGENT_IS}}}{RATE})", "{{instance}}")],
                    "percentunit",
                    "1 is a core, and all that an agent can use.",
                ),
                Panel(
                    "Memory",
                    [Target(f"process_resident_memory_bytes{{{AGENT_IS}}}", "{{instance}}")],
                    "bytes",
                ),
                Panel(
                    "Series of objects",
                    [Target(f"queue_agent_series{{{AGENT_IS}}}", "{{instance}} {{outcome}}")],
                    "short",
                    "Shed: there was no room for them.",
                ),
                Panel(
                    "Making the pages of metrics",
                    [
                        Target(
                            f"rate(queue_agent_metrics_render_duration_seconds_sum{{{AGENT_IS}}}{RATE})"
                            f" / rate(queue_agent_metrics_render_duration_seconds_count{{{AGENT_IS}}}{RATE})",
                            "{{instance}}",
                        )
                    ],
                    "s",
                    "Done in a thread, every metrics.period.",
                ),
            ),
        ),
    ),
    (CLUSTER, Variable("instance", "Agent", 'label_values(queue_agent_build_info{cluster=~"$cluster"}, instance)')),
    LINKS,
)
