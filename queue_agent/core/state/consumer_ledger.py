"""The table that keeps what verdicts are made from: a row for each position, and one for each consumer of a queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

TABLE_NAME: Final = "consumer_ledger"
"""In the directory of the state tables."""

KEY_COLUMNS: Final[Mapping[str, str]] = {
    "queue_cluster": "string",
    "queue_path": "string",
    "consumer_cluster": "string",
    "consumer_path": "string",
    "consumer_name": "string",
    "partition_index": "int64",
}
"""Types by name. The partition -1 is about all partitions together."""

VALUE_COLUMNS: Final[Mapping[str, str]] = {
    "written_at": "string",
    "verdict": "string",
    "lost_rows": "int64",
    "state": "any",
}
"""Types by name; all but the last are for people."""

TABLE_ATTRIBUTES: Final[Mapping[str, Any]] = {"min_data_versions": 0, "max_data_versions": 1, "min_data_ttl": 0}
"""Rows are written again and again, and only the last version counts."""
