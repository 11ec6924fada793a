"""What the controllers of all objects share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from queue_agent.config.exports import StaticExports, exporting_mode
from queue_agent.config.passes import ControllerConfig, Trimming, trimming_mode
from queue_agent.controllers.passes.clusters import Clusters, ExportClusters
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.trim_book import TrimBook
from queue_agent.core.exports.preview import ExportingMode
from queue_agent.core.state.quarantines import QuarantineTerms
from queue_agent.core.state.trim_config import TrimmingMode
from queue_agent.core.trimming.grace import Graces, GraceTerms
from queue_agent.ports.events import EventLog
from queue_agent.ports.guards import ConnectionGuard, LeadershipGuard, RegistrationGuard
from queue_agent.ports.ledger import LedgerBook
from queue_agent.ports.passes import Clock, PassObserver
from queue_agent.ports.quarantines import QuarantineStore
from queue_agent.ports.trims import TrimJournal


@dataclass(slots=True, kw_only=True)
class ControllerContext:
    """The same for every controller of an agent.

    No guard has a default: who builds a context without one has to name what stands in for it.
    """

    board: Board
    clusters: Clusters
    export_clusters: ExportClusters
    """The same clusters, as exports see them."""

    clock: Clock
    observer: PassObserver
    config: ControllerConfig
    """The one in force; it is replaced when the dynamic configuration changes, so every pass has to look here."""

    trimming: Trimming
    """The most that the agent may do about trimming."""

    static_exports: StaticExports
    """The most that the agent may do about static exports."""

    journal: TrimJournal
    """Journal of trims."""

    trims: TrimBook
    """The latest trims, for those who count what they took."""

    ledger: LedgerBook
    """What is kept of verdicts."""

    events: EventLog
    """Hears what happens to queues and consumers."""

    connections: ConnectionGuard
    leadership: LeadershipGuard
    registrations: RegistrationGuard

    quarantine: QuarantineTerms | None
    """When dead vital consumers hold rows no longer; None: never."""

    quarantines: QuarantineStore
    """Where it is written which of them do not."""

    graces: Graces
    """Since when tables have been trimmed."""

    @property
    def grace_terms(self) -> GraceTerms:
        """How long the first trim of a queue waits."""
        config = self.config
        return GraceTerms(config.trimming_grace, max(config.pass_period, config.trimming_period or timedelta(0)))

    @property
    def trimming_mode(self) -> TrimmingMode:
        """What the agent does about trimming at the moment."""
        return trimming_mode(self.trimming, self.config)

    @property
    def exporting_mode(self) -> ExportingMode:
        """What the agent does about static exports at the moment."""
        return exporting_mode(self.static_exports, self.config.queue_exporter)
