"""The progress of exports, as it is stored."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.exports.progress import (
    NOTHING_EXPORTED,
    StoredProgress,
    TabletProgress,
    dropped_indexes,
    keep_tablets,
    recall_tablets,
    without_tablets,
)
from queue_agent.core.values.encoding import EPOCH, Unsigned
from queue_agent.core.values.scalars import MAX_SECOND

instants = st.integers(0, 4 * 10**15).map(lambda microseconds: EPOCH + timedelta(microseconds=microseconds))
tablets = st.builds(
    TabletProgress,
    st.just("1-2-3-4"),
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**63 - 1),
)
progresses = st.builds(
    StoredProgress,
    instants,
    instants,
    st.integers(0, MAX_SECOND),
    st.dictionaries(st.integers(0, 100), tablets, max_size=4),
    st.sampled_from(["0-0-0-0", "5-6-7-8"]),
)


@given(progresses)
def test_what_is_stored_is_read_again(progress: StoredProgress) -> None:
    assert StoredProgress.parse(progress.to_map()) == progress


def test_numbers_are_of_the_types_they_have_in_yt() -> None:
    stored = StoredProgress(last_export_unix_ts=60, tablets={0: TabletProgress("1-2-3-4", 5, 6, 7)}).to_map()
    assert stored == {
        "last_successful_export_task_instant": "1970-01-01T00:00:00.000000Z",
        "last_successful_export_iteration_instant": "1970-01-01T00:00:00.000000Z",
        "last_export_task_instant": "1970-01-01T00:00:00.000000Z",
        "last_export_unix_ts": 60,
        "tablets": {"0": {"last_chunk": "1-2-3-4", "max_timestamp": 5, "row_count": 6, "chunk_count": 7}},
        "queue_object_id": "0-0-0-0",
    }
    assert isinstance(stored["last_export_unix_ts"], Unsigned)
    assert isinstance(stored["tablets"]["0"]["max_timestamp"], Unsigned)
    assert not isinstance(stored["tablets"]["0"]["row_count"], Unsigned)


class CountedId(str):
    """An id that counts how often others are compared with it."""

    __slots__ = ()
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        CountedId.comparisons += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_the_work_for_a_queue_grows_with_its_tablets_and_not_with_their_square() -> None:
    ids = [CountedId(f"5-6-7-{index:x}") for index in range(1000)]
    progress = StoredProgress(tablets={index: TabletProgress("1-2-3-4", 5, 6, 7, one) for index, one in enumerate(ids)})
    CountedId.comparisons = 0
    assert len(progress.reached(dict(enumerate(reversed(ids)))).row_counts) == len(ids)
    assert CountedId.comparisons < 10 * len(ids)


@pytest.mark.parametrize("counts", [(5, 3), (3, 5)])
def test_of_two_entries_for_a_tablet_the_least_counts(counts: tuple[int, int]) -> None:
    progress = StoredProgress(
        tablets={index: TabletProgress("1-2-3-4", 5, count, 7, "5-6-7-8") for index, count in enumerate(counts)}
    )
    assert progress.reached({0: "5-6-7-8"}).row_counts == {0: 3}


def test_an_index_has_one_spelling() -> None:
    with pytest.raises(ValueError, match="expected the index of a tablet, got '00'"):
        StoredProgress.parse({"tablets": {"0": {}, "00": {"row_count": 5}}})


def test_older_agents_have_other_names() -> None:
    old = {
        "last_successful_export_iteration_instant": "2024-05-01T10:20:30.000000Z",
        "last_exported_fragment_unix_ts": 1700000000,
        "tablets": {"3": {"row_count": 5}},
    }
    assert StoredProgress.parse(old) == StoredProgress(
        last_successful_export_task_instant=datetime(2024, 5, 1, 10, 20, 30, tzinfo=UTC),
        last_export_unix_ts=1700000000,
        tablets={3: TabletProgress(row_count=5)},
    )


def test_no_attribute_is_no_progress() -> None:
    assert StoredProgress.parse(None) == NOTHING_EXPORTED


@pytest.mark.parametrize(
    "value", [5, {"tablets": 5}, {"tablets": {"a": {}}}, {"tablets": {"0": 5}}, {"last_export_task_instant": "soon"}]
)
def test_what_makes_no_sense_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="Export progress"):
        StoredProgress.parse(value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"last_successful_export_task_instant": 5}, 'Error reading "instant": expected an instant, got 5'),
        (
            {"last_export_unix_ts": -1},
            f'"last_export_unix_ts": expected a number from 0 to {MAX_SECOND}, got -1',
        ),
        (
            {"last_export_unix_ts": MAX_SECOND + 1},
            f'Error reading "last_export_unix_ts": expected a number from 0 to {MAX_SECOND}, got {MAX_SECOND + 1}',
        ),
        ({"queue_object_id": 1}, 'Error reading "queue_object_id": expected a string, got 1'),
        ({"tablets": []}, "expected a map, got []"),
        ({"tablets": {"0": 1}}, "expected a map, got 1"),
        ({"tablets": {"0": {"last_chunk": 1}}}, 'Error reading "last_chunk": expected a string, got 1'),
        ({"tablets": {"0": {"tablet_id": 1}}}, 'Error reading "tablet_id": expected a string, got 1'),
        (
            {"tablets": {"0": {"max_timestamp": "1"}}},
            '"max_timestamp": expected a number from 0 to 18446744073709551615',
        ),
        (
            {"tablets": {"0": {"row_count": -1}}},
            '"row_count": expected a number from 0 to 9223372036854775807',
        ),
        (
            {"tablets": {"0": {"chunk_count": -1}}},
            '"chunk_count": expected a number from 0 to 9223372036854775807',
        ),
        ({"tablets": {"1234567890": {}}}, "expected the index of a tablet, got '1234567890'"),
        ({"tablets": {"\u0663": {}}}, "expected the index of a tablet, got '\u0663'"),
        ({"tablets": {"x": {}}}, "expected the index of a tablet, got 'x'"),
        ({"tablets": {5: {}}}, "expected the index of a tablet, got 5"),
    ],
)
def test_what_is_wrong_with_a_progress_is_named(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        StoredProgress.parse(value)


def test_what_a_progress_does_not_say_is_that_of_an_export_that_never_ran() -> None:
    assert StoredProgress.parse({"queue_object_id": "1-2-3-4"}) == StoredProgress(queue_object_id="1-2-3-4")
    assert StoredProgress.parse({"tablets": {"123456789": {}}}).tablets == {123456789: TabletProgress()}
    big = {"tablets": {"0": {"max_timestamp": 2**64 - 1}}}
    assert StoredProgress.parse(big).tablets[0].max_timestamp == 2**64 - 1
    former = {"last_successful_export_iteration_instant": "2024-01-01T00:00:00.000000Z"}
    assert StoredProgress.parse(former).last_successful_export_task_instant == datetime(2024, 1, 1, tzinfo=UTC)
    now = {**former, "last_successful_export_task_instant": "2025-01-01T00:00:00.000000Z"}
    assert StoredProgress.parse(now).last_successful_export_task_instant == datetime(2025, 1, 1, tzinfo=UTC)
    assert StoredProgress.parse({"last_exported_fragment_unix_ts": 60}).last_export_unix_ts == 60
    assert (
        StoredProgress.parse({"last_exported_fragment_unix_ts": 60, "last_export_unix_ts": 120}).last_export_unix_ts
        == 120
    )


def test_progress_counts_for_its_own_tablets_only() -> None:
    own, other, nothing, one = (
        TabletProgress("1-1-1-1", 0, 7, 1, "t0"),
        TabletProgress("2-2-2-2", 0, 9, 1, "gone"),
        TabletProgress(),
        TabletProgress("3-3-3-3", 0, 1, 1),
    )
    found = StoredProgress(tablets={0: own, 1: other, 2: nothing, 3: one}).reached({0: "t0", 1: "t1", 2: "t2", 3: "t3"})
    assert (found.row_counts, found.foreign) == ({0: 7}, frozenset({1, 3}))
    assert found.row_count(1) == 0
    assert own.to_map()["tablet_id"] == "t0"
    assert "tablet_id" not in one.to_map()


def test_a_progress_without_tablets_is_recalled_only_if_nothing_has_changed() -> None:
    known = StoredProgress(
        tablets={0: TabletProgress("1-1-1-1", 5, 7, 1, "t0"), 1: TabletProgress("2-2-2-2", 5, 9, 1, "t1")}
    )
    told = StoredProgress(tablets={0: TabletProgress("1-1-1-1", 5, 7, 1), 1: TabletProgress("2-2-2-2", 5, 8, 1)})
    assert recall_tablets(told, known).tablets == {0: known.tablets[0], 1: told.tablets[1]}
    assert recall_tablets(told, NOTHING_EXPORTED) == told
    foreign = StoredProgress(tablets={0: TabletProgress("1-1-1-1", 5, 7, 1, "other")})
    assert recall_tablets(foreign, known) == foreign


def test_progress_that_no_tablet_continues_is_named() -> None:
    before = StoredProgress(
        tablets={
            3: TabletProgress("3-3-3-3", 0, 1, 1),
            2: TabletProgress(),
            1: TabletProgress("2-2-2-2", 0, 9, 1),
            0: TabletProgress("1-1-1-1", 0, 7, 1),
        }
    )
    after = StoredProgress(tablets={5: TabletProgress("1-1-1-1", 0, 7, 1, "t0")})
    assert dropped_indexes(before, after) == [1, 3]
    assert dropped_indexes(before, before) == []


def test_tablets_can_be_left_out() -> None:
    progress = StoredProgress(tablets={0: TabletProgress("1-1-1-1"), 1: TabletProgress("2-2-2-2")})
    assert without_tablets(progress, {0}).tablets == {1: TabletProgress("2-2-2-2")}


def test_progress_of_tablets_that_are_gone_is_told_from_that_of_those_there_are() -> None:
    progress = StoredProgress(
        tablets={0: TabletProgress("1-1-1-1", tablet_id="t0"), 1: TabletProgress("2-2-2-2"), 2: TabletProgress()}
    )
    assert progress.left_of(["t0", "t1"]).keys() == {1, 2}
    assert progress.left_of([]) == progress.tablets
    assert progress.last_chunks == {"1-1-1-1", "2-2-2-2"}


def test_progress_is_kept_of_the_tablets_that_are_given_by_their_present_indexes() -> None:
    old, new = TabletProgress("1-1-1-1"), TabletProgress("2-2-2-2")
    progress = StoredProgress(last_export_unix_ts=60, tablets={5: old})
    assert keep_tablets(progress, [new, None, old]) == StoredProgress(last_export_unix_ts=60, tablets={0: new, 2: old})
    assert keep_tablets(progress, []).tablets == {}
