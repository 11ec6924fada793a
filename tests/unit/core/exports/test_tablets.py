"""Whose progress it is, and what of a tablet is to be exported."""

from __future__ import annotations

from queue_agent.core.exports.planning import QueueChunk
from queue_agent.core.exports.progress import TabletProgress
from queue_agent.core.exports.tablets import SurveyedTablet, identify_tablet, survey_tablet

A, B, C = (QueueChunk(name, 0, row, 5, 100 + row) for name, row in (("a", 5), ("b", 10), ("c", 15)))
"""Rows 5 to 20."""


def progress(last_chunk: str, row_count: int, tablet_id: str = "0-0-0-0") -> TabletProgress:
    return TabletProgress(last_chunk, 110, row_count, 7, tablet_id)


def survey(
    known: TabletProgress | None,
    left: TabletProgress | None,
    chunks: list[QueueChunk] | None = None,
    exported: set[str] | None = None,
) -> SurveyedTablet:
    return survey_tablet("t0", known, left, [A, B, C] if chunks is None else chunks, 20, exported or set())


def test_a_tablet_goes_on_behind_its_last_chunk() -> None:
    known = progress("b", 15, "t0")
    for chunks in ([A, B, C], [B, C]):
        assert survey(known, None, chunks) == SurveyedTablet(known, [C], False, None)
    assert survey(known, None, [C]) == SurveyedTablet(known, [C], False, None)
    assert survey(known, None, []) == SurveyedTablet(known, [], False, None)


def test_of_a_tablet_nothing_is_known_of_all_is_exported() -> None:
    assert survey(None, None) == SurveyedTablet(None, [A, B, C], False, None)


def test_a_tablet_with_the_last_chunk_at_the_same_rows_is_the_same() -> None:
    for tablet_id in ("0-0-0-0", "another"):
        own = identify_tablet(progress("b", 15, tablet_id), "t0", [A, B, C], 20)
        assert own == progress("b", 15, "t0")
        assert survey(None, progress("b", 15, tablet_id)) == SurveyedTablet(own, [C], False, None)


def test_a_chunk_as_old_as_the_last_one_may_come_before_it() -> None:
    as_old = QueueChunk("a", 0, 5, 5, 110)
    assert identify_tablet(progress("b", 15, "another"), "t0", [as_old, B, C], 20) == progress("b", 15, "t0")


def test_a_chunk_at_other_rows_tells_nothing_unless_nobody_said_whose_it_was() -> None:
    assert survey(None, progress("b", 14, "another")) == SurveyedTablet(None, [A, B, C], True, None)
    mismatch = "Mismatch between last chunk from tablet progress and row count from progress"
    found = survey(None, progress("b", 14))
    assert (found.progress, found.chunks) == (progress("b", 14), [C])
    assert (found.mismatch or "").startswith(f"{mismatch} (LastChunk: b, EndRowIndex: 15, RowCount: 14)")


def test_rows_that_are_too_young_to_be_exported_were_those_of_another_tablet() -> None:
    """A dropped tablet of which 5 rows were trimmed, behind one of 5 rows that are not exported."""
    young = QueueChunk("a", 0, 5, 5, 111)
    for tablet_id in ("0-0-0-0", "another"):
        left = progress("b", 15, tablet_id)
        assert survey(None, left, [young, B, C], {"b"}) == SurveyedTablet(None, [young, B, C], True, None)


def test_where_no_exported_row_is_left_it_does_not_matter_whose_they_were() -> None:
    for left in (progress("gone", 5), progress("gone", 5, "another")):
        own = identify_tablet(left, "t0", [A, B, C], 20)
        assert own == progress("gone", 5, "t0")
        assert survey(None, left) == SurveyedTablet(own, [A, B, C], False, None)
    assert survey(None, progress("gone", 20), []).progress == progress("gone", 20, "t0")
    assert survey(None, progress("gone", 21), []) == SurveyedTablet(None, [], False, None)
    assert survey(None, progress("gone", 6)) == SurveyedTablet(None, [A, B, C], True, None)


def test_exported_chunks_of_a_tablet_that_was_merged_into_another_are_told() -> None:
    known = progress("a", 10, "t0")
    assert survey(known, None, exported={"a", "b"}) == SurveyedTablet(known, [B, C], True, None)
    assert survey(known, None, exported={"a", "x"}) == SurveyedTablet(known, [B, C], False, None)
