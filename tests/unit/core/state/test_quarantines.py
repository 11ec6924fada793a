"""What owners of queues say about quarantines, and what is published of each."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from queue_agent.core.state.quarantines import KEY_COLUMNS, VALUE_COLUMNS, Commit, Quarantine, QuarantineWish
from queue_agent.core.state.schema import OWN_TABLES
from queue_agent.core.values.refs import CrossClusterRef
from yt_wire import yson

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
ANNOUNCED = Quarantine(CrossClusterRef("hume", "//c"), "1-2-3-4", {0: Commit(5, 1)}, NOW, NOW, timedelta(hours=24))


@pytest.mark.parametrize(
    ("value", "wish"),
    [
        (None, QuarantineWish()),
        ({}, QuarantineWish()),
        ({"enable": True}, QuarantineWish(enable=True)),
        (yson.loads(b"{enable=%true;require_export=%true}"), QuarantineWish(enable=True, require_export=True)),
        ({"enable": "true"}, QuarantineWish(enable=True)),
    ],
)
def test_nobody_wishes_a_quarantine_who_does_not_say_so(value: Any, wish: QuarantineWish) -> None:
    assert QuarantineWish.parse(value) == wish


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "expected a map"),
        ({"enable": 1}, '"enable": expected a boolean'),
        ({"enable": True, "require_export": None}, '"require_export": expected a boolean'),
        ({"enable": True, "require_exports": True}, 'unknown key "require_exports"'),
    ],
)
def test_a_wish_that_makes_no_sense_is_an_error(value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        QuarantineWish.parse(value)


def test_the_time_that_is_left_is_what_was_not_waited() -> None:
    assert ANNOUNCED.left == timedelta(hours=24)
    assert replace(ANNOUNCED, waited=timedelta(hours=23)).left == timedelta(hours=1)
    assert replace(ANNOUNCED, waited=timedelta(hours=25)).left == timedelta(0)
    assert replace(ANNOUNCED, is_started=True).left == timedelta(0)


def test_what_is_published() -> None:
    assert replace(ANNOUNCED, waited=timedelta(hours=1)).to_map() == {
        "consumer": "hume://c",
        "state": "announced",
        "announced_at": "2026-05-01T12:00:00.000000Z",
        "left": 23 * 3600.0,
    }
    assert replace(ANNOUNCED, is_started=True).to_map()["state"] == "started"


def test_init_state_makes_the_table() -> None:
    columns, _ = OWN_TABLES["consumer_quarantines"]
    assert [one.name for one in columns] == [*KEY_COLUMNS, *VALUE_COLUMNS]
    assert [one.name for one in columns if one.is_key] == list(KEY_COLUMNS)
