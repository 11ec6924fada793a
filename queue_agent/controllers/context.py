"""What the controllers of all objects share."""

from __future__ import annotations

from dataclasses import dataclass

from queue_agent.config import ControllerConfig
from queue_agent.controllers.board import Board
from queue_agent.controllers.clusters import Clusters
from queue_agent.ports import Clock, PassObserver


@dataclass(frozen=True, slots=True)
class ControllerContext:
    """The same for every controller of an agent."""

    board: Board
    clusters: Clusters
    clock: Clock
    observer: PassObserver
    config: ControllerConfig
