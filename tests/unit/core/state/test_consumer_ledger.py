"""The table that keeps what verdicts are made from."""

from __future__ import annotations

from queue_agent.core.state.consumer_ledger import KEY_COLUMNS, TABLE_ATTRIBUTES, TABLE_NAME, VALUE_COLUMNS
from queue_agent.core.state.schema import LATEST_VERSION, LEDGER_COLUMNS, OWN_TABLES, tables_at


def test_a_row_is_found_by_queue_consumer_and_partition() -> None:
    assert list(KEY_COLUMNS) == [
        "queue_cluster",
        "queue_path",
        "consumer_cluster",
        "consumer_path",
        "consumer_name",
        "partition_index",
    ]
    assert [column.name for column in LEDGER_COLUMNS if column.is_key] == list(KEY_COLUMNS)
    assert [column.name for column in LEDGER_COLUMNS if not column.is_key] == list(VALUE_COLUMNS)


def test_the_table_belongs_to_no_version_and_keeps_one_version_of_a_row() -> None:
    assert TABLE_NAME not in tables_at(LATEST_VERSION)
    assert OWN_TABLES[TABLE_NAME] == (LEDGER_COLUMNS, TABLE_ATTRIBUTES)
    assert TABLE_ATTRIBUTES["max_data_versions"] == 1
