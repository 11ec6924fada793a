"""Producers: sessions that keep a queue free of rows written twice."""

from __future__ import annotations

from typing import Any

import pytest
from yt.wrapper import YtClient
from yt.wrapper import YtError as YtClientError

from tests.conformance.harness import Cli, RawHttp, make_queue, make_sorted, refused, rows_of
from yt_wire import yson

SESSION = "session_123"


class Producer:
    """A producer and its queue."""

    def __init__(self, client: YtClient, home: str) -> None:
        self.client = client
        self.queue = make_queue(client, f"{home}/q")
        self.path = f"{home}/p"
        client.create("queue_producer", self.path)

    def begin(self, session: str = SESSION, **options: Any) -> dict[str, Any]:
        answer = self.client.create_queue_producer_session(self.path, self.queue, session, **options)
        return dict(yson.plain(answer))

    def push(self, epoch: int, *rows: tuple[int, str], session: str = SESSION, **options: Any) -> dict[str, Any]:
        body = [{"$sequence_number": number, "data": data} for number, data in rows]
        return self.push_rows(epoch, body, session, **options)

    def push_rows(self, epoch: int, rows: list[Any], session: str = SESSION, **options: Any) -> dict[str, Any]:
        answer = self.client.push_queue_producer(self.path, self.queue, session, epoch, rows, **options)
        return dict(yson.loads(answer) if isinstance(answer, bytes) else answer)

    def written(self) -> list[str]:
        rows = self.client.pull_queue(self.queue, offset=0, partition_index=0)
        return [row["data"] for row in rows]

    def sessions(self) -> list[dict[str, Any]]:
        return rows_of(self.client, f"* from [{self.path}]")


@pytest.fixture
def producer(client: YtClient, home: str) -> Producer:
    return Producer(client, home)


def test_a_producer_is_a_mounted_sorted_table_with_a_mark(client: YtClient, producer: Producer) -> None:
    assert client.get(f"{producer.path}/@treat_as_queue_producer")
    assert client.get(f"{producer.path}/@tablet_state") == "mounted"
    assert [(column["name"], column["type"]) for column in client.get(f"{producer.path}/@schema")] == [
        ("queue_cluster", "string"),
        ("queue_path", "string"),
        ("session_id", "string"),
        ("sequence_number", "int64"),
        ("epoch", "int64"),
        ("user_meta", "any"),
        ("system_meta", "any"),
    ]


def test_a_session_begins_at_epoch_zero_and_each_new_owner_raises_it(producer: Producer) -> None:
    assert producer.begin() == {"epoch": 0, "sequence_number": -1, "user_meta": None}
    producer.push(0, (5, "a"))
    assert producer.begin() == {"epoch": 1, "sequence_number": 5, "user_meta": None}
    assert producer.begin("another") == {"epoch": 0, "sequence_number": -1, "user_meta": None}


def test_what_a_user_leaves_with_a_session_is_kept(producer: Producer) -> None:
    assert producer.begin(user_meta={"a": [1]})["user_meta"] == {"a": [1]}
    assert producer.begin()["user_meta"] == {"a": [1]}
    producer.push(1, (1, "a"))
    assert producer.begin()["user_meta"] == {"a": [1]}
    producer.push(2, (2, "b"), user_meta=5)
    assert producer.begin()["user_meta"] == 5


def test_the_row_of_a_session_says_whose_it_is(client: YtClient, producer: Producer) -> None:
    producer.begin()
    (row,) = producer.sessions()
    assert row["queue_cluster"] == client.get("//sys/@cluster_name")
    assert (row["queue_path"], row["session_id"]) == (producer.queue, SESSION)
    assert (row["sequence_number"], row["epoch"]) == (-1, 0)


def test_a_removed_session_begins_anew(client: YtClient, producer: Producer) -> None:
    producer.begin()
    producer.begin()
    client.remove_queue_producer_session(producer.path, producer.queue, SESSION)
    client.remove_queue_producer_session(producer.path, producer.queue, SESSION)
    assert producer.sessions() == []
    with refused(1, SESSION):
        producer.push(0, (1, "a"))
    assert producer.begin()["epoch"] == 0


def test_rows_are_written_once_however_often_they_are_pushed(producer: Producer) -> None:
    producer.begin()
    assert producer.push(0, (1, "value1"), (2, "value2")) == {"last_sequence_number": 2, "skipped_row_count": 0}
    assert producer.push(0, (2, "value2"), (10, "value3")) == {"last_sequence_number": 10, "skipped_row_count": 1}
    assert producer.push(0, (1, "value1"), (2, "value2")) == {"last_sequence_number": 2, "skipped_row_count": 2}
    assert producer.push(0, (10, "value3"))["skipped_row_count"] == 1
    assert producer.written() == ["value1", "value2", "value3"]
    assert producer.begin()["sequence_number"] == 10


def test_pushed_rows_get_what_inserted_rows_get(client: YtClient, producer: Producer) -> None:
    producer.begin()
    producer.push(0, (1, "foo"), (2, "bar"))
    rows = list(client.pull_queue(producer.queue, offset=0, partition_index=0))
    assert [row["$cumulative_data_weight"] for row in rows] == [20, 40]
    assert rows[0]["$timestamp"] == rows[1]["$timestamp"] == client.get(f"{producer.path}/@last_commit_timestamp")


def test_an_owner_of_before_is_fenced_off(producer: Producer) -> None:
    producer.begin()
    producer.begin()
    with refused(3102, "0", "1", "zombie"):
        producer.push(0, (1, "a"))
    with refused(3101, "2", "1"):
        producer.push(2, (1, "a"))
    assert producer.written() == []
    producer.push(1, (1, "a"))
    assert producer.written() == ["a"]


