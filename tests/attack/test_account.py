"""The model of the attack sees a row that goes too early."""

from __future__ import annotations

import pytest

from tests.attack.account import FOR_EVER, Account, Consumer, Queue, Storage, Timeline, Trim

NOW = 1000.0


def account(**changes: object) -> Account:
    """Ten rows, of which a consumer has read five for long."""
    queue, storage = Queue("//tmp/q"), Storage("1-2-3-4")
    queue.storages[storage.object_id] = storage
    for index in range(10):
        queue.places[index] = 0, index
        storage.rows[0][index] = index
    consumer = Consumer(Timeline([(FOR_EVER, FOR_EVER, True)]))
    consumer.offsets[0] = Timeline([(FOR_EVER, FOR_EVER, 0), (NOW - 60, NOW - 59, 5)])
    queue.consumers["//tmp/c"] = consumer
    for name, value in changes.items():
        setattr(queue, name, value)
    return Account([queue])


def trim(row_count: int) -> Trim:
    return Trim("agent-0", "1-2-3-4", 0, row_count, NOW, NOW + 1)


def test_what_was_read_may_go() -> None:
    judged = account()
    judged.judge(trim(5))
    assert (judged.trims, judged.trimmed_rows, judged.violations) == (1, 5, [])


def test_a_row_that_was_not_read_is_missed() -> None:
    judged = account()
    judged.judge(trim(6))
    assert [text.split(":")[1] for text in judged.violations] == [
        " row 5 at index 5 (5 in the queue) was not read by //tmp/c"
    ]


def test_a_rewind_counts_unless_it_was_just_now() -> None:
    for begun, violations in ((NOW - 5, 0), (NOW - 50, 1)):
        judged = account()
        judged.queues[0].consumers["//tmp/c"].offsets[0].set(begun, begun + 1, 3)
        judged.judge(trim(4))
        assert len(judged.violations) == violations


def test_a_registration_counts_unless_it_was_just_now() -> None:
    judged = account()
    late = judged.queues[0].consumers["//tmp/late"] = Consumer()
    late.vital.set(NOW - 5, NOW - 5, True)
    judged.judge(trim(1))
    assert judged.violations == []
    late.vital.changes[-1] = (NOW - 13, NOW - 13, True)
    judged.judge(trim(2))
    assert len(judged.violations) == 1


@pytest.mark.parametrize(
    "changes", [{"exported": {0, 1}, "export_begun": 0.0}, {"retained": Timeline([(0.0, 0.0, 8)])}]
)
def test_rows_that_were_not_exported_or_are_retained_are_missed(changes: dict[str, object]) -> None:
    judged = account(**changes)
    judged.judge(trim(2))
    assert judged.violations == []
    judged.judge(trim(3))
    assert len(judged.violations) == 1


def test_a_replica_that_counts_from_elsewhere_is_judged_by_what_its_rows_are() -> None:
    judged = account()
    [queue] = judged.queues
    shifted = queue.storages["5-6-7-8"] = Storage("5-6-7-8")
    shifted.rows[0] = {index: index + 3 for index in range(7)}
    judged.judge(Trim("agent-0", "5-6-7-8", 0, 2, NOW, NOW + 1))
    assert judged.violations == []
    judged.judge(Trim("agent-0", "5-6-7-8", 0, 3, NOW, NOW + 1))
    assert len(judged.violations) == 1
