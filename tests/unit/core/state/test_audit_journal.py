from __future__ import annotations

from dataclasses import fields

from queue_agent.core.state.audit_journal import KEY_COLUMNS, TABLE_ATTRIBUTES, TABLE_NAME, VALUE_COLUMNS, AuditRecord
from queue_agent.core.state.schema import AUDIT_COLUMNS, LATEST_VERSION, OWN_TABLES, tables_at
from yt_local.bootstrap import _LIFETIMES


def test_the_table_has_a_column_for_all_of_a_record() -> None:
    assert {one.name for one in fields(AuditRecord)} == {*KEY_COLUMNS, *VALUE_COLUMNS}
    assert [one.name for one in AUDIT_COLUMNS] == [*KEY_COLUMNS, *VALUE_COLUMNS]
    assert OWN_TABLES[TABLE_NAME] == (AUDIT_COLUMNS, TABLE_ATTRIBUTES)
    assert TABLE_NAME not in tables_at(LATEST_VERSION)
    assert dict(_LIFETIMES[TABLE_NAME]) == dict(TABLE_ATTRIBUTES)
