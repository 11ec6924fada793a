"""What the synchronizer has to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.discovery.synchronization import (
    Changes,
    MappingChanges,
    StateWrites,
    find_changes,
    find_conflict,
    find_mapping_changes,
    find_orphan_names,
    find_polled_changes,
    plan_writes,
)
from queue_agent.core.state.attributes import build_mapping_row
from queue_agent.core.state.rows import ConsumerNameRow, ConsumerRow, MappingRow, QueueRow, StateRows
from queue_agent.core.values.error_info import ErrorInfo, Origin
from queue_agent.core.values.observed import ObjectRevisions
from queue_agent.core.values.refs import CrossClusterRef
from tests.unit.core.consumers.test_multi_consumers import PLAIN, ROW, SCHEMA, TABLE, name_row

paths = st.sampled_from(["//a", "//b", "//c", "//d"])
revisions = st.dictionaries(paths, st.integers(1, 5))
watch_lists = st.dictionaries(
    st.sampled_from(["pythia", "hume"]), st.builds(ObjectRevisions, queues=revisions, consumers=revisions)
)
refs = st.builds(CrossClusterRef, st.sampled_from(["pythia", "hume", "delphi"]), paths)
stored = st.dictionaries(refs, st.none() | st.integers(1, 5))


def state(queues: Mapping[CrossClusterRef, int | None], consumers: Mapping[CrossClusterRef, int | None]) -> StateRows:
    return StateRows(
        queues=[QueueRow(ref, revision=revision) for ref, revision in queues.items()],
        consumers=[ConsumerRow(ref, revision=revision) for ref, revision in consumers.items()],
        registrations=[],
    )


@given(watch_lists, stored, stored)
def test_after_the_work_is_done_there_is_none_left(
    lists: dict[str, ObjectRevisions],
    queues: dict[CrossClusterRef, int | None],
    consumers: dict[CrossClusterRef, int | None],
) -> None:
    changes = find_changes(lists, state(queues, consumers))
    for ref in changes.queues_to_fetch:
        queues[ref] = lists[ref.cluster].queues[ref.path]
    for ref in changes.consumers_to_fetch:
        consumers[ref] = lists[ref.cluster].consumers[ref.path]
    for ref in changes.gone_queues:
        del queues[ref]
    for ref in changes.gone_consumers:
        del consumers[ref]
    left = find_changes(lists, state(queues, consumers))
    assert not any((left.queues_to_fetch, left.consumers_to_fetch, left.gone_queues, left.gone_consumers))
    for cluster, listed in lists.items():
        assert {ref.path for ref in queues if ref.cluster == cluster} == set(listed.queues)
        assert {ref.path for ref in consumers if ref.cluster == cluster} == set(listed.consumers)


@given(watch_lists, stored, stored)
def test_clusters_that_did_not_answer_are_left_alone(
    lists: dict[str, ObjectRevisions],
    queues: dict[CrossClusterRef, int | None],
    consumers: dict[CrossClusterRef, int | None],
) -> None:
    changes = find_changes(lists, state(queues, consumers))
    touched = (
        *changes.queues_to_fetch,
        *changes.consumers_to_fetch,
        *changes.gone_queues,
        *changes.gone_consumers,
    )
    assert {ref.cluster for ref in touched} <= set(lists)


def test_only_a_greater_revision_is_a_change() -> None:
    ref = CrossClusterRef("pythia", "//q")
    for old, fetched in ((None, True), (4, True), (5, False), (6, False)):
        changes = find_changes({"pythia": ObjectRevisions({"//q": 5}, {})}, state({ref: old}, {}))
        assert bool(changes.queues_to_fetch) is fetched


def test_a_queue_that_became_a_consumer_is_gone_as_queue() -> None:
    ref = CrossClusterRef("pythia", "//x")
    changes = find_changes({"pythia": ObjectRevisions({}, {"//x": 9})}, state({ref: 5}, {}))
    assert changes.gone_queues == [ref]
    assert changes.consumers_to_fetch == [ref]


def test_a_path_listed_as_both_is_a_conflict() -> None:
    assert find_conflict(ObjectRevisions({"//a": 1, "//b": 1}, {"//b": 1})) == "//b"
    assert find_conflict(ObjectRevisions({"//a": 1}, {"//b": 1})) is None


revisions_or_errors = st.dictionaries(refs, st.integers(1, 5) | st.just(ErrorInfo("no such node", 500)))


@given(revisions_or_errors, stored, stored)
def test_polling_fetches_what_is_newer_and_never_adds_nor_removes(
    revisions: dict[CrossClusterRef, int | ErrorInfo],
    queues: dict[CrossClusterRef, int | None],
    consumers: dict[CrossClusterRef, int | None],
) -> None:
    changes = find_polled_changes(revisions, state(queues, consumers))
    assert not changes.gone_queues
    assert not changes.gone_consumers
    for rows, fetched, failed in (
        (queues, changes.queues_to_fetch, changes.failed_queues),
        (consumers, changes.consumers_to_fetch, changes.failed_consumers),
    ):
        assert {*fetched, *failed} <= rows.keys() & revisions.keys()
        assert set(failed) == {ref for ref in rows if isinstance(revisions.get(ref), ErrorInfo)}
        for ref, old in rows.items():
            revision = revisions.get(ref)
            newer = isinstance(revision, int) and (old is None or revision > old)
            assert (ref in fetched) is newer


TYPES = st.sampled_from([None, "table", "replicated_table", "chaos_replicated_table"])


@given(watch_lists, st.dictionaries(refs, TYPES), st.dictionaries(refs, TYPES), st.sets(refs))
def test_the_mapping_is_kept_for_replicated_objects_that_are_listed(
    lists: dict[str, ObjectRevisions],
    queues: dict[CrossClusterRef, str | None],
    consumers: dict[CrossClusterRef, str | None],
    mapped: set[CrossClusterRef],
) -> None:
    rows = StateRows(
        queues=[QueueRow(ref, revision=9, object_type=kind) for ref, kind in queues.items()],
        consumers=[ConsumerRow(ref, revision=9, object_type=kind) for ref, kind in consumers.items()],
        registrations=[],
        mappings=[MappingRow(ref) for ref in mapped],
    )
    changes = find_changes(lists, rows)
    mapping = find_mapping_changes(lists, rows, changes)
    listed = {CrossClusterRef(name, path) for name, both in lists.items() for path in {*both.queues, *both.consumers}}
    looked_at = {*mapping.queues_to_look_at, *mapping.consumers_to_look_at}
    fetched = {*changes.queues_to_fetch, *changes.consumers_to_fetch}
    assert looked_at <= listed
    assert not looked_at & fetched
    assert (mapped & listed) - fetched <= looked_at
    assert set(mapping.gone) == {ref for ref in mapped - listed if ref.cluster in lists}
    assert set(mapping.unmapped) <= looked_at
    assert not set(mapping.unmapped) & mapped


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


def test_names_of_tables_that_are_gone_are_orphans() -> None:
    gone = CrossClusterRef("hume", "//gone")
    names = [name_row("a"), ConsumerNameRow(gone._replace(name="x")), ConsumerNameRow(PLAIN._replace(name="y"))]
    consumers = [ROW, ConsumerRow(PLAIN, schema=SCHEMA)]
    rows = StateRows(queues=[], consumers=consumers, registrations=[], consumer_names=names)
    assert list(find_orphan_names(rows)) == [PLAIN._replace(name="y"), gone._replace(name="x")]


def test_names_outlive_a_row_that_could_not_be_fetched() -> None:
    rows = StateRows(queues=[], consumers=[ConsumerRow(TABLE)], registrations=[], consumer_names=[name_row("a")])
    assert find_orphan_names(rows) == []


def test_there_is_work_if_anything_is_to_be_fetched_removed_or_marked_as_failed() -> None:
    assert not Changes([], []).any
    failed = {A: ErrorInfo("gone", 500)}
    for work in (
        Changes([A], []),
        Changes([], [A]),
        Changes([], [], gone_queues=[A]),
        Changes([], [], gone_consumers=[A]),
        Changes([], [], failed_queues=failed),
        Changes([], [], failed_consumers=failed),
    ):
        assert work.any


def test_a_row_that_can_not_be_built_gets_the_error_and_is_not_built_again_until_attributes_change() -> None:
    def isolated(ref: CrossClusterRef, work: Callable[[], Any]) -> Any:
        return ErrorInfo("a bug") if ref == A else work()

    answers: dict[CrossClusterRef, Any] = {ref: {"type": "table", "attribute_revision": 7} for ref in (A, B)}
    writes = plan_writes(rows(), Changes([A, B], []), answers, {}, "default", None, ORIGIN, isolated)
    broken, good = writes.queues
    assert broken.synchronization_error is not None
    assert ErrorInfo.from_map(broken.synchronization_error).message == "a bug"
    assert (broken.revision, good.revision, good.object_type) == (7, 7, "table")


def test_a_poll_tells_what_is_newer_from_what_failed_and_from_what_was_not_asked() -> None:
    failed = ErrorInfo("no such node", 500)
    changes = find_polled_changes({A: 5, B: failed}, state({A: 4, B: 4, C: 4}, {A: 5}))
    assert (changes.queues_to_fetch, changes.failed_queues) == ([A], {B: failed})
    assert (changes.consumers_to_fetch, changes.failed_consumers) == ([], {})
