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
    """After the first failure."""

    max_backoff: Duration = timedelta(minutes=5)
    """At most."""

    backoff_multiplier: float = Field(default=1.5, ge=1)
    """Every further failure makes it so many times longer."""

    backoff_jitter: float = Field(default=0.1, ge=0, le=1)
    """How much shorter or longer it is by chance, as a part of it."""

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
    """Static exports of queues, by `@static_export_config`."""

    enable: bool = False
    """Make the tables queues ask for; without it none are made, and rows that nobody has exported are kept."""

    pass_period: Duration = timedelta(seconds=1)
    """How often it is looked whether tables are due."""

    max_exported_table_count_per_task: int = Field(default=10, ge=1)
    """How many tables appear at once; further ones wait for the next."""

    retry_backoff: RetryBackoffConfig = RetryBackoffConfig()
    """After failures."""

    enable_row_count_check: bool = True
    """Refuse to go on where the last exported chunk does not end with the last exported row."""


class QueueExportManagerConfig(ConfigModel):
    """All static exports of this agent together."""

    export_rate_limit: float = Field(default=4.0, gt=0)
    """How many exports begin in a second at most."""


def exporting_mode(static_exports: StaticExports, config: QueueExporterConfig) -> ExportingMode:
    """What comes of both options together."""
    match static_exports:
        case "never":
            return ExportingMode.OFF
        case "observe":
            return ExportingMode.OBSERVE
        case "allowed":
            return ExportingMode.EXPORT if config.enable else ExportingMode.OFF
