"""What a stream's reader says to Spark's driver, called here as that calls it, when queue and consumer change."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.datasource import DataSourceStreamReader

from queue_agent.spark import stream_source
from queue_agent.spark.data_source import YtDataSource
from queue_agent.spark.errors import ConsumerMoved, OptionError, QueueChanged, QueueUnavailable, RowsTrimmed
from queue_agent.spark.stream_source import QueueStreamReader
from tests.spark.queues import create_consumer, create_queue, offsets
from yt_local.testing import LocalCluster, YtError

# ytsaurus-client leaves an error unread that comes in place of rows; its connection closes with the garbage.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


class Stream:
    """A queue of two partitions, its consumer, and a query on them that forgets only its reader at a restart."""

    def __init__(self, home: LocalCluster, folder: str) -> None:
        self.home = home
        self.queue = f"{folder}/queue"
        self.consumer = f"{folder}/consumer"
        create_queue(home, self.queue, tablets=2)
        create_consumer(home, self.consumer, self.queue)
        self.position: dict[str, Any] | None = None

    def write(self, *values: str, tablet: int = 0) -> None:
        self.home.client.insert_rows(self.queue, [{"data": value, "$tablet_index": tablet} for value in values])

    def recreate_queue(self) -> None:
        self.home.client.remove(self.queue)
        create_queue(self.home, self.queue, tablets=2)
        self.home.client.register_queue_consumer(self.queue, self.consumer, vital=True)

    def made(self, **options: object) -> DataSourceStreamReader:
        """What Spark is given, whatever it is."""
        given = {
            "path": self.queue,
            "proxy": self.home.address,
            "consumer_path": self.consumer,
            "retries": "1",
            "poll_interval": "0",
            **{name: str(value) for name, value in options.items()},
        }
        source = YtDataSource(given)
        return source.streamReader(source.schema())

    def reader(self, **options: object) -> QueueStreamReader:
        reader = self.made(**options)
        assert isinstance(reader, QueueStreamReader)
        return reader

    def run(self, reader: QueueStreamReader) -> list[str]:
        """Batches until there is nothing more; values of all their rows."""
        if self.position is None:
            self.position = reader.initialOffset()
        values: list[str] = []
        while (end := reader.latestOffset(self.position, reader.getDefaultReadLimit())) != self.position:
            reader.commit(self.position)
            for partition in reader.partitions(self.position, end):
                for batch in reader.read(partition):
                    values += batch.column("data").to_pylist()
            self.position = end
        return values

    @property
    def offsets(self) -> dict[int, int]:
        return offsets(self.home, self.consumer)


@pytest.fixture
def stream(home: LocalCluster, folder: str) -> Iterator[Stream]:
    yield Stream(home, folder)
    gc.collect()


def test_a_new_stream_begins_at_the_consumer(stream: Stream) -> None:
    stream.write("a", "b", "c")
    stream.home.client.advance_consumer(stream.consumer, stream.queue, 0, 0, 1)

    assert stream.run(stream.reader()) == ["b", "c"]


def test_a_consumer_that_never_read_begins_at_the_lowest_row(stream: Stream) -> None:
    stream.write("a", "b", "c")
    stream.home.client.trim_rows(stream.queue, 0, 2)

    assert stream.run(stream.reader()) == ["c"]


def test_batches_have_so_many_rows_of_every_partition(stream: Stream) -> None:
    stream.write(*"abc")
    stream.write(*"xyz", tablet=1)
    reader = stream.reader(max_rows_per_partition=2)

    start = reader.initialOffset()
    end = reader.latestOffset(start, reader.getDefaultReadLimit())

    assert start["partitions"] == {"0": -1, "1": -1}
    assert end["partitions"] == {"0": 1, "1": 1}
    latest = reader.reportLatestOffset()
    assert latest is not None and latest["partitions"] == {"0": 2, "1": 2}


def test_an_idle_stream_looks_again_after_its_poll_interval(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    now, slept = 100.0, list[float]()
    monkeypatch.setattr(stream_source, "time", SimpleNamespace(monotonic=lambda: now, sleep=slept.append))
    reader = stream.reader(poll_interval=7)
    stream.write("a")
    assert stream.run(reader) == ["a"]
    assert slept == []

    now += 2.0
    assert stream.run(reader) == []

    assert slept == [5.0]


def test_a_checkpoint_of_spyt_goes_on(stream: Stream) -> None:
    stream.write(*"abc")
    stream.position = {"cluster": "home", "path": stream.queue, "partitions": {"0": 0, "1": -1}}

    assert stream.run(stream.reader()) == ["b", "c"]


def test_a_first_batch_that_is_repeated_begins_where_it_did_with_a_state_path(stream: Stream, folder: str) -> None:
    stream.write(*"abc")
    state = f"{folder}/state"
    assert stream.run(stream.reader(state_path=state)) == ["a", "b", "c"]
    stream.home.client.advance_consumer(stream.consumer, stream.queue, 0, 0, 2)

    stream.position = None

    assert stream.run(stream.reader(state_path=state)) == ["a", "b", "c"]


def test_what_is_written_later_is_not_read_by_a_run_over_what_is_there(stream: Stream) -> None:
    stream.write("a")
    reader = stream.reader()
    reader.prepareForTriggerAvailableNow()
    stream.write("b")

    assert stream.run(reader) == ["a"]


def test_new_partitions_are_read_from_their_lowest_row(stream: Stream) -> None:
    stream.write("a")
    stream.run(stream.reader())
    stream.home.client.unmount_table(stream.queue, sync=True)
    stream.home.client.reshard_table(stream.queue, tablet_count=3, sync=True)
    stream.home.client.mount_table(stream.queue, sync=True)
    stream.write("new", tablet=2)

    with pytest.raises(QueueChanged, match=r"partitions \[2\] are new; on_new_partitions=read"):
        stream.run(stream.reader(on_new_partitions="fail"))
    assert stream.run(stream.reader()) == ["new"]


def test_a_queue_with_fewer_partitions_stops_a_stream(stream: Stream) -> None:
    stream.run(stream.reader())
    stream.home.client.unmount_table(stream.queue, sync=True)
    stream.home.client.reshard_table(stream.queue, tablet_count=1, sync=True)
    stream.home.client.mount_table(stream.queue, sync=True)

    with pytest.raises(QueueChanged, match=r"partitions \[1\] no longer exist"):
        stream.run(stream.reader())


def test_another_queue_at_the_same_path_is_noticed(stream: Stream) -> None:
    stream.write(*"abc")
    stream.run(stream.reader(commit_on_idle=True))
    stream.recreate_queue()
    stream.write("new", "newer", "newest")  # as many as there were

    with pytest.raises(QueueChanged, match="another queue than the one that was read so far; on_recreated=restart"):
        stream.run(stream.reader())
    assert stream.run(stream.reader(on_recreated="restart", commit_on_idle=True)) == ["new", "newer", "newest"]
    assert stream.offsets == {0: 3, 1: 0}


def test_a_batch_that_is_repeated_after_a_crash_has_no_rows_of_another_queue(stream: Stream) -> None:
    stream.write(*"abc")
    stream.run(stream.reader())
    planned_from = stream.position
    assert planned_from is not None
    stream.write(*"de")
    planner = stream.reader()
    stream.position = planner.latestOffset(planned_from, planner.getDefaultReadLimit())
    stream.recreate_queue()
    stream.write(*"vwxyz")  # as many as there were

    with pytest.raises(QueueChanged, match="another queue than the one that was read so far; on_recreated=restart"):
        stream.reader().partitions(planned_from, stream.position)
    reader = stream.reader(on_recreated="restart")
    assert reader.partitions(planned_from, stream.position) == []
    assert stream.run(reader) == [*"vwxyz"]


@pytest.mark.parametrize("begun", [False, True])
def test_a_task_has_no_rows_of_a_queue_made_anew_since_it_was_planned(stream: Stream, *, begun: bool) -> None:
    stream.write(*"abcd")
    reader = stream.reader(pull_rows=1)
    start = reader.initialOffset()
    (partition,) = reader.partitions(start, reader.latestOffset(start, reader.getDefaultReadLimit()))
    batches = reader.read(partition)
    stream.home.forget_requests()
    values = next(batches).column("data").to_pylist() if begun else []
    deadline = time.monotonic() + 30
    while begun and len(stream.home.requests("pull_queue_consumer")) < 2:  # the next rows are fetched ahead
        assert time.monotonic() < deadline
        time.sleep(0.01)
    stream.recreate_queue()
    stream.write(*"wxyz")  # as many as there were

    with pytest.raises(QueueChanged, match=r"was re-created since rows of it were planned.* on_recreated=restart"):
        for batch in batches:
            values += batch.column("data").to_pylist()
    assert "z" not in values, "the last request is checked before its rows are used"
    assert begun or values == []


def test_a_batch_that_is_repeated_names_a_new_partition_that_is_unmounted_meanwhile(stream: Stream) -> None:
    stream.run(stream.reader())
    planned_from = stream.position
    assert planned_from is not None
    stream.home.client.unmount_table(stream.queue, sync=True)
    stream.home.client.reshard_table(stream.queue, tablet_count=3, sync=True)
    stream.home.client.mount_table(stream.queue, sync=True)
    stream.write("new", tablet=2)
    planner = stream.reader()
    planned_to = planner.latestOffset(planned_from, planner.getDefaultReadLimit())
    stream.home.client.unmount_table(stream.queue, first_tablet_index=2, last_tablet_index=2, sync=True)

    with pytest.raises(QueueUnavailable, match=r"partitions \[2\] of .* are not mounted"):
        stream.reader().partitions(planned_from, planned_to)


def test_a_queue_that_is_shorter_than_what_was_read_stops_a_stream(stream: Stream) -> None:
    stream.write("a")
    stream.position = {"cluster": "home", "path": stream.queue, "partitions": {"0": 7, "1": -1}}

    with pytest.raises(QueueChanged, match="partition 0 ends at row 1, but row 7 was read"):
        stream.run(stream.reader())


def test_trimmed_rows_stop_a_stream_unless_they_are_to_be_skipped(stream: Stream) -> None:
    stream.write("a")
    stream.run(stream.reader())
    stream.write("b", "c", "d")
    stream.home.client.trim_rows(stream.queue, 0, 3)

    with pytest.raises(RowsTrimmed, match=r"rows 1 to 2 of partition 0 .* were trimmed .* on_trimmed=skip"):
        stream.run(stream.reader())
    assert stream.run(stream.reader(on_trimmed="skip")) == ["d"]


def test_rows_that_are_all_trimmed_are_skipped_as_well(stream: Stream) -> None:
    stream.write("a", "b")
    reader = stream.reader(on_trimmed="skip")
    start = reader.initialOffset()
    end = reader.latestOffset(start, reader.getDefaultReadLimit())
    stream.home.client.trim_rows(stream.queue, 0, 2)

    (partition,) = reader.partitions(start, end)

    assert list(reader.read(partition)) == []


def test_an_unmounted_partition_holds_up_no_other(stream: Stream) -> None:
    stream.write("a")
    stream.run(stream.reader())
    stream.write("late", tablet=1)
    stream.home.unmount_tablet(stream.queue, 1)
    stream.write("b")

    with pytest.raises(QueueUnavailable, match=r"partitions \[1\] of .* are not mounted; on_unmounted=wait"):
        stream.run(stream.reader(on_unmounted="fail"))
    assert stream.run(stream.reader()) == ["b"]
    stream.home.mount_tablet(stream.queue, 1)
    assert stream.run(stream.reader()) == ["late"]


def test_a_partition_that_is_unmounted_while_it_is_read_is_named(stream: Stream) -> None:
    stream.write("a")
    reader = stream.reader()
    start = reader.initialOffset()
    (partition,) = reader.partitions(start, reader.latestOffset(start, reader.getDefaultReadLimit()))
    stream.home.unmount_tablet(stream.queue, 0)

    with pytest.raises(QueueUnavailable, match=r"partition 0 of .* gave no row 0 .*is it mounted\? retries"):
        list(reader.read(partition))


def test_a_stream_does_not_begin_at_a_queue_that_is_not_mounted(stream: Stream) -> None:
    stream.home.unmount_tablet(stream.queue, 1)

    with pytest.raises(QueueUnavailable, match=r"partitions \[1\] of .* are not mounted, so a stream cannot begin"):
        stream.run(stream.reader())


def test_a_consumer_that_somebody_moves_back_stops_a_stream(stream: Stream) -> None:
    stream.write(*"abcd")
    reader = stream.reader(commit_on_idle=True)
    stream.run(reader)
    stream.home.client.advance_consumer(stream.consumer, stream.queue, 0, 4, 1)
    stream.write("e")

    with pytest.raises(ConsumerMoved, match=r"partition 0 of .* was moved back from row 4 to 1 by somebody else"):
        stream.run(reader)


def test_a_consumer_that_is_further_stays_where_it_is(stream: Stream) -> None:
    stream.write(*"abcd")
    reader = stream.reader()
    start = reader.initialOffset()
    stream.home.client.advance_consumer(stream.consumer, stream.queue, 0, 0, 4)

    reader.commit({**start, "partitions": {"0": 1, "1": -1}})

    assert stream.offsets == {0: 4}


def test_a_consumer_that_is_moved_at_the_same_time_is_looked_at_again(stream: Stream) -> None:
    stream.write("a")
    reader = stream.reader()
    start = reader.initialOffset()
    conflict = stream.home.faults.refuse("commit_transaction", count=1, error=YtError("Row lock conflict", 1700))

    with conflict:
        reader.commit({**start, "partitions": {"0": 0, "1": -1}})

    assert stream.offsets == {0: 1}


def test_a_checkpoint_of_another_queue_is_refused(stream: Stream) -> None:
    stream.position = {"cluster": "home", "path": "//tmp/other", "partitions": {"0": 0}}

    with pytest.raises(QueueChanged, match="the checkpoint is about the queue home://tmp/other"):
        stream.run(stream.reader())


def test_a_consumer_that_is_not_registered_cannot_read(stream: Stream) -> None:
    stream.write("a")
    stream.home.client.unregister_queue_consumer(stream.queue, stream.consumer)

    with pytest.raises(Exception, match="is not registered for queue"):
        stream.run(stream.reader())


def test_a_stream_without_a_consumer_is_refused(stream: Stream) -> None:
    with pytest.raises(OptionError, match='"consumer_path" is missing'):
        stream.made(consumer_path="").initialOffset()