@pytest.mark.parametrize(
    ("rows", "culprit"),
    [
        ([{"$sequence_number": 2, "data": "a"}, {"$sequence_number": 2, "data": "b"}], "2 <= 2"),
        ([{"$sequence_number": 3, "data": "a"}, {"$sequence_number": 2, "data": "b"}], "2 <= 3"),
        ([{"$sequence_number": -1, "data": "a"}], "-1"),
        ([{"data": "a"}], "$sequence_number"),
        ([{"$sequence_number": 1, "data": "a"}, {"data": "b"}], "$sequence_number"),
    ],
)
def test_numbers_that_do_not_grow_are_refused(producer: Producer, rows: list[Any], culprit: str) -> None:
    producer.begin()
    with refused(3103, culprit):
        producer.push_rows(0, rows)
    assert producer.written() == []
    assert producer.begin()["sequence_number"] == -1


def test_a_number_has_to_be_one(producer: Producer) -> None:
    producer.begin()
    for number in ("one", 1.5, True):
        with refused(1, "sequence number"):
            producer.push_rows(0, [{"$sequence_number": number, "data": "a"}])
    assert producer.written() == []


def test_a_batch_may_be_numbered_from_its_first_row(raw: RawHttp, producer: Producer) -> None:
    producer.begin()
    parameters = {
        "producer_path": producer.path,
        "queue_path": producer.queue,
        "session_id": SESSION,
        "epoch": 0,
        "sequence_number": 7,
        "input_format": "yson",
    }
    for _ in range(2):
        answer = raw.command("PUT", "push_queue_producer", parameters, b"{data=a};{data=b}")
        assert answer.value["last_sequence_number"] == 8
    assert producer.written() == ["a", "b"]
    answer = raw.command("PUT", "push_queue_producer", parameters, b'{data=a;"$sequence_number"=9}')
    assert answer.error
    assert answer.error.code == 3103


def test_sessions_do_not_get_in_each_others_way(producer: Producer) -> None:
    for session in ("a", "b"):
        producer.begin(session)
        producer.push(0, (1, session), session=session)
    assert sorted(producer.written()) == ["a", "b"]
    assert len(producer.sessions()) == 2


def test_a_row_against_the_schema_leaves_queue_and_session_alone(producer: Producer) -> None:
    producer.begin()
    producer.push(0, (1, "a"))
    for bad in ({"data": 5}, {"nope": 1}, {"$timestamp": yson.Uint64(1)}, {"$tablet_index": 5}):
        with pytest.raises(YtClientError):
            producer.push_rows(0, [{"$sequence_number": 2, "data": "b"}, {"$sequence_number": 3, **bad}])
    assert producer.written() == ["a"]
    assert producer.begin()["sequence_number"] == 1


def test_neither_is_written_if_one_cannot_be(client: YtClient, producer: Producer) -> None:
    producer.begin()
    client.freeze_table(producer.path, sync=True)
    with refused(1702, producer.path):
        producer.push(0, (1, "a"))
    client.unfreeze_table(producer.path, sync=True)
    client.unmount_table(producer.queue, sync=True)
    with refused(1702, producer.queue):
        producer.push(0, (1, "a"))
    client.mount_table(producer.queue, sync=True)
    assert producer.written() == []
    assert producer.begin()["sequence_number"] == -1


def test_a_tablet_can_be_chosen(client: YtClient, producer: Producer) -> None:
    client.unmount_table(producer.queue, sync=True)
    client.reshard_table(producer.queue, tablet_count=2, sync=True)
    client.mount_table(producer.queue, sync=True)
    producer.begin()
    producer.push_rows(0, [{"$sequence_number": 1, "$tablet_index": 1, "data": "a"}])
    assert [row["data"] for row in client.pull_queue(producer.queue, offset=0, partition_index=1)] == ["a"]


def test_what_is_no_producer_or_no_queue_is_refused(client: YtClient, producer: Producer, home: str) -> None:
    table = make_sorted(client, f"{home}/t")
    producer.begin()

    def push(producer_path: str, queue_path: str) -> None:
        rows = [{"$sequence_number": 1, "data": "a"}]
        client.push_queue_producer(producer_path, queue_path, SESSION, 0, rows)

    with refused(1, "producer", f"{home}/nope"):
        push(f"{home}/nope", producer.queue)
    with refused(1, "queue", f"{home}/nope"):
        push(producer.path, f"{home}/nope")
    with refused(1, "not ordered"):
        push(producer.path, producer.path)
    with refused(1, "not sorted"):
        push(producer.queue, producer.queue)
    with refused(1, "producer schema"):
        push(table, producer.queue)
    with refused(1, "producer schema"):
        client.create_queue_producer_session(table, producer.queue, SESSION)
    for path in (home, f"{home}/nope"):  # the queue is looked at first
        with refused(1, f"Path {path} does not point to a valid queue"):
            push(table, path)
    with refused(1, f"Path {home} does not point to a valid producer"):
        push(home, producer.queue)


def test_the_command_line_pushes_through_a_session(cli: Cli, producer: Producer) -> None:
    where = ("--queue-path", producer.queue, "--producer-path", producer.path)
    assert cli.run("create-queue-producer-session", *where, "--session-id", SESSION).returncode == 0
    push = ("push-queue-producer", producer.path, producer.queue, "--session-id", SESSION, "--epoch", "0")
    rows = b'{data=value1;"$sequence_number"=1};{data=value2;"$sequence_number"=2}'
    for _ in range(2):
        done = cli.run(*push, "--input-format", "yson", stdin=rows)
        assert done.returncode == 0, done.stderr
    assert b"skipped_row_count" in done.stdout
    assert producer.written() == ["value1", "value2"]
