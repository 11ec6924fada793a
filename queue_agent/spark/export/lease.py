"""Keeps two exporters from working for one consumer: a lock that the cluster holds for whoever still lives."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from yt.wrapper import YtClient
from yt.wrapper.errors import YtNoSuchTransaction, YtResponseError

from queue_agent.spark.connection import new_client
from queue_agent.spark.export.errors import TargetTaken, words_of
from queue_agent.spark.options import ConnectionOptions

_LOCK_CONFLICT: Final = 402
_ATTRIBUTE: Final = "spark_export"
_PAUSE: Final = 0.5


class Lease:
    """The right to publish.

    Args:
        client: asks the cluster; None if nobody gives the right.
        transaction_id: that holds the lock.
    """

    def __init__(self, client: YtClient | None, transaction_id: str) -> None:
        self._client = client
        self._transaction_id = transaction_id

    def check(self) -> None:
        """TargetTaken if the lock is lost: another exporter may be at work."""
        if self._client is not None and not self._client.exists(f"#{self._transaction_id}"):
            raise TargetTaken("the lock of this exporter has run out; nothing more is published by it")


@contextmanager
def lease(connection: ConnectionOptions, path: str, timeout_seconds: float, wait_seconds: float) -> Iterator[Lease]:
    """Hold the lock of a node while the context is open.

    Args:
        connection: of the cluster.
        path: of the node; it can be used as ever.
        timeout_seconds: after which the cluster gives the lock to others when this process says nothing.
        wait_seconds: how long to wait for somebody else to end.

    Raises:
        TargetTaken: somebody else holds it.
    """
    holder = new_client(connection)
    attributes = {"title": f"Spark export by {path}"}
    transaction = holder.Transaction(timeout=int(timeout_seconds * 1000), attributes=attributes)
    try:
        with holder.Transaction(transaction_id=transaction.transaction_id, ping=False):
            _lock(holder, path, time.monotonic() + wait_seconds)
        yield Lease(new_client(connection), str(transaction.transaction_id))
    finally:
        # One that has run out was noticed where it mattered.
        with suppress(YtNoSuchTransaction):
            transaction.abort()


def _lock(client: YtClient, path: str, deadline: float) -> None:
    while True:
        try:
            client.lock(path, mode="shared", attribute_key=_ATTRIBUTE)
        except YtResponseError as error:
            if not error.contains_code(_LOCK_CONFLICT):
                raise
            if time.monotonic() > deadline:
                raise TargetTaken(f"another exporter is at work for {path}: {words_of(error)}") from error
        else:
            return
        time.sleep(_PAUSE)
