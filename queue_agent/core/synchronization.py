"""What has changed on the clusters since the state tables were written (policy `watching`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from queue_agent.core.observed import ObjectRevisions
from queue_agent.core.refs import CrossClusterRef
from queue_agent.core.rows import ConsumerRow, QueueRow, StateRows


@dataclass(frozen=True, slots=True)
class Changes:
    """Work for one pass of the synchronizer; rows of clusters that were not asked are in none of the lists."""

    queues_to_fetch: Collection[CrossClusterRef]
    """New, or with attributes that changed."""

    consumers_to_fetch: Collection[CrossClusterRef]
    gone_queues: Collection[CrossClusterRef]
    gone_consumers: Collection[CrossClusterRef]


def find_conflict(revisions: ObjectRevisions) -> str | None:
    """A path that a cluster lists both as queue and as consumer; such a list can not be believed."""
    return min(revisions.queues.keys() & revisions.consumers.keys(), default=None)


def find_changes(watch_lists: Mapping[str, ObjectRevisions], rows: StateRows) -> Changes:
    """Compare the state tables with the watch lists of the clusters that answered, by cluster name.

    An object that turned from queue into consumer is gone as the one and new as the other.
    """
    queues_to_fetch, gone_queues = _compare(
        {cluster: revisions.queues for cluster, revisions in watch_lists.items()},
        ((row.queue, row) for row in rows.queues),
    )
    consumers_to_fetch, gone_consumers = _compare(
        {cluster: revisions.consumers for cluster, revisions in watch_lists.items()},
        ((row.consumer, row) for row in rows.consumers),
    )
    return Changes(queues_to_fetch, consumers_to_fetch, gone_queues, gone_consumers)


def _compare(
    watched: Mapping[str, Mapping[str, int]], rows: Iterable[tuple[CrossClusterRef, QueueRow | ConsumerRow]]
) -> tuple[list[CrossClusterRef], list[CrossClusterRef]]:
    stored = {ref: row.revision for ref, row in rows}
    listed = {
        CrossClusterRef(cluster, path): revision
        for cluster, revisions in watched.items()
        for path, revision in revisions.items()
    }
    changed = [ref for ref, revision in listed.items() if _is_newer(revision, stored.get(ref))]
    gone = [ref for ref in stored if ref.cluster in watched and ref not in listed]
    return sorted(changed), sorted(gone)


def _is_newer(revision: int, stored: int | None) -> bool:
    return stored is None or revision > stored
