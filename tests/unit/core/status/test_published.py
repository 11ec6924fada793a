"""Nodes of the agent's tree, as the C++ agent publishes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from queue_agent.core.consumers.registrations import RESHARDED, RegistrationStatus
from queue_agent.core.exports.config import ExportConfig
from queue_agent.core.exports.queue_exports import ExportState, QueueExports
from queue_agent.core.exports.schedule import EveryPeriod
from queue_agent.core.queues.snapshots import (
    ConsumerQueueView,
    ConsumerSnapshot,
    ConsumerView,
    FailedConsumerPartition,
    PassFacts,
    QueueMissing,
    Role,
    SubSnapshot,
)
from queue_agent.core.state.rows import ConsumerRow, MappingRow, QueueRow, Registration
from queue_agent.core.status.published import (
    consumer_node,
    consumer_partitions,
    consumer_row,
    consumer_status,
    mapping_row,
    pass_node,
    queue_node,
    queue_partitions,
    queue_row,
    queue_status,
)
from queue_agent.core.values.encoding import Entity, Unsigned
from queue_agent.core.values.error_info import OK_ERROR
from queue_agent.core.values.rates import Counters
from queue_agent.core.values.trim_constraints import ConstraintKind, PartitionTrim, TrimConstraint
from queue_agent.core.verdicts.ledger import Reading
from queue_agent.core.verdicts.queue_poll import observe_queue
from queue_agent.core.verdicts.queue_state import Pair, PartitionReading, QueueState
from queue_agent.core.verdicts.rebuilding import Rebuild, RebuildKind
from queue_agent.core.verdicts.values import Verdict
from tests.unit.core.trimming.plans import ALICE, BOB, BROKEN, NOW, QUEUE, mounted, position, snapshot_of, unmounted

HOST = "agent-1"
REGISTRATIONS = [Registration(QUEUE, ALICE, True), Registration(QUEUE, BOB, False)]
CONFIGS = {"x": {"export_directory": "//tmp/x", "export_period": 60_000}}
MAPPING = MappingRow(QUEUE, 2**63, "replicated_table", {"replicated_table_meta": {"replicas": {}}})


def consumer(content: SubSnapshot) -> ConsumerSnapshot:
    view = ConsumerView({QUEUE: content})
    return ConsumerSnapshot(ConsumerRow(ALICE), Role.LEADING, 3, NOW, view, REGISTRATIONS[:1])


def test_a_registration_tells_what_is_wrong_with_its_consumer() -> None:
    snapshot = replace(snapshot_of(mounted(0, 1)), registrations=REGISTRATIONS)
    statuses = {BOB: RegistrationStatus(Verdict.STOPPED, "silent", BROKEN)}
    alice, bob = queue_status(snapshot, HOST, NOW, statuses)["registrations"]
    assert alice == {"queue": "pythia://tmp/q", "consumer": "hume://tmp/alice", "vital": True}
    assert bob == {
        "queue": "pythia://tmp/q",
        "consumer": "hume://tmp/bob",
        "vital": False,
        "verdict": "stopped",
        "reason": "silent",
        "error": BROKEN.to_map(),
    }


def test_a_queue_that_is_another_than_a_consumer_knows_has_an_alert() -> None:
    unaware = RegistrationStatus(Verdict.OK, None, rebuild=Rebuild(RebuildKind.RESHARD, NOW.timestamp()))
    found = queue_status(snapshot_of(mounted(0, 1)), HOST, NOW, {BOB: unaware})["alerts"]
    assert list(found) == [RESHARDED]


def test_a_verdict_adds_to_what_is_published_and_changes_none_of_it() -> None:
    snapshot = consumer(position(snapshot_of(mounted(0, 10)), 4))
    plain_status, plain_partitions = consumer_status(snapshot, HOST, NOW), consumer_partitions(snapshot, NOW)
    reading = Reading(0, 10, 4, NOW.timestamp(), "t")
    state = observe_queue(
        QueueState(Pair(QUEUE, ALICE)), {0: PartitionReading(reading)}, range(1), NOW.timestamp(), 1.0
    )
    assert state.verdict is not None
    judged = replace(snapshot, verdicts={QUEUE: state.verdict})
    [name] = plain_status["queues"]
    assert consumer_status(judged, HOST, NOW)["queues"][name] == plain_status["queues"][name] | state.verdict.to_map()
    assert isinstance(plain_partitions, dict)
    [plain] = plain_partitions[name]
    assert consumer_partitions(judged, NOW) == {name: [plain | state.verdict.partitions[0].to_map()]}


def test_a_partition_tells_how_far_it_is_trimmed_and_one_that_fails_does_too() -> None:
    trim = PartitionTrim(4, TrimConstraint(ConstraintKind.RETAINED_ROWS))
    snapshot = replace(snapshot_of(mounted(0, 9), unmounted(), unmounted()), trims={0: trim, 1: trim})
    good, failed, other = queue_partitions(snapshot, NOW)
    assert good["trim"] == failed["trim"] == trim.to_map()
    assert "trim" not in other
    assert failed["error"] == BROKEN.to_map()


def test_the_node_of_a_queue_has_its_exporters_by_name() -> None:
    row = QueueRow(QUEUE, object_id="1-2-3-4", object_type="table", static_export_config=CONFIGS)
    snapshot = snapshot_of(mounted(0, 1), row=row)
    exporters = queue_node(snapshot, HOST, NOW)["exporters"]
    assert exporters == {
        "x": {"export_config": CONFIGS["x"], **ExportState(ExportConfig(EveryPeriod(60), "//tmp/x")).to_map()}
    }
    assert queue_node(snapshot_of(mounted(0, 1)), HOST, NOW)["exporters"] == {}


def test_exports_that_can_not_be_are_a_null_with_the_reason() -> None:
    snapshot = replace(snapshot_of(mounted(0, 1)), exports=QueueExports(BROKEN))
    assert queue_node(snapshot, HOST, NOW)["exporters"] == Entity({"error": BROKEN.to_map()})


def test_the_node_of_a_replicated_queue_shows_its_mapping() -> None:
    node = queue_node(snapshot_of(mounted(0, 1)), HOST, NOW, MAPPING)
    assert node["replicated_table_mapping_row"] == mapping_row(MAPPING)
    assert queue_node(snapshot_of(), HOST, NOW)["replicated_table_mapping_row"] is None


def test_the_node_of_a_consumer_has_status_and_partitions_of_each_queue() -> None:
    snapshot = consumer(position(snapshot_of(mounted(0, 9)), 4))
    node = consumer_node(snapshot, HOST, NOW, MAPPING)
    assert (node["leading"], node["pass_index"], node["pass_instant"]) == (True, 3, "2025-01-23T13:42:21.000000Z")
    assert node["row"] == consumer_row(snapshot.row)
    assert node["status"] == consumer_status(snapshot, HOST, NOW)
    assert node["partitions"] == consumer_partitions(snapshot, NOW)
    assert node["replicated_table_mapping_row"] == mapping_row(MAPPING)
    [partition] = node["partitions"]["pythia://tmp/q"]
    assert (partition["next_row_index"], partition["unread_row_count"]) == (4, 5)


def test_a_consumer_without_a_controller_has_row_and_error_alone() -> None:
    snapshot = ConsumerSnapshot(ConsumerRow(ALICE), Role.ERROR, 0, NOW, BROKEN)
    node = consumer_node(snapshot, HOST, NOW)
    assert set(node) == {"row", "replicated_table_mapping_row", "status", "partitions"}
    assert node["status"] == {"queue_agent_host": HOST, "error": BROKEN.to_map()}


def test_a_partition_that_fails_keeps_the_offset_of_its_consumer() -> None:
    failed = FailedConsumerPartition(BROKEN, 7, NOW, Counters())
    [partition] = dict(consumer_partitions(consumer(ConsumerQueueView([failed], NOW)), NOW))["pythia://tmp/q"]  # type: ignore[arg-type] # a map, unless the consumer is in error
    assert partition == {
        "error": BROKEN.to_map(),
        "next_row_index": 7,
        "last_consume_time": "2025-01-23T13:42:21.000000Z",
    }


@pytest.mark.parametrize("content", [BROKEN, QueueMissing(BROKEN)])
def test_a_queue_that_can_not_be_read_is_an_error_of_its_own(content: SubSnapshot) -> None:
    status = consumer_status(consumer(content), HOST, NOW)
    assert status["queues"] == {"pythia://tmp/q": {"error": BROKEN.to_map()}}
    assert "error" not in status


def test_revisions_are_unsigned_and_cells_that_are_null_stay_so() -> None:
    rows: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (queue_row(QueueRow(QUEUE, 1, 2)), queue_row(QueueRow(QUEUE))),
        (consumer_row(ConsumerRow(ALICE, 1, 2)), consumer_row(ConsumerRow(ALICE))),
        (mapping_row(MAPPING), mapping_row(MappingRow(QUEUE))),
    ]
    for full, empty in rows:
        revisions = {name for name in full if name.endswith("revision")}
        assert all(isinstance(full[name], Unsigned) for name in revisions)
        assert revisions
        assert all(empty[name] is None for name in revisions)


def test_a_queue_without_a_policy_is_published_as_one_that_is_not_trimmed() -> None:
    assert queue_row(QueueRow(QUEUE))["auto_trim_config"] == {"enable": False}
    assert queue_row(QueueRow(QUEUE, auto_trim_config={"enable": True}))["auto_trim_config"] == {"enable": True}


def test_how_the_pass_of_an_agent_went_is_told_with_an_error_in_any_case() -> None:
    assert pass_node(PassFacts()) == {"pass_index": -1, "pass_instant": None, "pass_error": OK_ERROR}
    assert pass_node(PassFacts(4, NOW, BROKEN)) == {
        "pass_index": 4,
        "pass_instant": "2025-01-23T13:42:21.000000Z",
        "pass_error": BROKEN.to_map(),
    }
