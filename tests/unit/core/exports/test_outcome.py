"""What a task of a static export reports."""

from __future__ import annotations

from queue_agent.core.exports.outcome import ExportOutcome
from queue_agent.core.exports.planning import TablePart


def test_a_task_that_got_nowhere_claims_nothing() -> None:
    outcome = ExportOutcome()
    assert (outcome.queue_id, outcome.directory_id, outcome.before, outcome.after) == (None, None, None, None)
    assert (outcome.skipped, outcome.mismatch_count, list(outcome.recounted), outcome.made) == (0, 0, [], [])
    assert outcome.error is None


def test_tables_of_one_task_are_not_those_of_another() -> None:
    one, other = ExportOutcome(), ExportOutcome()
    one.made.append(TablePart(60, []))
    assert other.made == []
