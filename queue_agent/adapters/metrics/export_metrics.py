"""Metrics of static exports: what their tasks did is counted here, how far they are is on the board."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from queue_agent.adapters.metrics.metric_lines import Lines, label_text
from queue_agent.adapters.metrics.object_metrics import queue_labels
from queue_agent.core.exports.config import InvalidSchedule
from queue_agent.core.exports.outcome import ExportOutcome
from queue_agent.core.exports.queue_exports import ExportState
from queue_agent.core.queues.snapshots import QueueSnapshot, Role
from queue_agent.core.values.encoding import EPOCH
from queue_agent.core.values.refs import CrossClusterRef

_OWN: Final = "queue_agent_queue_export"
_COMPATIBLE: Final = "yt_queue_agent_queue_static_export"

ExportKey = tuple[CrossClusterRef, str]
"""A queue, and the name of an export."""


@dataclass(frozen=True, slots=True)
class ExportCounts:
    """What the tasks of one export have done since it is made here."""

    rows: int = 0
    chunks: int = 0
    tables: int = 0
    skipped_tables: int = 0
    failed_tasks: int = 0
    mismatches: int = 0

    def after(self, outcome: ExportOutcome) -> ExportCounts:
        """With one more task."""
        counted = replace(
            self,
            skipped_tables=self.skipped_tables + outcome.skipped,
            failed_tasks=self.failed_tasks + (outcome.error is not None),
            mismatches=self.mismatches + outcome.mismatch_count,
        )
        if outcome.after is None:
            return counted
        return replace(
            counted,
            rows=self.rows + sum(part.row_count for part in outcome.made),
            chunks=self.chunks + sum(len(part.chunks) for part in outcome.made),
            tables=self.tables + len(outcome.made),
        )


class ExportCounters:
    """`ports.ExportObserver`."""

    def __init__(self) -> None:
        self._counts: dict[ExportKey, ExportCounts] = {}

    def export_finished(self, queue: CrossClusterRef, name: str, outcome: ExportOutcome) -> None:
        """See `ports.ExportObserver`."""
        self._counts[queue, name] = self._counts.get((queue, name), ExportCounts()).after(outcome)

    def exports_kept(self, exports: Mapping[CrossClusterRef, Collection[str]]) -> None:
        """See `ports.ExportObserver`; those that are new begin at zero, for a counter has to be seen growing."""
        self._counts = {
            (queue, name): self._counts.get((queue, name), ExportCounts())
            for queue, names in exports.items()
            for name in names
        }

    def values(self) -> Mapping[ExportKey, ExportCounts]:
        """All of them, in a mapping that stays as it is."""
        return dict(self._counts)


def export_lines(
    queues: Mapping[CrossClusterRef, QueueSnapshot],
    counts: Mapping[ExportKey, ExportCounts],
    *,
    compatible: bool,
) -> Iterator[Lines]:
    """Series of the exports of queues that are led here.

    Args:
        queues: latest snapshots.
        counts: of their exports.
        compatible: whether there are series under the names of the C++ agent, too.
    """
    by_queue: dict[CrossClusterRef, dict[str, ExportCounts]] = {}
    for (ref, name), one in counts.items():
        by_queue.setdefault(ref, {})[name] = one
    for ref, exports in by_queue.items():
        snapshot = queues.get(ref)
        if snapshot is None or snapshot.role is not Role.LEADING:
            continue
        labels = queue_labels(ref, snapshot)
        lines = Lines()
        for name, one in exports.items():
            state = snapshot.exports.exporters.get(name)
            _add_own(lines, label_text({**labels, "export_name": name}), one, state)
        if compatible:
            _add_compatible(lines, labels, snapshot, exports)
        yield lines


def _add_own(lines: Lines, text: str, counts: ExportCounts, state: ExportState | None) -> None:
    lines.add(f"{_OWN}ed_rows_total", text, counts.rows)
    lines.add(f"{_OWN}ed_tables_total", text, counts.tables)
    lines.add(f"{_OWN}_skipped_tables_total", text, counts.skipped_tables)
    lines.add(f"{_OWN}_errors_total", text, counts.failed_tasks)
    if state is None:
        return
    progress = state.progress
    if progress.last_successful_export_task_instant != EPOCH:
        instant = progress.last_successful_export_task_instant.timestamp()
        lines.add(f"{_OWN}_last_success_timestamp_seconds", text, instant)
    if progress.last_export_unix_ts:
        lines.add(f"{_OWN}_last_table_timestamp_seconds", text, progress.last_export_unix_ts)


def _add_compatible(
    lines: Lines,
    labels: Mapping[str, str],
    snapshot: QueueSnapshot,
    exports: Mapping[str, ExportCounts],
) -> None:
    total = ExportCounts()
    for name, one in exports.items():
        text = label_text({**labels, "export_name": name})
        _add_counts(lines, text, one)
        total = ExportCounts(
            total.rows + one.rows,
            total.chunks + one.chunks,
            total.tables + one.tables,
            total.skipped_tables + one.skipped_tables,
            total.failed_tasks + one.failed_tasks,
            total.mismatches + one.mismatches,
        )
        lag = _find_lag(snapshot.exports.exporters.get(name), snapshot.pass_instant)
        if lag is not None:
            lines.add(f"{_COMPATIBLE}_time_lag", text, lag[0])
            lines.add(f"{_COMPATIBLE}_table_lag", text, lag[1])
        own = {"queue_cluster": snapshot.ref.cluster, "leading": "true", **labels, "export_name": name}
        lines.add(f"{_COMPATIBLE}_row_count_mismatches", label_text(own), one.mismatches)
    _add_counts(lines, label_text(labels), total)


def _add_counts(lines: Lines, text: str, counts: ExportCounts) -> None:
    lines.add(f"{_COMPATIBLE}_exported_rows", text, counts.rows)
    lines.add(f"{_COMPATIBLE}_exported_chunks", text, counts.chunks)
    lines.add(f"{_COMPATIBLE}_exported_tables", text, counts.tables)
    lines.add(f"{_COMPATIBLE}_skipped_tables", text, counts.skipped_tables)
    lines.add(f"{_COMPATIBLE}_export_task_errors", text, counts.failed_tasks)


def _find_lag(state: ExportState | None, now: datetime) -> tuple[int, int] | None:
    """Seconds from the last table to the last tick, and how many tables that is; None: nothing was ever exported."""
    if state is None or not state.progress.last_export_unix_ts or isinstance(state.config.schedule, InvalidSchedule):
        return None
    try:
        begin, end = state.config.schedule.range_at(int(now.timestamp()))
    except ValueError:
        return None
    lag = max(begin - state.progress.last_export_unix_ts, 0)
    return lag, math.ceil(lag / (end - begin))
