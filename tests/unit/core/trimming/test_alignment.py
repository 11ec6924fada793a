"""The proof that a row of a replica has the index that it has in the queue, by timestamps alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from queue_agent.core.trimming.alignment import REACH, WINDOW, Alignment, Search


def stamps(text: str, begin: int = 0) -> dict[int, int]:
    """Timestamps of rows: a letter for each, one for each transaction; a dot where there is no row."""
    return {begin + index: ord(letter) for index, letter in enumerate(text) if letter != "."}


def proven(queue: str, replica: str, target: int, lower: int = 0) -> int | None:
    return Alignment(target, lower, stamps(queue), stamps(replica)).find_proven()


@pytest.mark.parametrize(
    ("queue", "replica", "target", "expected"),
    [
        ("aabb", "aabb", 2, 2),  # two transactions meet at the target
        ("aabb", "aabb", 3, 2),  # the target is within a transaction: up to its begin
        ("aabbcc", "aabbcc", 3, 3),  # or up to the target, as its end is known, too
        ("aabb", "aabb", 4, 2),  # nothing follows the last transaction
        ("aabbc", "aabb", 4, 2),  # the replica does not have the next one yet
        ("aabbc", "aabbb", 4, 2),  # what follows is another one
        ("aaaa", "aaaa", 2, None),
        ("....bbcc", "....bbcc", 4, 4),  # rows below the target are trimmed in the queue
        ("..bbcc", "bbcc", 2, None),
        ("aaaabb", "aabbcc", 3, None),  # shifted by two
        ("aabbbb", "bbbbcc", 3, None),
        ("zaabcdde", "zaacbdde", 3, 1),  # two of a moment came in another order: only what is below them is the same
        ("zaabcdde", "zaacbdde", 4, 1),
        ("zaabcdde", "zaacbdde", 6, 6),
        ("aa..bc", "aa..bc", 3, None),  # nothing is known of the row at the target
        ("aabbcc", "aab.cc", 3, 2),  # a row of the replica is not known
        ("aabbbbcc", "aabb.bcc", 3, 2),
    ],
)
def test_rows_go_up_to_where_the_same_two_transactions_meet(
    queue: str, replica: str, target: int, expected: int | None
) -> None:
    assert proven(queue, replica, target) == expected


def test_a_transaction_at_both_ends_of_a_gap_fills_it_and_another_does_not() -> None:
    queue, replica = stamps("aabb......bbc"), stamps("aabb......bbc")
    assert Alignment(3, 0, queue, replica).find_proven() == 3
    changed = {**queue, 10: 1, 11: 1}
    assert Alignment(3, 0, changed, changed).find_proven() == 2


def test_what_is_trimmed_already_is_no_place_to_trim_to() -> None:
    assert proven("aabb", "aabb", 3, lower=2) is None


def test_the_first_row_that_differs_is_told() -> None:
    alignment = Alignment(3, 0, stamps("aabbcc"), stamps("abbccd"))
    assert alignment.find_mismatch() == 1
    assert Alignment(3, 0, stamps("aabbcc"), stamps("aab")).find_mismatch() is None


@pytest.mark.parametrize(
    ("lower", "target", "present", "expected"),
    [
        (0, 20, range(12, 28), [Search(range(28, 28 + REACH), 7), Search(range(11, -1, -1), 7)]),
        (12, 20, range(12, 28), [Search(range(28, 28 + REACH), 7)]),
        (0, 20, range(12, 27), [Search(range(11, -1, -1), 7)]),
        (0, 20, range(13, 20), []),
        (5, 2 * REACH, range(2 * REACH - WINDOW, 2 * REACH), [Search(range(2 * REACH - 9, REACH - 9, -1), 7)]),
    ],
)
def test_more_rows_are_searched_where_the_window_lies_within_a_transaction(
    lower: int, target: int, present: Sequence[int], expected: list[Search]
) -> None:
    rows = dict.fromkeys(present, 7)
    assert Alignment(target, lower, rows, rows).searches() == expected


def test_the_transactions_at_the_ends_of_the_window_are_those_searched_beyond_it() -> None:
    rows = {12: 5, 13: 6, 26: 8, 27: 9}
    above, below = Alignment(20, 0, rows, rows).searches()
    assert (above.timestamp, below.timestamp) == (9, 5)


def test_a_row_that_was_found_is_after_an_anchor_above_and_before_one_below() -> None:
    assert Search(range(5, 9), 7).anchor_at(6) == 6
    assert Search(range(5, 1, -1), 7).anchor_at(3) == 4


def test_rows_that_are_read_later_add_to_those_that_are_known() -> None:
    before = Alignment(2, 0, stamps("aab"), stamps("aab"))
    assert before.find_proven() == 2
    unsure = Alignment(2, 0, stamps("aa"), stamps("aa"))
    assert unsure.find_proven() is None
    assert unsure.known(stamps("b", 2), stamps("b", 2)) == before
