"""Numbers, durations and instants of others are within bounds, or a ValueError."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.exports.config import parse_exports
from queue_agent.core.exports.progress import StoredProgress
from queue_agent.core.state.attributes import build_queue_row
from queue_agent.core.state.trim_config import AutoTrimConfig
from queue_agent.core.values.encoding import EPOCH
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.scalars import (
    MAX_DURATION,
    find_unsigned,
    read_boolean,
    read_instant,
    read_integer,
    read_milliseconds,
)
from tests.unit.core.state.test_attributes import ORIGIN
from yt_wire import yson

anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**64), 2**64),
    st.floats(),
    st.text(max_size=40),
    st.binary(max_size=10),
    st.datetimes().map(datetime.isoformat),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@given(anything)
def test_whatever_there_is_gives_a_value_that_can_be_reckoned_with_or_a_value_error(value: Any) -> None:
    with suppress(ValueError):
        assert 5 <= read_integer(value, "x", 5, 7) <= 7
    with suppress(ValueError):
        assert EPOCH + read_milliseconds(value, "x") >= EPOCH
    with suppress(ValueError):
        assert read_instant(value, "x").utcoffset() == timedelta(0)
    assert find_unsigned(value) is None or 0 <= value < 2**64
    with suppress(ValueError):
        AutoTrimConfig.parse({"retained_lifetime_duration": value, "retained_rows": value})
    with suppress(ValueError):
        StoredProgress.parse({"last_export_task_instant": value, "last_export_unix_ts": value, "tablets": value})


def test_the_longest_duration_is_one() -> None:
    milliseconds = MAX_DURATION // timedelta(milliseconds=1)
    assert read_milliseconds(milliseconds, "x") == MAX_DURATION
    with pytest.raises(ValueError, match='Error reading "x"'):
        read_milliseconds(milliseconds + 1, "x")


@pytest.mark.parametrize("value", [2**63, 2**63 + 192, 2**64 - 1])
def test_a_lifetime_beyond_all_bounds_is_an_error_of_the_queue(value: int) -> None:
    attributes = {"auto_trim_config": {"enable": True, "retained_lifetime_duration": value}, "attribute_revision": 7}
    row = build_queue_row(CrossClusterRef("hume", "//q"), attributes, None, ORIGIN)
    assert row.synchronization_error is not None
    [cause] = row.synchronization_error["inner_errors"]
    assert "retained_lifetime_duration" in cause["message"]
    assert row.revision == 7


def test_a_string_with_attributes_is_the_string() -> None:
    directory = yson.with_attributes("//tmp/x", {"a": 1})
    exports = parse_exports({"one": {"export_directory": directory, "export_period": 1000}})
    assert type(exports["one"].directory) is str
    row = build_queue_row(CrossClusterRef("hume", "//q"), {"type": directory}, None, ORIGIN)
    assert type(row.object_type) is str


@pytest.mark.parametrize("value", [b"\xff", 1, 0.0, None, "yes", []])
def test_what_is_no_boolean_is_a_value_error(value: Any) -> None:
    with pytest.raises(ValueError, match='Error reading "x"'):
        read_boolean(yson.loads(yson.dumps(value)), "x")


def test_booleans_and_their_words_are_read() -> None:
    values = [True, "true", "TRUE", yson.with_attributes(True, {"a": 1}), False, "false"]
    assert [read_boolean(value, "x") for value in values] == [True] * 4 + [False] * 2


def test_unsigned_numbers_are_those_of_64_bits() -> None:
    values = [0, 2**64 - 1, -1, 2**64, True, 1.0, "1", None]
    assert [find_unsigned(value) for value in values] == [0, 2**64 - 1] + [None] * 6
