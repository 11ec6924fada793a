"""Every new comment is an event in a queue, written through a producer session."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yt.wrapper import YtClient, YtError

from examples.comment_service.tables import COMMENT_EVENTS_SCHEMA, Tables, event_partition


@dataclass(slots=True)
class Session:
    """A session that one thread has; nobody else writes its row, so sessions are no cause of conflicts."""

    id: str
    epoch: int
    last_number: int


class Events:
    """Pushes events, with a session for every thread.

    Args:
        tables: where queue and producer are.
        instance: name of this process; a second one of the same name takes the sessions over.
    """

    def __init__(self, tables: Tables, instance: str) -> None:
        self._tables = tables
        self._instance = instance
        self._numbers = itertools.count()
        self._of_thread = threading.local()

    def session(self, client: YtClient) -> Session:
        """The session of this thread; begun if it has none. Not to be called inside of a transaction."""
        session: Session | None = getattr(self._of_thread, "session", None)
        if session is None:
            if not hasattr(self._of_thread, "session_id"):
                self._of_thread.session_id = f"{self._instance}/{next(self._numbers)}"
            begun = client.create_queue_producer_session(
                self._tables.comment_events_producer, self._tables.comment_events, self._of_thread.session_id
            )
            session = Session(self._of_thread.session_id, int(begun["epoch"]), int(begun["sequence_number"]))
            self._of_thread.session = session
        return session

    def push(self, client: YtClient, session: Session, comment: Mapping[str, Any]) -> None:
        """Add the event of a comment to the client's transaction.

        Args:
            client: inside of a transaction.
            session: from before the transaction began.
            comment: a row of `topic_comments`.
        """
        # Also a number whose transaction failed is used up: it may still have been committed, and an event
        # under a number of before would be taken for a repetition.
        session.last_number += 1
        event = {
            column["name"]: comment[column["name"]]
            for column in COMMENT_EVENTS_SCHEMA
            if not column["name"].startswith("$")
        }
        event |= {"$tablet_index": event_partition(comment["topic_id"]), "$sequence_number": session.last_number}
        try:
            client.push_queue_producer(
                self._tables.comment_events_producer, self._tables.comment_events, session.id, session.epoch, [event]
            )
        except YtError:
            self._of_thread.session = (
                None  # it may have been taken over or removed: the next request starts a new session
            )
            raise
