"""What has changed on the clusters since the state tables were written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from queue_agent.core.state.replication import REPLICATED_TYPES
from queue_agent.core.state.rows import StateRows
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.observed import ObjectRevisions
from queue_agent.core.values.refs import CrossClusterRef


@dataclass(frozen=True, slots=True)
class Changes:
    """Work for one pass of the synchronizer; rows of clusters that were not asked are in none of the lists."""

    queues_to_fetch: Collection[CrossClusterRef]
    """New, or with attributes that changed."""

    consumers_to_fetch: Collection[CrossClusterRef]
    gone_queues: Collection[CrossClusterRef] = ()
    gone_consumers: Collection[CrossClusterRef] = ()
    failed_queues: Mapping[CrossClusterRef, ErrorInfo] = field(default_factory=dict)
    """Those whose revision could not be had; their rows get the error."""

    failed_consumers: Mapping[CrossClusterRef, ErrorInfo] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        """Whether there is anything to do."""
        return any(
            (
                self.queues_to_fetch,
                self.consumers_to_fetch,
                self.gone_queues,
                self.gone_consumers,
                self.failed_queues,
                self.failed_consumers,
            )
        )


@dataclass(frozen=True, slots=True)
class MappingChanges:
    """What a pass of the synchronizer has to do about replicated tables."""

    queues_to_look_at: Collection[CrossClusterRef]
    """Replicas come and go without a new revision: all replicated queues whose attributes are not fetched anyway."""

    consumers_to_look_at: Collection[CrossClusterRef]
    unmapped: Collection[CrossClusterRef]
    """Known objects that have no mapping row, which somebody else must have deleted."""

    gone: Collection[CrossClusterRef]
    """Mapping rows of objects that are no more."""


def find_conflict(revisions: ObjectRevisions) -> str | None:
    """A path that a cluster lists both as queue and as consumer; such a list can not be believed."""
    return min(revisions.queues.keys() & revisions.consumers.keys(), default=None)


def find_changes(watch_lists: Mapping[str, ObjectRevisions], rows: StateRows) -> Changes:
    """Policy `watching`: compare the state tables with the watch lists of the clusters that answered, by cluster name.

    An object that turned from queue into consumer is gone as the one and new as the other.
    """
    queues_to_fetch, gone_queues = _compare(
        _listed({cluster: revisions.queues for cluster, revisions in watch_lists.items()}),
        {row.queue: row.revision for row in rows.queues if row.queue.cluster in watch_lists},
    )
    consumers_to_fetch, gone_consumers = _compare(
        _listed({cluster: revisions.consumers for cluster, revisions in watch_lists.items()}),
        {row.consumer: row.revision for row in rows.consumers if row.consumer.cluster in watch_lists},
    )
    return Changes(queues_to_fetch, consumers_to_fetch, gone_queues, gone_consumers)


def find_polled_changes(revisions: Mapping[CrossClusterRef, int | ErrorInfo], rows: StateRows) -> Changes:
    """Policy `polling`: compare the state tables with the revisions of the objects in them.

    Rows are never added nor removed. Objects without an answer are left alone.
    """
    queues_to_fetch, failed_queues = _compare_polled(revisions, ((row.queue, row.revision) for row in rows.queues))
    consumers_to_fetch, failed_consumers = _compare_polled(
        revisions, ((row.consumer, row.revision) for row in rows.consumers)
    )
    return Changes(queues_to_fetch, consumers_to_fetch, failed_queues=failed_queues, failed_consumers=failed_consumers)


def find_mapping_changes(
    watch_lists: Mapping[str, ObjectRevisions], rows: StateRows, changes: Changes
) -> MappingChanges:
    """Say what else has to be looked at to keep the replicated table mapping.

    Args:
        watch_lists: of the clusters that answered, by cluster name.
        rows: of the state tables.
        changes: what is fetched anyway.
    """
    mapped = {row.table for row in rows.mappings or ()}
    queues = _listed({cluster: revisions.queues for cluster, revisions in watch_lists.items()}).keys()
    consumers = _listed({cluster: revisions.consumers for cluster, revisions in watch_lists.items()}).keys()
    replicated = {row.queue for row in rows.queues if row.object_type in REPLICATED_TYPES}
    replicated |= {row.consumer for row in rows.consumers if row.object_type in REPLICATED_TYPES}
    known = replicated & (queues | consumers)
    fetched = {*changes.queues_to_fetch, *changes.consumers_to_fetch}
    to_look_at = (known | mapped) - fetched
    return MappingChanges(
        queues_to_look_at=sorted(to_look_at & queues),
        consumers_to_look_at=sorted(to_look_at & consumers),
        unmapped=sorted(known - mapped - fetched),
        gone=sorted(ref for ref in mapped if ref.cluster in watch_lists and ref not in queues and ref not in consumers),
    )


def _listed(watched: Mapping[str, Mapping[str, int]]) -> dict[CrossClusterRef, int]:
    return {
        CrossClusterRef(cluster, path): revision
        for cluster, revisions in watched.items()
        for path, revision in revisions.items()
    }


def _compare(
    listed: Mapping[CrossClusterRef, int], stored: Mapping[CrossClusterRef, int | None]
) -> tuple[list[CrossClusterRef], list[CrossClusterRef]]:
    changed = [ref for ref, revision in listed.items() if _is_newer(revision, stored.get(ref))]
    return sorted(changed), sorted(stored.keys() - listed.keys())


def _compare_polled(
    revisions: Mapping[CrossClusterRef, int | ErrorInfo], stored: Iterable[tuple[CrossClusterRef, int | None]]
) -> tuple[list[CrossClusterRef], dict[CrossClusterRef, ErrorInfo]]:
    changed: list[CrossClusterRef] = []
    failed: dict[CrossClusterRef, ErrorInfo] = {}
    for ref, old in stored:
        revision = revisions.get(ref)
        if isinstance(revision, ErrorInfo):
            failed[ref] = revision
        elif revision is not None and _is_newer(revision, old):
            changed.append(ref)
    return sorted(changed), failed


def _is_newer(revision: int, stored: int | None) -> bool:
    return stored is None or revision > stored
