"""When an agent may act, by its own clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from queue_agent.core.group.lease import NEVER, LeaseTerms, Tenure

TERMS = LeaseTerms(15.0)
ONE: Final[Mapping[str, int]] = {"q": 1}


def new_tenure(now: float = 0.0, led: Mapping[str, int] = ONE) -> Tenure[str]:
    """A member that has just read that it leads a queue."""
    tenure: Tenure[str] = Tenure(TERMS)
    tenure.prolong(now)
    tenure.observe(now, now, led)
    return tenure


def settle(tenure: Tenure[str], start: float, end: float, led: Mapping[str, int] = ONE) -> None:
    """Read and ping every second."""
    for second in range(int(start), int(end) + 1):
        tenure.prolong(second)
        tenure.observe(second, second, led)


def test_the_terms_leave_room_for_one_another() -> None:
    assert TERMS.freshness + TERMS.action + TERMS.margin <= TERMS.wait
    assert TERMS.ping_period + TERMS.action + TERMS.margin < TERMS.lease


def test_a_new_leader_waits_for_a_lease_and_says_so() -> None:
    tenure = new_tenure()
    settle(tenure, 1, 14)
    hold = tenure.find_hold("q", 14.0)
    assert hold is not None
    assert hold.seconds == 1.0
    assert hold.reason == "the agent that led it before may still act, for 1 s more"
    settle(tenure, 15, 15)
    assert tenure.find_hold("q", 15.0) is None


def test_a_leader_whose_membership_has_just_begun_waits_as_another_of_its_address_may_have_led() -> None:
    tenure = new_tenure()
    settle(tenure, 1, 20)
    assert tenure.find_hold("q", 20.0) is None
    tenure.begin(20.5)
    hold = tenure.find_hold("q", 20.5)
    assert hold is not None
    assert hold.seconds == 15.0
    settle(tenure, 21, 36)
    assert tenure.find_hold("q", 36.0) is None


def test_who_is_the_only_agent_there_has_ever_been_need_not_wait() -> None:
    tenure = new_tenure()
    tenure.saw_alone(0.5)
    assert tenure.find_hold("q", 0.5) is None


def test_having_been_alone_before_an_object_came_is_not_enough() -> None:
    tenure = new_tenure(led={})
    tenure.saw_alone(0.5)
    tenure.observe(1.0, 1.0, {"q": 1})
    assert tenure.find_hold("q", 1.0) is not None


def test_what_was_read_too_long_ago_is_not_acted_by() -> None:
    tenure = new_tenure()
    settle(tenure, 1, 20)
    assert tenure.find_hold("q", 25.0) is None
    hold = tenure.find_hold("q", 25.1)
    assert hold is not None
    assert "cannot be read" in hold.reason


def test_after_a_gap_what_nobody_has_led_meanwhile_is_acted_on_at_once() -> None:
    tenure = new_tenure()
    settle(tenure, 1, 20)
    assert tenure.find_hold("q", 30.0) is not None
    tenure.prolong(29.0)
    tenure.observe(29.0, 30.0, dict(ONE))
    assert tenure.find_hold("q", 30.0) is None


def test_the_age_of_a_reading_counts_from_the_question() -> None:
    tenure = new_tenure()
    settle(tenure, 1, 20)
    tenure.observe(20.0, 25.0, ONE)
    assert tenure.find_hold("q", 25.1) is not None


def test_an_object_that_was_led_elsewhere_meanwhile_is_waited_for_again() -> None:
    tenure = new_tenure()
    settle(tenure, 1, 20)
    tenure.observe(21.0, 21.0, {})
    assert tenure.find_hold("q", 21.0) is not None
    tenure.observe(22.0, 22.0, {"q": 1})
    assert tenure.find_hold("q", 22.0) is not None


def test_a_change_back_and_forth_that_no_reading_has_seen_is_noticed_by_the_version() -> None:
    tenure = new_tenure()
    settle(tenure, 1, 20)
    tenure.observe(21.0, 21.0, {"q": 3})
    hold = tenure.find_hold("q", 21.0)
    assert hold is not None
    assert hold.seconds == 15.0


def test_others_do_not_begin_anew_when_an_object_comes() -> None:
    tenure = new_tenure()
    settle(tenure, 1, 20)
    tenure.observe(21.0, 21.0, {"q": 1, "r": 1})
    assert tenure.find_hold("q", 21.0) is None
    assert tenure.find_hold("r", 21.0) is not None


def test_a_membership_that_may_run_out_during_an_action_forbids_it() -> None:
    tenure = new_tenure()
    settle(tenure, 1, 20)
    tenure.observe(30.0, 30.0, {"q": 1})
    for second in range(21, 32):
        tenure.observe(second, second, {"q": 1})
    assert tenure.is_member(20 + 15 - TERMS.action - TERMS.margin)
    assert not tenure.is_member(20 + 15 - TERMS.action)
    hold = tenure.find_hold("q", 32.0)
    assert hold is not None
    assert "no member" in hold.reason


def test_who_leaves_never_acts_again() -> None:
    tenure = new_tenure()
    settle(tenure, 1, 20)
    tenure.leave()
    settle(tenure, 21, 40)
    assert tenure.find_hold("q", 40.0) is not None


def test_a_lost_membership_forbids_everything_until_there_is_a_new_one() -> None:
    tenure = new_tenure()
    settle(tenure, 1, 20)
    tenure.lose()
    assert tenure.find_hold("q", 20.0) is not None
    tenure.prolong(20.5)
    assert tenure.find_hold("q", 20.5) is None


def test_having_been_alone_in_the_moment_an_object_came_is_not_enough() -> None:
    tenure = new_tenure(5.0)
    tenure.saw_alone(5.0)
    assert tenure.find_hold("q", 6.0) is not None
    tenure.saw_alone(5.5)
    assert tenure.find_hold("q", 6.0) is None


def test_it_is_known_since_when_nobody_else_can_have_led() -> None:
    tenure = new_tenure()
    assert tenure.since("q") == 0.0
    assert tenure.since("r") == NEVER
    settle(tenure, 1, 20)
    assert tenure.since("q") == 0.0
    tenure.observe(21.0, 22.0, {"q": 2})
    assert tenure.since("q") == 22.0
    tenure.begin(30.0)
    assert tenure.since("q") == 30.0, "the membership before may have been that of another agent"
