"""Objects that were not polled for long, and those in error."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from queue_agent.core.consumers.multi_consumers import MultiConsumerSnapshot
from queue_agent.core.queues.snapshots import ConsumerSnapshot, ConsumerView, QueueSnapshot, QueueView, Role
from queue_agent.core.state.rows import ConsumerRow, QueueRow
from queue_agent.core.status.controller_info import controller_info
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef

NOW = datetime(2025, 1, 23, tzinfo=UTC)
BROKEN = ErrorInfo("broken")


def queue(path: str, seconds_ago: int = 0, role: Role = Role.LEADING, cluster: str = "pythia") -> QueueSnapshot:
    instant = NOW - timedelta(seconds=seconds_ago)
    row = QueueRow(CrossClusterRef(cluster, path))
    return QueueSnapshot(row, role, 1, instant, QueueView([], True, True, instant, 1))


def broken_queue(path: str, role: Role = Role.LEADING) -> QueueSnapshot:
    return QueueSnapshot(QueueRow(CrossClusterRef("pythia", path)), role, 1, NOW, BROKEN)


def info(*queues: QueueSnapshot, limit: int = 10) -> dict[str, Any]:
    return controller_info({one.ref: one for one in queues}, {}, {}, limit)


def paths(listed: list[dict[str, str]]) -> list[str]:
    return [one["path"] for one in listed]


def test_the_objects_not_polled_for_longest_come_first_and_no_more_than_asked_for() -> None:
    queues = [queue("//new", 1), queue("//old", 60), queue("//middle", 30), queue("//middle2", 30)]
    inactive = info(*queues, limit=3)["inactive_objects"]["leading_queues"]
    assert paths(inactive) == ["pythia://old", "pythia://middle", "pythia://middle2"]
    assert inactive[0]["pass_instant"] == "2025-01-22T23:59:00.000000Z"


def test_objects_in_error_are_counted_and_not_listed() -> None:
    found = info(queue("//a"), broken_queue("//b"), broken_queue("//c", Role.ERROR))
    assert found["erroneous_objects"] == {"queue_count": 2, "consumer_count": 0, "multi_consumer_count": 0}
    assert paths(found["inactive_objects"]["leading_queues"]) == ["pythia://a"]


def test_objects_are_listed_by_kind_and_by_what_the_agent_does_for_them() -> None:
    consumer, multi = CrossClusterRef("pythia", "//c"), CrossClusterRef("pythia", "//m")
    reading = ConsumerSnapshot(ConsumerRow(consumer), Role.FOLLOWING, 1, NOW, ConsumerView({}))
    names = MultiConsumerSnapshot(ConsumerRow(multi), 1, NOW, None)
    followed = queue("//q", role=Role.FOLLOWING)
    inactive = controller_info({followed.ref: followed}, {consumer: reading}, {multi: names}, 10)["inactive_objects"]
    assert {kind: paths(listed) for kind, listed in inactive.items() if listed} == {
        "following_queues": ["pythia://q"],
        "following_consumers": ["pythia://c"],
        "leading_multi_consumers": ["pythia://m"],
    }
    assert {"leading_queues", "leading_consumers", "following_multi_consumers"} < inactive.keys()


def test_the_same_is_told_for_each_cluster_by_itself() -> None:
    found = info(queue("//a"), queue("//b", cluster="hume"), broken_queue("//c"))
    assert list(found["per_cluster"]) == ["hume", "pythia"]
    assert paths(found["per_cluster"]["hume"]["inactive_objects"]["leading_queues"]) == ["hume://b"]
    assert found["per_cluster"]["hume"]["erroneous_objects"]["queue_count"] == 0
    assert found["per_cluster"]["pythia"]["erroneous_objects"]["queue_count"] == 1
    assert "per_cluster" not in found["per_cluster"]["hume"]


def test_an_agent_without_objects_says_so() -> None:
    found = info()
    assert found["per_cluster"] == {}
    assert not any(found["inactive_objects"].values())
