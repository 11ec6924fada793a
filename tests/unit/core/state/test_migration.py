"""Any state of the tables is brought to any later version."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.state.migration import (
    REBUILT_SUFFIX,
    REPLACED_SUFFIX,
    AddColumns,
    CreateDirectory,
    CreateIndex,
    CreateTable,
    FinishRebuild,
    FoundState,
    FoundTable,
    MigrationError,
    MountTable,
    MoveToBundle,
    RebuildTable,
    SetVersion,
    Step,
    notes_on,
    plan_migration,
)
from queue_agent.core.state.schema import INDEX_TABLE, INDEX_VERSION, LATEST_VERSION, tables_at

versions = st.integers(0, LATEST_VERSION)


def apply(found: FoundState, step: Step) -> FoundState:
    """What a cluster is like after a step."""
    tables = dict(found.tables or {})
    match step:
        case CreateDirectory():
            return replace(found, root_exists=True)
        case SetVersion():
            assert found.version is None or found.version < step.version
            return replace(found, version=step.version)
        case CreateTable():
            assert step.name not in tables
            names = [column.name for column in step.columns]
            keys = [column.name for column in step.columns if column.is_key]
            tables[step.name] = FoundTable(names, keys, step.bundle)
        case AddColumns() | RebuildTable():
            old = tables[step.name]
            added = [column.name for column in step.added]
            assert not set(added) & set(old.columns)
            keys = [*old.key_columns, *(column.name for column in step.added if column.is_key)]
            if isinstance(step, RebuildTable):
                tables[step.name + REPLACED_SUFFIX] = old
                tables.pop(step.name + REBUILT_SUFFIX, None)
            tables[step.name] = replace(old, columns=[*old.columns, *added], key_columns=keys, is_mounted=True)
        case FinishRebuild():
            tables[step.name] = replace(tables.pop(step.name + REBUILT_SUFFIX), is_mounted=True)
        case MoveToBundle():
            tables[step.name] = replace(tables[step.name], bundle=step.bundle, is_mounted=True)
        case MountTable():
            assert not tables[step.name].is_mounted
            tables[step.name] = replace(tables[step.name], is_mounted=True)
        case CreateIndex():
            return replace(found, has_index=True)
    return replace(found, tables=tables)


def apply_all(found: FoundState, steps: Iterable[Step]) -> FoundState:
    for step in steps:
        found = apply(found, step)
    return found


def is_at(found: FoundState, version: int) -> bool:
    tables = dict(found.tables or {})
    wanted = {
        name: columns for name, columns in tables_at(version).items() if found.knows_indexes or name != INDEX_TABLE
    }
    return found.version == version and all(
        {column.name for column in columns} <= set(tables[name].columns)
        and [column.name for column in columns if column.is_key]
        == list(tables[name].key_columns)[: sum(column.is_key for column in columns)]
        and tables[name].is_mounted
        for name, columns in wanted.items()
    )


@given(versions, versions, st.booleans())
def test_a_state_of_any_version_gets_to_any_later_one(first: int, second: int, knows_indexes: bool) -> None:
    first, second = sorted((first, second))
    found = FoundState(root_exists=False, knows_indexes=knows_indexes, bundles=["default", "sys"])
    found = apply_all(found, plan_migration(found, first))
    assert is_at(found, first)
    assert plan_migration(found, first) == []
    found = apply_all(found, plan_migration(found, second))
    assert is_at(found, second)
    assert plan_migration(found, second) == []
    assert found.has_index == (knows_indexes and second >= 6)


@given(versions, st.data())
def test_what_was_broken_off_is_gone_on_with(first: int, data: st.DataObject) -> None:
    found = FoundState(root_exists=False, knows_indexes=True)
    found = apply_all(found, plan_migration(found, first))
    while plan := plan_migration(found):
        found = apply_all(found, plan[: data.draw(st.integers(1, len(plan)))])
    assert is_at(found, LATEST_VERSION)


def test_a_first_creation_that_was_broken_off_is_gone_on_with() -> None:
    found = FoundState(root_exists=False, knows_indexes=True)
    plan = plan_migration(found)
    for done in range(len(plan)):
        broken_off = apply_all(found, plan[:done])
        assert is_at(apply_all(broken_off, plan_migration(broken_off)), LATEST_VERSION)


def at_version(version: int) -> FoundState:
    return apply_all(FoundState(root_exists=False), plan_migration(FoundState(root_exists=False), version))


def test_a_successor_whose_predecessor_has_left_takes_its_place() -> None:
    found = at_version(6)
    tables = dict(found.tables or {})
    old = tables.pop("consumer_registrations")
    rebuilt = replace(old, columns=[*old.columns, "consumer_name"], key_columns=[*old.key_columns, "consumer_name"])
    tables |= {
        "consumer_registrations" + REPLACED_SUFFIX: replace(old, is_mounted=False),
        "consumer_registrations" + REBUILT_SUFFIX: replace(rebuilt, is_mounted=False),
    }
    found = replace(found, tables=tables)
    plan = plan_migration(found)
    assert plan[0] == FinishRebuild("consumer_registrations")
    assert not any(isinstance(step, RebuildTable) for step in plan)
    assert is_at(apply_all(found, plan), LATEST_VERSION)


@pytest.mark.parametrize(
    ("there", "words"),
    [
        (("", REBUILT_SUFFIX), "Both consumer_registrations and"),
        (("", REBUILT_SUFFIX, REPLACED_SUFFIX), "Both consumer_registrations and"),
        ((REBUILT_SUFFIX,), "whether it holds all rows is not known"),
        ((REPLACED_SUFFIX,), "recreated, consumer_registrations would be empty"),
        (("", REPLACED_SUFFIX), "is in the way"),
    ],
)
def test_what_a_rebuild_may_have_left_is_never_guessed_about(there: tuple[str, ...], words: str) -> None:
    found = at_version(6)
    tables = dict(found.tables or {})
    old = tables.pop("consumer_registrations")
    tables |= {f"consumer_registrations{suffix}": old for suffix in there}
    with pytest.raises(MigrationError, match=words):
        plan_migration(replace(found, tables=tables))


def test_tables_move_to_their_own_bundle_once() -> None:
    found = replace(at_version(2), bundles=["sys", "yt-queue-agent"])
    moved = {step.name for step in plan_migration(found) if isinstance(step, MoveToBundle)}
    assert moved == set(tables_at(2))
    found = replace(at_version(3), bundles=["sys", "yt-queue-agent"])
    assert not any(isinstance(step, MoveToBundle) for step in plan_migration(found))


def test_the_first_bundle_there_is_is_taken() -> None:
    for bundles, expected in ((["default", "sys"], "sys"), (["default", "yt-queue-agent"], "yt-queue-agent")):
        plan = plan_migration(FoundState(bundles=bundles))
        assert {step.bundle for step in plan if isinstance(step, CreateTable)} == {expected}
    with pytest.raises(MigrationError, match="bundles"):
        plan_migration(FoundState(bundles=["other"]))


@pytest.mark.parametrize("name", ["consumer_registrations", "replicated_table_mapping"])
def test_replicated_tables_are_left_as_they_are(name: str) -> None:
    found = replace(at_version(0), knows_indexes=True)
    tables = dict(found.tables or {})
    tables[name] = replace(tables[name], is_plain=False, is_mounted=False)
    found = replace(found, tables=tables)
    assert not any(getattr(step, "name", None) == name for step in plan_migration(found))
    assert any(name in note for note in notes_on(found, LATEST_VERSION))


def test_an_unmounted_table_is_mounted() -> None:
    found = at_version(8)
    tables = dict(found.tables or {})
    tables["queues"] = replace(tables["queues"], is_mounted=False)
    assert plan_migration(replace(found, tables=tables)) == [MountTable("queues")]


def test_columns_of_the_first_agents_are_no_obstacle() -> None:
    found = at_version(0)
    tables = dict(found.tables or {})
    old = tables["consumers"]
    tables["consumers"] = replace(old, columns=[*old.columns, "target_cluster", "vital"])
    found = replace(found, tables=tables)
    assert is_at(apply_all(found, plan_migration(found)), LATEST_VERSION)


def test_what_can_not_be_reached_is_refused() -> None:
    with pytest.raises(MigrationError, match="cannot go back to 7"):
        plan_migration(at_version(8), 7)
    with pytest.raises(MigrationError, match="no version 9"):
        plan_migration(FoundState(), 9)
    found = at_version(0)
    tables = dict(found.tables or {})
    tables["queues"] = replace(tables["queues"], key_columns=["path", "cluster"])
    with pytest.raises(MigrationError, match="key columns"):
        plan_migration(replace(found, tables=tables))


def test_steps_read_well() -> None:
    text = [str(step) for step in plan_migration(at_version(6))]
    assert text[0].startswith("rebuild consumer_registrations with consumer_name; the old table stays as")
    assert text[-1] == "set version 8"


def test_every_step_says_what_it_does_to_which_table() -> None:
    column = tables_at(1)["queues"][-2:-1]
    steps = [
        CreateDirectory(),
        CreateTable("queues", column, "sys"),
        AddColumns("queues", column),
        FinishRebuild("queues"),
        MoveToBundle("queues", "sys"),
        CreateIndex(),
        MountTable("queues"),
    ]
    assert [str(step) for step in steps] == [
        "create the directory",
        "create table queues in bundle sys",
        "add queue_agent_banned to queues",
        "finish rebuilding queues",
        "move queues to bundle sys",
        "create the secondary index replica_mapping of replicated_table_mapping",
        "mount queues",
    ]


def test_a_cluster_without_secondary_indexes_is_told_that_one_is_left_out() -> None:
    assert notes_on(at_version(0), INDEX_VERSION - 1) == []
    [note] = notes_on(at_version(0), INDEX_VERSION)
    assert note == "this cluster has no secondary indexes; replica_mapping is left out"
    assert notes_on(replace(at_version(0), knows_indexes=True), INDEX_VERSION) == []


def test_a_replicated_table_where_only_a_plain_one_can_be_is_refused() -> None:
    tables = dict(at_version(0).tables or {})
    tables["queues"] = replace(tables["queues"], is_plain=False)
    with pytest.raises(MigrationError, match="queues is no plain table"):
        plan_migration(replace(at_version(0), tables=tables))


def test_own_tables_of_earlier_versions_get_their_new_columns() -> None:
    """Those of an agent, which belong to no version."""
    found = FoundState(root_exists=True)
    for step in plan_migration(found):
        found = apply(found, step)
    assert plan_migration(found) == []
    tables = dict(found.tables or {})
    journal = tables["trim_journal"]
    tables["trim_journal"] = replace(journal, columns=[name for name in journal.columns if name != "losers"])
    [step] = plan_migration(replace(found, tables=tables))
    assert str(step) == "add losers to trim_journal"
    tables["trim_journal"] = replace(tables["trim_journal"], is_plain=False)
    assert plan_migration(replace(found, tables=tables)) == []
