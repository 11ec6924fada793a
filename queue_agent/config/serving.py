"""What an agent shows: its servers, metrics and log lines."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
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
    """The server that masters ask for `@queue_status` and similar attributes."""

    port: int = Field(default=9030, ge=0, le=65535)
    """0 takes any free port."""

    advertised_host: str | None = Field(default=None, min_length=1)
    """Address at which other agents reach this one; `host` of the agent by default. With the port it identifies the
    agent in the mapping of objects, so it must be unique.
    """


class TlsConfig(ConfigModel):
    """Certificate of a server."""

    certificate_file: Path
    """PEM file with the certificate, and those between it and an authority behind it; read again when it changes."""

    key_file: Path
    """PEM file with its private key, without a password; read again when it changes."""


class HttpConfig(ListenConfig):
    """The server of status, metrics and health."""

    port: int = Field(default=10030, ge=0, le=65535)
    """0 takes any free port."""

    tls: TlsConfig | None = None
    """HTTPS in place of HTTP; plain HTTP by default."""

    hung_after: Duration = timedelta(minutes=5)
    """Time by which passes may be late beyond every deadline. Then `/health/live` fails, so that the agent is
    restarted. Passes that fail, as of a cluster that is down, are not late. Those that have succeeded before, and
    then fail for as long by faults of the agent itself, count as late.
    """


class ServerLimitsConfig(ConfigModel):
    """What peers may take of all servers together. A newcomer always gets in: it takes the place of a connection that
    has done nothing yet, or else of one the agent waits for, from the address that has the most."""

    max_connections: int = Field(default=1000, ge=16)
    """Limit of simultaneous connections on all ports together. It is lower if the process may not open enough files:
    256 files stay reserved.
    """

    max_connections_per_address: int = Field(default=250, ge=16)
    """Limit of simultaneous connections from one IP address."""

    max_held_bytes: int = Field(default=64 << 20, ge=1 << 20)
    """Limit of bytes in memory for unfinished requests and unread answers."""

    message_timeout: Duration = timedelta(seconds=10)
    """Time limit for receiving a request (head and body) or a handshake."""

    answer_timeout: Duration = timedelta(minutes=1)
    """Time limit for the peer to read an answer."""

    idle_timeout: Duration = timedelta(minutes=10)
    """Time limit for a connection without a request."""


class OtlpConfig(ConfigModel):
    """Pushing our own metrics to a collector of OpenTelemetry; needs `pip install yt-queue-agent[otel]`."""

    endpoint: str | None = None
    """URL for metrics by OTLP over HTTP, such as `http://collector:4318/v1/metrics`; by default from the variables
    `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT` and `OTEL_EXPORTER_OTLP_ENDPOINT`.
    """

    period: Duration = timedelta(minutes=1)
    """Period of pushes."""


class MetricsConfig(ConfigModel):
    """Content of `/metrics` and `/solomon/all`, and where they are."""

    listen: ListenConfig | None = None
    """A port of their own, `{port: 10031}` for instance: then `http` does not serve them. HTTPS if `http` has it. By
    default `http` serves them, as the monitoring port of the C++ agent does.
    """

    period: Duration = timedelta(seconds=5)
    """Greatest age of metrics. The agent rebuilds them with this period while somebody scrapes. If a rebuild is slow,
    it does so less often, to spend at most a tenth of its time.
    """

    compatible: bool = True
    """Also show series under the names of the C++ agent at `/solomon/all`."""

    partitions: Literal["none", "worst", "all"] = "worst"
    """Series of single partitions. Totals over all partitions of an object always exist."""

    worst_partitions: int = Field(default=100, ge=1)
    """Number of partitions with their own series under `worst`: first partitions of consumers with the oldest unread
    rows, then those of queues with the most rows. A chosen partition stays while it is among twice as many.
    """

    all_partitions_of: str | None = None
    """Regular expression. A queue or consumer whose `cluster:path` contains a match has series of all its partitions.
    """

    lag_time_histogram: bool = False
    """Show `yt_queue_agent_consumer_partition_lag_time_histogram`, 40 series for every queue of a consumer."""

    max_series: int = Field(default=500_000, ge=0)
    """Limit of series of objects. The agent leaves out partitions and histograms first, then whole objects. The metric
    `queue_agent_series` shows how many.
    """

    otlp: OtlpConfig | None = None
    """Push of our own metrics to a collector of OpenTelemetry. Without this section nothing is pushed. The variables
    `OTEL_...` set headers, certificates and attributes.
    """

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
    """Least severe level to write."""

    format: Literal["json", "console"] = "json"
    """`json`: one object per line, for programs; `console`: for people."""
