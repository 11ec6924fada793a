"""Access control lists decide the same whatever their order, and only ever by what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt_local.security.acl import (
    PERMISSIONS,
    Ace,
    Level,
    Principal,
    decide,
    effective,
    parse_acl,
    parse_known_acl,
    with_renamed_subject,
    without_subject,
)
from yt_wire import yson
from yt_wire.error import YtError

MODES = ("object_and_descendants", "object_only", "descendants_only", "immediate_descendants_only")
SUBJECTS = ("bob", "staff", "everyone", "eve", "owner")
PLAIN = ("read", "write", "remove", "administer")

BOB = Principal("bob", frozenset({"staff", "everyone"}))

entries = st.builds(
    Ace,
    action=st.sampled_from(["allow", "deny"]),
    subjects=st.lists(st.sampled_from(SUBJECTS), min_size=1, max_size=3).map(tuple),
    permissions=st.lists(st.sampled_from(PLAIN), min_size=1, max_size=3, unique=True).map(tuple),
    inheritance_mode=st.sampled_from(MODES),
)
lineages = st.lists(st.lists(entries, max_size=4), min_size=1, max_size=4)
permissions = st.sampled_from(PLAIN)
owners = st.sampled_from(["bob", "eve", "staff"])


def levels(lineage: Sequence[Sequence[Ace]]) -> list[Level]:
    return [Level(f"object-{depth}", acl) for depth, acl in enumerate(lineage)]


def verdict(lineage: Sequence[Sequence[Ace]], permission: str, owner: str, principal: Principal = BOB) -> str:
    return decide(principal, {permission}, levels(lineage), owner).action


def means_bob(entry: Ace, owner: str) -> bool:
    return any((owner if name == "owner" else name) in ("bob", "staff", "everyone") for name in entry.subjects)


def reaches(entry: Ace, depth: int) -> bool:
    return (
        depth
        in {
            "object_and_descendants": range(100),
            "object_only": range(1),
            "descendants_only": range(1, 100),
            "immediate_descendants_only": range(1, 2),
        }[entry.inheritance_mode]
    )


@given(lineages, permissions, owners)
def test_it_is_as_a_plain_reading_of_all_entries_says(lineage: list[list[Ace]], permission: str, owner: str) -> None:
    actions = {
        entry.action
        for depth, acl in enumerate(lineage)
        for entry in acl
        if permission in entry.permissions and means_bob(entry, owner) and reaches(entry, depth)
    }
    assert verdict(lineage, permission, owner) == ("allow" if actions == {"allow"} else "deny")


@given(lineages, permissions, owners, st.randoms(use_true_random=False))
def test_the_order_of_entries_does_not_matter(
    lineage: list[list[Ace]], permission: str, owner: str, random: Random
) -> None:
    shuffled = [random.sample(acl, len(acl)) for acl in lineage]
    assert verdict(shuffled, permission, owner) == verdict(lineage, permission, owner)


@given(lineages, permissions, owners, entries)
def test_allowing_more_never_takes_away_and_denying_more_never_gives(
    lineage: list[list[Ace]], permission: str, owner: str, entry: Ace
) -> None:
    before = verdict(lineage, permission, owner)
    more = verdict([[*lineage[0], replace(entry, action="allow")], *lineage[1:]], permission, owner)
    less = verdict([[*lineage[0], replace(entry, action="deny")], *lineage[1:]], permission, owner)
    assert before != "allow" or more == "allow"
    assert before != "deny" or less == "deny"


@given(lineages, permissions, owners)
def test_an_entry_that_denies_here_beats_everything(lineage: list[list[Ace]], permission: str, owner: str) -> None:
    denied = [[*lineage[0], Ace("deny", ("bob",), (permission,))], *lineage[1:]]
    assert verdict(denied, permission, owner) == "deny"


@given(lineages, permissions, owners)
def test_superusers_pass_and_the_banned_do_not(lineage: list[list[Ace]], permission: str, owner: str) -> None:
    superuser = replace(BOB, is_superuser=True)
    assert verdict(lineage, permission, owner, superuser) == "allow"
    assert verdict(lineage, permission, owner, replace(superuser, is_banned=True)) == "deny"


@given(lineages, permissions, owners)
def test_the_effective_list_says_the_same_by_itself(lineage: list[list[Ace]], permission: str, owner: str) -> None:
    own = effective(levels(lineage))
    assert verdict([own], permission, owner) == verdict(lineage, permission, owner)


@given(lineages, permissions, owners)
def test_the_verdict_names_an_entry_that_says_so(lineage: list[list[Ace]], permission: str, owner: str) -> None:
    found = decide(BOB, {permission}, levels(lineage), owner)
    if found.holder is None:
        assert not found.allowed
        return
    depth = int(found.holder.removeprefix("object-"))
    assert found.subject in ("bob", "staff", "everyone")
    assert any(entry.action == found.action and permission in entry.permissions for entry in lineage[depth])


@given(st.lists(entries, max_size=4))
def test_lists_survive_being_kept(acl: list[Ace]) -> None:
    kept = yson.loads(yson.dumps([entry.to_yson() for entry in acl]))
    assert list(parse_acl(kept, str)) == acl


@given(st.lists(entries, max_size=4))
def test_a_removed_subject_leaves_no_trace(acl: list[Ace]) -> None:
    left = list(without_subject(acl, "bob"))
    assert all("bob" not in entry.subjects and entry.subjects for entry in left)
    assert verdict([left], "read", "eve", Principal("bob", frozenset())) == "deny"


@given(st.lists(entries, max_size=4), permissions)
def test_a_new_name_changes_no_verdict(acl: list[Ace], permission: str) -> None:
    renamed = list(with_renamed_subject(acl, "bob", "robert"))
    after = verdict([renamed], permission, "eve", Principal("robert", BOB.groups))
    assert after == verdict([acl], permission, "eve")


def test_vital_consumers_need_an_entry_for_vital_ones() -> None:
    def allowed(entry_vital: bool, *, asked: bool) -> bool:
        entry = Ace("allow", ("bob",), ("register_queue_consumer",), vital=entry_vital)
        return decide(BOB, {"register_queue_consumer"}, [Level("queue", [entry])], "root", vital=asked).allowed

    assert allowed(True, asked=True) and allowed(True, asked=False) and allowed(False, asked=False)
    assert not allowed(False, asked=True)


def test_either_of_several_permissions_will_do_and_either_can_be_denied() -> None:
    allowed = Ace("allow", ("bob",), ("modify_children",))
    denied = Ace("deny", ("bob",), ("write",))
    wanted = {"write", "modify_children"}
    assert decide(BOB, wanted, [Level("node", [allowed])], "root").allowed
    assert not decide(BOB, wanted, [Level("node", [allowed, denied])], "root").allowed


def test_full_read_and_read_are_one() -> None:
    for given_permission, asked in (("read", "full_read"), ("full_read", "read")):
        entry = Ace("allow", ("bob",), (given_permission,))
        assert decide(BOB, {asked}, [Level("node", [entry])], "root").allowed


def test_text_that_stands_for_a_boolean_or_a_list_is_taken() -> None:
    entry = {"action": "allow", "subjects": "bob", "permissions": "register_queue_consumer", "vital": "true"}
    assert parse_acl([entry], str) == (Ace("allow", ("bob",), ("register_queue_consumer",), vital=True),)


def test_unknown_subjects_can_be_left_out() -> None:
    entry = {"action": "allow", "subjects": ["bob", "nobody"], "permissions": list(PERMISSIONS[:2])}
    known = {"bob": "bob"}.get
    acl, missing = parse_known_acl([entry], known)
    assert [one.subjects for one in acl] == [("bob",)]
    assert missing == ["nobody"]
    with pytest.raises(YtError, match="nobody"):
        parse_acl([entry], known)
