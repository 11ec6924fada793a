"""What every pass needs: the time, and somebody who hears of it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol


class PassScope(NamedTuple):
    """Which passes over objects share their metrics."""

    cluster: str
    leading: bool


class PassObserver(Protocol):
    """Hears of every finished pass; metrics do."""

    def pass_finished(
        self, kind: str, pass_index: int, seconds: float, error: Exception | None, scope: PassScope | None = None
    ) -> None:
        """A pass over an object has a scope.

        `kind` is `queue_controller`, `consumer_controller`, `multi_consumer_controller`, `agent`,
        `cypress_synchronizer`, `queue_agent_sharding_manager`, `membership`, `dynamic_config`, `cluster_connections`,
        `queue_export_manager`, `history`, `time_series`, `metrics` or `open_telemetry`.
        """
        ...


class Clock(Protocol):
    """Time of day."""

    def now(self) -> datetime:
        """The present, aware, UTC."""
        ...
