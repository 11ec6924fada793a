"""Static exports: whether an agent makes them, how often it looks, and how it goes on after failures."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import Field

from queue_agent.config.options import ConfigModel, Duration
from queue_agent.core.exports.preview import ExportingMode

StaticExports = Literal["allowed", "observe", "never"]
"""What an agent may do at most."""


class RetryBackoffConfig(ConfigModel):
    """How long an export waits after a failure until it is tried again."""

    min_backoff: Duration = timedelta(seconds=1)
    """Pause after the first failure."""

    max_backoff: Duration = timedelta(minutes=5)
    """Longest pause."""

    backoff_multiplier: float = Field(default=1.5, ge=1)
    """Factor by which each further failure lengthens the pause."""

    backoff_jitter: float = Field(default=0.1, ge=0, le=1)
    """Random variation of the pause, as a fraction."""

    def after(self, failures: int, chance: float) -> timedelta:
        """Wait so long after so many failures in a row.

        Args:
            failures: at least 1.
            chance: from -1 to 1.
        """
        factor = self.backoff_multiplier ** min(failures - 1, 1 << 8)
        wait = min(self.min_backoff.total_seconds() * factor, self.max_backoff.total_seconds())
        return timedelta(seconds=wait * (1 + self.backoff_jitter * chance))


class QueueExporterConfig(ConfigModel):
    """Static exports of queues with `@static_export_config`."""

    enable: bool = False
    """Create the tables of static exports. Without it the agent creates none, and keeps rows that nobody has exported.
    """

    pass_period: Duration = timedelta(seconds=1)
    """Period of checks for due tables."""

    max_exported_table_count_per_task: int = Field(default=10, ge=1)
    """Limit of tables per task; further ones follow in the next task."""

    retry_backoff: RetryBackoffConfig = RetryBackoffConfig()
    """Pause after failures."""

    enable_row_count_check: bool = True
    """Stop an export if its last chunk does not end with its last exported row."""


class QueueExportManagerConfig(ConfigModel):
    """All static exports of this agent together."""

    export_rate_limit: float = Field(default=4.0, gt=0)
    """Limit of exports that start per second."""


def exporting_mode(static_exports: StaticExports, config: QueueExporterConfig) -> ExportingMode:
    """What comes of both options together."""
    match static_exports:
        case "never":
            return ExportingMode.OFF
        case "observe":
            return ExportingMode.OBSERVE
        case "allowed":
            return ExportingMode.EXPORT if config.enable else ExportingMode.OFF
