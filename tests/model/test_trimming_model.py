"""No two agents trim a queue at once, whatever happens in whatever order."""

from __future__ import annotations

from copy import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queue_agent.core.group.lease import LeaseTerms, Tenure
from tests.model.search import Outcome, search
from tests.model.trimming import (
    NONE,
    START,
    Agent,
    Rules,
    State,
    aged,
    canonical,
    is_bad,
    looked,
    may_trim,
    received,
    stepper,
)

STEADY = Rules(wait=4, clocks_slip=False)
"""With clocks that go equally fast a shorter wait is enough, and there is less to be searched."""

BROKEN = {
    "nobody waits": Rules(wait=0, clocks_slip=False),
    "the wait does not outlast what was begun": Rules(wait=3, clocks_slip=False),
    "the wait leaves no room for clocks": Rules(wait=4),
    "readings are too old": Rules(wait=4, clocks_slip=False, freshness=3),
    "the age of a reading counts from the answer": Rules(wait=4, clocks_slip=False, counts_from_request=False),
    "a change back and forth is overlooked": Rules(wait=4, clocks_slip=False, versions_are_compared=False),
    "having once been alone is enough": Rules(wait=4, clocks_slip=False, alone_is_looked_at_again=False),
    "an action takes too long": Rules(wait=4, clocks_slip=False, action=2),
}


def look_for_two(rules: Rules) -> Outcome[State]:
    return search(START, stepper(rules), is_bad, canonical)


@pytest.mark.parametrize("rules", [Rules(answer=0), STEADY], ids=["clocks slip", "answers take their time"])
def test_at_most_one_agent_trims(rules: Rules) -> None:
    outcome = look_for_two(rules)
    assert outcome.trace is None, "\n".join(f"{name}: {state}" for name, state in outcome.trace)
    assert outcome.state_count > 50_000


@pytest.mark.parametrize("rules", BROKEN.values(), ids=BROKEN.keys())
def test_a_rule_that_is_left_out_is_missed(rules: Rules) -> None:
    trace = look_for_two(rules).trace
    assert trace is not None
    assert is_bad(trace[-1][1])


class Ticks(LeaseTerms):
    """The times of the model."""

    freshness = 2.0
    action = 1.0
    wait = 5.0


def test_the_terms_of_a_lease_leave_more_room_than_the_model() -> None:
    terms, rules = LeaseTerms(15.0), Rules()
    assert terms.wait / (terms.freshness + terms.action) >= rules.wait / (rules.freshness + rules.action)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(["tick", "request", "answer", "look", "change"]), max_size=60))
def test_the_agent_of_the_model_does_what_agents_do(events: list[str]) -> None:
    """Told the same, the code that agents run allows no more than the model's agent; and no less but for a tick."""
    rules = Rules(answer=99)
    model = Agent(registered=True, asked=rules.freshness + 1)
    tenure: Tenure[str] = Tenure(Ticks(1000.0))
    tenure.prolong(0.0)
    now, version = 0, 0
    request: tuple[int, int] | None = None
    """When it was sent, and the version it found; the mapping names this agent in every second one."""

    for event in events:
        match event:
            case "tick":
                after = aged(model, rules)
                assert after is not None
                model, now = after, now + 1
            case "change":
                version += 1
                model = model._replace(written=True) if request is None else model._replace(written_again=True)
            case "request" if request is None:
                request = now, version
                model = model._replace(reading=0, named=version % 2 == 1)
            case "answer" if request is not None:
                sent, found = request
                tenure.observe(sent, now, {"q": found} if found % 2 else {})
                model, request = received(model, rules), None
            case "look":
                tenure.saw_alone(now)
                model = looked(model, True, rules)
        if tenure.find_hold("q", now) is None:
            assert may_trim(model, rules)
        elif may_trim(model, rules):
            assert model.alone  # what is asked in the tick of an answer counts as asked before it
            looked_later = copy(tenure)
            looked_later.saw_alone(now + 0.5)
            assert looked_later.find_hold("q", now) is None
    assert model.trim == NONE
