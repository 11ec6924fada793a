"""What has changed on the clusters since the state tables were written, and what that makes of the tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from queue_agent.core.state.attributes import (
    build_consumer_row,
    build_mapping_row,
    build_queue_row,
    find_revision,
    unfetched_consumer_row,
    unfetched_queue_row,
    with_default_stage,
)
from queue_agent.core.state.family import is_multi_consumer
from queue_agent.core.state.replication import REPLICATED_TYPES
from queue_agent.core.state.rows import ConsumerRow, ErrorMap, MappingRow, QueueRow, StateRows
from queue_agent.core.values.error_info import ErrorInfo, Origin
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
    """A path that a cluster lists both as queue and as consumer; such a list cannot be believed."""
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


def find_orphan_names(rows: StateRows) -> Sequence[CrossClusterRef]:
    """Recorded names whose table is not known any more, or known not to be a multi-consumer."""
    # A row that could not be fetched has no schema; its names are still good.
    kept = {row.consumer for row in rows.consumers if row.schema is None or is_multi_consumer(row)}
    return sorted(row.consumer for row in rows.consumer_names if row.consumer.table not in kept)


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


Row = TypeVar("Row", QueueRow, ConsumerRow)

Isolate = Callable[[CrossClusterRef, Callable[[], Any]], Any]
"""Gives what the work for one object gives; an `ErrorInfo` if it raises what nobody expected."""

Answers = Mapping[CrossClusterRef, Mapping[str, Any] | ErrorInfo]
"""Attributes of objects, or why they could not be had; objects of clusters that did not answer are absent."""


@dataclass(frozen=True, slots=True)
class StateWrites:
    """Rows to write, and keys of rows to delete."""

    queues: Sequence[QueueRow] = ()
    consumers: Sequence[ConsumerRow] = ()
    mappings: Sequence[MappingRow] = ()
    gone_queues: Collection[CrossClusterRef] = ()
    gone_consumers: Collection[CrossClusterRef] = ()
    gone_mappings: Collection[CrossClusterRef] = ()
    gone_names: Collection[CrossClusterRef] = ()
    """Recorded names of consumers in multi-consumers that are no more."""

    @property
    def counts(self) -> dict[str, int]:
        """How many rows of each kind there are, of those kinds that have any."""
        counts = {name: len(getattr(self, name)) for name in self.__slots__}
        return {name: count for name, count in counts.items() if count}


def plan_writes(
    rows: StateRows,
    changes: Changes,
    queues: Answers,
    consumers: Answers,
    default_stage: str,
    mapping: MappingChanges | None,
    origin: Origin,
    isolate: Isolate,
) -> StateWrites:
    """Say what to write.

    Args:
        rows: of the state tables.
        changes: what of them has to change.
        queues: answers for the queues that changed, and the replicated ones.
        consumers: likewise.
        default_stage: of chaos replicated tables that have none of their own.
        mapping: what else has to change about replicated tables; None leaves their mapping alone.
        origin: of errors.
        isolate: keeps errors of one object from the others.
    """
    return StateWrites(
        queues=_rows(
            changes.queues_to_fetch,
            changes.failed_queues,
            queues,
            {row.queue: row for row in rows.queues},
            lambda ref, attributes, old: build_queue_row(
                ref, with_default_stage(attributes, default_stage), old, origin
            ),
            unfetched_queue_row,
            isolate,
        ),
        consumers=_rows(
            changes.consumers_to_fetch,
            changes.failed_consumers,
            consumers,
            {row.consumer: row for row in rows.consumers},
            lambda ref, attributes, old: build_consumer_row(
                ref, with_default_stage(attributes, default_stage), old, origin
            ),
            unfetched_consumer_row,
            isolate,
        ),
        gone_queues=changes.gone_queues,
        gone_consumers=changes.gone_consumers,
        gone_names=find_orphan_names(rows),
        **({} if mapping is None else _plan_mapping(rows, mapping, {**queues, **consumers}, origin, isolate)),
    )


def _rows(
    changed: Collection[CrossClusterRef],
    failed: Mapping[CrossClusterRef, ErrorInfo],
    answers: Answers,
    old_rows: Mapping[CrossClusterRef, Row],
    build: Callable[[CrossClusterRef, Mapping[str, Any], Row | None], Row],
    build_unfetched: Callable[[CrossClusterRef, ErrorInfo, Row | None, int | None], Row],
    isolate: Isolate,
) -> list[Row]:
    result: list[Row] = []
    for ref, answer in (*((ref, answers.get(ref)) for ref in changed), *failed.items()):
        old = old_rows.get(ref)
        if isinstance(answer, ErrorInfo):
            result.append(build_unfetched(ref, answer, old, None))
        elif answer is not None:
            row = isolate(ref, partial(build, ref, answer, old))
            if isinstance(row, ErrorInfo):
                row = build_unfetched(ref, row, old, find_revision(answer))
            result.append(row)
    return result


def _plan_mapping(
    rows: StateRows, changes: MappingChanges, answers: Answers, origin: Origin, isolate: Isolate
) -> dict[str, Sequence[Any]]:
    """Rows that are still right are left alone, and so are those of objects that could not be looked at."""
    old = {row.table: row for row in rows.mappings or ()}
    looked_at: dict[CrossClusterRef, MappingRow | None] = {}
    for ref, answer in answers.items():
        if isinstance(answer, Mapping):
            row = isolate(ref, partial(build_mapping_row, ref, answer, origin))
            looked_at[ref] = MappingRow(ref, synchronization_error=row.to_map()) if isinstance(row, ErrorInfo) else row
    plain = [ref for ref, row in looked_at.items() if row is None and ref in old]
    return {
        "mappings": [row for ref, row in looked_at.items() if row is not None and not _is_same(row, old.get(ref))],
        "gone_mappings": sorted({*changes.gone, *plain}),
    }


def _is_same(row: MappingRow, old: MappingRow | None) -> bool:
    return old is not None and _essence(row) == _essence(old)


def _essence(row: MappingRow) -> tuple[Any, ...]:
    return row.revision, row.object_type, row.meta, _words(row.synchronization_error)


def _words(error: ErrorMap | None) -> tuple[Any, ...] | None:
    """What of an error does not tell when it came up."""
    return None if error is None else (error.get("code"), error.get("message"))
