"""The journal of trims, written in the background."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from queue_agent.controllers.passes.origins import Origins
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.record_writer import Counters, RecordWriter
from queue_agent.controllers.status.write_alert import AlertWords
from queue_agent.core.state.trim_journal import TrimRecord
from queue_agent.ports.passes import Clock
from queue_agent.ports.trims import JournalObserver, TrimJournalStore

FAILED: Final = "queue_agent_trim_journal_failed"
"""Category of the alert."""

JOURNAL_PERIOD: Final = timedelta(seconds=2)

_WORDS: Final = AlertWords("trim_journal", FAILED, "the trim journal", "Cannot write trims to the journal")


def make_journal(
    store: TrimJournalStore, board: Board, clock: Clock, origins: Origins, observer: JournalObserver
) -> RecordWriter[TrimRecord]:
    """The `ports.TrimJournal` of an agent.

    Args:
        store: where to.
        board: gets the alert.
        clock, origins: of errors.
        observer: hears of what is written.
    """
    counters = Counters(observer.journal_written, observer.journal_dropped, observer.journal_failed)
    return RecordWriter(store.write, _WORDS, board, clock, origins, counters)
