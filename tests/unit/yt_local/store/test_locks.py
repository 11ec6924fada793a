"""Which locks go together, for every transaction that asks and every lock there is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt_local.store.locks import (
    EXCLUSIVE,
    SHARED,
    SNAPSHOT,
    Lock,
    LockMode,
    LockRequest,
    find_conflict,
    is_redundant,
    strongest_mode,
)
from yt_wire.error import ErrorCode

CHILD_A, CHILD_B = LockRequest.of_child("a"), LockRequest.of_child("b")
ATTRIBUTE_A = LockRequest.of_attribute("a")
REQUESTS = (EXCLUSIVE, SHARED, SNAPSHOT, CHILD_A, CHILD_B, ATTRIBUTE_A)
LINEAGES: Sequence[Sequence[str]] = (("inner", "outer"), ("outer",), ("other",), ())
"""Who may ask: two transactions one inside the other, one beside them, and a command outside of any."""

NESTED = {"outer": {"inner"}}

requests = st.sampled_from(REQUESTS)
lineages = st.sampled_from(LINEAGES)


def held(transaction_id: str, request: LockRequest, number: int = 1) -> Lock:
    return Lock(f"lock-{number}", number, "node", transaction_id, request, False, "then", "then")


locks = st.lists(st.builds(held, st.sampled_from(["inner", "outer", "other"]), requests, st.integers(1, 9)), max_size=5)


def conflict_code(request: LockRequest, locks: Sequence[Lock], lineage: Sequence[str]) -> int | None:
    nested = NESTED.get(lineage[0], set()) if lineage else set()
    conflict = find_conflict(request, locks, lineage, nested)
    return conflict.code if conflict else None


@pytest.mark.parametrize(
    ("wanted", "known", "together"),
    [
        (EXCLUSIVE, EXCLUSIVE, False),
        (EXCLUSIVE, SHARED, False),
        (EXCLUSIVE, CHILD_A, False),
        (EXCLUSIVE, SNAPSHOT, True),
        (SHARED, EXCLUSIVE, False),
        (SHARED, SHARED, True),
        (SHARED, CHILD_A, True),
        (CHILD_A, EXCLUSIVE, False),
        (CHILD_A, SHARED, True),
        (CHILD_A, CHILD_A, False),
        (CHILD_A, CHILD_B, True),
        (CHILD_A, ATTRIBUTE_A, True),
        (SNAPSHOT, EXCLUSIVE, True),
        (SNAPSHOT, SHARED, True),
    ],
)
def test_concurrent_locks_go_together_or_not(wanted: LockRequest, known: LockRequest, together: bool) -> None:
    expected = None if together else ErrorCode.CYPRESS_LOCK_CONFLICT
    assert conflict_code(wanted, [held("other", known)], ("inner", "outer")) == expected


@given(requests)
def test_without_locks_everything_can_be_had(request: LockRequest) -> None:
    for lineage in LINEAGES:
        assert conflict_code(request, [], lineage) is None


@given(requests, locks, lineages)
def test_more_locks_are_never_less_in_the_way(request: LockRequest, locks: list[Lock], lineage: Sequence[str]) -> None:
    if request is SNAPSHOT and any(
        lock.request is SNAPSHOT and lineage and lock.transaction_id == lineage[0] for lock in locks
    ):
        return  # a second snapshot is the first
    for left_out in range(len(locks)):
        fewer = locks[:left_out] + locks[left_out + 1 :]
        if conflict_code(request, fewer, lineage) is not None:
            assert conflict_code(request, locks, lineage) is not None


@given(requests, locks, lineages, st.randoms(use_true_random=False))
def test_whether_there_is_a_conflict_does_not_depend_on_the_order(
    request: LockRequest, locks: list[Lock], lineage: Sequence[str], random: object
) -> None:
    shuffled = list(locks)
    random.shuffle(shuffled)  # type: ignore[attr-defined] # hypothesis gives a random.Random
    assert conflict_code(request, locks, lineage) == conflict_code(request, shuffled, lineage)


@given(requests, requests)
def test_two_concurrent_transactions_agree_on_who_may_be_second(one: LockRequest, two: LockRequest) -> None:
    first = conflict_code(one, [held("other", two)], ("outer",))
    second = conflict_code(two, [held("outer", one)], ("other",))
    assert (first is None) == (second is None)


@given(requests)
def test_a_transaction_may_have_what_those_it_is_part_of_have(request: LockRequest) -> None:
    if request is SNAPSHOT:
        return
    assert conflict_code(request, [held("outer", EXCLUSIVE)], ("inner", "outer")) is None
    assert conflict_code(request, [held("inner", EXCLUSIVE)], ("inner", "outer")) is None


def test_a_snapshot_keeps_its_own_transaction_and_those_inside_from_changing_the_node() -> None:
    snapshot = [held("outer", SNAPSHOT)]
    for request in (EXCLUSIVE, SHARED, CHILD_A):
        for lineage in (("outer",), ("inner", "outer")):
            assert conflict_code(request, snapshot, lineage) == ErrorCode.SAME_TRANSACTION_LOCK_CONFLICT
        assert conflict_code(request, snapshot, ("other",)) is None
        assert conflict_code(request, snapshot, ()) is None
    assert conflict_code(SNAPSHOT, snapshot, ("outer",)) is None
    assert conflict_code(SNAPSHOT, [held("outer", CHILD_A)], ("outer",)) == ErrorCode.SAME_TRANSACTION_LOCK_CONFLICT
    assert (
        conflict_code(SNAPSHOT, [held("inner", SHARED)], ("outer",)) == ErrorCode.DESCENDANT_TRANSACTION_LOCK_CONFLICT
    )
    assert conflict_code(SNAPSHOT, [held("inner", SNAPSHOT)], ("outer",)) is None


def test_the_message_names_the_node_and_who_is_in_the_way() -> None:
    both = [held("other", SHARED, 1), held("other", CHILD_A, 2)]
    by_mode = find_conflict(EXCLUSIVE, both, ("outer",), ())
    by_key = find_conflict(CHILD_A, both, ("outer",), ())
    assert by_mode and by_key
    assert by_mode.message("//tmp/{x}") == (
        'Cannot take "exclusive" lock for node //tmp/{x} since "shared" lock is taken by concurrent transaction other'
    )
    assert by_key.message("//tmp/x") == (
        'Cannot take lock for child "a" of node //tmp/x since this child is locked by concurrent transaction other'
    )
    assert by_mode.holder == by_key.holder == "other"


@given(requests, requests)
def test_only_the_same_lock_is_redundant(one: LockRequest, two: LockRequest) -> None:
    assert is_redundant(one, [held("outer", two)]) == (one == two)


def test_the_strongest_lock_counts() -> None:
    assert strongest_mode([]) is None
    assert strongest_mode([held("outer", CHILD_A), held("outer", EXCLUSIVE)]) is LockMode.EXCLUSIVE


@given(requests, st.booleans())
def test_a_lock_survives_being_written(request: LockRequest, acquired: bool) -> None:
    lock = Lock("1-2-c80003-4", 7, "node", "outer", request, True, "then", "now" if acquired else None)
    assert Lock.decode(lock.encode()) == lock
