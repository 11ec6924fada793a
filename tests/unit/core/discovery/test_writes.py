"""Attributes become rows to write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from queue_agent.core.discovery.synchronization import Changes, MappingChanges
from queue_agent.core.discovery.writes import StateWrites, plan_writes
from queue_agent.core.state.attributes import build_mapping_row
from queue_agent.core.state.rows import ConsumerNameRow, MappingRow, QueueRow, StateRows
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.refs import CrossClusterRef

ORIGIN = Origin("agent-1", 481, 7, "Controller:0", 8, "1-2-3-4", 9, datetime(2025, 1, 23, tzinfo=UTC))
LATER = replace(ORIGIN, instant=datetime(2025, 1, 24, tzinfo=UTC))
A, B, C = (CrossClusterRef("pythia", path) for path in ("//a", "//b", "//c"))
REPLICATED: dict[str, Any] = {
    "attribute_revision": 5,
    "type": "replicated_table",
    "queue_agent_stage": "s",
    "replicas": {"1": {"cluster_name": "hume", "replica_path": "//r", "state": "enabled", "mode": "sync"}},
}
NOTHING = MappingChanges([], [], [], [])


def rows(*mappings: MappingRow) -> StateRows:
    return StateRows([QueueRow(A, row_revision=3)], [], [], mappings=mappings)


def plan(changes: Changes, answers: dict[CrossClusterRef, Any], state: StateRows, **more: Any) -> StateWrites:
    origin = more.get("origin", ORIGIN)
    return plan_writes(state, changes, answers, {}, "default", more.get("mapping"), origin, not_isolated)


def not_isolated(ref: CrossClusterRef, work: Callable[[], Any]) -> Any:
    return work()


def test_every_object_that_answered_gets_a_row() -> None:
    answers = {A: {"type": "table"}, B: ErrorInfo("denied", 901)}
    writes = plan(Changes([A, B, C], []), answers, rows())
    assert {row.queue: row.row_revision for row in writes.queues} == {A: 4, B: 1}
    assert writes.queues[1].synchronization_error is not None
    assert writes.counts == {"queues": 2}


def test_a_revision_that_could_not_be_had_is_the_error_of_its_row() -> None:
    writes = plan(Changes([], [], failed_queues={A: ErrorInfo("gone", 500)}), {}, rows())
    assert [(row.queue, row.revision, row.row_revision) for row in writes.queues] == [(A, None, 4)]


def test_a_chaos_table_gets_the_default_stage() -> None:
    writes = plan(Changes([A], []), {A: {"type": "chaos_replicated_table"}}, rows())
    assert writes.queues[0].queue_agent_stage == "default"


def test_a_mapping_row_is_written_when_it_differs() -> None:
    mapping = MappingChanges([A], [], [], [])
    written = plan(Changes([], []), {A: REPLICATED}, rows(), mapping=mapping).mappings
    assert [row.table for row in written] == [A]
    assert plan(Changes([], []), {A: REPLICATED}, rows(*written), mapping=mapping).counts == {}
    moved = {**REPLICATED, "replicas": {}}
    assert plan(Changes([], []), {A: moved}, rows(*written), mapping=mapping).counts == {"mappings": 1}


def test_the_same_error_is_not_written_again() -> None:
    broken = {**REPLICATED, "replicas": 5}
    old = build_mapping_row(A, broken, ORIGIN)
    assert old is not None
    mapping = MappingChanges([A], [], [], [])
    assert plan(Changes([], []), {A: broken}, rows(old), mapping=mapping, origin=LATER).counts == {}


def test_a_mapping_row_goes_with_its_object_or_with_its_type() -> None:
    old = [MappingRow(A), MappingRow(B), MappingRow(C)]
    mapping = MappingChanges([A, C], [], [], [B])
    answers = {A: {"type": "table"}, C: ErrorInfo("denied", 901)}
    writes = plan(Changes([], []), answers, rows(*old), mapping=mapping)
    assert list(writes.gone_mappings) == [A, B]
    assert not writes.mappings


def test_without_a_mapping_to_keep_nothing_is_done_about_it() -> None:
    writes = plan(Changes([A], []), {A: REPLICATED}, rows(MappingRow(B)))
    assert writes.counts == {"queues": 1}


def test_names_without_their_table_are_deleted() -> None:
    orphan = ConsumerNameRow(B._replace(name="x"))
    state = replace(rows(), consumer_names=[orphan])
    assert list(plan(Changes([], []), {}, state).gone_names) == [orphan.consumer]
