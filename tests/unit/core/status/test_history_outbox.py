"""Rows wait in order, and the oldest go when there is no room."""

from __future__ import annotations

from queue_agent.core.status.history_outbox import EncodedRows, Outbox


def rows(letter: str, row_count: int = 1) -> EncodedRows:
    """Ten bytes a row."""
    return EncodedRows(letter.encode() * 10 * row_count, row_count)


def claimed(outbox: Outbox, max_bytes: int = 20) -> str:
    return "".join(chr(piece.content[0]) for piece in outbox.claim(max_bytes))


def test_rows_are_claimed_in_order_and_again_until_they_are_released() -> None:
    outbox = Outbox(100)
    for letter in "abc":
        assert outbox.add(rows(letter)) == 0
    assert [claimed(outbox), claimed(outbox)] == ["ab", "ab"]
    outbox.release(written=False)
    assert claimed(outbox) == "ab"
    outbox.release(written=True)
    assert (claimed(outbox), outbox.row_count, outbox.byte_count) == ("c", 1, 10)
    outbox.release(written=True)
    assert (claimed(outbox), outbox.row_count, outbox.byte_count) == ("", 0, 0)


def test_a_piece_larger_than_a_claim_goes_alone() -> None:
    outbox = Outbox(100)
    outbox.add(rows("a", 5))
    outbox.add(rows("b"))
    assert claimed(outbox) == "a"


def test_the_oldest_rows_go_but_not_those_being_sent() -> None:
    outbox = Outbox(40)
    for letter in "abcd":
        outbox.add(rows(letter))
    assert claimed(outbox) == "ab"
    assert outbox.add(rows("e", 2)) == 2
    assert outbox.byte_count == 40
    outbox.release(written=False)
    assert claimed(outbox, 100) == "abe"


def test_nothing_is_kept_that_has_no_room_at_all() -> None:
    outbox = Outbox(40)
    assert outbox.add(rows("a", 5)) == 5
    outbox.add(rows("b"))
    outbox.claim(10)
    assert outbox.add(rows("c", 5)) == 5
    assert outbox.drop_all() == 1
    assert (outbox.row_count, outbox.byte_count) == (0, 0)


def test_rows_that_are_being_sent_are_counted_until_they_are_released() -> None:
    outbox = Outbox(100)
    outbox.add(rows("a", 2))
    outbox.add(rows("b", 3))
    assert outbox.claimed_row_count == 0
    outbox.claim(20)
    assert (outbox.claimed_row_count, outbox.row_count) == (2, 5)
    outbox.release(written=True)
    assert (outbox.claimed_row_count, outbox.row_count) == (0, 3)
