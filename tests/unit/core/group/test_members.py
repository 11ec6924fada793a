"""Which agents of a stage may lead."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.group.members import GroupView

addresses = st.sampled_from(["a:1", "b:1", "c:1"])


def view(members: list[str], **instances: bool) -> GroupView:
    return GroupView(members, {f"{name}:1": banned for name, banned in instances.items()}, synchronizer=None)


@given(st.sets(addresses), st.dictionaries(addresses, st.booleans()))
def test_only_members_that_are_not_banned_may_lead(members: set[str], instances: dict[str, bool]) -> None:
    seen = GroupView(members, instances, None)
    assert seen.eligible == sorted(address for address in members if not instances.get(address, False))
    assert set(seen.banned) == {address for address, banned in instances.items() if banned}


def test_all_agents_see_the_candidates_in_one_order() -> None:
    assert (
        view(["c:1", "a:1", "b:1"], b=True).eligible == view(["a:1", "b:1", "c:1"], b=True).eligible == ["a:1", "c:1"]
    )


def test_an_agent_is_alone_only_if_no_other_was_ever_there() -> None:
    assert view(["a:1"], a=False).has_only("a:1")
    assert view([], a=False).has_only("a:1")
    assert not view(["a:1"], a=False, b=False).has_only("a:1")
    assert not view(["a:1"], a=False, b=True).has_only("a:1")
    assert not view(["a:1", "b:1"], a=False).has_only("a:1")
    assert not view(["a:1"]).has_only("a:1")
