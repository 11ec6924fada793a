"""Configuration of the agent; every field is explained below it, the reference page is generated from here."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, Self

import yaml
from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    field_validator,
    model_validator,
)

from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.trim_config import TrimmingMode
from queue_agent.errors import ConfigError
from queue_agent.wire import yson
from queue_agent.wire.error import YtError
from queue_agent.wire.ypath import parse_rich

DYNAMIC_SECTIONS: Final = ("cypress_synchronizer", "queue_agent_sharding_manager", "queue_agent")
"""What a document on the cluster can change; the names are those of the C++ agent's document."""


_PASSES_OF_LEASE: Final = 5
"""What the agent reads must not get too old to be acted by before it is read again."""

Trimming = Literal["allowed", "observe", "never"]
"""What an agent may do at most."""


class ConfigModel(BaseModel):
    """Base of all sections: immutable, unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def _from_milliseconds(value: Any) -> Any:
    return timedelta(milliseconds=value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _to_milliseconds(value: timedelta) -> int:
    return value // timedelta(milliseconds=1)


Duration = Annotated[
    timedelta,
    BeforeValidator(_from_milliseconds, json_schema_input_type=float | timedelta),
    PlainSerializer(_to_milliseconds, when_used="json"),
    Field(gt=timedelta(0)),
]
"""A bare number means milliseconds, as in YTsaurus itself; pydantic alone would say seconds."""


class TablePath(NamedTuple):
    """A table, on a cluster of its own or on that of the other state tables."""

    cluster: str | None
    path: str

    def __str__(self) -> str:
        return self.path if self.cluster is None else f"<cluster={self.cluster}>{self.path}"


def _parse_table_path(value: Any) -> Any:
    if value is None or isinstance(value, TablePath):
        return value
    try:
        rich = parse_rich(value)
    except YtError as error:
        raise ValueError(error.message) from error
    if not rich.path.startswith("//") or set(rich.attributes) - {"cluster"}:
        raise ValueError("must be a path that starts with //, with no attribute but cluster")
    return TablePath(rich.cluster, rich.path)


RichTablePath = Annotated[
    TablePath, PlainValidator(_parse_table_path, json_schema_input_type=str), PlainSerializer(str)
]
"""A path that may name a cluster: `<cluster=NAME>//path` or `NAME://path`."""


class HistoryTables(NamedTuple):
    """Where the history is kept: two tables of one cluster."""

    queue: CrossClusterRef
    producer: CrossClusterRef

    @classmethod
    def below(cls, cluster: str, root: str) -> HistoryTables:
        """Beside the state tables."""
        return cls(
            CrossClusterRef(cluster, f"{root}/history_queue"), CrossClusterRef(cluster, f"{root}/history_producer")
        )


class ClusterConfig(ConfigModel):
    """How to reach one cluster."""

    proxy: str
    """Address of the HTTP proxy or its balancer: `http://host:port`, `https://host`, or `host:port` for HTTP."""

    token_file: Path | None = None
    """File with the OAuth token of the agent's user; read again when it changes."""

    ca_file: Path | None = None
    """PEM file with the certificate authorities to trust for HTTPS; the system's by default."""

    discover_proxies: bool = True
    """Ask the proxy for other proxies (`/hosts`) and spread heavy requests over them."""

    request_timeout: Duration = timedelta(seconds=20)
    """For one HTTP request, from sending it to the end of the answer."""

    connect_timeout: Duration = timedelta(seconds=5)
    """For one TCP connection to be made."""

    retry_count: int = Field(default=2, ge=0)
    """How often a light request that failed on its way is repeated, on another proxy where there is one."""


