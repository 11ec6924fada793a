"""Streaming queries in tests: run until what was to come has come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.waiting import LIMIT_SECONDS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


@contextmanager
def running(query: StreamingQuery) -> Iterator[StreamingQuery]:
    """The query is stopped in the end, whatever happens."""
    try:
        yield query
    finally:
        query.stop()


def wait_for(query: StreamingQuery, condition: Callable[[], bool]) -> None:
    """Wait until the condition holds; what ends the query ends the test."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        error = query.exception()
        if error is not None:
            raise error
        assert query.isActive, "the query has ended"
        assert time.monotonic() < deadline, f"nothing came: {query.lastProgress}"
        time.sleep(0.05)


def drain(writer: DataStreamWriter) -> StreamingQuery:
    """Run a stream until it has read all there is; its error is raised."""
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(LIMIT_SECONDS), "the query goes on"
    return query


def active_query(spark: SparkSession) -> StreamingQuery:
    """The one that somebody else has started."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while not spark.streams.active:
        assert time.monotonic() < deadline, "no query was started"
        time.sleep(0.05)
    return spark.streams.active[0]
