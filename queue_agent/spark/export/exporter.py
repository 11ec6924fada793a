"""Exports a queue to Parquet files: plans a batch, writes it, publishes it, and then lets the queue's rows go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Event
from uuid import uuid4

from queue_agent.spark.export.archive import Archive
from queue_agent.spark.export.compaction import abandon
from queue_agent.spark.export.completeness import close, watermark
from queue_agent.spark.export.documents import ExportFile, Identity, Manifest, Plan, Range, schema_hash
from queue_agent.spark.export.errors import ExportError, TargetTaken, words_of
from queue_agent.spark.export.identity import check_consumer, check_identity, check_tablets, find_other_tablets
from queue_agent.spark.export.layout import export_directory
from queue_agent.spark.export.parquet_writer import TIMESTAMP
from queue_agent.spark.export.planning import (
    ANY_TIME,
    Period,
    check_source,
    is_lost,
    plan_again,
    plan_backfill,
    plan_export,
    plan_replacement,
)
from queue_agent.spark.export.ports import BatchWriter, ExportOptions, Right, Source
from queue_agent.spark.export.reporting import Reporter, RunSummary
from queue_agent.spark.export.row_options import row_options
from queue_agent.spark.export.state import ExportState, late_rows, live_files
from queue_agent.spark.export.storage import Storage
from queue_agent.spark.offsets import PartitionBounds


class Exporter:
    """One run of an export.

    Args:
        source: the queue.
        writer: writes the files.
        target: where to.
        options: how.
        clock: gives the present, with its time zone.
        reporter: hears of the progress of the run.
        stop: ends the run after the present batch, once it is set.
    """

    def __init__(
        self,
        source: Source,
        writer: BatchWriter,
        target: Storage,
        options: ExportOptions,
        clock: Callable[[], datetime],
        reporter: Reporter,
        stop: Event,
    ) -> None:
        self._source = source
        self._writer = writer
        self._target = target
        self._options = options
        self._clock = clock
        self._reporter = reporter
        self._stop = stop
        info = source.info()
        self._directory = export_directory(info.cluster, info.path, options.schema_version, options.generation)
        self._archive = Archive(target.below(self._directory))
        self.summary = RunSummary(self._directory)

    @property
    def directory(self) -> str:
        """Of the export, below the target."""
        return self._directory

    def catch_up(self) -> None:
        """Export what the queue holds now; what is written meanwhile is left for the next run.

        Raises:
            ExportError: see its subclasses; what has been published stays.
        """
        with self._running() as run:
            run.catch_up()

    def follow(self, interval: timedelta) -> None:
        """Export what comes, looking once in an interval, until the run is stopped. Errors as in `catch_up`."""
        with self._running() as run:
            while not self._stop.is_set():
                run.catch_up()
                self._stop.wait(interval.total_seconds())

    def backfill(self, ranges: Sequence[Range]) -> None:
        """Export these rows, which must adjoin those that are there, or be the first.

        Raises:
            RangeRefused: they do not, or are not in the queue.
        """
        with self._running() as run:
            run.backfill(ranges)

    def replace(self, ranges: Sequence[Range], period: Period = ANY_TIME) -> None:
        """Read rows once more and put them in the place of the files that hold them.

        Args:
            ranges: rows.
            period: whose rows these are, as far as they are in the queue.

        Raises:
            RangeRefused: there are no such files, or the queue has the rows no more.
        """
        with self._running() as run:
            run.replace(ranges, period)

    def _check(self) -> None:
        """Refuse what can be refused before a consumer keeps rows of the queue, and before anything is written."""
        identity = self._archive.find_identity()
        if identity is None or self._archive.load_state().last_number < 0:
            self._writer.check(self._options.files)
        if identity is not None:
            check_consumer(identity, self._source.consumer_path)

    @contextmanager
    def _running(self) -> Iterator[_Run]:
        started = self._clock()
        try:
            self._check()
            self._source.ensure_consumer()
            with self._source.exclusively(self._options.lock_timeout, self._options.lock_wait) as right:
                run = _Run(self, right)
                run.recover()
                yield run
            self.summary.succeeded = True
            self.summary.stopped = self._stop.is_set()
        except Exception as error:
            self.summary.error = f"{type(error).__name__}: {words_of(error)}"
            raise
        finally:
            finished = self._clock()
            self.summary.seconds = (finished - started).total_seconds()
            self.summary.finished_at = finished.timestamp()
            self._reporter.finished()


class _Run:
    """What one holder of the lock does."""

    def __init__(self, exporter: Exporter, right: Right) -> None:
        self._exporter = exporter
        self._options = exporter._options
        self._source = exporter._source
        self._archive = exporter._archive
        self._right = right
        self._info = self._source.info()
        self._state = self._archive.find_state() or ExportState()
        self._identity = self._find_or_create_identity()

    def recover(self) -> None:
        """Bring everything to where the manifests are, and do again the batch that was begun last."""
        while (manifest := self._archive.find_manifest(self._state.last_number + 1)) is not None:
            self._state = self._archive.settle(self._state, manifest)
        self._check_consumer()
        self._let_go()
        plan = self._archive.find_plan(self._state.last_number + 1)
        if plan is not None:
            self._look()
            bounds = self._source.bounds(self._info.tablet_count)
            check_source(self._state, bounds)
            if plan.kind != "compact" and self._state.last_number < 0 and self._is_of_others(plan):
                self._archive.remove_plan(plan.number)  # nothing is published: the export begins with the new tablets
            elif plan.kind == "compact":
                abandon(self._archive, plan)
            elif is_lost(self._state, plan, bounds):
                self._archive.remove_plan(plan.number)
            else:
                self._do(plan_again(plan, bounds, self._options.on_trimmed))

    def catch_up(self) -> None:
        target: Mapping[int, int] | None = None
        while True:
            self._look()
            observed = self._exporter._clock()
            bounds = self._source.bounds(self._info.tablet_count)
            if target is None:
                target = {index: bound.upper_row_index for index, bound in bounds.items() if bound is not None}
                self._exporter._reporter.planned(self._remaining(bounds))
            self._exporter.summary.remaining_rows = self._remaining(bounds)
            plan = plan_export(
                self._state,
                bounds,
                target,
                self._options.limits,
                self._options.on_trimmed,
                self._identity.continues,
            )
            if plan is None or self._exporter._stop.is_set():
                self._close_periods(bounds, observed)
                return
            self._do(plan)
            self._close_periods(bounds, observed)

    def backfill(self, ranges: Sequence[Range]) -> None:
        bounds = self._source.bounds(self._info.tablet_count)
        plans = plan_backfill(self._state, ranges, bounds, self._options.limits)
        self._exporter._reporter.planned(sum(plan.row_count for plan in plans))
        for plan in plans:
            if self._exporter._stop.is_set():
                return
            self._do(plan)

    def replace(self, ranges: Sequence[Range], period: Period) -> None:
        bounds = self._source.bounds(self._info.tablet_count)
        live = live_files(self._archive.manifests()).values()
        plan = plan_replacement(self._state, live, ranges, bounds, self._options.limits, period)
        self._exporter._reporter.planned(plan.row_count)
        self._do(plan)

    def _do(self, plan: Plan) -> None:
        """Plan, then write, then publish; a process that dies at any place leaves what the next one goes on from."""
        self._right.check()
        plan = replace(plan, tablet_ids=self._tablets_of(plan))
        self._archive.save_plan(plan)
        files = self._write(plan) if plan.ranges else []
        self._look()  # rows of a queue that was re-created or resharded meanwhile are not published
        self._check_tablets(plan.tablet_ids)
        self._check_counts(plan, files)
        self._archive.see(files)
        manifest = Manifest(
            plan,
            self._identity.export_id,
            files,
            schema_hash(self._info.schema),
            late_rows(self._state, files) if plan.kind == "export" else 0,
            self._exporter._clock().isoformat(),
        )
        self._right.check()
        self._archive.publish(manifest)
        self._state = self._archive.settle(self._state, manifest)
        self._let_go()
        self._exporter.summary.add(manifest)
        self._exporter._reporter.published(manifest)

    def _write(self, plan: Plan) -> list[ExportFile]:
        settings = self._options.files
        if plan.kind == "replace":
            settings = replace(settings, revision=plan.number)
        return list(self._exporter._writer.write(plan, self._exporter.directory, settings))

    def _check_counts(self, plan: Plan, files: Sequence[ExportFile]) -> None:
        written: Counter[int] = Counter()
        for file in files:
            written[file.rows.partition_index] += file.row_count
        wanted: Counter[int] = Counter()
        for rows in plan.ranges:
            wanted[rows.partition_index] += rows.row_count
        for index in sorted({*written, *wanted}):
            if written[index] > wanted[index] or (written[index] < wanted[index] and not self._identity.filtered):
                raise ExportError(
                    f"{written[index]} rows of partition {index} were written where {wanted[index]} were planned; "
                    "nothing of the batch is published"
                )

    def _let_go(self) -> None:
        self._exporter.summary.next_row_indexes = dict(self._state.next_row_indexes)
        self._source.advance(self._state.next_row_indexes)

    def _check_consumer(self) -> None:
        for index, row in self._source.consumed().items():
            exported = self._state.next_row_indexes.get(index, self._identity.continues.get(index, 0))
            if row > exported and index in self._state.next_row_indexes:
                raise TargetTaken(
                    f"the consumer {self._source.consumer_path} is at row {row} of partition {index}, but only rows "
                    f"below {exported} are exported: somebody else moves it, or the export has lost manifests"
                )

    def _close_periods(self, bounds: Mapping[int, PartitionBounds | None], observed: datetime) -> None:
        caught_up = {
            index: observed
            for index, bound in bounds.items()
            if bound is not None
            and self._state.next_row_indexes.get(index, bound.lower_row_index) >= bound.upper_row_index
        }
        partitioning = self._identity.partitioning
        until = watermark(self._state, bounds, caught_up, self._options.slack, partitioning)
        by_commit = self._identity.time_column == TIMESTAMP
        state, completions = close(self._state, until, partitioning, with_empty=by_commit)
        for completion in completions:
            self._archive.save_completion(completion)
        if state != self._state:
            self._state = state
            self._archive.save_state(state)
            self._exporter.summary.closed_periods += len(completions)

    def _remaining(self, bounds: Mapping[int, PartitionBounds | None]) -> int:
        return sum(
            bound.upper_row_index
            - max(
                bound.lower_row_index,
                self._state.next_row_indexes.get(index, self._identity.continues.get(index, bound.lower_row_index)),
            )
            for index, bound in bounds.items()
            if bound is not None
        )

    def _look(self) -> None:
        """See whether the queue still is what it was."""
        self._info = self._source.info()
        self._check_identity(self._identity)
        self._check_tablets(self._state.tablet_ids)

    def _check_tablets(self, tablet_ids: Mapping[int, str]) -> None:
        check_tablets(tablet_ids, self._info, f"export it as generation {self._options.generation + 1}")

    def _tablets_of(self, plan: Plan) -> Mapping[int, str]:
        indexes = {rows.partition_index for rows in [*plan.ranges, *plan.gaps]}
        return {index: self._info.tablet_ids[index] for index in sorted(indexes)}

    def _is_of_others(self, plan: Plan) -> bool:
        return bool(find_other_tablets(plan.tablet_ids, self._info.tablet_ids))

    def _check_identity(self, identity: Identity) -> None:
        check_identity(identity, self._info, self._options, self._source.consumer_path, self._source.read)

    def _find_or_create_identity(self) -> Identity:
        identity = self._archive.find_identity()
        if identity is None:
            identity = self._new_identity()
            # A consumer that had another purpose, or another queue of this name, must not let rows go.
            self._source.rewind(identity.continues)
            self._archive.create(identity)
            identity = self._archive.find_identity()
            assert identity is not None
        elif self._is_untouched(identity):
            fresh = self._new_identity()
            if replace(identity, export_id=fresh.export_id) != fresh:
                # Whatever was wrong with the first run, its options or the queue, need not be so for ever.
                self._source.rewind(fresh.continues)
                self._archive.begin_anew(fresh)
                identity = fresh
        self._check_identity(identity)
        return identity

    def _is_untouched(self, identity: Identity) -> bool:
        """Whether nothing has been published, nor can be by anybody but the holder of the consumer's lock."""
        is_own = identity.consumer and identity.consumer == self._source.consumer_path
        return bool(is_own) and self._state.last_number < 0 and self._archive.find_manifest(0) is None

    def _new_identity(self) -> Identity:
        options, info = self._options, self._info
        continues: Mapping[int, int] = {}
        for version in range(options.schema_version - 1, 0, -1):
            directory = export_directory(info.cluster, info.path, version, options.generation)
            before = Archive(self._exporter._target.below(directory))
            if before.find_identity() is not None:
                continues = before.load_state().next_row_indexes
                break
        return Identity(
            export_id=str(uuid4()),
            cluster=info.cluster,
            queue=info.path,
            queue_id=info.object_id,
            consumer=self._source.consumer_path or "",
            schema=info.schema,
            partitioning=options.files.partitioning,
            time_column=options.files.time_column,
            rows=row_options(self._source.read, options.transformation),
            continues=continues,
        )
