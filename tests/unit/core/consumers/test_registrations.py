"""The consumers of a queue, as the queue shows them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from queue_agent.core.consumers.registrations import (
    RECREATED,
    RESHARDED,
    RegistrationStatus,
    judge_registrations,
    rebuild_alerts,
)
from queue_agent.core.queues.snapshots import ConsumerSnapshot, ConsumerView, Role
from queue_agent.core.state.rows import ConsumerRow, Registration
from queue_agent.core.verdicts.ledger import Reading
from queue_agent.core.verdicts.objectives import ObjectiveStatus
from queue_agent.core.verdicts.queue_poll import observe_queue, without_poll
from queue_agent.core.verdicts.queue_state import Pair, PartitionReading, QueueState
from queue_agent.core.verdicts.rebuilding import Rebuild, RebuildKind
from queue_agent.core.verdicts.values import QueueVerdict, Verdict
from tests.unit.core.trimming.plans import ALICE, BOB, BROKEN, NOW, QUEUE

VITAL = Registration(QUEUE, ALICE, vital=True)
SNAPSHOT = ConsumerSnapshot(ConsumerRow(ALICE), Role.LEADING, 1, NOW, ConsumerView({}), (VITAL,))


def _ahead() -> QueueVerdict:
    state = QueueState(Pair(QUEUE, ALICE))
    for second in range(62):
        reading = Reading(0, 10, 14, 0.0, "t")
        state = observe_queue(state, {0: PartitionReading(reading)}, range(1), float(second), 1.0)
    assert state.verdict is not None
    return state.verdict


def _fine() -> QueueVerdict:
    reading = PartitionReading(Reading(0, 10, 10, 0.0, "t"))
    state = observe_queue(QueueState(Pair(QUEUE, ALICE)), {0: reading}, range(1), 0.0, 1.0)
    assert state.verdict is not None
    return state.verdict


def test_a_consumer_that_does_not_exist_is_named() -> None:
    [status] = judge_registrations([VITAL], set(), {}).values()
    assert status.verdict is Verdict.UNREADABLE
    assert status.reason == "Consumer hume://tmp/alice does not exist; it is registered for pythia://tmp/q as vital"
    assert status.error is not None
    assert status.error.code == 500
    [other] = judge_registrations([replace(VITAL, vital=False)], set(), {}).values()
    assert str(other.reason).endswith("registered for pythia://tmp/q")


@pytest.mark.parametrize("snapshot", [None, replace(SNAPSHOT, pass_index=0), SNAPSHOT])
def test_a_consumer_that_nobody_here_has_polled_is_unknown(snapshot: ConsumerSnapshot | None) -> None:
    [status] = judge_registrations([VITAL], {ALICE}, {} if snapshot is None else {ALICE: snapshot}).values()
    assert status.to_map() == {"verdict": "unknown", "reason": None}


def test_a_consumer_in_error_is_unreadable() -> None:
    [status] = judge_registrations([VITAL], {ALICE}, {ALICE: replace(SNAPSHOT, content=BROKEN)}).values()
    assert status.to_map() == {"verdict": "unreadable", "reason": "broken", "error": BROKEN.to_map()}


def test_a_red_verdict_is_an_error_of_the_registration() -> None:
    judged = replace(SNAPSHOT, verdicts={QUEUE: _ahead()})
    [status] = judge_registrations([VITAL], {ALICE}, {ALICE: judged}).values()
    assert status.verdict is Verdict.AHEAD
    assert status.error is not None
    assert status.error.message == status.reason == "Offset is 4 past the end of partition 0"


def test_that_the_queue_cannot_be_read_is_no_error_of_the_consumer() -> None:
    state = without_poll(QueueState(Pair(QUEUE, ALICE)), Verdict.UNREADABLE, "no such tablet", 0.0)
    assert state.verdict is not None
    judged = replace(SNAPSHOT, verdicts={QUEUE: state.verdict})
    [status] = judge_registrations([VITAL], {ALICE}, {ALICE: judged}).values()
    assert (status.verdict, status.error) == (Verdict.UNREADABLE, None)


def test_an_objective_that_cannot_be_read_is_an_error_of_the_registration() -> None:
    judged = replace(SNAPSHOT, verdicts={QUEUE: replace(_fine(), objective=ObjectiveStatus(None, BROKEN))})
    [status] = judge_registrations([VITAL], {ALICE}, {ALICE: judged}).values()
    assert status.error == BROKEN


@pytest.mark.parametrize(
    ("kind", "category", "verb"),
    [(RebuildKind.RESHARD, RESHARDED, "resharded"), (RebuildKind.RECREATION, RECREATED, "re-created")],
)
def test_a_queue_names_the_consumers_that_do_not_know_what_became_of_it(
    kind: RebuildKind, category: str, verb: str
) -> None:
    aware = RegistrationStatus(Verdict.OK, None)
    unaware = replace(aware, rebuild=Rebuild(kind, NOW.timestamp()))
    assert rebuild_alerts({BOB: aware}) == {}
    [(found, alert)] = rebuild_alerts({ALICE: unaware, BOB: aware}).items()
    assert found == category
    assert alert.message == f"The queue was {verb} at {NOW:%Y-%m-%dT%H:%M:%SZ}, and not all consumers know"
    assert alert.attributes["consumers"] == [str(ALICE)]
