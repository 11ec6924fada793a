"""How long rows of a table that only grows are kept."""

from __future__ import annotations

from datetime import timedelta

_MILLISECOND = timedelta(milliseconds=1)


def lifetime_attributes(lifetime: timedelta) -> dict[str, int]:
    """Attributes of a table whose old rows the cluster drops, at most about a day late. In milliseconds."""
    return {
        "min_data_versions": 0,
        "max_data_versions": 1,
        "min_data_ttl": 0,
        "max_data_ttl": lifetime // _MILLISECOND,
        "auto_compaction_period": timedelta(days=1) // _MILLISECOND,
    }
