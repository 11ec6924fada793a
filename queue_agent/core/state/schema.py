"""Schemas of the state tables in every version, as the C++ agent's migrations number them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from queue_agent.core.state import audit_journal, consumer_events, consumer_ledger, quarantines, trim_journal

LATEST_VERSION: Final = 8

BUNDLES: Final = ("yt-queue-agent", "sys", "default")
"""The first of these tablet cell bundles that exists is home to the state tables."""

BUNDLE_VERSION: Final = 3
"""Since this version the first of `BUNDLES` is preferred."""

INDEX_VERSION: Final = 6
"""Since this version there is an index that finds the tables of a replica."""

INDEXED_TABLE: Final = "replicated_table_mapping"
INDEX_TABLE: Final = "replica_mapping"

MAY_BE_REPLICATED: Final = frozenset({"consumer_registrations", INDEXED_TABLE, INDEX_TABLE})
"""Where these are replicated tables or replicas, their schema is somebody else's business."""


@dataclass(frozen=True, slots=True)
class StateColumn:
    """One column; optional unless `required`."""

    name: str
    type: str | None
    """Simple type name; None if `type_v3` says it."""

    is_key: bool = False
    required: bool = False
    type_v3: Any = None

    def to_map(self) -> dict[str, Any]:
        """As a schema lists it."""
        column: dict[str, Any] = {"name": self.name}
        column |= {"type_v3": self.type_v3} if self.type is None else {"type": self.type, "required": self.required}
        return {**column, "sort_order": "ascending"} if self.is_key else column


Columns = tuple[StateColumn, ...]


def tables_at(version: int) -> Mapping[str, Columns]:
    """Columns of every table there is in a version, by name."""
    return {
        name: tuple(column for since, column in columns if since <= version)
        for name, (created, columns) in _TABLES.items()
        if created <= version
    }


JOURNAL_COLUMNS: Final[Columns] = (
    *(StateColumn(name, kind, is_key=True) for name, kind in trim_journal.KEY_COLUMNS.items()),
    *(StateColumn(name, kind) for name, kind in trim_journal.VALUE_COLUMNS.items()),
)
"""Of the journal of trims, which the C++ agent does not have: it belongs to no version."""

LEDGER_COLUMNS: Final[Columns] = (
    *(StateColumn(name, kind, is_key=True) for name, kind in consumer_ledger.KEY_COLUMNS.items()),
    *(StateColumn(name, kind) for name, kind in consumer_ledger.VALUE_COLUMNS.items()),
)
"""Of what is kept of verdicts, which the C++ agent does not have either."""

EVENT_COLUMNS: Final[Columns] = (
    *(StateColumn(name, kind, is_key=True) for name, kind in consumer_events.KEY_COLUMNS.items()),
    *(StateColumn(name, kind) for name, kind in consumer_events.VALUE_COLUMNS.items()),
)
"""Of the record of events, which the C++ agent does not have either."""

AUDIT_COLUMNS: Final[Columns] = (
    *(StateColumn(name, kind, is_key=True) for name, kind in audit_journal.KEY_COLUMNS.items()),
    *(StateColumn(name, kind) for name, kind in audit_journal.VALUE_COLUMNS.items()),
)
"""Of the journal of acts, which the C++ agent does not have either."""

QUARANTINE_COLUMNS: Final[Columns] = (
    *(StateColumn(name, kind, is_key=True) for name, kind in quarantines.KEY_COLUMNS.items()),
    *(StateColumn(name, kind) for name, kind in quarantines.VALUE_COLUMNS.items()),
)
"""Of quarantines, which the C++ agent does not have either."""

OWN_TABLES: Final[Mapping[str, tuple[Columns, Mapping[str, Any]]]] = {
    trim_journal.TABLE_NAME: (JOURNAL_COLUMNS, trim_journal.TABLE_ATTRIBUTES),
    audit_journal.TABLE_NAME: (AUDIT_COLUMNS, audit_journal.TABLE_ATTRIBUTES),
    consumer_ledger.TABLE_NAME: (LEDGER_COLUMNS, consumer_ledger.TABLE_ATTRIBUTES),
    consumer_events.TABLE_NAME: (EVENT_COLUMNS, consumer_events.TABLE_ATTRIBUTES),
    quarantines.TABLE_NAME: (QUARANTINE_COLUMNS, quarantines.TABLE_ATTRIBUTES),
}
"""Columns and attributes of the tables that belong to no version, by name."""


def _keys(*names: str, since: int = 0) -> list[tuple[int, StateColumn]]:
    return [(since, StateColumn(name, "string", is_key=True)) for name in names]


def _values(columns: Mapping[str, str], since: int = 0) -> list[tuple[int, StateColumn]]:
    return [(since, StateColumn(name, kind)) for name, kind in columns.items()]


_REPLICA_LIST: Final = StateColumn(
    "replica_list", None, type_v3={"type_name": "optional", "item": {"type_name": "list", "item": "string"}}
)

_TABLES: Final[Mapping[str, tuple[int, Sequence[tuple[int, StateColumn]]]]] = {
    "queues": (
        0,
        [
            *_keys("cluster", "path"),
            *_values(
                {
                    "row_revision": "uint64",
                    "revision": "uint64",
                    "object_type": "string",
                    "dynamic": "boolean",
                    "sorted": "boolean",
                    "auto_trim_config": "any",
                    "static_export_config": "any",
                    "queue_agent_stage": "string",
                    "object_id": "string",
                }
            ),
            *_values({"queue_agent_banned": "boolean"}, since=1),
            *_values({"synchronization_error": "any"}),
            *_values({"queue_profiling_tag": "string"}, since=4),
        ],
    ),
    "consumers": (
        0,
        [
            *_keys("cluster", "path"),
            *_values(
                {
                    "row_revision": "uint64",
                    "revision": "uint64",
                    "object_type": "string",
                    "treat_as_queue_consumer": "boolean",
                    "schema": "any",
                    "queue_agent_stage": "string",
                }
            ),
            *_values({"queue_agent_banned": "boolean"}, since=2),
            *_values({"synchronization_error": "any"}),
            *_values({"queue_consumer_profiling_tag": "string"}, since=4),
        ],
    ),
    "queue_agent_object_mapping": (0, [*_keys("object"), *_values({"host": "string"})]),
    "consumer_registrations": (
        0,
        [
            *_keys("queue_cluster", "queue_path", "consumer_cluster", "consumer_path"),
            *_keys("consumer_name", since=7),
            *_values({"vital": "boolean", "partitions": "any"}),
        ],
    ),
    INDEXED_TABLE: (
        0,
        [
            *_keys("cluster", "path"),
            *_values({"revision": "uint64", "object_type": "string", "meta": "any", "synchronization_error": "any"}),
            (5, _REPLICA_LIST),
        ],
    ),
    INDEX_TABLE: (
        5,
        [
            (5, StateColumn("replica_list", "string", is_key=True, required=True)),
            *_keys("cluster", "path", since=5),
            *_values({"$empty": "int64"}, since=5),
        ],
    ),
    "multi_consumer_names": (8, [*_keys("cluster", "path", "name"), *_values({"queue_agent_stage": "string"})]),
}
"""By table: the version it came with, and for each column the version it came with."""
