"""How many readers a consumer needs."""

from __future__ import annotations

from typing import Any

import pytest

from queue_agent.core.status.scaling import ScalingTarget, find_scaling

TARGET = ScalingTarget(rows=1000)


def partition(rows: int, activity: str = "lagging") -> dict[str, Any]:
    return {"drainable_row_count": rows, "activity": activity}


def scale(*partitions: dict[str, Any], target: ScalingTarget = TARGET) -> dict[str, Any]:
    scaling = find_scaling("lagging", partitions, target)
    assert scaling is not None
    return scaling.to_map()


def test_a_partition_counts_for_one_reader_at_most() -> None:
    assert scale(partition(80_000), *[partition(100)] * 7) == {
        "value": 1700,
        "active": True,
        "partitions_with_rows": 8,
        "excluded": {},
        "verdict": "lagging",
    }


@pytest.mark.parametrize("activity", ["stalled", "ahead"])
def test_partitions_that_more_readers_would_not_help_do_not_count_but_keep_one_running(activity: str) -> None:
    stuck = scale(partition(500, activity))
    assert (stuck["value"], stuck["active"], stuck["excluded"]) == (0, True, {activity: 1})


def test_without_drainable_rows_no_reader_is_needed() -> None:
    assert not scale(partition(0, "stopped"))["active"]


def test_few_rows_do_not_activate() -> None:
    target = ScalingTarget(rows=1000, activation_rows=50)
    assert [scale(partition(rows), target=target)["active"] for rows in (50, 51)] == [False, True]


def test_partitions_that_can_not_be_read_do_not_count_and_without_any_nothing_is_known() -> None:
    assert scale({"error": {}}, partition(5))["value"] == 5
    assert find_scaling("unreadable", [{"error": {}}], TARGET) is None
    assert find_scaling("unknown", [], TARGET) is None
