"""The dashboard for Grafana of one queue, or of a few."""

from __future__ import annotations

from typing import Final

from queue_agent.dashboards.grafana_queries import (
    CLUSTER,
    LINKS,
    PAIR_BY,
    PAIR_LEGEND,
    QUEUE_BY,
    QUEUE_IS,
    QUEUE_LEGEND,
    QUEUES,
    RATE,
)
from queue_agent.dashboards.panels import Dashboard, Panel, Row, Target

QUEUE: Final = Dashboard(
    "yt-queue-agent-queue",
    "Queues: one queue",
    "What is written, what is there, who reads it and what keeps it.",
    (
        Row(
            "Writing",
            (
                Panel(
                    "Rows written and trimmed",
                    [
                        Target(
                            f"sum by ({QUEUE_BY}) (rate(queue_agent_queue_rows_written_total{{{QUEUE_IS}}}{RATE}))",
                            "written " + QUEUE_LEGEND,
                        ),
                        Target(
                            f"sum by ({QUEUE_BY}) (rate(queue_agent_queue_rows_trimmed_total{{{QUEUE_IS}}}{RATE}))",
                            "trimmed " + QUEUE_LEGEND,
                        ),
                    ],
                    "cps",
                    "Rows a second, by whomever they were trimmed.",
                ),
                Panel(
                    "Bytes written",
                    [
                        Target(
                            f"sum by ({QUEUE_BY}) (rate(queue_agent_queue_written_bytes_total{{{QUEUE_IS}}}{RATE}))",
                            QUEUE_LEGEND,
                        )
                    ],
                    "Bps",
                    "Data weight; absent without $cumulative_data_weight.",
                ),
                Panel(
                    "Rows there",
                    [Target(f"max by ({QUEUE_BY}) (queue_agent_queue_rows{{{QUEUE_IS}}})", QUEUE_LEGEND)],
                    "short",
                    "In partitions that can be read.",
                ),
                Panel(
                    "Time since the last write",
                    [
                        Target(
                            "time() - max by"
                            f" ({QUEUE_BY}) (queue_agent_queue_last_write_timestamp_seconds{{{QUEUE_IS}}})",
                            QUEUE_LEGEND,
                        )
                    ],
                    "s",
                    "Absent if nothing was ever written.",
                ),
            ),
        ),
        Row(
            "Reading",
            (
                Panel(
                    "Oldest unread row by consumer",
                    [Target(f"max by ({PAIR_BY}) (queue_agent_consumer_lag_seconds{{{QUEUE_IS}}})", PAIR_LEGEND)],
                    "s",
                ),
                Panel(
                    "Rows to the trimmed ones by consumer",
                    [Target(f"min by ({PAIR_BY}) (queue_agent_consumer_headroom_rows{{{QUEUE_IS}}})", PAIR_LEGEND)],
                    "short",
                    "0: what is trimmed next is lost to this consumer. Absent if all is read.",
                ),
                Panel(
                    "Consumers",
                    [
                        Target(
                            f"max by ({QUEUE_BY}, vital) (queue_agent_queue_registrations{{{QUEUE_IS}}})",
                            QUEUE_LEGEND + " vital={{vital}}",
                        )
                    ],
                    "short",
                    "Registrations.",
                ),
                Panel(
                    "Partitions by state",
                    [
                        Target(
                            f"max by ({QUEUE_BY}, state) (queue_agent_queue_partitions{{{QUEUE_IS}}})",
                            QUEUE_LEGEND + " {{state}}",
                        )
                    ],
                    "short",
                    "Error: the tablet cannot be read.",
                ),
            ),
        ),
        Row(
            "Trimming",
            (
                Panel(
                    "Partitions by what holds them back",
                    [
                        Target(
                            f"max by ({QUEUE_BY}, kind) (queue_agent_queue_trim_constraint_partitions{{{QUEUE_IS}}})",
                            "{{kind}}",
                        )
                    ],
                    "short",
                    "Absent if the queue is not to be trimmed.",
                ),
                Panel(
                    "Rows that could go but for that",
                    [
                        Target(
                            f"max by ({QUEUE_BY}, kind) (queue_agent_queue_trim_held_rows{{{QUEUE_IS}}})",
                            "{{kind}}",
                        )
                    ],
                    "short",
                ),
            ),
        ),
        Row(
            "Static exports",
            (
                Panel(
                    "Rows exported by export",
                    [
                        Target(
                            f"sum by ({QUEUE_BY}, export_name)"
                            f" (rate(queue_agent_queue_exported_rows_total{{{QUEUE_IS}}}{RATE}))",
                            QUEUE_LEGEND + " {{export_name}}",
                        )
                    ],
                    "cps",
                    "Absent without @static_export_config.",
                ),
                Panel(
                    "Time since the last success",
                    [
                        Target(
                            f"time() - max by ({QUEUE_BY}, export_name)"
                            f" (queue_agent_queue_export_last_success_timestamp_seconds{{{QUEUE_IS}}})",
                            QUEUE_LEGEND + " {{export_name}}",
                        )
                    ],
                    "s",
                    "Of a task that left no table out, though it may have had none to make.",
                ),
                Panel(
                    "Failed tasks and tables left out",
                    [
                        Target(
                            f"sum by ({QUEUE_BY}, export_name)"
                            f" (increase(queue_agent_queue_export_errors_total{{{QUEUE_IS}}}{RATE}))",
                            QUEUE_LEGEND + " {{export_name}} failed",
                        ),
                        Target(
                            f"sum by ({QUEUE_BY}, export_name)"
                            f" (increase(queue_agent_queue_export_skipped_tables_total{{{QUEUE_IS}}}{RATE}))",
                            QUEUE_LEGEND + " {{export_name}} left out",
                        ),
                    ],
                    "short",
                ),
            ),
        ),
        Row(
            "Partitions that have series of their own",
            (
                Panel(
                    "Rows there by partition",
                    [
                        Target(
                            f"topk(10, queue_agent_queue_partition_rows{{{QUEUE_IS}}})",
                            "{{queue_path}} {{partition_index}}",
                        )
                    ],
                    "short",
                    "Which partitions have series is a matter of metrics.partitions.",
                ),
                Panel(
                    "Rows written by partition",
                    [
                        Target(
                            f"topk(10, rate(queue_agent_queue_partition_rows_written_total{{{QUEUE_IS}}}{RATE}))",
                            "{{queue_path}} {{partition_index}}",
                        )
                    ],
                    "cps",
                    "Partitions that get much more than others are chosen unevenly.",
                ),
            ),
        ),
    ),
    (CLUSTER, *QUEUES),
    LINKS,
)
