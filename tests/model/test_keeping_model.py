"""No two agents write the state tables at once while the cluster's clock does not jump."""

from __future__ import annotations

from functools import partial

import pytest

from tests.model.keeping import START, Rules, is_bad, steps
from tests.model.search import search

BROKEN = {
    "no room for clocks": Rules(margin=0),
    "an action takes too long": Rules(action=3, margin=0),
    "the lease counts from the answer": Rules(counts_from_request=False),
}


def test_at_most_one_agent_keeps_the_tables() -> None:
    outcome = search(START, partial(steps, rules=Rules()), is_bad)
    assert outcome.trace is None, "\n".join(f"{name}: {state}" for name, state in outcome.trace)
    assert outcome.state_count > 1_000


@pytest.mark.parametrize("rules", BROKEN.values(), ids=BROKEN.keys())
def test_a_rule_that_is_left_out_is_missed(rules: Rules) -> None:
    trace = search(START, partial(steps, rules=rules), is_bad).trace
    assert trace is not None
    assert is_bad(trace[-1][1])
