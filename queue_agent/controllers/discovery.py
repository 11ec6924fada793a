"""The Cypress synchronizer: carries attributes of queues and consumers into the state tables."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import structlog

from queue_agent.controllers.board import SYNCHRONIZER, Board
from queue_agent.controllers.clusters import Clusters
from queue_agent.controllers.fan_out import fan_out
from queue_agent.controllers.origins import Origins, describe_pass_error
from queue_agent.core.attributes import (
    CONSUMER_ATTRIBUTES,
    QUEUE_ATTRIBUTES,
    build_consumer_row,
    build_queue_row,
    unfetched_consumer_row,
    unfetched_queue_row,
)
from queue_agent.core.error_info import ErrorInfo, Origin
from queue_agent.core.observed import ObjectRevisions
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import StateRows
from queue_agent.core.synchronization import Changes, find_changes, find_conflict
from queue_agent.errors import ClusterError, ClusterUnavailable
from queue_agent.ports import Clock, PassObserver, StateStore

log = structlog.get_logger(__name__)

Row = TypeVar("Row")

_CONCURRENT_FETCHES = 200


class Synchronizer:
    """Watches the clusters' lists of queues and consumers.

    Args:
        clusters: those to watch, by name; one that fails does not keep the others from being served.
        store: the state tables.
        board: gets alerts.
        written: set after something was written, so that others need not wait to see it.
        clock, origins, observer: of the passes.
    """

    def __init__(
        self,
        clusters: Clusters,
        store: StateStore,
        board: Board,
        written: asyncio.Event,
        clock: Clock,
        origins: Origins,
        observer: PassObserver,
    ) -> None:
        self._clusters = clusters
        self._store = store
        self._board = board
        self._written = written
        self._clock = clock
        self._origins = origins
        self._observer = observer
        self._pass_instant = clock.now()

    async def do_pass(self, pass_index: int) -> None:
        """Compare tables and watch lists once, and write what differs."""
        self._pass_instant = self._clock.now()
        origin = self._origins.make(self._pass_instant)
        rows = await self._store.read()
        watch_lists, unlisted = await self._watch(origin)
        changes = find_changes(watch_lists, rows)
        unfetched = await self._synchronize(rows, changes, origin)
        alerts = (
            *_alert(
                "cypress_synchronizer_unable_to_fetch_object_revisions",
                3000,
                "Error retrieving queue agent object revisions from clusters",
                unlisted,
                origin,
            ),
            *_alert(
                "cypress_synchronizer_unable_to_fetch_attributes",
                3001,
                "Error fetching attributes from clusters",
                unfetched,
                origin,
            ),
        )
        self._board.put_alerts(SYNCHRONIZER, dict(alerts))

    def pass_finished(self, pass_index: int, seconds: float, error: Exception | None) -> None:
        """Put on the board how the pass went; tell the observer."""
        failure = None
        if error is not None:
            origin = self._origins.make(self._pass_instant)
            failure = describe_pass_error(error, origin)
            alert = origin.error("Error performing Cypress synchronizer pass", 3002, inner_errors=[failure])
            self._board.put_alerts(SYNCHRONIZER, {"cypress_synchronizer_pass_failed": alert})
        self._board.finish_pass(SYNCHRONIZER, pass_index, self._pass_instant, failure)
        self._observer.pass_finished(SYNCHRONIZER, pass_index, seconds, error)

    async def _watch(self, origin: Origin) -> tuple[dict[str, ObjectRevisions], dict[str, ErrorInfo]]:
        """Watch lists of the clusters that have a usable one, errors of the others; by cluster name."""
        answers = await fan_out(
            lambda name: self._clusters[name].get_object_revisions(), self._clusters, limit=len(self._clusters)
        )
        lists: dict[str, ObjectRevisions] = {}
        errors: dict[str, ErrorInfo] = {}
        for name, answer in answers.items():
            if isinstance(answer, ClusterError):
                errors[name] = origin.cluster_error(answer)
                log.warning("object revisions not fetched", cluster=name, error=str(answer))
                continue
            conflict = find_conflict(answer)
            if conflict is None:
                lists[name] = answer
            else:
                errors[name] = origin.error(
                    f"Set of queues and consumers must not intersect, but they do (ObjectPath: {conflict})"
                )
        return lists, errors

    async def _synchronize(self, rows: StateRows, changes: Changes, origin: Origin) -> dict[str, ErrorInfo]:
        """Write what has changed; errors of the clusters that did not tell, by cluster name."""
        old_queues = {row.queue: row for row in rows.queues}
        old_consumers = {row.consumer: row for row in rows.consumers}
        unfetched: dict[str, ErrorInfo] = {}
        queues = await self._fetch(
            changes.queues_to_fetch,
            QUEUE_ATTRIBUTES,
            lambda ref, attributes: build_queue_row(ref, attributes, old_queues.get(ref), origin),
            lambda ref, error: unfetched_queue_row(ref, error, old_queues.get(ref)),
            unfetched,
            origin,
        )
        consumers = await self._fetch(
            changes.consumers_to_fetch,
            CONSUMER_ATTRIBUTES,
            lambda ref, attributes: build_consumer_row(ref, attributes, old_consumers.get(ref), origin),
            lambda ref, error: unfetched_consumer_row(ref, error, old_consumers.get(ref)),
            unfetched,
            origin,
        )
        if changes.gone_queues or changes.gone_consumers:
            await self._store.delete_objects(changes.gone_queues, changes.gone_consumers)
        if queues or consumers:
            await self._store.write_objects(queues, consumers)
        if queues or consumers or changes.gone_queues or changes.gone_consumers:
            self._written.set()
            log.info(
                "state tables written",
                queues=len(queues),
                consumers=len(consumers),
                gone_queues=len(changes.gone_queues),
                gone_consumers=len(changes.gone_consumers),
            )
        return unfetched

    async def _fetch(
        self,
        refs: Collection[CrossClusterRef],
        names: Collection[str],
        build: Callable[[CrossClusterRef, Mapping[str, Any]], Row],
        build_unfetched: Callable[[CrossClusterRef, ErrorInfo], Row],
        unfetched: dict[str, ErrorInfo],
        origin: Origin,
    ) -> list[Row]:
        """Rows of the objects whose cluster answered, be it an error; errors of the others go to `unfetched`."""
        answers = await fan_out(
            lambda ref: self._clusters[ref.cluster].get_attributes(ref.path, names), refs, limit=_CONCURRENT_FETCHES
        )
        rows: list[Row] = []
        for ref, answer in answers.items():
            if isinstance(answer, ClusterUnavailable):
                unfetched[ref.cluster] = origin.cluster_error(answer)
            elif isinstance(answer, ClusterError):
                rows.append(build_unfetched(ref, origin.cluster_error(answer)))
            else:
                rows.append(build(ref, answer))
        return rows


def _alert(
    category: str, code: int, message: str, errors: Mapping[str, ErrorInfo], origin: Origin
) -> list[tuple[str, ErrorInfo]]:
    if not errors:
        return []
    inner = [
        ErrorInfo(error.message, error.code, {**error.attributes, "cluster": cluster}, error.inner_errors)
        for cluster, error in sorted(errors.items())
    ]
    return [(category, origin.error(message, code, inner_errors=inner))]
