"""Which rows a task of Spark reads."""

from __future__ import annotations

from queue_agent.spark.pulling import RowRange
from queue_agent.spark.task_planning import plan_tasks


def test_a_partition_with_many_rows_is_read_by_several_tasks() -> None:
    assert plan_tasks([RowRange(0, 5, 250_005, "id")], 100_000) == [
        (RowRange(0, 5, 100_005, "id"),),
        (RowRange(0, 100_005, 200_005, "id"),),
        (RowRange(0, 200_005, 250_005, "id"),),
    ]


def test_small_partitions_share_tasks_in_their_order() -> None:
    ranges = [RowRange(index, 0, 20) for index in range(1000)]

    tasks = plan_tasks(ranges, 1_000_000)

    assert len(tasks) < 100
    assert [rows for task in tasks for rows in task] == ranges


def test_partitions_worth_a_task_each_have_one() -> None:
    ranges = [RowRange(index, 0, 20_000) for index in range(4)]

    assert plan_tasks(ranges, 1_000_000) == [(rows,) for rows in ranges]


def test_no_task_has_more_rows_than_it_may() -> None:
    ranges = [RowRange(index, 0, 7) for index in range(10)]

    tasks = plan_tasks(ranges, 10)

    assert [sum(rows.end - rows.begin for rows in task) for task in tasks] == [7] * 10


def test_nothing_to_read_is_no_task() -> None:
    assert plan_tasks([], 10) == []
