"""What an agent does and how often: its passes, its membership, and what it may trim."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import AliasChoices, Field

from queue_agent.config.exports import QueueExporterConfig, QueueExportManagerConfig
from queue_agent.config.options import ConfigModel, Duration
from queue_agent.core.state.trim_config import TrimmingMode

Trimming = Literal["allowed", "observe", "never"]
"""What an agent may do at most."""


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

    queue_exporter: QueueExporterConfig = QueueExporterConfig()
    """Static exports of queues, by `@static_export_config`."""


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

    queue_export_manager: QueueExportManagerConfig = QueueExportManagerConfig()
    """All static exports of this agent together."""


class DynamicConfigManagerConfig(ConfigModel):
    """The document on the state's cluster that changes `cypress_synchronizer`, `queue_agent_sharding_manager` and
    `queue_agent` of a running agent."""

    enable: bool = True
    """Off: this file alone counts."""

    path: str | None = None
    """Of the document; `config` in `state.root` by default. A document that does not exist changes nothing."""

    update_period: Duration = timedelta(seconds=5)
    """How often the document is read."""


def trimming_mode(trimming: Trimming, config: ControllerConfig) -> TrimmingMode:
    """What comes of both options together."""
    match trimming:
        case "never":
            return TrimmingMode.OFF
        case "observe":
            return TrimmingMode.OBSERVE
        case "allowed":
            return TrimmingMode.TRIM if config.enable_automatic_trimming else TrimmingMode.OFF