class StateConfig(ConfigModel):
    """Where the state tables are."""

    cluster: str
    """Name of one of `clusters`."""

    root: str = "//sys/queue_agents"
    """Directory of the tables."""

    consumer_registration_table_path: RichTablePath | None = None
    """Table of registrations, which proxies write; `consumer_registrations` in `root` by default. May be a rich path
    that names one of `clusters`: `<cluster=NAME>//path`."""

    replicated_table_mapping_table_path: RichTablePath | None = None
    """Table of the replicas of replicated tables; `replicated_table_mapping` in `root` by default. May name a cluster
    as well."""

    object_mapping_table_path: RichTablePath | None = None
    """Table that says which agent leads which object; `queue_agent_object_mapping` in `root` by default. May name a
    cluster as well. A C++ agent of another stage with the same `root` deletes rows of all objects but its own from that
    one: beside it, this has to be another table of the same schema."""

    @property
    def hosts(self) -> CrossClusterRef:
        """Where the mapping of objects to agents is."""
        return self._table(self.object_mapping_table_path, "queue_agent_object_mapping")

    @property
    def registrations(self) -> CrossClusterRef:
        """Where registrations are."""
        return self._table(self.consumer_registration_table_path, "consumer_registrations")

    @property
    def mapping(self) -> CrossClusterRef:
        """Where the replicated table mapping is."""
        return self._table(self.replicated_table_mapping_table_path, "replicated_table_mapping")

    def _table(self, given: TablePath | None, name: str) -> CrossClusterRef:
        if given is None:
            return CrossClusterRef(self.cluster, f"{self.root}/{name}")
        return CrossClusterRef(given.cluster or self.cluster, given.path)


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


class MembershipConfig(ConfigModel):
    """Being one of several agents of a stage."""

    lease: Duration = timedelta(seconds=15)
    """An agent that could not tell the cluster for so long that it is there is taken for dead, and others lead what it
    has led. For as long, whoever begins to lead an object does not trim it. All agents of a stage must have the same;
    at least five times `queue_agent.pass_period`."""

    hand_over_timeout: Duration = timedelta(seconds=10)
    """How long an agent that is told to stop goes on until others have taken over what it leads."""


class ShardingManagerConfig(ConfigModel):
    """The pass that looks which agents there are, and says which of them leads what."""

    pass_period: Duration = timedelta(seconds=1)
    """From the start of one pass to the start of the next. The C++ agent's is 5 s."""

    pass_timeout: Duration = timedelta(seconds=60)
    """A pass that takes longer has failed."""


class CypressSynchronizerConfig(ConfigModel):
    """The pass that carries attributes of queues and consumers into the state tables."""

    pass_period: Duration = timedelta(seconds=1)
    """From the start of one pass to the start of the next; a longer pass is followed by the next at once."""

    pass_timeout: Duration = timedelta(seconds=60)
    """A pass that takes longer has failed."""

    enable: bool = True
    """Off: the tables are kept by somebody else."""

    policy: Literal["polling", "watching"] = "polling"
    """`watching`: keep a row for every queue and consumer of `clusters`. `polling`: only keep the rows up to date that
    somebody else has put into the tables, of whatever cluster."""

    clusters: tuple[str, ...] | None = None
    """Whose objects are watched with the policy `watching`; all of `clusters` by default."""

    write_replicated_table_mapping: bool = Field(
        default=False,
        validation_alias=AliasChoices("write_replicated_table_mapping", "write_registration_table_mapping"),
    )
    """Keep the table of the replicas of replicated tables, too; with the policy `watching` only."""

    chaos_replicated_table_queue_agent_stage: str = Field(default="production", min_length=1)
    """Stage of chaos replicated tables that have no `@queue_agent_stage`."""


class ControllerConfig(ConfigModel):
    """Passes over one queue or one consumer."""

    pass_period: Duration = timedelta(seconds=1)
    """From the start of one pass to the start of the next; a longer pass is followed by the next at once."""

    pass_timeout: Duration = timedelta(seconds=60)
    """A pass that takes longer has failed."""

    enable_automatic_trimming: bool = False
    """Trim queues that ask for it in `@auto_trim_config`; without it rows are never deleted."""

    trimming_period: Duration | None = None
    """How often a queue is trimmed, rounded up to whole passes; every pass by default."""

    trim_journal: bool = True
    """Write down every trim in the table `trim_journal` beside the state tables, if there is one."""


class QueueAgentConfig(ConfigModel):
    """The pass that reads the state tables, and the passes over the objects found there."""

    pass_period: Duration = timedelta(seconds=1)
    """From the start of one pass to the start of the next; a longer pass is followed by the next at once."""

    pass_timeout: Duration = timedelta(seconds=60)
    """A pass that takes longer has failed."""

    inactive_object_display_limit: int = Field(default=10, ge=0)
    """How many objects of each kind `controller_info` lists, those not looked at for longest first."""

    handle_replicated_objects: bool = False
    """Lead queues and consumers that are replicated tables; without it they are only followed where others need it."""

    controller: ControllerConfig = ControllerConfig()
    """Passes over one object."""


