"""How far exports have got."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from queue_agent.core.exports import ExportProgress, aggregate_progress

progresses = st.lists(st.dictionaries(st.integers(0, 5), st.integers(0, 9)).map(ExportProgress))


def test_a_partition_missing_in_one_export_counts_as_not_exported() -> None:
    left, right = ExportProgress({1: 1, 3: 1, 4: 2}), ExportProgress({2: 1, 3: 2, 4: 1})
    assert aggregate_progress([left, right]) == ExportProgress({1: 0, 2: 0, 3: 1, 4: 1})
    assert aggregate_progress([left]) == left
    assert aggregate_progress([]) is None
    assert left.row_count(2) == 0


@given(progresses)
@settings(deadline=None)
def test_all_exports_together_have_what_each_of_them_has(exports: list[ExportProgress]) -> None:
    together = aggregate_progress(exports)
    if together is None:
        assert not exports
        return
    for index in range(7):
        assert together.row_count(index) == min(export.row_count(index) for export in exports)
    assert aggregate_progress(reversed(exports)) == together
