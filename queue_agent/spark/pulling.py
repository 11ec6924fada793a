"""Reads a range of rows of one partition, in an executor: request by request, each a batch of Arrow."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from yt.wrapper.errors import YtResponseError
from yt.wrapper.http_helpers import get_retriable_errors

from queue_agent.spark.connection import client_of
from queue_agent.spark.decoding import Decoder, UnreadableAsText, YsonDecoder, decoder_of
from queue_agent.spark.errors import QueueChanged, QueueUnavailable, RowsTrimmed
from queue_agent.spark.options import ReadOptions
from queue_agent.spark.queues import Queue, pull_path, queue_connection
from queue_agent.spark.types import SERVICE_COLUMNS, TABLET_INDEX, Column, column_of

_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0

_NOT_MOUNTED: Final = 1702
_IN_TRANSITION: Final = 1744

_ROW_INDEX: Final = Column("$row_index", "int64", required=True)


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows of one partition, from `begin` to one before `end`."""

    partition_index: int
    begin: int
    end: int
    object_id: str | None = None
    """Of the queue that they are rows of; None: whoever planned it looks itself whether that is still the one."""


class _AnswerCut(Exception):
    """The answer broke off; it is to be asked for again."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """Rows of one request, at most those that were asked for."""

    begin: int
    arrays: list[pa.Array]

    @property
    def end(self) -> int:
        return self.begin + len(self.arrays[0])


class RangeReader:
    """Reads ranges of one queue; it can be pickled, and connects where it is used.

    Args:
        options: of the read.
        schema: of the frame, as `spark_schema` made it, or a choice of its columns.
    """

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._columns = [column_of(field) for field in schema.fields if field.name not in SERVICE_COLUMNS]

    def read(self, *ranges: RowRange) -> Iterator[pa.RecordBatch]:
        """The rows of some ranges, in order; while a batch is used, the next is fetched.

        Args:
            ranges: of one queue, planned at one time.

        Raises:
            RowsTrimmed: rows of a range are gone, and `on_trimmed` is `fail`.
            QueueChanged: the queue is another one, or ends before a range does.
            QueueUnavailable: nothing comes although there should be something.
            ColumnError: a value has no equal in Spark.
        """
        _freeze_imports()
        with ThreadPoolExecutor(1, "pull") as executor:
            answers = self._answers(ranges)
            following = executor.submit(next, answers, None)
            try:
                while (found := following.result()) is not None:
                    following = executor.submit(next, answers, None)
                    yield self._batch(*found)
            finally:
                following.cancel()

    def _answers(self, ranges: Sequence[RowRange]) -> Iterator[tuple[int, _Answer]]:
        """Each with the index of its partition; the last comes once it is known that the queue is still the same."""
        for rows in ranges:
            pull = _Pull(self._options, self._columns, rows.partition_index, rows.end)
            if rows is ranges[0]:
                pull.check_object(rows.object_id)
            begin = rows.begin
            while begin < rows.end:
                answer = pull.fetch(begin)
                begin = rows.end if answer is None else answer.end
                if begin >= rows.end and rows is ranges[-1]:
                    # Ids are given once: what is the same queue in the end was so all the time.
                    pull.check_object(rows.object_id)
                if answer is not None:
                    yield rows.partition_index, answer

    def _batch(self, partition_index: int, answer: _Answer) -> pa.RecordBatch:
        columns = iter(answer.arrays[1:])
        count = answer.end - answer.begin
        arrays = []
        for field in self._schema.fields:
            if field.name == TABLET_INDEX:
                arrays.append(pa.repeat(pa.scalar(partition_index, pa.int64()), count))
            elif field.name in SERVICE_COLUMNS:
                arrays.append(answer.arrays[0])
            else:
                arrays.append(next(columns))
        return pa.RecordBatch.from_arrays(arrays, schema=self._arrow_schema)

    @cached_property
    def _arrow_schema(self) -> pa.Schema:
        return to_arrow_schema(self._schema, timezone="UTC")


@cache
def _freeze_imports() -> None:
    """Spark's worker collects garbage after every task, and would look at all that was ever imported each time."""
    gc.freeze()


