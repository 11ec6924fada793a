"""Batches of a transactional stream that one transaction cannot take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType
from yt.wrapper.errors import YtResponseError

from queue_agent.spark.connection import client_of
from queue_agent.spark.data_source import YtDataSource
from queue_agent.spark.errors import ConnectorError, OutcomeUnknown
from queue_agent.spark.kept_batches import Batch
from queue_agent.spark.ledger import Progress, find_progress
from queue_agent.spark.options import OptionReader
from queue_agent.spark.requests import Request, TransactionLimits
from queue_agent.spark.transaction_sink import EncodedRows, TransactionWriter
from queue_agent.spark.types import SERVICE_COLUMNS
from tests.spark.queues import create_consumer, create_queue, offsets, rows_of
from yt_local.testing import LocalCluster, YtError
from yt_wire import yson

SCHEMA = StructType([*(StructField(name, LongType()) for name in SERVICE_COLUMNS), StructField("data", StringType())])
TWO_ROWS = TransactionLimits(2, 1000)
QUERY = "query-1"
REFUSED = YtError("Something is wrong with this request", 1)


class Target:
    """A table, its ledger, and a consumer that moves with the rows."""

    def __init__(self, home: LocalCluster, folder: str) -> None:
        self.home = home
        self.result = f"{folder}/result"
        self.ledger = f"{folder}/ledger"
        self.queue = f"{folder}/queue"
        self.consumer = f"{folder}/consumer"
        create_queue(home, self.result)
        create_queue(home, self.queue)
        create_consumer(home, self.consumer, self.queue)
        home.client.insert_rows(self.queue, [{"data": str(number)} for number in range(20)])
        self._given = {
            "path": self.result,
            "proxy": home.address,
            "retries": "1",
            "write_mode": "transaction",
            "ledger_path": self.ledger,
            "consumer_path": self.consumer,
            "queue_path": self.queue,
        }

    def commit(
        self,
        batch_id: int,
        values: list[str],
        limits: TransactionLimits = TWO_ROWS,
        *,
        task_size: int = 2,
        kind: type[TransactionWriter] = TransactionWriter,
    ) -> None:
        """What the driver does when tasks, one at least, have encoded these rows."""
        made = YtDataSource(self._given).streamWriter(SCHEMA, overwrite=False)
        assert isinstance(made, TransactionWriter)
        writer = kind(made._options, SCHEMA, made._encoder, limits)
        tasks = []
        for begin in range(0, len(values) or 1, task_size):
            own = values[begin : begin + task_size]
            rows = yson.dumps_rows([{"data": value} for value in own])
            first = 10 * batch_id + begin
            ranges = {0: (first, first + len(own) - 1)} if own else {}
            tasks.append(EncodedRows(query_id=QUERY, row_ranges=ranges, requests=[Request(rows, len(own))]))
        writer.commit([*tasks], batch_id)

    @contextmanager
    def dying_after(self, transaction_count: int) -> Iterator[None]:
        """The driver comes to an end in the transaction after so many."""
        self.home.faults.delay("insert_rows", path=self.ledger, seconds=0, count=transaction_count)
        died = self.home.faults.refuse("insert_rows", path=self.ledger, count=1, error=REFUSED)
        with pytest.raises(YtResponseError, match="Something is wrong with this request"):
            yield
        assert died.hits == 1
        self.home.faults.clear()

    @property
    def values(self) -> list[str]:
        return [str(row["data"]) for row in rows_of(self.home, self.result)]

    @property
    def kept(self) -> list[str]:
        folder = f"{self.ledger}.batches"
        return list(map(str, self.home.client.list(folder))) if self.home.client.exists(folder) else []

    @property
    def progress(self) -> Progress:
        client: Any = client_of(OptionReader(self._given, {}, {}).write_options().connection)
        return find_progress(client, self.ledger, QUERY)


@pytest.fixture
def target(home: LocalCluster, folder: str) -> Target:
    return Target(home, folder)


def test_a_batch_is_written_in_several_transactions_and_then_the_consumer_moves(target: Target) -> None:
    target.home.forget_requests()

    target.commit(0, list("abcdefg"))
    target.commit(1, list("xy"))

    assert target.values == [*"abcdefg", *"xy"]
    assert len(target.home.requests("insert_rows", path=target.ledger)) == 4 + 1
    assert (target.progress, target.kept) == (Progress(1), [])
    assert offsets(target.home, target.consumer) == {0: 12}


def test_a_batch_that_was_cut_off_goes_on_with_the_rows_that_it_had(target: Target) -> None:
    """At whichever transaction it was, and whatever a repetition comes to."""
    written: list[str] = []
    for transactions_before in range(4):
        batch_id = transactions_before
        values = [f"{batch_id}{letter}" for letter in "abcdefg"]
        repeated = [f"{batch_id}{letter}" for letter in "tuvwxyz"]
        with target.dying_after(transactions_before):
            target.commit(batch_id, values)
        assert target.values == written + values[: 2 * transactions_before]
        is_begun = target.progress.unfinished is not None
        assert is_begun == (transactions_before > 0)
        if is_begun:
            target.home.faults.drop("commit_transaction", count=1, executed=True)
            with pytest.raises(OutcomeUnknown):
                target.commit(batch_id, [])

        target.commit(batch_id, repeated)

        written += values if is_begun else repeated
        assert target.values == written
        assert (target.progress, target.kept) == (Progress(batch_id), [])
        target.commit(batch_id, values)
        assert target.values == written, "a batch that is done is not written again"
    assert offsets(target.home, target.consumer) == {0: 37}


def test_what_is_left_of_a_batch_is_written_before_the_next_one(target: Target) -> None:
    with target.dying_after(1):
        target.commit(0, list("abcde"))

    target.commit(1, list("x"))  # nothing was left in the queue when the first batch was repeated

    assert target.values == [*"abcde", "x"]
    assert (target.progress, target.kept) == (Progress(1), [])


def test_where_the_cluster_takes_less_transactions_become_smaller(target: Target) -> None:
    """The limit of a real cluster may be another one; this one's is 100,000 rows."""
    values = [str(number) for number in range(100_050)]

    target.commit(0, values, TransactionLimits(1_000_000), task_size=40_000)

    assert target.values == values
    assert len(target.home.requests("insert_rows", path=target.ledger)) == 3


def test_rows_that_are_gone_are_named(target: Target) -> None:
    with target.dying_after(1):
        target.commit(0, list("abcde"))
    target.home.client.remove(f"{target.ledger}.batches", recursive=True)

    with pytest.raises(ConnectorError, match=r"batch 0 of query query-1 is written in part, and .* is gone"):
        target.commit(0, list("abcde"))


def test_of_two_drivers_one_writes_a_batch(target: Target) -> None:
    class Rival(TransactionWriter):
        """Looks at the ledger, and then another driver is faster."""

        def _write_whole(self, batch: Batch, before: Progress) -> bool:
            target.commit(0, list("ab"))
            return super()._write_whole(batch, before)

    with pytest.raises(ConnectorError, match="another driver writes batch 0 of query query-1 as well"):
        target.commit(0, list("ab"), kind=Rival)
    assert target.values == [*"ab"]
