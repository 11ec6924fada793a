"""Errors as values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.values.encoding import Unsigned
from queue_agent.core.values.error_info import GENERIC_CODE, OK_ERROR, ErrorInfo, Origin, error_map
from queue_agent.errors import ClusterError, ObjectNotFound

ORIGIN = Origin("agent-1", 481, 7, "Controller:0", 8, "1-2-3-4", 9, datetime(2025, 1, 23, tzinfo=UTC))

errors = st.recursive(
    st.builds(ErrorInfo, st.text(), st.integers(0, 5000), st.dictionaries(st.text(), st.integers())),
    lambda inner: st.builds(
        ErrorInfo, st.text(), st.integers(), st.just({}), st.lists(inner, max_size=3).map(tuple[ErrorInfo, ...])
    ),
    max_leaves=5,
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["code", "message", "attributes", "inner_errors"]), inner)
    ),
)


@given(errors)
def test_an_error_is_read_back_as_it_was_published(error: ErrorInfo) -> None:
    assert ErrorInfo.from_map(error.to_map()) == error


@given(st.dictionaries(st.sampled_from(["code", "message", "attributes", "inner_errors"]), anything))
def test_whatever_a_cluster_sends_for_an_error_is_one(value: dict[str, Any]) -> None:
    read = ErrorInfo.from_map(value)
    assert ErrorInfo.from_map(read.to_map()) == read


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, ErrorInfo("")),
        ({"message": 5, "code": "x", "attributes": 5, "inner_errors": 5}, ErrorInfo("5")),
        ({"message": "a", "inner_errors": [5, {"message": "b"}]}, ErrorInfo("a", inner_errors=(ErrorInfo("b"),))),
    ],
)
def test_members_that_make_no_sense_get_their_defaults(value: dict[str, Any], expected: ErrorInfo) -> None:
    assert ErrorInfo.from_map(value) == expected
    assert expected.code == GENERIC_CODE


def test_inner_errors_are_left_out_when_there_are_none() -> None:
    assert ErrorInfo("a").to_map() == {"code": 1, "message": "a", "attributes": {}}
    assert "inner_errors" in ErrorInfo("a", inner_errors=(ErrorInfo("b"),)).to_map()


def test_a_field_that_always_holds_an_error_holds_one_with_code_0_when_all_is_well() -> None:
    assert error_map(None) == OK_ERROR == {"code": 0, "message": "", "attributes": {}}
    assert error_map(ErrorInfo("a")) == ErrorInfo("a").to_map()


def test_an_error_tells_where_and_when_it_came_up_and_its_own_attributes_win() -> None:
    error = ORIGIN.error("lost", 500, {"path": "//a", "host": "other"}, [ErrorInfo("b")])
    assert (error.message, error.code, error.inner_errors) == ("lost", 500, (ErrorInfo("b"),))
    assert error.attributes == {
        "host": "other",
        "pid": 481,
        "tid": 7,
        "fid": 8,
        "thread": "Controller:0",
        "trace_id": "1-2-3-4",
        "span_id": 9,
        "datetime": "2025-01-23T00:00:00.000000Z",
        "path": "//a",
    }
    assert {name for name, value in error.attributes.items() if isinstance(value, Unsigned)} == {
        "tid",
        "fid",
        "span_id",
    }


def test_what_a_cluster_answered_is_inside_of_what_the_agent_says() -> None:
    answered = ErrorInfo("Node //a has no child", 500, {"path": "//a"})
    error = ORIGIN.cluster_error(ObjectNotFound("no //a", 500, answered.to_map()))
    assert (error.message, error.code, error.inner_errors) == ("no //a", 500, (answered,))
    assert ORIGIN.cluster_error(ClusterError("no answer")).inner_errors == ()
