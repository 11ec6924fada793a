"""Building the snapshot of a queue from what its cluster answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from queue_agent.core.exports.queue_exports import NO_STATES, ExportStates, QueueExports
from queue_agent.core.queues.exports import banned_exports, find_exports
from queue_agent.core.queues.snapshots import (
    FailedQueuePartition,
    QueuePartition,
    QueueSnapshot,
    QueueView,
    Role,
)
from queue_agent.core.state.rows import QueueRow, Registration
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.observed import TableDescription, TabletDescription, TabletInfo
from queue_agent.core.values.rates import Counters, EmaCounter
from queue_agent.core.values.timestamps import instant_of

TIMESTAMP_COLUMN = "$timestamp"
DATA_WEIGHT_COLUMN = "$cumulative_data_weight"

_READABLE_STATES = frozenset({"mounted", "frozen"})


@dataclass(frozen=True, slots=True)
class QueueObservation:
    """Answers to the questions of one pass, in the order asked; an error leaves the later ones unasked."""

    table: TableDescription | ErrorInfo
    tablet_infos: Mapping[int, TabletInfo] | ErrorInfo = field(default_factory=dict)
    """Of every readable partition."""

    data_weights: Mapping[tuple[int, int], int] | ErrorInfo = field(default_factory=dict)
    """`$cumulative_data_weight` of (partition index, row index)."""


def unprocessed_queue_snapshot(row: QueueRow, role: Role, now: datetime, origin: Origin) -> QueueSnapshot:
    """What is known before the first pass."""
    error = origin.error("Queue is not processed yet")
    return QueueSnapshot(row, role, 0, now, error, exports=find_exports(row, role, NO_STATES, origin))


def banned_queue_snapshot(
    previous: QueueSnapshot, row: QueueRow, pass_instant: datetime, origin: Origin
) -> QueueSnapshot:
    """The next snapshot while the queue is banned; alerts raised before are over."""
    since = previous.banned_since or pass_instant
    error = origin.error(f'Queue is banned by "queue_agent_banned" attribute (BannedSince: {encode_instant(since)})')
    return QueueSnapshot(
        row=row,
        role=previous.role,
        pass_index=previous.pass_index + 1,
        pass_instant=pass_instant,
        content=error,
        banned_since=since,
        exports=banned_exports(error, origin),
    )


def find_schema_error(table: TableDescription, origin: Origin) -> ErrorInfo | None:
    """Why the table is no queue, whatever its row says."""
    if table.columns and not any(column.sort_order for column in table.columns):
        return None
    names = "; ".join(f"{column.name}{' (sorted)' if column.sort_order else ''}" for column in table.columns)
    return origin.error(f"Invalid queue schema [{names}]")


def readable_partition_indexes(table: TableDescription) -> list[int]:
    """The partitions whose tablets answer."""
    return [tablet.index for tablet in table.tablets if tablet.state in _READABLE_STATES]


def data_weight_rows(
    previous: QueueSnapshot, table: TableDescription, tablet_infos: Mapping[int, TabletInfo]
) -> set[tuple[int, int]]:
    """The rows (partition index, row index) whose data weight has to be read.

    These are the first and last row of each partition, unless the previous snapshot knows them.
    """
    if not has_column(table, DATA_WEIGHT_COLUMN):
        return set()
    rows: set[tuple[int, int]] = set()
    for index, info in tablet_infos.items():
        lower, upper = info.trimmed_row_count, info.total_row_count
        if lower < upper and _find_known_weights(previous, table.tablets[index], info) is None:
            rows |= {(index, lower), (index, upper - 1)}
    return rows


def idle_queue_snapshot(
    previous: QueueSnapshot,
    row: QueueRow,
    registrations: Sequence[Registration],
    pass_instant: datetime,
    asked: int,
    now: datetime,
    exports: QueueExports,
) -> QueueSnapshot | None:
    """The next snapshot if table and tablets have answered what they did for the previous one.

    It is what `build_queue_snapshot` would make of the same answers. None: it has to be built, for something is still
    to be asked, or the clock went back.
    """
    view = previous.view
    if view is None or not view.settled or now < view.seen_at:
        return None
    return QueueSnapshot(
        row=row,
        role=previous.role,
        pass_index=previous.pass_index + 1,
        pass_instant=pass_instant,
        content=replace(view, seen_at=now, asked=asked),
        registrations=registrations,
        counters=previous.counters,
        alerts=previous.alerts,
        trims=previous.trims,
        quarantines=previous.quarantines,
        exports=exports,
    )


def has_column(table: TableDescription, name: str) -> bool:
    return any(column.name == name for column in table.columns)


def build_queue_snapshot(
    previous: QueueSnapshot,
    row: QueueRow,
    registrations: Sequence[Registration],
    pass_instant: datetime,
    asked: int,
    now: datetime,
    origin: Origin,
    observation: QueueObservation,
    states: ExportStates = NO_STATES,
) -> QueueSnapshot:
    """Put together what was seen.

    Counters go on from the previous snapshot by partition index; they survive a pass that failed after the tablets
    had answered, and restart for a partition that could not be read.

    Args:
        previous: of the same controller.
        row: the queue's row as of the start of the pass.
        registrations: those of the queue.
        pass_instant: start of the pass.
        asked: moment before anything was asked.
        now: when the tablets had answered; idle times and rates are as of then.
        origin: of errors.
        observation: all answers.
        states: of the queue's exports, as far as there are any.
    """

    def snapshot(content: QueueView | ErrorInfo, counters: Mapping[int, Counters]) -> QueueSnapshot:
        return QueueSnapshot(
            row=row,
            role=previous.role,
            pass_index=previous.pass_index + 1,
            pass_instant=pass_instant,
            content=content,
            registrations=registrations,
            counters=counters,
            alerts=previous.alerts,
            trims=previous.trims,
            quarantines=previous.quarantines,
            exports=find_exports(row, previous.role, states, origin),
        )

    if isinstance(observation.table, ErrorInfo):
        return snapshot(observation.table, {})
    if isinstance(observation.tablet_infos, ErrorInfo):
        return snapshot(observation.tablet_infos, {})
    partitions, settled = _see_partitions(
        previous, observation.table, observation.tablet_infos, observation.data_weights, now, origin
    )
    if isinstance(observation.data_weights, ErrorInfo):
        return snapshot(observation.data_weights, _readable(partitions))
    view = _build_view(observation.table, partitions, now, asked, settled)
    return snapshot(view, _readable(partitions))


def _build_view(
    table: TableDescription,
    partitions: Sequence[QueuePartition | FailedQueuePartition],
    seen_at: datetime,
    asked: int,
    settled: bool,
) -> QueueView:
    return QueueView(
        partitions,
        has_timestamp_column=has_column(table, TIMESTAMP_COLUMN),
        has_cumulative_data_weight_column=has_column(table, DATA_WEIGHT_COLUMN),
        seen_at=seen_at,
        asked=asked,
        settled=settled,
        object_id=table.object_id,
        created_at=table.created_at,
        data_ttl=table.data_ttl,
    )


def _readable(partitions: Sequence[QueuePartition | FailedQueuePartition]) -> Mapping[int, Counters]:
    return {index: one.counters for index, one in enumerate(partitions) if isinstance(one, QueuePartition)}


def _see_partitions(
    previous: QueueSnapshot,
    table: TableDescription,
    infos: Mapping[int, TabletInfo],
    weights: Mapping[tuple[int, int], int] | ErrorInfo,
    now: datetime,
    origin: Origin,
) -> tuple[Sequence[QueuePartition | FailedQueuePartition], bool]:
    """The partitions by index, and whether another look at the same table would see the same."""
    has_data_weight = has_column(table, DATA_WEIGHT_COLUMN)
    unchanged = _unchanged_partitions(previous, table, infos, has_data_weight, now)
    partitions: list[QueuePartition | FailedQueuePartition] = []
    settled = True
    for tablet in table.tablets:
        if tablet.state not in _READABLE_STATES:
            partitions.append(_failed_partition(tablet, origin))
            settled = False
            continue
        old = unchanged.get(tablet.index)
        if old is not None and not isinstance(weights, ErrorInfo):
            partitions.append(old)
            continue
        info = infos[tablet.index]
        partition = _partition(tablet, info, _previous_counters(previous, tablet.index), now)
        if not has_data_weight:
            partition = replace(partition, counters=Counters(partition.counters.row_count))
        elif not isinstance(weights, ErrorInfo):
            known = _find_known_weights(previous, tablet, info) or _weights_from(weights, tablet.index, info)
            partition = _with_weights(partition, known, now)
            settled = settled and (partition.available_row_count == 0 or known.complete)
        settled = settled and _is_counted(partition)
        partitions.append(partition)
    return partitions, settled


def _unchanged_partitions(
    previous: QueueSnapshot,
    table: TableDescription,
    tablet_infos: Mapping[int, TabletInfo],
    has_data_weight: bool,
    now: datetime,
) -> Mapping[int, QueuePartition]:
    """The partitions of which everything is known already, by index."""
    view = previous.view
    if view is None or view.has_cumulative_data_weight_column is not has_data_weight or now < view.seen_at:
        return {}
    unchanged: dict[int, QueuePartition] = {}
    for tablet, old in zip(table.tablets, view.partitions, strict=False):
        info = tablet_infos.get(tablet.index)
        if (
            info is not None
            and isinstance(old, QueuePartition)
            and (old.tablet_id, old.tablet_state, old.cell_id, old.host)
            == (tablet.tablet_id, tablet.state, tablet.cell_id, tablet.host)
            and (old.lower_row_index, old.upper_row_index) == (info.trimmed_row_count, info.total_row_count)
            and old.last_row_commit_time == instant_of(info.last_write_timestamp)
            and (not has_data_weight or old.available_row_count == 0 or old.available_data_weight is not None)
            and _is_counted(old)
        ):
            unchanged[tablet.index] = old
    return unchanged


def _is_counted(partition: QueuePartition) -> bool:
    """Whether the counters know what was seen; one that is ahead of a clock that went back takes no notice."""
    weight = partition.cumulative_data_weight
    counters = partition.counters
    return counters.row_count.count == partition.upper_row_index and (
        weight is None or counters.data_weight.count == weight
    )


def _previous_counters(previous: QueueSnapshot, index: int) -> Counters:
    counters = previous.counters.get(index, Counters())
    return counters if previous.view is None else counters.rolled(previous.view.seen_at)


def _failed_partition(tablet: TabletDescription, origin: Origin) -> FailedQueuePartition:
    error = origin.error(f"Tablet {tablet.tablet_id} is not mounted or frozen", attributes={"state": tablet.state})
    return FailedQueuePartition(tablet.tablet_id, tablet.state, error)


def _partition(tablet: TabletDescription, info: TabletInfo, counters: Counters, now: datetime) -> QueuePartition:
    return QueuePartition(
        tablet_id=tablet.tablet_id,
        tablet_state=tablet.state,
        cell_id=tablet.cell_id,
        host=tablet.host,
        lower_row_index=info.trimmed_row_count,
        upper_row_index=info.total_row_count,
        last_row_commit_time=instant_of(info.last_write_timestamp),
        counters=Counters(counters.row_count.updated(info.total_row_count, now), counters.data_weight),
    )


@dataclass(frozen=True, slots=True)
class _Weights:
    cumulative: int | None
    trimmed: int | None

    @property
    def complete(self) -> bool:
        return self.cumulative is not None and self.trimmed is not None


def _find_known_weights(previous: QueueSnapshot, tablet: TabletDescription, info: TabletInfo) -> _Weights | None:
    """Weights of the same two rows of the same tablet, if the previous pass found both."""
    view = previous.view
    if view is None or tablet.index >= len(view.partitions):
        return None
    old = view.partitions[tablet.index]
    if (
        isinstance(old, FailedQueuePartition)
        or old.tablet_id != tablet.tablet_id
        or (old.lower_row_index, old.upper_row_index) != (info.trimmed_row_count, info.total_row_count)
        or old.cumulative_data_weight is None
        or old.trimmed_data_weight is None
    ):
        return None
    return _Weights(old.cumulative_data_weight, old.trimmed_data_weight)


def _weights_from(weights: Mapping[tuple[int, int], int], index: int, info: TabletInfo) -> _Weights:
    return _Weights(
        cumulative=weights.get((index, info.total_row_count - 1)),
        trimmed=weights.get((index, info.trimmed_row_count)),
    )


def _with_weights(partition: QueuePartition, weights: _Weights, now: datetime) -> QueuePartition:
    counter: EmaCounter = partition.counters.data_weight
    if weights.cumulative is not None:
        counter = counter.updated(weights.cumulative, now)
    elif counter.last_instant is not None:
        # A partition whose rows are all trimmed has no weight to read, yet its rate has to fade.
        counter = counter.updated(counter.count, now)
    return replace(
        partition,
        cumulative_data_weight=weights.cumulative,
        trimmed_data_weight=weights.trimmed,
        counters=replace(partition.counters, data_weight=counter),
    )
