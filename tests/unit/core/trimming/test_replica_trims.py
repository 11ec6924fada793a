"""How far the replicas of a replicated queue are trimmed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from queue_agent.core.exports.config import ExportConfig
from queue_agent.core.exports.progress import StoredProgress, TabletProgress
from queue_agent.core.exports.queue_exports import ExportState, QueueExports
from queue_agent.core.exports.schedule import EveryPeriod
from queue_agent.core.queues.snapshots import QueueSnapshot
from queue_agent.core.state.rows import MappingRow, QueueRow, Registration
from queue_agent.core.trimming.errors import find_trim_error, join_session_errors
from queue_agent.core.trimming.replica_trims import ReplicaTrims, plan_replica_trims
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from tests.unit.core.trimming.plans import ALICE, NOW, ORIGIN, QUEUE, consumer, mounted, position, snapshot_of, targets

NEAR = CrossClusterRef("hume", "//tmp/near")
FAR = CrossClusterRef("pythia", "//tmp/far")
ROW = QueueRow(QUEUE, object_id="1-2-3-4", object_type="replicated_table", auto_trim_config={"enable": True})
MAPPING = MappingRow(
    QUEUE,
    object_type="replicated_table",
    meta={
        "replicated_table_meta": {
            "replicas": {
                "1-1-1-1": {"cluster_name": "pythia", "replica_path": FAR.path, "mode": "async", "state": "enabled"},
                "2-2-2-2": {"cluster_name": "hume", "replica_path": NEAR.path, "mode": "sync", "state": "enabled"},
            }
        }
    },
)


def replica(ref: CrossClusterRef, lower: int, upper: int, state: str = "mounted") -> QueueSnapshot:
    return snapshot_of(mounted(lower, upper, state), row=QueueRow(ref, object_id=f"{ref.cluster}-id"))


def plan(
    *replicas: QueueSnapshot, offset: int = 8, mapping: MappingRow | None = MAPPING, **config: Any
) -> ReplicaTrims:
    queue = snapshot_of(mounted(0, 10), row=replace(ROW, auto_trim_config={"enable": True, **config}))
    consumers = {ALICE: consumer(ALICE, position(queue, offset))}
    queues = {one.ref: one for one in replicas}
    registrations = [Registration(QUEUE, ALICE, True)]
    policy = queue.row.auto_trim_config
    result = plan_replica_trims(queue, policy, mapping, queues, registrations, consumers, ORIGIN)
    assert result is not None
    return result


def test_each_replica_is_trimmed_as_far_as_it_has_rows_that_were_read() -> None:
    trims = plan(replica(NEAR, 0, 10), replica(FAR, 2, 5))
    assert trims.error is None
    assert {ref: targets(one) for ref, one in trims.by_replica.items()} == {NEAR: {0: 8}, FAR: {0: 5}}
    assert trims.shown == trims.by_replica[NEAR]


def test_the_last_rows_of_each_replica_are_kept_by_its_own_end() -> None:
    trims = plan(replica(NEAR, 0, 10), replica(FAR, 2, 6), retained_rows=3)
    assert {ref: targets(one) for ref, one in trims.by_replica.items()} == {NEAR: {0: 7}, FAR: {0: 3}}


def test_a_consumer_that_is_ahead_of_the_queue_lets_nothing_go_in_any_replica() -> None:
    trims = plan(replica(NEAR, 0, 10), replica(FAR, 0, 5), offset=11)
    assert [targets(one) for one in trims.by_replica.values()] == [{}, {}]


def test_without_all_replicas_nothing_goes() -> None:
    trims = plan(replica(NEAR, 0, 10))
    assert trims.by_replica == {}
    assert trims.error is not None
    assert f'missing snapshot for queue replica "{FAR}"' in trims.error.message
    assert targets(trims.shown) == {}
    assert trims.shown.trims[0].constraint.message == trims.error.message
    unknown = plan(replica(NEAR, 0, 10), mapping=None)
    assert unknown.error is not None
    assert "missing replicated table mapping row" in unknown.error.message


def test_a_replica_without_id_or_with_exports_that_are_not_known_keeps_all_of_them() -> None:
    nameless = replace(replica(FAR, 0, 10), row=QueueRow(FAR))
    exporting = replace(replica(FAR, 0, 10), exports=QueueExports(ErrorInfo("who knows")))
    for bad, words in ((nameless, "Object id is not known"), (exporting, "missing exports progress for some replicas")):
        trims = plan(replica(NEAR, 0, 10), bad)
        assert trims.by_replica == {}
        assert trims.error is not None
        assert words in trims.error.message


def test_exports_of_a_replica_that_are_not_known_are_told_with_the_replica_and_the_cause() -> None:
    cause = ErrorInfo("who knows")
    trims = plan(replica(NEAR, 0, 10), replace(replica(FAR, 0, 10), exports=QueueExports(cause)))
    assert trims.error is not None
    [of_the_replica] = trims.error.inner_errors
    assert of_the_replica.message == f"Failed to get queue exports progress for {FAR}"
    assert list(of_the_replica.inner_errors) == [cause]


def test_exports_of_every_replica_hold_back_all_of_them() -> None:
    config = ExportConfig(EveryPeriod(60), "//tmp/x")
    near, far = (
        replace(one, exports=QueueExports(exporters={"daily": ExportState(config, progress)}))
        for one, progress in (
            (replica(NEAR, 0, 10), StoredProgress(tablets={0: TabletProgress(row_count=7, tablet_id="t")})),
            (replica(FAR, 0, 10), StoredProgress(tablets={0: TabletProgress(row_count=3, tablet_id="t")})),
        )
    )
    trims = plan(near, far)
    assert {ref: targets(one) for ref, one in trims.by_replica.items()} == {NEAR: {0: 3}, FAR: {0: 3}}
    assert trims.shown.trims[0].constraint.subject == f"daily of {FAR}"


def test_what_is_wrong_with_one_replica_does_not_stop_the_others() -> None:
    broken = replace(replica(FAR, 0, 10), content=ErrorInfo("broken"))
    uneven = snapshot_of(mounted(0, 10), mounted(0, 10), row=QueueRow(FAR, object_id="5-5-5-5"))
    for bad, words in ((broken, "queue replica error"), (uneven, "same number of partitions: 1 vs 2")):
        trims = plan(replica(NEAR, 0, 10), bad)
        assert targets(trims.by_replica[NEAR]) == {0: 8}
        assert targets(trims.by_replica[FAR]) == {}
        error = find_trim_error(trims.by_replica[FAR], {}, ORIGIN)
        assert error is not None
        joined = join_session_errors({FAR: error}, ORIGIN)
        assert joined is not None
        [inner] = joined.inner_errors
        assert words in inner.message
        assert inner.attributes["replica"] == str(FAR)


def test_errors_of_several_replicas_are_one() -> None:
    joined = join_session_errors({NEAR: ErrorInfo("a"), FAR: ErrorInfo("b")}, ORIGIN)
    assert joined is not None
    assert joined.message == "Error trimming 2 queue replicas"
    assert {inner.attributes["replica"] for inner in joined.inner_errors} == {str(NEAR), str(FAR)}
    assert join_session_errors({}, ORIGIN) is None


def test_a_replica_that_is_not_mounted_is_left_alone_without_an_error() -> None:
    trims = plan(replica(NEAR, 0, 10), replica(FAR, 0, 10, "frozen"))
    assert targets(trims.by_replica[FAR]) == {}
    assert find_trim_error(trims.by_replica[FAR], {}, ORIGIN) is None


def test_a_queue_that_does_not_ask_for_it_has_no_plan() -> None:
    queue = snapshot_of(mounted(0, 10), row=replace(ROW, auto_trim_config=None))
    assert plan_replica_trims(queue, None, MAPPING, {}, [], {}, ORIGIN) is None
    assert queue.pass_instant == NOW


def test_a_plan_names_its_replica_whatever_becomes_of_it() -> None:
    whole = plan(replica(NEAR, 0, 10), replica(FAR, 0, 10))
    assert {ref: one.table for ref, one in whole.by_replica.items()} == {NEAR: NEAR, FAR: FAR}
    lost = replace(replica(FAR, 0, 10), content=ErrorInfo("lost"))
    blocked = plan(replica(NEAR, 0, 10), lost).by_replica[FAR]
    assert (blocked.table, targets(blocked)) == (FAR, {})
    error = find_trim_error(blocked, {}, ORIGIN)
    assert error is not None
    assert error.message == "Error trimming 1 queue replicas"
    assert "lost" in str(error.to_map())


def test_a_queue_that_can_not_be_read_says_so_for_all_replicas() -> None:
    queue = replace(snapshot_of(row=ROW), content=ErrorInfo("lost"))
    result = plan_replica_trims(queue, {"enable": True}, MAPPING, {}, [], {}, ORIGIN)
    assert result is not None
    assert result.error is not None
    assert [inner.message for inner in result.error.inner_errors] == ["lost"]


def test_a_queue_without_replicas_has_nothing_to_trim() -> None:
    trims = plan(mapping=replace(MAPPING, meta={"replicated_table_meta": {"replicas": {}}}))
    assert trims.by_replica == {}
    assert trims.error is not None
    assert "has no replicas" in str(trims.error.to_map())
