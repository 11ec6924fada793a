"""What the controllers of all objects share."""

from __future__ import annotations

from dataclasses import dataclass

from queue_agent.config.exports import StaticExports, exporting_mode
from queue_agent.config.passes import ControllerConfig, Trimming, trimming_mode
from queue_agent.controllers.board import Board
from queue_agent.controllers.clusters import Clusters
from queue_agent.controllers.connections import Connections
from queue_agent.controllers.leadership import Leadership
from queue_agent.core.export_preview import ExportingMode
from queue_agent.core.queue_exports import NO_STATES, ExportStates
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.trim_config import TrimmingMode
from queue_agent.ports.exports import ExportBook
from queue_agent.ports.passes import Clock, PassObserver
from queue_agent.ports.trims import TrimJournal


@dataclass(slots=True)
class ControllerContext:
    """The same for every controller of an agent."""

    board: Board
    clusters: Clusters
    clock: Clock
    observer: PassObserver
    config: ControllerConfig
    """The one in force; it is replaced when the dynamic configuration changes, so every pass has to look here."""

    trimming: Trimming = "allowed"
    """What the agent may do at most."""

    journal: TrimJournal | None = None
    """Of trims; None: there is none."""

    connections: Connections | None = None
    """What clusters say of themselves; None: nobody asks them."""

    static_exports: StaticExports = "allowed"
    """What the agent may do at most."""

    exports: ExportBook | None = None
    """How far static exports are; None: nobody looks after them."""

    leadership: Leadership | None = None
    """Whether this agent may act; None: there are no others."""

    @property
    def trimming_mode(self) -> TrimmingMode:
        """What the agent does about trimming at the moment."""
        return trimming_mode(self.trimming, self.config)

    @property
    def exporting_mode(self) -> ExportingMode:
        """What the agent does about static exports at the moment."""
        return exporting_mode(self.static_exports, self.config.queue_exporter)

    def export_states(self, queue: CrossClusterRef) -> ExportStates:
        """How far the exports of a queue are; the same object as long as nothing has happened."""
        return NO_STATES if self.exports is None else self.exports.find(queue)
