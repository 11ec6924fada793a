"""The whole configuration of an agent, and what follows from several sections together."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from typing import Any, Final, Self

from pydantic import Field, ValidationError, model_validator

from queue_agent.config.clusters import ClusterConfig, HistoryConfig, HistoryTables, StateConfig
from queue_agent.config.console import ConsoleConfig
from queue_agent.config.exports import StaticExports
from queue_agent.config.options import ConfigModel
from queue_agent.config.passes import (
    CypressSynchronizerConfig,
    DynamicConfigManagerConfig,
    MembershipConfig,
    QuarantineConfig,
    QueueAgentConfig,
    ShardingManagerConfig,
    Trimming,
)
from queue_agent.config.serving import HttpConfig, LoggingConfig, MetricsConfig, RpcConfig, ServerLimitsConfig
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ConfigError

DYNAMIC_SECTIONS: Final = ("cypress_synchronizer", "queue_agent_sharding_manager", "queue_agent")
"""What a document on the cluster can change; the names are those of the C++ agent's document."""


_PASSES_OF_LEASE: Final = 5
"""What the agent reads must not get too old to be acted by before it is read again."""


class AgentConfig(ConfigModel):
    """The whole configuration of `queue-agent run`."""

    stage: str = Field(min_length=1)
    """The agent leads objects with this `@queue_agent_stage`."""

    clusters: dict[str, ClusterConfig] = Field(min_length=1)
    """Clusters by name, as in `//sys/@cluster_connection/cluster_name`. References use these names."""

    state: StateConfig
    """Location of the state tables."""

    host: str = Field(default_factory=socket.gethostname, min_length=1)
    """Published as `queue_agent_host`; the machine's name by default."""

    rpc: RpcConfig = RpcConfig()
    """The server that masters ask for `@queue_status` and similar attributes."""

    http: HttpConfig = HttpConfig()
    """The server of status, metrics and health."""

    console: ConsoleConfig = ConsoleConfig()
    """Who may see what on the HTTP port, and what people may have done from there."""

    server_limits: ServerLimitsConfig = ServerLimitsConfig()
    """Limits for peers of all servers."""

    cypress_synchronizer: CypressSynchronizerConfig = CypressSynchronizerConfig()
    """The pass that copies attributes of queues and consumers into the state tables."""

    membership: MembershipConfig = MembershipConfig()
    """Membership of this agent in its stage."""

    queue_agent_sharding_manager: ShardingManagerConfig = ShardingManagerConfig()
    """The pass that finds the agents of the stage and distributes objects."""

    queue_agent: QueueAgentConfig = QueueAgentConfig()
    """The pass that reads the state tables, and the passes over their objects."""

    dynamic_config_manager: DynamicConfigManagerConfig = DynamicConfigManagerConfig()
    """The document on the state's cluster that changes `cypress_synchronizer`, `queue_agent_sharding_manager` and
    `queue_agent` while the agent runs.
    """

    trimming: Trimming | None = None
    """Upper limit that no document on the cluster can raise. `allowed`: trim if
    `queue_agent.controller.enable_automatic_trimming` is on. `observe`: decide and publish trims, but trim nothing.
    `never`: do neither. By default `allowed` if this file enables automatic trimming, else `never`, so that a document
    alone cannot make an agent delete rows.
    """

    quarantine: QuarantineConfig | None = None
    """Quarantine of dead vital consumers; without this section there is none, and such consumers hold rows for ever."""

    static_exports: StaticExports | None = None
    """Upper limit that no document on the cluster can raise. `allowed`: create the tables of `@static_export_config` if
    `queue_agent.controller.queue_exporter.enable` is on. `observe`: decide and log exports, but create nothing.
    `never`: do neither. By default `allowed` if this file enables exports, else `never`.
    """

    expose_config_in_orchid: bool = True
    """Show the configuration under `/orchid/config` and `/orchid/dynamic_config_manager`; it holds no secrets."""

    history: HistoryConfig | None = None
    """History of what the agent sees, in a queue. Without this section there is no history."""

    metrics: MetricsConfig = MetricsConfig()
    """Content of `/metrics` and `/solomon/all`."""

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
    def static_exports_ceiling(self) -> StaticExports:
        """`static_exports`, or what it is by default; only of the configuration as the file has it."""
        return self.static_exports or ("allowed" if self.queue_agent.controller.queue_exporter.enable else "never")

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
            raise ConfigError("; ".join(option_problems(error))) from error


def option_problems(error: ValidationError) -> Iterator[str]:
    """What is wrong, an option a line: `history.period: must be ...`."""
    for problem in error.errors():
        yield f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}".removeprefix(": ")
