"""What an agent shows: its servers, metrics and log lines."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Literal

from pydantic import Field, field_validator

from queue_agent.config.options import ConfigModel, Duration


class ListenConfig(ConfigModel):
    """Where a server listens."""

    host: str = "0.0.0.0"
    """Address to bind to; all of IPv4 by default."""

    port: int = Field(ge=0, le=65535)
    """0 takes any free port."""


class RpcConfig(ListenConfig):
    """The server masters ask for `@queue_status` and its like."""

    port: int = Field(default=9030, ge=0, le=65535)
    """0 takes any free port."""

    advertised_host: str | None = Field(default=None, min_length=1)
    """Where the other agents reach this one; `host` of the agent by default. With the port it is the agent's address,
    by which the mapping of objects to agents names it: no two agents may have the same."""


class HttpConfig(ListenConfig):
    """The server of status, metrics and health."""

    port: int = Field(default=10030, ge=0, le=65535)
    """0 takes any free port."""


class ServerLimitsConfig(ConfigModel):
    """What peers may take of the servers of `rpc` and `http` together. A newcomer always gets in: it takes the place of
    a connection that has done nothing yet, or else of one the agent waits for, from the address that has the most."""

    max_connections: int = Field(default=1000, ge=16)
    """At a time, on both ports together. Fewer if the process may not open so many files: 256 of those it may open are
    left for other things."""

    max_connections_per_address: int = Field(default=250, ge=16)
    """At a time, from one IP address."""

    max_held_bytes: int = Field(default=64 << 20, ge=1 << 20)
    """Bytes in memory of requests that are incomplete or under way, and of answers that were not read yet."""

    message_timeout: Duration = timedelta(seconds=10)
    """How long a request may take to come, head and body; likewise a handshake, or whatever is first."""

    answer_timeout: Duration = timedelta(minutes=1)
    """How long an answer may take to be read."""

    idle_timeout: Duration = timedelta(minutes=10)
    """How long a connection may stay without a request."""


class OtlpConfig(ConfigModel):
    """Pushing our own metrics to a collector of OpenTelemetry; needs `pip install yt-queue-agent[otel]`."""

    endpoint: str | None = None
    """URL that takes metrics by OTLP over HTTP, such as `http://collector:4318/v1/metrics`; by default what the
    variables `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT` and `OTEL_EXPORTER_OTLP_ENDPOINT` say."""

    period: Duration = timedelta(minutes=1)
    """How often."""


class MetricsConfig(ConfigModel):
    """What there is at `/metrics` and `/solomon/all`."""

    period: Duration = timedelta(seconds=5)
    """How old what is shown may be. While somebody scrapes it is brought up to date so often, apart from the rest; or,
    if that takes long, so rarely that no more than a tenth of the time goes by it."""

    compatible: bool = True
    """Show series under the names of the C++ agent at `/solomon/all`, beside our own."""

    partitions: Literal["none", "worst", "all"] = "worst"
    """Series of single partitions. What is said of all partitions of an object together is always there."""

    worst_partitions: int = Field(default=100, ge=1)
    """Of how many partitions there are series of their own with `worst`: those of consumers that have the oldest unread
    rows, then those of queues with the most rows. One that is among the worst stays while it is among twice as many."""

    all_partitions_of: str | None = None
    """Regular expression; a queue or consumer in whose `cluster:path` it is found has series of all its partitions."""

    lag_time_histogram: bool = False
    """Show `yt_queue_agent_consumer_partition_lag_time_histogram`, 40 series for every queue of a consumer."""

    max_series: int = Field(default=500_000, ge=0)
    """How many series of objects there are at most. Partitions and histograms are left out first, then whole objects;
    the metric `queue_agent_series` tells of it."""

    otlp: OtlpConfig | None = None
    """Pushing our own metrics to a collector of OpenTelemetry; without this section nothing is pushed. Headers,
    certificates and attributes are those of the variables `OTEL_...`."""

    @field_validator("all_partitions_of")
    @classmethod
    def _is_expression(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"is no regular expression: {error}") from error
        return pattern


class LoggingConfig(ConfigModel):
    """Log lines on standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe lines to write."""

    format: Literal["json", "console"] = "json"
    """`json`: an object a line, for programs; `console`: for people."""