class DynamicConfigManagerConfig(ConfigModel):
    """The document on the state's cluster that changes `cypress_synchronizer`, `queue_agent_sharding_manager` and
    `queue_agent` of a running agent."""

    enable: bool = True
    """Off: this file alone counts."""

    path: str | None = None
    """Of the document; `config` in `state.root` by default. A document that does not exist changes nothing."""

    update_period: Duration = timedelta(seconds=5)
    """How often the document is read."""


class HistoryConfig(ConfigModel):
    """Keeping what the agent sees in a queue; both tables are made by `queue-agent init-state --history`."""

    queue: RichTablePath | None = None
    """The queue; `history_queue` in `state.root` by default. May name a cluster, on which the producer is then, too."""

    producer: RichTablePath | None = None
    """The producer, on the queue's cluster; `history_producer` in `state.root` by default."""

    period: Duration = timedelta(minutes=1)
    """How often a row is written for every partition of every queue and consumer led here."""

    max_buffered_bytes: int = Field(default=64 << 20, ge=1 << 16)
    """How much may wait in memory while it can not be written; the oldest rows are dropped then."""


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


class AgentConfig(ConfigModel):
    """The whole configuration of `queue-agent run`."""

    stage: str = Field(min_length=1)
    """Objects with this `@queue_agent_stage` are led here."""

    clusters: dict[str, ClusterConfig] = Field(min_length=1)
    """By name, as `//sys/@cluster_connection/cluster_name` has it; references are written with these names."""

    state: StateConfig
    """Where the state tables are."""

    host: str = Field(default_factory=socket.gethostname, min_length=1)
    """Published as `queue_agent_host`; the machine's name by default."""

    rpc: RpcConfig = RpcConfig()
    """The server masters ask for `@queue_status` and its like."""

    http: HttpConfig = HttpConfig()
    """The server of status, metrics and health."""

    cypress_synchronizer: CypressSynchronizerConfig = CypressSynchronizerConfig()
    """The pass that carries attributes of queues and consumers into the state tables."""

    membership: MembershipConfig = MembershipConfig()
    """Being one of several agents of a stage."""

    queue_agent_sharding_manager: ShardingManagerConfig = ShardingManagerConfig()
    """The pass that looks which agents there are, and says which of them leads what."""

    queue_agent: QueueAgentConfig = QueueAgentConfig()
    """The pass that reads the state tables, and the passes over the objects found there."""

    dynamic_config_manager: DynamicConfigManagerConfig = DynamicConfigManagerConfig()
    """The document on the state's cluster that changes `cypress_synchronizer`, `queue_agent_sharding_manager` and
    `queue_agent` of a running agent."""

    trimming: Trimming | None = None
    """What this agent may do at most, whatever a document on the cluster says: `allowed` trims if
    `queue_agent.controller.enable_automatic_trimming` says so; `observe` decides and publishes what it would trim, and
    trims nothing; `never` does neither. By default it is allowed if this file enables automatic trimming, and else
    never: a document alone does not make an agent delete rows."""

    expose_config_in_orchid: bool = True
    """Show the configuration under `/orchid/config` and `/orchid/dynamic_config_manager`; it holds no secrets."""

    history: HistoryConfig | None = None
    """Keeping what the agent sees in a queue; without this section there is no history."""

    metrics: MetricsConfig = MetricsConfig()
    """What there is at `/metrics` and `/solomon/all`."""

    logging: LoggingConfig = LoggingConfig()
    """Log lines on standard error."""

    @model_validator(mode="after")
    def _clusters_exist(self) -> Self:
        named = {
            "state.cluster": (self.state.cluster,),
            "state.consumer_registration_table_path": (self.state.registrations.cluster,),
            "state.replicated_table_mapping_table_path": (self.state.mapping.cluster,),
            "state.object_mapping_table_path": (self.state.hosts.cluster,),
            "cypress_synchronizer.clusters": self.watched_clusters,
            "history.queue": (self.history_tables.queue.cluster,),
        }
        for field, names in named.items():
            unknown = sorted(set(names) - set(self.clusters))
            if unknown:
                raise ValueError(f"{field}: not in clusters: {', '.join(unknown)}")
        producer = self.history.producer if self.history else None
        if producer and producer.cluster not in (None, self.history_tables.queue.cluster):
            raise ValueError("history.producer: must be on the cluster of history.queue")
        return self

    @model_validator(mode="after")
    def _lease_spans_passes(self) -> Self:
        if self.membership.lease < _PASSES_OF_LEASE * self.queue_agent.pass_period:
            raise ValueError(f"membership.lease must be at least {_PASSES_OF_LEASE} times queue_agent.pass_period")
        return self

    @property
    def watched_clusters(self) -> tuple[str, ...]:
        """Names of the clusters whose objects are watched."""
        chosen = self.cypress_synchronizer.clusters
        return tuple(self.clusters) if chosen is None else chosen

    @property
    def trimming_ceiling(self) -> Trimming:
        """`trimming`, or what it is by default; only of the configuration as the file has it."""
        return self.trimming or ("allowed" if self.queue_agent.controller.enable_automatic_trimming else "never")

    @property
    def history_tables(self) -> HistoryTables:
        """Where the history is, or would be."""
        history = self.history or HistoryConfig()
        default = HistoryTables.below(self.state.cluster, self.state.root)
        queue = default.queue
        if history.queue is not None:
            queue = CrossClusterRef(history.queue.cluster or self.state.cluster, history.queue.path)
        path = default.producer.path if history.producer is None else history.producer.path
        return HistoryTables(queue, CrossClusterRef(queue.cluster, path))

    @property
    def dynamic_config_path(self) -> str:
        """Of the document on the state's cluster."""
        return self.dynamic_config_manager.path or f"{self.state.root}/config"

    def address(self, rpc_port: int) -> str:
        """By which other agents know this one and reach it, when it listens on a port."""
        host = self.rpc.advertised_host or self.host
        return f"[{host}]:{rpc_port}" if ":" in host else f"{host}:{rpc_port}"

    def on_host(self, host: str) -> Self:
        """The same configuration for an agent of another name.

        Raises:
            ConfigError: the name is empty.
        """
        if not host:
            raise ConfigError("host: must not be empty")
        return self.model_copy(update={"host": host})

    def sections(self) -> dict[str, Any]:
        """The sections a dynamic document can change, every option in them."""
        return self.model_dump(include=set(DYNAMIC_SECTIONS))

    def with_sections(self, sections: Mapping[str, Any]) -> Self:
        """The same configuration with other sections.

        Raises:
            ConfigError: names every option that is wrong.
        """
        try:
            return self.model_validate({**self.model_dump(), **sections})
        except ValidationError as error:
            raise ConfigError("; ".join(_problems(error))) from error


