"""Which replicas the replicated table tracker makes synchronous."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt_local.store.replica_tracking import Candidate, TrackerOptions, checked_options, choose_modes
from yt_wire.error import YtError


def options(**given: Any) -> TrackerOptions:
    return TrackerOptions.of({"enable_replicated_table_tracker": True, **given})


def replica(name: str, mode: Any, *, available: bool = True, lag: int = 0, tracked: bool = True) -> Candidate:
    return Candidate(name, name, mode, tracked, available, lag)


def test_a_replica_takes_over_from_one_that_is_gone_and_keeps_it() -> None:
    gone = replica("a", "sync", available=False)
    assert choose_modes(options(), [gone, replica("b", "async")]) == {"a": "async", "b": "sync"}
    assert choose_modes(options(), [replica("a", "async"), replica("b", "sync")]) == {}


def test_if_none_can_take_over_the_synchronous_one_stays() -> None:
    gone = replica("a", "sync", available=False)
    assert choose_modes(options(), [gone, replica("b", "async", available=False)]) == {}
    assert choose_modes(options(), [gone, replica("b", "async", lag=600_001)]) == {}
    assert choose_modes(options(min_sync_replica_count=0), [gone]) == {"a": "async"}


def test_no_more_are_synchronous_than_wanted_and_preferred_clusters_come_first() -> None:
    both = [replica("a", "sync"), replica("b", "sync")]
    assert choose_modes(options(), both) == {"b": "async"}
    assert choose_modes(options(max_sync_replica_count=2), both) == {}
    assert choose_modes(options(preferred_sync_replica_clusters=["b"]), both) == {"a": "async"}


def test_options_that_make_no_sense_are_refused_and_old_names_are_known() -> None:
    assert options(sync_replica_count=2).max_sync_replica_count == 2
    assert checked_options({"enable_replicated_table_tracker": "true"})["enable_replicated_table_tracker"] is True
    for bad in ({"min_sync_replica_count": 3, "max_sync_replica_count": 2}, {"max_sync_replica_count": -1}, 5):
        with pytest.raises(YtError):
            checked_options(bad)


@given(
    st.lists(
        st.builds(
            replica, st.just(""), st.sampled_from(["sync", "async"]), available=st.booleans(), tracked=st.booleans()
        )
    ),
    st.integers(1, 3),
)
def test_a_second_look_changes_nothing_and_what_is_not_tracked_stays(found: list[Candidate], most: int) -> None:
    candidates = [Candidate(str(i), str(i), *one_of(one)) for i, one in enumerate(found)]
    modes = choose_modes(options(max_sync_replica_count=most), candidates)
    after = [
        Candidate(c.id, c.cluster_name, modes.get(c.id, c.mode), c.tracked, c.available, c.lag) for c in candidates
    ]
    assert choose_modes(options(max_sync_replica_count=most), after) == {}
    assert all(c.tracked for c in candidates if c.id in modes)
    assert sum(c.tracked and c.mode == "sync" for c in after) <= most


def one_of(candidate: Candidate) -> tuple[Any, bool, bool, int]:
    return candidate.mode, candidate.tracked, candidate.available, candidate.lag