class _Pull:
    """Requests for rows of one partition."""

    def __init__(self, options: ReadOptions, columns: list[Column], partition_index: int, end: int) -> None:
        self._options = options
        self._columns = [_ROW_INDEX, *columns]
        self._partition_index = partition_index
        self._end = end
        self._queue = Queue(options)
        self._path = pull_path(self._queue, options)
        self._decoder = decoder_of(self._columns, options.types)

    def check_object(self, planned: str | None) -> None:
        """QueueChanged if the queue is not the one that was planned for."""
        found = None if planned is None else self._queue.find_object_id()
        if found != planned:
            raise QueueChanged(
                f"{self._queue.path} was re-created since rows of it were planned: its object id is {found}, not "
                f"{planned}; a stream goes on with on_recreated=restart, a frame is to be read again"
            )

    def fetch(self, begin: int) -> _Answer | None:
        """The next rows from `begin` on; None if all up to the end are trimmed and to be skipped."""
        attempts = self._options.connection.retries
        for attempt in range(attempts):
            if attempt:
                time.sleep(min(_FIRST_PAUSE * 2 ** (attempt - 1), _LONGEST_PAUSE))
            try:
                arrays = self._arrays(begin)
                lowest = begin if len(arrays[0]) else self._lowest_row(begin)
            except _AnswerCut:
                continue
            except get_retriable_errors() as error:
                raise self._unavailable(begin, attempts) from error
            except YtResponseError as error:
                if error.contains_code(_NOT_MOUNTED) or error.contains_code(_IN_TRANSITION):
                    raise self._unavailable(begin, attempts) from error
                raise
            if len(arrays[0]):
                return self._checked(begin, arrays)
            if lowest > begin:
                self._skip(begin, min(lowest, self._end))
                if lowest >= self._end:
                    return None
                begin = lowest
        raise self._unavailable(begin, attempts)

    def _arrays(self, begin: int) -> list[pa.Array]:
        try:
            return self._decoder.decode(self._pull(begin, self._decoder))
        except UnreadableAsText:
            decoder = YsonDecoder(self._columns, self._options.types)
            return decoder.decode(self._pull(begin, decoder))

    def _pull(self, begin: int, decoder: Decoder) -> bytes:
        pull = self._options.pull
        count = min(pull.pull_rows, self._end - begin)
        limits = {"max_row_count": count, "max_data_weight": pull.pull_bytes, "format": decoder.format, "raw": True}
        if self._options.consumer_path is not None:
            answer = client_of(self._options.connection).pull_queue_consumer(
                self._options.consumer_path, self._path, begin, self._partition_index, **limits
            )
        else:
            answer = client_of(queue_connection(self._options)).pull_queue(
                self._path, begin, self._partition_index, **limits
            )
        try:
            return bytes(answer.read())
        except get_retriable_errors() as error:
            # The client sends a request again that fails, but not one whose answer breaks off.
            raise _AnswerCut from error

    def _checked(self, begin: int, arrays: list[pa.Array]) -> _Answer | None:
        first, last, count = arrays[0][0].as_py(), arrays[0][-1].as_py(), len(arrays[0])
        if last - first != count - 1:
            raise QueueChanged(f"rows {first} to {last} of {self._name} came as {count} rows")
        if first < begin:
            raise QueueChanged(f"row {first} of {self._name} came where row {begin} was asked for")
        if first > begin:
            self._skip(begin, min(first, self._end))
        kept = min(count, self._end - first)
        if kept <= 0:
            return None
        return _Answer(first, [array.slice(0, kept) for array in arrays])

    def _skip(self, begin: int, end: int) -> None:
        if self._options.pull.on_trimmed == "fail":
            raise RowsTrimmed(
                f"rows {begin} to {end - 1} of {self._name} were trimmed before they were read; "
                "on_trimmed=skip goes on behind them"
            )

    def _lowest_row(self, begin: int) -> int:
        """Where an empty answer says to go on: behind what was trimmed, or at the same row again."""
        bounds = self._queue.bound(self._partition_index)
        if bounds.upper_row_index < self._end:
            raise QueueChanged(
                f"{self._name} ends at row {bounds.upper_row_index}, before row {self._end} that was planned: "
                "the queue was recreated or cut off; on_recreated=restart starts again at the consumer's offsets"
            )
        return max(begin, bounds.lower_row_index)

    def _unavailable(self, begin: int, attempts: int) -> QueueUnavailable:
        return QueueUnavailable(
            f"{self._name} gave no row {begin} in {attempts} attempts; is it mounted? retries asks more often"
        )

    @property
    def _name(self) -> str:
        return f"partition {self._partition_index} of {self._queue.path}"
