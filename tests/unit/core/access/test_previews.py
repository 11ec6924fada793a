from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from queue_agent.core.access.acts import ActKind, ActRequest
from queue_agent.core.access.previews import (
    LIFETIME,
    MAX_COUNT,
    MAX_PARTITIONS,
    MAX_PER_OWNER,
    Prepared,
    Preview,
    Previews,
    find_changes,
)

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
REQUEST = ActRequest(ActKind.BAN, agent="a:1")
PREVIEW = Preview("ann", REQUEST, Prepared({}, {}), START)


@pytest.fixture
def previews() -> Previews:
    previews = Previews()
    previews.put("token", PREVIEW)
    return previews


def test_a_preview_is_good_once(previews: Previews) -> None:
    assert previews.take("token", "ann", REQUEST, START) is PREVIEW
    assert previews.take("token", "ann", REQUEST, START) is None


def test_a_preview_is_nobody_elses(previews: Previews) -> None:
    assert previews.take("token", "bob", REQUEST, START) is None
    assert previews.take("token", "ann", REQUEST, START) is PREVIEW


def test_a_preview_is_of_its_request_and_not_tried_twice(previews: Previews) -> None:
    assert previews.take("token", "ann", replace(REQUEST, agent="b:1"), START) is None
    assert previews.take("token", "ann", REQUEST, START) is None


def test_a_preview_gets_old(previews: Previews) -> None:
    assert previews.take("token", "ann", REQUEST, START + LIFETIME) is None
    assert len(previews) == 0


def test_there_are_not_too_many(previews: Previews) -> None:
    for number in range(MAX_PER_OWNER):
        previews.put(f"ann {number}", PREVIEW)
    assert len(previews) == MAX_PER_OWNER
    assert previews.take("token", "ann", REQUEST, START) is None
    for number in range(MAX_COUNT):
        previews.put(f"others {number}", replace(PREVIEW, owner=str(number)))
    assert len(previews) == MAX_COUNT
    previews.put("late", replace(PREVIEW, owner="late", made=START + LIFETIME))
    assert len(previews) == 1
    assert previews.take("late", "late", REQUEST, START + LIFETIME + timedelta(seconds=1)) is not None


def test_large_plans_do_not_fill_the_memory(previews: Previews) -> None:
    large = replace(PREVIEW, prepared=Prepared({"partitions": [{}] * (MAX_PARTITIONS // 2)}, {}))
    for number in range(3):
        previews.put(f"large {number}", replace(large, owner=str(number)))
    assert len(previews) == 2
    previews.put("too large", replace(large, prepared=Prepared({"partitions": [{}] * (MAX_PARTITIONS + 1)}, {})))
    assert len(previews) == 1
    assert previews.take("too large", "ann", REQUEST, START) is not None


def test_changes_are_named() -> None:
    assert find_changes({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 3, "d": 4}) == ["b", "c", "d"]
    assert find_changes({"a": 1}, {"a": 1}) == []
