"""Acts of the audit journal, told as events."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from queue_agent.core.state.audit_journal import AuditOutcome, AuditRecord
from queue_agent.core.state.consumer_events import EventQuery
from queue_agent.core.status.act_events import find_refs, make_act_event, matches_act
from queue_agent.core.values.refs import CrossClusterRef

NOW = datetime(2026, 5, 1, 10, tzinfo=UTC)
QUEUE, CONSUMER = CrossClusterRef("a", "//q"), CrossClusterRef("b", "//c")
NAMED = CrossClusterRef("b", "//c", 'n" in "m')
RESET = AuditRecord(NOW, "Id_1", "ann", "token", "10.0.0.7", "host", "reset", "b://c in a://q", {}, "done", NOW)
ALL = EventQuery(NOW, 10)


def test_an_act_is_an_event_about_its_queue_and_consumer() -> None:
    event = make_act_event(RESET, names_people=True)
    assert (event.kind, event.queue, event.consumer, event.actor) == ("act", QUEUE, CONSUMER, "ann")
    assert event.reason == "ann reset the offsets of b://c in a://q"
    assert event.details["outcome"] == "done" and event.details["finished"] == "2026-05-01T10:00:00.000000Z"


@pytest.mark.parametrize("outcome", ["begun", "done", "failed", "unknown"])
def test_nobody_learns_names_who_has_not_logged_in(outcome: AuditOutcome) -> None:
    record = replace(RESET, outcome=outcome, error="User ann lacks a permission")
    words = repr(make_act_event(record, names_people=False).to_map())
    assert "ann" not in words and "10.0.0.7" not in words and "A user" in words


@pytest.mark.parametrize(
    ("outcome", "sentence"),
    [
        ("begun", "ann began an act, reset of b://c in a://q: its outcome is not known yet"),
        ("failed", "ann tried an act that failed, reset of b://c in a://q"),
        ("unknown", "ann reset the offsets of b://c in a://q, but the cluster did not say whether it was done"),
    ],
)
def test_the_outcome_is_said(outcome: AuditOutcome, sentence: str) -> None:
    event = make_act_event(replace(RESET, outcome=outcome, finished=None), names_people=True)
    assert event.reason == sentence
    assert event.details["finished"] is None
    if outcome != "begun":
        failed = replace(RESET, outcome=outcome, error="no rights")
        assert make_act_event(failed, names_people=True).reason == f"{sentence}: no rights"


@pytest.mark.parametrize(
    ("act", "subject", "refs"),
    [
        ("mount", "a://q", [(QUEUE, None)]),
        ("mount", "nonsense", [(None, None)]),
        ("ban", "host:9030", [(None, None)]),
        ("register", f"{NAMED} in a://q", [(QUEUE, NAMED)]),
        ("register", "a://q", [(None, None)]),
        ("register", "b:x in a:y", [(None, None)]),
        (
            "reset",
            "b://c in a://x in a://q",
            [(CrossClusterRef("a", "//x in a://q"), CONSUMER), (QUEUE, CrossClusterRef("b", "//c in a://x"))],
        ),
    ],
)
def test_a_subject_is_read_in_every_way_it_can_be(act: str, subject: str, refs: list[object]) -> None:
    assert list(find_refs(replace(RESET, act=act, subject=subject))) == refs


def test_what_has_two_readings_links_to_nothing_and_is_found_by_both() -> None:
    record = replace(RESET, subject="b://c in a://x in a://q")
    event = make_act_event(record, names_people=True)
    assert (event.queue, event.consumer) == (None, None)
    assert matches_act(replace(ALL, queue=QUEUE), record)
    assert matches_act(replace(ALL, consumer=CONSUMER), record)
    assert not matches_act(replace(ALL, queue=QUEUE, consumer=CONSUMER), record)


def test_what_the_row_says_in_columns_counts_and_not_its_words() -> None:
    queue = CrossClusterRef("a", "//x in a://q")
    record = replace(RESET, subject=f"{CONSUMER} in {queue}", queue=queue, consumer=CONSUMER)
    event = make_act_event(record, names_people=True)
    assert (event.queue, event.consumer) == (queue, CONSUMER)
    assert matches_act(replace(ALL, queue=queue), record)
    assert not matches_act(replace(ALL, queue=QUEUE), record)
    mounting = replace(RESET, act="mount", subject=str(queue), queue=queue)
    assert make_act_event(mounting, names_people=True).consumer is None


def test_acts_are_found_by_what_they_are_about() -> None:
    assert matches_act(ALL, replace(RESET, act="ban", subject="host:9030"))
    assert not matches_act(replace(ALL, queue=QUEUE), replace(RESET, act="ban", subject="host:9030"))
    assert matches_act(replace(ALL, queue=QUEUE, consumer=CONSUMER), RESET)
    assert not matches_act(replace(ALL, queue=CrossClusterRef("a", "//q2")), RESET)


def test_an_act_of_a_later_version_is_told_by_its_word() -> None:
    later = replace(RESET, act="applaud", subject="a://q")
    assert make_act_event(later, names_people=True).reason == "ann applaud a://q"