def load_config(path: Path) -> AgentConfig:
    """Read a file, YSON if it ends in `.yson`, YAML if in `.yaml` or `.yml`.

    Raises:
        ConfigError: names the file, and every field that is wrong.
    """
    try:
        content = _read(path)
        if not isinstance(content, Mapping):
            found = "empty" if content is None else f"{type(content).__name__} instead of a map"
            raise ConfigError(f"{path}: the configuration is {found}; see docs/running.md for a first one")
        config = AgentConfig.model_validate(content)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (YtError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    except ValidationError as error:
        raise ConfigError("\n".join(f"{path}: {problem}" for problem in _problems(error))) from error
    if config.trimming_ceiling != "allowed" and config.queue_agent.controller.enable_automatic_trimming:
        # A document on the cluster may well say so, but one file should not say both.
        raise ConfigError(
            f"{path}: trimming: {config.trimming} contradicts queue_agent.controller.enable_automatic_trimming: true"
        )
    return config


def trimming_mode(trimming: Trimming, config: ControllerConfig) -> TrimmingMode:
    """What comes of both options together."""
    match trimming:
        case "never":
            return TrimmingMode.OFF
        case "observe":
            return TrimmingMode.OBSERVE
        case "allowed":
            return TrimmingMode.TRIM if config.enable_automatic_trimming else TrimmingMode.OFF


def _problems(error: ValidationError) -> Iterator[str]:
    for problem in error.errors():
        yield f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}".removeprefix(": ")


def _read(path: Path) -> Any:
    match path.suffix:
        case ".yson":
            return yson.loads(path.read_bytes())
        case ".yaml" | ".yml":
            return yaml.safe_load(path.read_text(encoding="utf-8"))
        case suffix:
            raise ConfigError(f"{path}: must end in .yaml, .yml or .yson, not {suffix!r}")
