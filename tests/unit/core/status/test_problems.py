"""Lists of verdicts and of what is wrong."""

from __future__ import annotations

from dataclasses import replace

from queue_agent.core.queues.snapshots import ConsumerSnapshot, ConsumerView, Role
from queue_agent.core.state.rows import ConsumerRow, Registration
from queue_agent.core.status.problems import list_alerts, list_verdicts
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.queue_state import Pair, QueueState, without_poll
from queue_agent.core.verdicts.values import QueueVerdict, Turn, Verdict
from tests.unit.core.trimming.plans import BROKEN, NOW, QUEUE, mounted, snapshot_of


def _verdict(ref: CrossClusterRef, verdict: Verdict) -> QueueVerdict:
    state = without_poll(QueueState(Pair(QUEUE, ref)), verdict, f"it is {verdict.value}", 0.0, Turn.OWNER, "help")
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
    }
