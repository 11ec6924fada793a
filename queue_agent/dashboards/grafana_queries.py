"""What the dashboards for Grafana have in common: matchers by their variables, legends, links."""

from __future__ import annotations

from typing import Final

from queue_agent.dashboards.panels import Variable

QUEUE_IS: Final = 'cluster=~"$cluster",queue_cluster=~"$queue_cluster",queue_path=~"$queue_path"'
CONSUMER_IS: Final = f'{QUEUE_IS},consumer_cluster=~"$consumer_cluster",consumer_path=~"$consumer_path"'
AGENT_IS: Final = 'cluster=~"$cluster",instance=~"$instance"'
ALL: Final = 'cluster=~"$cluster"'
RATE: Final = "[$__rate_interval]"
QUEUE_LEGEND: Final = "{{queue_cluster}} {{queue_path}}"
PAIR_LEGEND: Final = "{{consumer_path}} {{consumer_name}} ← {{queue_path}}"
PAIR_BY: Final = "consumer_cluster, consumer_path, consumer_name, queue_cluster, queue_path"
QUEUE_BY: Final = "queue_cluster, queue_path"

CLUSTER: Final = Variable("cluster", "Cluster", "label_values(queue_agent_build_info, cluster)")
QUEUES: Final = (
    Variable(
        "queue_cluster",
        "Queue's cluster",
        'label_values(queue_agent_queue_readable{cluster=~"$cluster"}, queue_cluster)',
    ),
    Variable(
        "queue_path",
        "Queue",
        'label_values(queue_agent_queue_readable{cluster=~"$cluster",queue_cluster=~"$queue_cluster"}, queue_path)',
    ),
)
CONSUMERS: Final = (
    Variable(
        "consumer_cluster",
        "Consumer's cluster",
        'label_values(queue_agent_consumer_readable{cluster=~"$cluster"}, consumer_cluster)',
    ),
    Variable(
        "consumer_path",
        "Consumer",
        'label_values(queue_agent_consumer_readable{cluster=~"$cluster",consumer_cluster=~"$consumer_cluster"},'
        " consumer_path)",
    ),
)
LINKS: Final = (
    ("Overview", "yt-queue-agent-overview"),
    ("Queue", "yt-queue-agent-queue"),
    ("Consumer", "yt-queue-agent-consumer"),
    ("Agent", "yt-queue-agent-agent"),
)
