"""What an agent does and how often: its passes, its membership, and what it may trim."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import AliasChoices, Field

from queue_agent.config.exports import QueueExporterConfig, QueueExportManagerConfig
from queue_agent.config.options import ConfigModel, Duration, DurationOrZero
from queue_agent.core.state.quarantines import QuarantineTerms
from queue_agent.core.state.trim_config import TrimmingMode

Trimming = Literal["allowed", "observe", "never"]
"""What an agent may do at most."""


class MembershipConfig(ConfigModel):
    """Membership of this agent in its stage."""

    lease: Duration = timedelta(seconds=15)
    """Time without a sign of life after which an agent counts as dead, and others lead its objects. A new leader of an
    object waits as long before it trims. All agents of a stage must have the same value, at least five times
    `queue_agent.pass_period`.
    """

    hand_over_timeout: Duration = timedelta(seconds=10)
    """Time limit for a stopping agent to hand over its objects."""


class ShardingManagerConfig(ConfigModel):
    """The pass that finds the agents of the stage and distributes objects."""

    pass_period: Duration = timedelta(seconds=1)
    """Time from the start of one pass to the start of the next. The C++ agent's is 5 s."""

    pass_timeout: Duration = timedelta(seconds=60)
    """Time after which a pass fails."""


class CypressSynchronizerConfig(ConfigModel):
    """The pass that copies attributes of queues and consumers into the state tables."""

    pass_period: Duration = timedelta(seconds=1)
    """Time from the start of one pass to the start of the next. After a longer pass the next starts at once."""

    pass_timeout: Duration = timedelta(seconds=60)
    """Time after which a pass fails."""

    enable: bool = True
    """Off: another program writes the tables."""

    policy: Literal["polling", "watching"] = "polling"
    """`watching`: keep a row for every queue and consumer of `clusters`. `polling`: only update rows that another
    program has put into the tables, on any cluster.
    """

    clusters: tuple[str, ...] | None = None
    """Clusters to watch with the policy `watching`; all of `clusters` by default."""

    write_replicated_table_mapping: bool = Field(
        default=False,
        validation_alias=AliasChoices("write_replicated_table_mapping", "write_registration_table_mapping"),
    )
    """Also write the table of replicas of replicated tables; only with the policy `watching`."""

    chaos_replicated_table_queue_agent_stage: str = Field(default="production", min_length=1)
    """Stage of chaos replicated tables that have no `@queue_agent_stage`."""


class ControllerConfig(ConfigModel):
    """Passes over one queue or one consumer."""

    pass_period: Duration = timedelta(seconds=1)
    """Time from the start of one pass to the start of the next. After a longer pass the next starts at once."""

    pass_timeout: Duration = timedelta(seconds=60)
    """Time after which a pass fails."""

    enable_automatic_trimming: bool = False
    """Trim queues that enable it in `@auto_trim_config`. Without it the agent never deletes rows."""

    trimming_period: Duration | None = None
    """Period of trimming, rounded up to whole passes; every pass by default."""

    trimming_grace: DurationOrZero = timedelta(minutes=10)
    """The first trim of a queue after a start, a hand-over or so long a silence takes no rows that a consumer which is
    not vital has not read, until this time has passed. 0: it takes them at once, as the C++ agent does.
    """

    trim_journal: bool = True
    """Record every trim in the table `trim_journal` beside the state tables, if it exists."""

    dead_after: Duration = timedelta(hours=24)
    """A vital consumer that has been silent for so long with rows to read, and holds rows, is shown as dead."""

    queue_exporter: QueueExporterConfig = QueueExporterConfig()
    """Static exports of queues with `@static_export_config`."""


class QueueAgentConfig(ConfigModel):
    """The pass that reads the state tables, and the passes over their objects."""

    pass_period: Duration = timedelta(seconds=1)
    """Time from the start of one pass to the start of the next. After a longer pass the next starts at once."""

    pass_timeout: Duration = timedelta(seconds=60)
    """Time after which a pass fails."""

    inactive_object_display_limit: int = Field(default=10, ge=0)
    """Number of objects of each kind in `controller_info`, the longest unpolled first."""

    handle_replicated_objects: bool = False
    """Lead queues and consumers that are replicated tables. Without it the agent only follows them if others need it.
    """

    controller: ControllerConfig = ControllerConfig()
    """Passes over one object."""

    queue_export_manager: QueueExportManagerConfig = QueueExportManagerConfig()
    """All static exports of this agent together."""


class DynamicConfigManagerConfig(ConfigModel):
    """The document on the state's cluster that changes `cypress_synchronizer`, `queue_agent_sharding_manager` and
    `queue_agent` while the agent runs.
    """

    enable: bool = True
    """Off: only this file applies."""

    path: str | None = None
    """Path of the document; `config` in `state.root` by default. A missing document changes nothing."""

    update_period: Duration = timedelta(seconds=5)
    """Period of reads of the document."""


class QuarantineConfig(ConfigModel):
    """Dead vital consumers of queues that allow it in `@queue_agent_quarantine` get notice, and hold rows no longer."""

    after: Duration = timedelta(days=7)
    """A vital consumer that has been silent for so long, and holds rows, gets notice."""

    notice: Duration = timedelta(hours=24)
    """From the notice to the first row that goes. Only time counts in which an agent has watched the consumer."""

    max_rows_per_hour: int = Field(default=1_000_000, ge=60)
    """Rows of a queue that go in an hour though such a consumer has not read them."""

    def terms(self) -> QuarantineTerms:
        """As decisions take them."""
        return QuarantineTerms(self.after, self.notice, self.max_rows_per_hour)


def trimming_mode(trimming: Trimming, config: ControllerConfig) -> TrimmingMode:
    """What comes of both options together."""
    match trimming:
        case "never":
            return TrimmingMode.OFF
        case "observe":
            return TrimmingMode.OBSERVE
        case "allowed":
            return TrimmingMode.TRIM if config.enable_automatic_trimming else TrimmingMode.OFF
