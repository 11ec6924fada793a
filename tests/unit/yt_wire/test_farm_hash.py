"""FarmHash: published vectors of every length class, of numbers and of sequences."""

from __future__ import annotations

import pytest

from yt_wire.farm_hash import combine, fingerprint, fingerprint_of_number, fingerprint_of_pair


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0x9AE16A3B2F90404F),
        ("a", 0xB3454265B6DF75E3),
        ("ab", 0xAA8D6E5242ADA51E),
        ("abc", 0x24A5B3A074E7F369),
        ("abcd", 0x1A5502DE4A1F8101),
        ("MDwhat?", 10997514911242581312),
        ("abcdefgh", 0xFEE9D22990C82909),
        ("0123456789'01234", 0x4283D4EF43627F64),
        ("0123456789=012345", 0x46A7416ED4861E3B),
        ("C is as portable as Stonehedge!!", 0xB944F8A16261E414),
        ("Discard medicine more than two years old.", 0xE8F89AB6DF9BDD25),
        ("The days of the digital watch are numbered.  -Tom Stoppard", 0x2A578B80BB82147C),
        ("For every action there is an equal and opposite government program.", 0x55182F8859ECA4CE),
        (
            "There is no reason for any individual to have a computer in their home. -Ken Olsen, 1977",
            0x7E85D7B050ED2967,
        ),
        (
            "The fugacity of a constituent in a mixture of gases at a given temperature is proportional to its mole"
            " fraction.  Lewis-Randall Rule",
            0x98EFF6958C5E91A,
        ),
        (
            "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et"
            " dolore magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut aliquip"
            " ex ea commodo consequat. Duis aute irure dolor in reprehenderit in voluptate velit esse cillum dolore eu"
            " fugiat nulla pariatur. Excepteur sint occaecat cupidatat non proident, sunt in culpa qui officia deserunt"
            " mollit anim id est laborum.",
            0xC3F02C4FFD5D71E6,
        ),
    ],
)
def test_fingerprints_of_bytes_are_the_published_ones(text: str, expected: int) -> None:
    assert fingerprint(text.encode()) == expected


def test_fingerprints_of_numbers_and_pairs_are_the_published_ones() -> None:
    assert fingerprint_of_number(42) == 17355217915646310598
    assert fingerprint_of_pair(1234, 5678) == 16769064555670434975


def test_a_negative_number_stands_for_its_twos_complement() -> None:
    assert fingerprint_of_number(-1) == fingerprint_of_number(2**64 - 1)


def test_a_sequence_of_one_is_hashed_as_computed_columns_of_one_number_are() -> None:
    assert combine([fingerprint_of_number(456)]) == 2044001940267648219


def test_sequences_differ_by_order_and_length() -> None:
    one, other = fingerprint(b"one"), fingerprint(b"other")
    assert len({combine(items) for items in ([], [one], [other], [one, other], [other, one], [one, one])}) == 6
