"""What an owner may write into `@queue_agent_objective`, and what is refused in which words."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.objective_config import ConsumerObjectives, parse_objectives
from queue_agent.core.verdicts.objectives import NO_SECONDS, Objective

QUEUE = CrossClusterRef("a", "//q")
OTHER = CrossClusterRef("a", "//other")
GOOD = {"max_lag_seconds": 300, "target": 0.99}


def test_no_attribute_is_no_objective() -> None:
    found = parse_objectives(None)
    assert found == ConsumerObjectives()
    assert found.find(QUEUE) is None
    assert found.status(QUEUE, None) is None


def test_an_objective_holds_for_all_queues() -> None:
    assert parse_objectives(GOOD).find(QUEUE) == Objective(300.0, 0.99, 28, None)
    assert parse_objectives({**GOOD, "window_days": 7, "max_gap": 90_000}).find(QUEUE) == Objective(300, 0.99, 7, 90)


def test_the_gap_may_stand_alone() -> None:
    assert parse_objectives({"max_gap": 3_600_000}).find(QUEUE) == Objective(None, None, 28, 3600.0)


def test_keys_of_a_queue_replace_those_of_the_whole() -> None:
    found = parse_objectives({**GOOD, "queues": {"a://q": {"max_lag_seconds": 10}}})
    assert found.find(QUEUE) == Objective(10.0, 0.99, 28, None)
    assert found.find(OTHER) == Objective(300.0, 0.99, 28, None)


def test_an_objective_may_be_for_one_queue_only() -> None:
    found = parse_objectives({"queues": {"a://q": GOOD}})
    assert found.find(QUEUE) == Objective(300.0, 0.99)
    assert found.find(OTHER) is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (300, 'Error reading "queue_agent_objective": expected a map, got 300'),
        ([], "expected a map"),
        ({}, "The objective is empty"),
        ({"queues": {}}, "The objective is empty"),
        ({"max_lag_seconds": 300}, '"target" is missing: max_lag_seconds and target go together'),
        ({"target": 0.9}, '"max_lag_seconds" is missing'),
        ({"window_days": 28}, '"window_days" alone says nothing'),
        ({**GOOD, "max_lag_seconds": 0}, "expected a number from 1 to 2592000, got 0"),
        ({**GOOD, "max_lag_seconds": True}, "got True"),
        ({**GOOD, "max_lag_seconds": "5m"}, "got '5m'"),
        ({**GOOD, "max_lag_seconds": nan}, "got nan"),
        ({**GOOD, "max_lag_seconds": inf}, "got inf"),
        ({**GOOD, "max_lag_seconds": 10**400}, "expected a number from 1"),
        ({**GOOD, "target": 1}, 'Error reading "target": expected a share above 0 and below 1, got 1'),
        ({**GOOD, "target": 0.0}, "above 0"),
        ({**GOOD, "target": 99}, "got 99"),
        ({**GOOD, "target": True}, "got True"),
        ({**GOOD, "target": nan}, "got nan"),
        ({**GOOD, "target": None}, '"target" is null'),
        ({**GOOD, "window_days": 0}, "expected a number from 1 to 90"),
        ({**GOOD, "window_days": 28.0}, "got 28.0"),
        ({"max_gap": 600}, "expected a number from 1000"),
        ({"max_gap": "10m"}, "got '10m'"),
        ({**GOOD, "max_lag": 3}, "Unknown key 'max_lag'; did you mean \"max_gap\"?"),
        ({**GOOD, "xyz": 3}, "known are max_lag_seconds, target, window_days, max_gap, queues"),
        ({5: 3}, "Unknown key '5'"),
        ({**GOOD, "queues": 5}, 'Error reading "queues": expected a map'),
        ({**GOOD, "queues": {"a://q": 5}}, 'Error reading "queues/a://q": expected a map'),
        ({**GOOD, "queues": {"//q": GOOD}}, "'//q' is no queue of the form cluster://path"),
        ({**GOOD, "queues": {5: GOOD}}, "5 is no queue of the form"),
        ({**GOOD, "queues": {"a://q": {"queues": {}}}}, "Unknown key 'queues/a://q/queues'"),
        ({**GOOD, "queues": {"a://q": {"target": 2}}}, 'Error reading "queues/a://q/target"'),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as raised:
        parse_objectives(value)
    assert message in str(raised.value)
    assert len(str(raised.value)) < 400


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
names = st.sampled_from(["max_lag_seconds", "target", "window_days", "max_gap", "queues", "a://q"]) | st.text(
    max_size=5
)


@given(st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4)))
def test_anything_is_an_objective_or_a_value_error(value: Any) -> None:
    try:
        found = parse_objectives(value)
    except ValueError:
        return
    for one in (found.default, *found.by_queue.values()):
        assert one is None or (one.max_lag is None) == (one.target is None)


def test_a_status_tells_the_error_or_the_seconds() -> None:
    failed = ConsumerObjectives(error=ErrorInfo("no map"))
    status = failed.status(QUEUE, NO_SECONDS)
    assert status is not None
    assert status.to_map() == {"error": {"code": 1, "message": "no map", "attributes": {}}}
    known = parse_objectives(GOOD).status(QUEUE, NO_SECONDS)
    assert known is not None
    assert known.to_map() == {
        "max_lag_seconds": 300.0,
        "target": 0.99,
        "window_days": 28,
        "max_gap_seconds": None,
        "good_seconds": 0.0,
        "bad_seconds": 0.0,
        "unknown_seconds": 0.0,
        "met_ratio": None,
    }
    unread = parse_objectives(GOOD).status(QUEUE, None)
    assert unread is not None
    assert "good_seconds" not in unread.to_map()
