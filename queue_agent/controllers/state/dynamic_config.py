"""Dynamic configuration: what the agent's own file says, and above it a document on the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from queue_agent.config.agent import DYNAMIC_SECTIONS, AgentConfig
from queue_agent.controllers.passes.origins import Origins, describe_pass_error
from queue_agent.controllers.status.board import Board
from queue_agent.core.state.dynamic_config import (
    FETCH_FAILED,
    INVALID,
    fetch_alert,
    invalid_alert,
    overlay,
    unrecognized_remark,
)
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.errors import ConfigError
from queue_agent.isolation import contain
from queue_agent.ports.passes import Clock, PassObserver
from queue_agent.ports.state import ConfigSource

log = structlog.get_logger(__name__)

KIND = "dynamic_config"


@dataclass(frozen=True, slots=True)
class _Seen:
    """The document as it was read last, and what is wrong with it."""

    document: Any
    failure: ErrorInfo | None


class DynamicConfig:
    """Knows the configuration in force.

    Until the document has been read once, nothing is trimmed or exported: it may be what forbids it. A document that
    cannot be read, or makes no sense, changes nothing and is an alert until a good one is there.

    Args:
        own: the agent's own configuration.
        source: of the document.
        apply: hears of every configuration that comes into force, from now on.
        board: gets alerts.
        clock, origins, observer: of the passes.
    """

    def __init__(
        self,
        own: AgentConfig,
        source: ConfigSource,
        apply: Callable[[AgentConfig], None],
        board: Board,
        clock: Clock,
        origins: Origins,
        observer: PassObserver,
    ) -> None:
        self._own = own
        self._source = source
        self._apply = apply
        self._board = board
        self._clock = clock
        self._origins = origins
        self._observer = observer
        self._current = without_actions(own) if own.dynamic_config_manager.enable else own
        self._document: Mapping[str, Any] = {}
        self._seen: _Seen | None = None
        self._failure: ErrorInfo | None = None
        self._remark: ErrorInfo | None = None
        self._update_instant = self._change_instant = clock.now()

    @property
    def current(self) -> AgentConfig:
        """The configuration in force."""
        return self._current

    async def do_pass(self, pass_index: int) -> None:
        """Read the document once, and put it in force if it has changed."""
        self._update_instant = self._clock.now()
        document = await self._source.find()
        if self._seen is None or self._seen.document != document:
            self._seen = _Seen(document, self._judge(document, self._origins.make(self._update_instant)))
        self._settle(INVALID, self._seen.failure)

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """Raise an alert if the document could not be read; tell the observer."""
        if error is not None:
            origin = self._origins.make(self._update_instant)
            self._settle(FETCH_FAILED, fetch_alert(describe_pass_error(error, origin), origin))
        self._observer.pass_finished(KIND, pass_index, seconds, error)

    def node(self) -> Mapping[str, Any]:
        """The node `dynamic_config_manager` of the agent's tree."""
        return {
            "applied_config": self._document,
            "effective_config": self._current.model_dump(mode="json", include=set(DYNAMIC_SECTIONS)),
            "last_config_update_time": encode_instant(self._update_instant),
            "last_config_change_time": encode_instant(self._change_instant),
            "errors": [error.to_map() for error in (self._failure, self._remark) if error is not None],
        }

    def _judge(self, document: Any, origin: Origin) -> ErrorInfo | None:
        """Put a document in force; or the alert, if it makes no sense."""
        try:
            self._put_in_force({} if document is None else document, origin)
        except ConfigError as error:
            log.error("dynamic config invalid", error=str(error))
            return invalid_alert(origin.error(str(error)), origin)
        except Exception as error:  # noqa: BLE001 - contained: what is in force stays in force
            return invalid_alert(origin.cluster_error(contain("dynamic_config", "the document", error)), origin)
        log.info("dynamic config in force", exists=document is not None)
        return None

    def _put_in_force(self, document: Any, origin: Origin) -> None:
        if not isinstance(document, Mapping):
            raise ConfigError("The document is not a map")
        result = overlay(self._own.sections(), document)
        self._current = self._own.with_sections(result.sections)
        self._document, self._change_instant = document, self._update_instant
        self._remark = None
        if result.unrecognized:
            self._remark = unrecognized_remark(result.unrecognized, origin)
            log.warning("dynamic config has options without a meaning", options=result.unrecognized)
        self._apply(self._current)

    def _settle(self, category: str, failure: ErrorInfo | None) -> None:
        self._failure = failure
        self._board.put_alerts(KIND, {} if failure is None else {category: failure})


def without_actions(config: AgentConfig) -> AgentConfig:
    """The same configuration with trimming and static exports off."""
    controller = config.queue_agent.controller
    off = {
        "enable_automatic_trimming": False,
        "queue_exporter": controller.queue_exporter.model_copy(update={"enable": False}),
    }
    controller = controller.model_copy(update=off)
    return config.model_copy(update={"queue_agent": config.queue_agent.model_copy(update={"controller": controller})})
