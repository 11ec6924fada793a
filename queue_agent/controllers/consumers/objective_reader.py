"""Reads the objectives of one consumer, when its attributes have changed."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

import structlog

from queue_agent.controllers.passes.clusters import Clusters, get_cluster
from queue_agent.core.state.rows import ConsumerRow
from queue_agent.core.values.encoding import EPOCH
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.objective_config import (
    ATTRIBUTE,
    UNREAD_OBJECTIVES,
    ConsumerObjectives,
    parse_objectives,
)
from queue_agent.errors import ClusterError

log = structlog.get_logger(__name__)

_RETRY: Final = timedelta(seconds=60)
"""From one failure to the next attempt."""


class ObjectiveReader:
    """The objectives of a consumer, as far as they are known.

    Args:
        table: of the consumer.
        clusters: to ask.
    """

    def __init__(self, table: CrossClusterRef, clusters: Clusters) -> None:
        self._table = table
        self._clusters = clusters
        self._objectives = UNREAD_OBJECTIVES
        self._value: Any = None
        self._row: ConsumerRow | None = None
        """From which the objectives are; another row means that attributes have changed."""

        self._next_attempt = EPOCH

    def is_due(self, row: ConsumerRow, now: datetime) -> bool:
        """Whether the attribute is to be read: it may have changed, and the last attempt was long ago."""
        return row is not self._row and now >= self._next_attempt

    async def read(self, row: ConsumerRow, now: datetime, origin: Origin) -> ConsumerObjectives:
        """The objectives in force; those before if the attribute cannot be read now."""
        if not self.is_due(row, now):
            return self._objectives
        try:
            cluster = get_cluster(self._clusters, self._table.cluster)
            attributes = await cluster.get_attributes(self._table.path, [ATTRIBUTE])
        except ClusterError as error:
            self._next_attempt = now + _RETRY
            log.warning("objective of a consumer cannot be read", consumer=str(self._table), error=str(error))
            if not self._objectives.is_read:
                self._objectives = ConsumerObjectives(error=origin.cluster_error(error), is_read=False)
            return self._objectives
        self._row, self._next_attempt = row, EPOCH
        value = attributes.get(ATTRIBUTE)
        if not self._objectives.is_read or value != self._value:
            self._value = value
            self._objectives = _parse(value, origin)
        return self._objectives


def _parse(value: Any, origin: Origin) -> ConsumerObjectives:
    try:
        return parse_objectives(value)
    except ValueError as error:
        cause: ErrorInfo = origin.error(str(error))
        return ConsumerObjectives(error=origin.error(f'Error parsing attribute "{ATTRIBUTE}"', inner_errors=[cause]))
