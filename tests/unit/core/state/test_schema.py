"""Schemas of the state tables, version by version."""

from __future__ import annotations

import pytest

from queue_agent.core.state import trim_journal
from queue_agent.core.state.schema import (
    INDEX_TABLE,
    INDEXED_TABLE,
    JOURNAL_COLUMNS,
    LATEST_VERSION,
    MAY_BE_REPLICATED,
    StateColumn,
    tables_at,
)

VERSIONS = range(LATEST_VERSION + 1)


def names(version: int, table: str) -> list[str]:
    return [column.name for column in tables_at(version)[table]]


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_a_version_keeps_every_table_and_column_of_the_one_before(version: int) -> None:
    for table, columns in tables_at(version - 1).items():
        assert [column for column in tables_at(version)[table] if column in columns] == list(columns)


@pytest.mark.parametrize("version", VERSIONS)
def test_keys_stand_before_values_and_no_column_twice(version: int) -> None:
    for table, columns in tables_at(version).items():
        are_keys = [column.is_key for column in columns]
        assert are_keys == sorted(are_keys, reverse=True)
        assert any(are_keys)
        assert len(set(names(version, table))) == len(columns)


def test_each_version_brings_what_the_migrations_of_the_cpp_agent_bring() -> None:
    brought = {
        version: {
            (table, column.name)
            for table, columns in tables_at(version).items()
            for column in columns
            if column not in tables_at(version - 1).get(table, ())
        }
        for version in VERSIONS[1:]
    }
    index_columns = {(INDEX_TABLE, name) for name in ("replica_list", "cluster", "path", "$empty")}
    name_columns = {("multi_consumer_names", name) for name in ("cluster", "path", "name", "queue_agent_stage")}
    assert brought == {
        1: {("queues", "queue_agent_banned")},
        2: {("consumers", "queue_agent_banned")},
        3: set(),  # tables move to the first bundle there is
        4: {("queues", "queue_profiling_tag"), ("consumers", "queue_consumer_profiling_tag")},
        5: {(INDEXED_TABLE, "replica_list"), *index_columns},
        6: set(),  # the secondary index
        7: {("consumer_registrations", "consumer_name")},
        8: name_columns,
    }
    assert tables_at(LATEST_VERSION).keys() >= MAY_BE_REPLICATED


def test_a_column_is_listed_with_either_kind_of_type() -> None:
    assert StateColumn("a", "string", is_key=True, required=True).to_map() == {
        "name": "a",
        "type": "string",
        "required": True,
        "sort_order": "ascending",
    }
    assert StateColumn("b", "int64").to_map() == {"name": "b", "type": "int64", "required": False}
    item = {"type_name": "list", "item": "string"}
    assert StateColumn("c", None, type_v3=item).to_map() == {"name": "c", "type_v3": item}


def test_the_journal_has_its_columns_keys_first() -> None:
    assert [(one.name, one.type, one.is_key) for one in JOURNAL_COLUMNS] == [
        *((name, kind, True) for name, kind in trim_journal.KEY_COLUMNS.items()),
        *((name, kind, False) for name, kind in trim_journal.VALUE_COLUMNS.items()),
    ]
    assert trim_journal.TABLE_NAME not in tables_at(LATEST_VERSION)
