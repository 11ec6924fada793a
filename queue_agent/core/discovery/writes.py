"""What the attributes of queues and consumers make of the state tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from queue_agent.core.consumers.multi_consumers import find_orphan_names
from queue_agent.core.discovery.synchronization import Changes, MappingChanges
from queue_agent.core.state.attributes import (
    build_consumer_row,
    build_mapping_row,
    build_queue_row,
    find_revision,
    unfetched_consumer_row,
    unfetched_queue_row,
    with_default_stage,
)
from queue_agent.core.state.rows import ConsumerRow, ErrorMap, MappingRow, QueueRow, StateRows
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef

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
