"""Kinds of events: what can happen to queues and consumers."""

from __future__ import annotations

import enum


class EventKind(enum.Enum):
    """What happened. Tables may hold kinds of later versions."""

    LOSS = "loss"
    """A consumer begins to lose rows."""

    LOSS_ENDED = "loss_ended"
    """Nothing was lost for ten minutes; `details` tell how much it was."""

    VERDICT = "verdict"
    """The verdict on a consumer in a queue is another: from or to one that somebody should look at."""

    SKIP = "skip"
    """A consumer passed rows on purpose."""

    REWIND = "rewind"
    """A consumer stepped back."""

    RECREATION = "recreation"
    """A queue was removed and created again."""

    RESHARD = "reshard"
    """A queue got other partitions."""

    TRIM = "trim"
    """An agent trimmed rows that the consumer had not read; once for each incident, the journal has every trim."""

    GRACE = "grace"
    """Rows that a consumer has not read wait before an agent begins to trim, or begins again."""

    DEAD = "dead"
    """A vital consumer has been silent so long that it counts as dead, and holds rows."""

    REVIVED = "revived"
    """A dead consumer reads again, or has nothing more to read."""

    QUARANTINE_ANNOUNCED = "quarantine_announced"
    """A dead vital consumer has notice: later, rows that it has not read may go."""

    QUARANTINE_STARTED = "quarantine_started"
    """From now on rows go that it has not read."""

    QUARANTINE_ENDED = "quarantine_ended"
    """It holds its rows again, or has held them all the time."""

    HAND_OVER = "hand_over"
    """An agent begins to lead a queue or a consumer, or many of them."""

    ACT = "act"
    """Somebody had something done by an agent or a command. These are rows of the audit journal, not of the table."""

    EXPORT = "export"
    """A static export made tables."""

    EXPORT_FAILED = "export_failed"
    """A static export fails, which it did not before; it is tried again."""

    EXPORT_RECOVERED = "export_recovered"
    """A static export that failed has succeeded."""

    DROPPED = "dropped"
    """An agent had more events than it may write; `details` tell how many are missing."""
