"""Lists of verdicts and of what is wrong."""

from __future__ import annotations

from dataclasses import replace

from queue_agent.core.queues.snapshots import ConsumerSnapshot, ConsumerView, Role
from queue_agent.core.state.rows import ConsumerRow, Registration
from queue_agent.core.status.problems import list_alerts, list_verdicts
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.advice import Advice, Turn
from queue_agent.core.verdicts.objectives import ObjectiveStatus
from queue_agent.core.verdicts.queue_poll import without_poll
from queue_agent.core.verdicts.queue_state import Pair, QueueState
from queue_agent.core.verdicts.values import QueueVerdict, Verdict
from tests.unit.core.status.quotas import quota
from tests.unit.core.trimming.plans import BROKEN, NOW, QUEUE, mounted, snapshot_of

HELP = Advice(Turn.OWNER, "help", is_command=True)


def _verdict(ref: CrossClusterRef, verdict: Verdict) -> QueueVerdict:
    state = without_poll(
        QueueState(Pair(QUEUE, ref)),
        verdict,
        f"it is {verdict.value}",
        0.0,
        HELP,
    )
    assert state.verdict is not None
    return state.verdict


def _consumer(name: str, verdict: Verdict | None, *, vital: bool = False) -> ConsumerSnapshot:
    ref = CrossClusterRef("hume", f"//{name}")
    verdicts = {} if verdict is None else {QUEUE: _verdict(ref, verdict)}
    registrations = (Registration(QUEUE, ref, vital),)
    return ConsumerSnapshot(ConsumerRow(ref), Role.LEADING, 1, NOW, ConsumerView({}), registrations, None, verdicts)


CONSUMERS = {
    one.ref: one
    for one in (
        _consumer("a", Verdict.OK),
        _consumer("b", Verdict.STOPPED),
        _consumer("c", Verdict.STOPPED, vital=True),
        _consumer("d", Verdict.LOSING),
        _consumer("e", None),
        _consumer("f", Verdict.LAGGING),
    )
}


def test_the_worst_come_first_and_vital_ones_before_others() -> None:
    found = list_verdicts(CONSUMERS)
    assert [(one["consumer"], one["verdict"]) for one in found] == [
        ("hume://d", "losing"),
        ("hume://c", "stopped"),
        ("hume://b", "stopped"),
        ("hume://f", "lagging"),
        ("hume://a", "ok"),
    ]
    assert found[0]["queue"] == str(QUEUE)


def test_some_verdicts_can_be_asked_for() -> None:
    assert [one["consumer"] for one in list_verdicts(CONSUMERS, {Verdict.LAGGING, Verdict.OK})] == [
        "hume://f",
        "hume://a",
    ]


def test_alerts_are_those_of_the_agent_of_queues_and_of_consumers() -> None:
    queue = replace(snapshot_of(mounted(0, 1)), alerts={"trim_failed": BROKEN})
    agent, of_queue, *of_consumers = list_alerts({"pass_failed": {"message": "late"}}, [queue], CONSUMERS)
    assert agent == {"kind": "agent", "category": "pass_failed", "reason": "late"}
    assert of_queue == {"kind": "queue", "queue": str(QUEUE), "category": "trim_failed", "reason": "broken"}
    assert [one["verdict"] for one in of_consumers] == ["losing", "stopped", "stopped", "lagging"]
    assert of_consumers[0] == {
        "kind": "consumer",
        "consumer": "hume://d",
        "queue": str(QUEUE),
        "vital": False,
        "verdict": "losing",
        "color": "red",
        "verdict_since": "1970-01-01T00:00:00.000000Z",
        "reason": "it is losing",
        "turn": "owner",
        "action": "help",
        "action_is_command": True,
    }


def test_a_registered_consumer_that_does_not_exist_is_named_with_its_queue_and_the_remedy() -> None:
    missing, there = (CrossClusterRef("hume", f"//{name}") for name in ("missing", "a"))
    registrations = (Registration(QUEUE, missing, vital=True), Registration(QUEUE, there, vital=False))
    queue = replace(snapshot_of(mounted(0, 1)), registrations=registrations)
    [one] = list_alerts({}, [queue], {}, {there})
    assert one == {
        "kind": "consumer",
        "consumer": "hume://missing",
        "queue": str(QUEUE),
        "vital": True,
        "verdict": "unreadable",
        "color": "red",
        "verdict_since": None,
        "reason": f"Consumer hume://missing does not exist; it is registered for {QUEUE} as vital",
        "turn": "owner",
        "action": "create the consumer again, or unregister it if nobody needs it: then its rows are not kept",
        "action_is_command": False,
    }
    assert list_alerts({}, [queue], {}) == []
    for other in (replace(queue, role=Role.FOLLOWING), replace(queue, banned_since=NOW)):
        assert list_alerts({}, [other], {}, {there}) == []


def test_an_objective_that_cannot_be_read_is_told_of_a_consumer_that_is_fine_otherwise() -> None:
    fine = CONSUMERS[CrossClusterRef("hume", "//a")]
    error = ErrorInfo("Error parsing", inner_errors=(ErrorInfo("expected a map"),))
    verdict = replace(fine.verdicts[QUEUE], objective=ObjectiveStatus(None, error))
    [one] = list_alerts({}, [], {fine.ref: replace(fine, verdicts={QUEUE: verdict})})
    assert one["reason"] == "Error parsing: expected a map"
    assert one["action"] == "yt --proxy hume get //a/@queue_agent_objective"
    assert (one["verdict"], one["color"], one["vital"]) == ("ok", "amber", False)


def test_an_account_that_is_full_soon_is_told_before_queues() -> None:
    queue = replace(snapshot_of(mounted(0, 5)), alerts={"trim_failed": BROKEN})
    urgent, later = quota(3600.0), quota(10 * 86400.0)
    found = list_alerts({}, [queue], {}, quotas={urgent.account: [urgent, later]})
    assert [one["kind"] for one in found] == ["account", "queue"]
    assert found[0]["category"] == "queue_agent_account_full_soon"
    assert found[0]["queue"] == str(QUEUE)
    assert found[0]["account"] == "logs"
    assert found[0]["reason"] == urgent.sentence
