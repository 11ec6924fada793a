"""What trimming would do, in rows and bytes."""

from __future__ import annotations

from datetime import UTC, datetime

from queue_agent.core.queues.snapshots import FailedQueuePartition, QueuePartition
from queue_agent.core.state.trim_config import TrimmingMode
from queue_agent.core.trimming.bounds import TrimBounds, read_by, unknown
from queue_agent.core.trimming.plan import PartitionPlan, TrimPlan
from queue_agent.core.trimming.preview import TrimPreview, disabled_partitions, preview_partitions, weight_rows
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.rates import Counters
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind

NOW = datetime(2025, 1, 23, tzinfo=UTC)
QUEUE = CrossClusterRef("pythia", "//tmp/q")
ALICE = CrossClusterRef("hume", "//tmp/alice")
BROKEN = ErrorInfo("broken")


def partition(lower: int, upper: int) -> QueuePartition:
    """Each row has ten bytes."""
    return QueuePartition(
        tablet_id="t",
        tablet_state="mounted",
        cell_id=None,
        host=None,
        lower_row_index=lower,
        upper_row_index=upper,
        last_row_commit_time=NOW,
        counters=Counters(),
        cumulative_data_weight=upper * 10,
        trimmed_data_weight=(lower + 1) * 10,
    )


def plan(*partitions: tuple[QueuePartition | FailedQueuePartition, TrimBounds]) -> TrimPlan:
    return TrimPlan(QUEUE, partitions={i: PartitionPlan(one, [bounds]) for i, (one, bounds) in enumerate(partitions)})


def test_rows_and_bytes_are_counted_that_would_go() -> None:
    planned = plan(
        (partition(3, 20), read_by(ALICE, 8, 20)),
        (partition(3, 20), read_by(ALICE, 20, 20)),
        (partition(3, 20), read_by(ALICE, 0, 20)),
        (FailedQueuePartition("t", "unmounted", BROKEN), unknown(ConstraintKind.NOT_MOUNTED, BROKEN)),
    )
    assert weight_rows(planned) == {(0, 8)}
    partitions = preview_partitions(planned, {(0, 8): 90})
    assert [one.row_count for one in partitions] == [5, 17, 0, 0]
    assert [one.data_weight for one in partitions] == [50, 160, 0, 0]
    document = TrimPreview(QUEUE, {"enable": True}, TrimmingMode.OBSERVE, None, partitions).to_map()
    assert (document["row_count"], document["data_weight"], document["trimming"]) == (22, 210, "observe")
    assert document["partitions"][0]["constraint"]["held_row_count"] == 12
    assert document["partitions"][3]["lower_row_index"] is None
    bounds = [one["bounds"] for one in document["partitions"]]
    assert bounds[0] == [{"kind": "vital_consumer", "subject": str(ALICE), "row_index": 8}]
    assert bounds[3] == []  # nobody knows where


def test_bytes_that_are_not_known_make_the_sum_unknown() -> None:
    partitions = preview_partitions(plan((partition(3, 20), read_by(ALICE, 8, 20))), {})
    document = TrimPreview(QUEUE, {}, TrimmingMode.TRIM, BROKEN, partitions).to_map()
    assert (document["row_count"], document["data_weight"]) == (5, None)
    assert document["error"] == BROKEN.to_map()


def test_a_policy_that_does_not_trim_says_so() -> None:
    previews = disabled_partitions([partition(3, 20), FailedQueuePartition("t", "unmounted", BROKEN)])
    assert [one.trim.constraint.kind for one in previews] == [ConstraintKind.DISABLED] * 2
    assert [one.row_count for one in previews] == [0, 0]
