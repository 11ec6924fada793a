from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt_wire.guid import NULL_GUID, Guid

U32 = st.integers(min_value=0, max_value=0xFFFFFFFF)
GUIDS = st.builds(Guid.from_parts, U32, U32, U32, U32)


def test_text_runs_from_the_high_half_of_second_to_the_low_half_of_first() -> None:
    assert str(Guid(first=0x0000000300000004, second=0x0000000100000002)) == "1-2-3-4"


def test_bytes_are_first_and_second_little_endian() -> None:
    assert Guid(first=1, second=2).to_bytes() == bytes([1, *[0] * 7, 2, *[0] * 7])


def test_object_type_is_the_low_half_of_the_third_part() -> None:
    assert Guid.parse("10-3e9-10191-dcd2013e").object_type == 401


@given(GUIDS)
def test_text_and_bytes_are_read_back_as_written(guid: Guid) -> None:
    assert Guid.parse(str(guid)) == guid
    assert Guid.from_bytes(guid.to_bytes()) == guid


@pytest.mark.parametrize("text", ["", "1-2-3", "1-2-3-4-5", "1-2-3-g", "1-2-3-100000000", "1--2-3"])
def test_malformed_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Guid.parse(text)


def test_null_guid_has_four_zero_parts() -> None:
    assert str(NULL_GUID) == "0-0-0-0"
