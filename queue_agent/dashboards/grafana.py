"""All dashboards for Grafana."""

from __future__ import annotations

from typing import Final

from queue_agent.dashboards.grafana_agent import AGENT
from queue_agent.dashboards.grafana_consumer import CONSUMER
from queue_agent.dashboards.grafana_overview import OVERVIEW
from queue_agent.dashboards.grafana_queue import QUEUE

DASHBOARDS: Final = {"overview": OVERVIEW, "queue": QUEUE, "consumer": CONSUMER, "agent": AGENT}
"""By the name of their file in `deploy/grafana/dashboards`."""
