"""Which versions of a row may go."""

from __future__ import annotations

from yt_local.base.clock import COUNTER_BITS
from yt_local.schema.retention import Retention


def stamps(*seconds: int) -> list[int]:
    return [second << COUNTER_BITS for second in seconds]


NOW = 1000 << COUNTER_BITS
HISTORY = stamps(990, 900, 500, 100)


def test_without_attributes_there_is_no_rule() -> None:
    assert Retention.of({"other": 1, "max_data_ttl": None}) is None
    assert Retention.of({"max_data_ttl": 5}) == Retention(max_data_ttl=5)


def test_minima_forbid_what_maxima_allow() -> None:
    assert Retention(min_data_ttl=0).expired(HISTORY, NOW, None) == HISTORY[1:]
    assert Retention(min_data_ttl=0, min_data_versions=3).expired(HISTORY, NOW, None) == HISTORY[3:]
    assert Retention(min_data_ttl=200_000).expired(HISTORY, NOW, None) == HISTORY[2:]
    assert (
        Retention(min_data_ttl=0, max_data_versions=3, max_data_ttl=800_000).expired(HISTORY, NOW, None) == HISTORY[3:]
    )
    assert (
        Retention(min_data_ttl=0, max_data_versions=9, max_data_ttl=800_000).expired(HISTORY, NOW, None) == HISTORY[3:]
    )
    assert Retention(min_data_ttl=0, max_data_versions=9, max_data_ttl=950_000).expired(HISTORY, NOW, None) == []


def test_rows_go_wholly_where_no_version_must_stay() -> None:
    day = Retention(min_data_versions=0, max_data_versions=1, min_data_ttl=0, max_data_ttl=50_000)
    assert day.expired(HISTORY, NOW, None) == HISTORY[1:]
    assert day.expired(HISTORY[1:], NOW, None) == HISTORY[1:]


def test_what_a_transaction_may_read_stays() -> None:
    retention = Retention(min_data_ttl=0)
    assert retention.expired(HISTORY, NOW, stamps(600)[0]) == HISTORY[3:]
    assert retention.expired(HISTORY, NOW, stamps(50)[0]) == []
