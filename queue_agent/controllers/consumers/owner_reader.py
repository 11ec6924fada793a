"""Reads what the owner of one consumer says, when its attributes have changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

import structlog

from queue_agent.controllers.passes.clusters import Clusters, get_cluster
from queue_agent.core.state.rows import ConsumerRow
from queue_agent.core.values.encoding import EPOCH
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.objective_config import ATTRIBUTE as OBJECTIVE
from queue_agent.core.verdicts.objective_config import ConsumerObjectives, parse_objectives
from queue_agent.core.verdicts.owner import ACKNOWLEDGED, OwnersWord, parse_acknowledged
from queue_agent.core.verdicts.values import Seconds
from queue_agent.errors import ClusterError

log = structlog.get_logger(__name__)

_RETRY: Final = timedelta(seconds=60)
"""From one failure to the next attempt."""


class OwnerReader:
    """The word of a consumer's owner, as far as it is known.

    Args:
        consumer: who may be one of several in a table.
        clusters: to ask.
    """

    def __init__(self, consumer: CrossClusterRef, clusters: Clusters) -> None:
        self._consumer = consumer
        self._clusters = clusters
        self._word = OwnersWord()
        self._values: Mapping[str, Any] = {}
        self._row: ConsumerRow | None = None
        """From which the word is; another row means that attributes have changed."""

        self._next_attempt = EPOCH

    def is_due(self, row: ConsumerRow, now: datetime) -> bool:
        """Whether the attributes are to be read: they may have changed, and the last attempt was long ago."""
        return row is not self._row and now >= self._next_attempt

    async def read(self, row: ConsumerRow, now: datetime, origin: Origin) -> OwnersWord:
        """The word in force; the one before if the attributes cannot be read now."""
        if not self.is_due(row, now):
            return self._word
        ref = self._consumer
        try:
            cluster = get_cluster(self._clusters, ref.cluster)
            values = await cluster.get_attributes(ref.path, [OBJECTIVE, ACKNOWLEDGED])
        except ClusterError as error:
            self._next_attempt = now + _RETRY
            log.warning("attributes of a consumer cannot be read", consumer=str(ref), error=str(error))
            if not self._word.objectives.is_read:
                unread = ConsumerObjectives(error=origin.cluster_error(error), is_read=False)
                self._word = replace(self._word, objectives=unread)
            return self._word
        self._row, self._next_attempt = row, EPOCH
        if not self._word.objectives.is_read or values != self._values:
            self._values = values
            acknowledged = self._read_acknowledged(values.get(ACKNOWLEDGED), now)
            self._word = OwnersWord(_parse(values.get(OBJECTIVE), origin), acknowledged)
        return self._word

    def _read_acknowledged(self, value: Any, now: datetime) -> Mapping[CrossClusterRef, Seconds]:
        try:
            return parse_acknowledged(value, self._consumer.name, now.timestamp())
        except ValueError as error:
            log.warning(f"attribute {ACKNOWLEDGED} makes no sense", consumer=str(self._consumer), error=str(error))
            return {}


def _parse(value: Any, origin: Origin) -> ConsumerObjectives:
    try:
        return parse_objectives(value)
    except ValueError as error:
        cause: ErrorInfo = origin.error(str(error))
        return ConsumerObjectives(error=origin.error(f'Error parsing attribute "{OBJECTIVE}"', inner_errors=[cause]))
