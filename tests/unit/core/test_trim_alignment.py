"""Replicas are trimmed only where their rows have the indexes of the queue's."""

from __future__ import annotations

import pytest

from queue_agent.core.observed import TabletInfo
from queue_agent.core.trim_alignment import Alignment, hold_misaligned
from queue_agent.core.trim_errors import find_trim_error
from queue_agent.core.trim_plan import TrimPlan
from tests.unit.core.test_replica_trims import FAR, NEAR, plan, replica
from tests.unit.core.test_trim import ORIGIN, targets


def held(queue: tuple[int, int], far: tuple[int, int], stamps: tuple[int | None, int | None]) -> TrimPlan:
    """The plan of a replica, which is to lose rows 2 to 4.

    Args:
        queue: trimmed and total row count of a synchronous replica.
        far: of the replica.
        stamps: when the common row was written, by both; None: it is not there.
    """
    before = plan(replica(NEAR, 0, 10), replica(FAR, 2, 5)).by_replica[FAR]
    assert targets(before) == {0: 5}
    alignment = Alignment(*(TabletInfo(total, trimmed, 0) for trimmed, total in (queue, far)))
    found = [{} if stamp is None else {(0, alignment.common_row_index or 0): stamp} for stamp in stamps]
    return hold_misaligned(before, {0: alignment}, found[0], found[1], ORIGIN)


@pytest.mark.parametrize("queue", [(0, 10), (4, 10), (0, 3)])
def test_one_common_row_of_one_timestamp_is_enough(queue: tuple[int, int]) -> None:
    after = held(queue, (2, 5), (7, 7))
    assert targets(after) == {0: 5}
    assert find_trim_error(after, {}, ORIGIN) is None


def test_who_has_had_as_many_rows_needs_no_common_row() -> None:
    assert targets(held((5, 5), (2, 5), (None, None))) == {0: 5}


@pytest.mark.parametrize("stamps", [(7, 8), (7, None), (None, 7), (None, None)])
def test_another_timestamp_or_none_is_an_error_and_nothing_goes(stamps: tuple[int | None, int | None]) -> None:
    after = held((0, 10), (2, 5), stamps)
    assert targets(after) == {}
    error = find_trim_error(after, {}, ORIGIN)
    assert error is not None
    assert "Row 4 of partition 0 of replica" in str(error.to_map())


def test_a_replica_without_a_common_row_waits_without_an_error() -> None:
    after = held((5, 10), (2, 5), (7, 7))
    assert targets(after) == {}
    assert find_trim_error(after, {}, ORIGIN) is None
    assert "before it has rows" in str(after.trims[0].constraint.message)
