"""The dashboard for Grafana of one consumer, or of a few."""

from __future__ import annotations

from typing import Final

from queue_agent.dashboards.grafana_queries import (
    CLUSTER,
    CONSUMER_IS,
    CONSUMERS,
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

CONSUMER: Final = Dashboard(
    "yt-queue-agent-consumer",
    "Queues: one consumer",
    "How far behind it is, how fast it reads, and whether it will lose rows.",
    (
        Row(
            "Lag",
            (
                Panel(
                    "Oldest unread row",
                    [Target(f"max by ({PAIR_BY}) (queue_agent_consumer_lag_seconds{{{CONSUMER_IS}}})", PAIR_LEGEND)],
                    "s",
                    "0 if all is read; absent where it is not known.",
                ),
                Panel(
                    "Unread rows",
                    [Target(f"max by ({PAIR_BY}) (queue_agent_consumer_lag_rows{{{CONSUMER_IS}}})", PAIR_LEGEND)],
                    "short",
                ),
                Panel(
                    "Unread bytes",
                    [Target(f"max by ({PAIR_BY}) (queue_agent_consumer_lag_bytes{{{CONSUMER_IS}}})", PAIR_LEGEND)],
                    "decbytes",
                    "Absent where it is not known.",
                ),
                Panel(
                    "Partitions by where it stands",
                    [
                        Target(
                            f"sum by (disposition) (queue_agent_consumer_partitions{{{CONSUMER_IS}}})",
                            "{{disposition}}",
                        )
                    ],
                    "short",
                ),
            ),
        ),
        Row(
            "Speed",
            (
                Panel(
                    "Rows read, and written to its queues",
                    [
                        Target(
                            f"sum by ({PAIR_BY}) (rate(queue_agent_consumer_rows_read_total{{{CONSUMER_IS}}}{RATE}))",
                            "read " + PAIR_LEGEND,
                        ),
                        Target(
                            f"sum by ({QUEUE_BY}) (rate(queue_agent_queue_rows_written_total{{{QUEUE_IS}}}{RATE}))"
                            f" and on ({QUEUE_BY}) queue_agent_consumer_vital{{{CONSUMER_IS}}}",
                            "written " + QUEUE_LEGEND,
                        ),
                    ],
                    "cps",
                ),
                Panel(
                    "Bytes read",
                    [
                        Target(
                            f"sum by ({PAIR_BY}) (rate(queue_agent_consumer_read_bytes_total{{{CONSUMER_IS}}}{RATE}))",
                            PAIR_LEGEND,
                        )
                    ],
                    "Bps",
                ),
                Panel(
                    "Time to catch up",
                    [
                        Target(
                            f"(queue_agent_consumer_lag_rows{{{CONSUMER_IS}}} > 0)"
                            f" / (-deriv(queue_agent_consumer_lag_rows{{{CONSUMER_IS}}}[10m]) > 0)"
                            f" or (queue_agent_consumer_lag_rows{{{CONSUMER_IS}}} == 0)",
                            PAIR_LEGEND,
                        )
                    ],
                    "s",
                    "At the speed of the last ten minutes; absent if it does not get nearer.",
                ),
                Panel(
                    "Time since the last commit",
                    [
                        Target(
                            f"time() - max by ({PAIR_BY})"
                            f" (queue_agent_consumer_last_commit_timestamp_seconds{{{CONSUMER_IS}}})",
                            PAIR_LEGEND,
                        )
                    ],
                    "s",
                ),
            ),
        ),
        Row(
            "Loss of rows",
            (
                Panel(
                    "Rows to the trimmed ones",
                    [Target(f"min by ({PAIR_BY}) (queue_agent_consumer_headroom_rows{{{CONSUMER_IS}}})", PAIR_LEGEND)],
                    "short",
                    "0: what is trimmed next is lost. Absent if all is read.",
                ),
                Panel(
                    "Rows lost",
                    [Target(f"max by ({PAIR_BY}) (queue_agent_consumer_expired_rows{{{CONSUMER_IS}}})", PAIR_LEGEND)],
                    "short",
                    "Unread rows that were trimmed.",
                ),
            ),
        ),
        Row(
            "Partitions that have series of their own",
            (
                Panel(
                    "Oldest unread row by partition",
                    [
                        Target(
                            f"topk(10, queue_agent_consumer_partition_lag_seconds{{{CONSUMER_IS}}})",
                            "{{consumer_path}} {{partition_index}}",
                        )
                    ],
                    "s",
                    "Which partitions have series is a matter of metrics.partitions.",
                ),
                Panel(
                    "Unread rows by partition",
                    [
                        Target(
                            f"topk(10, queue_agent_consumer_partition_lag_rows{{{CONSUMER_IS}}})",
                            "{{consumer_path}} {{partition_index}}",
                        )
                    ],
                    "short",
                ),
            ),
        ),
    ),
    (CLUSTER, *CONSUMERS, *QUEUES),
    LINKS,
)
