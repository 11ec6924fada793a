from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.values.series_budget import admit, choose_worst

SCORES = st.dictionaries(st.integers(0, 30), st.integers(0, 5), max_size=20)


@given(SCORES, st.sets(st.integers(0, 30)), st.integers(1, 8))
def test_the_worst_half_is_chosen_and_never_more_than_the_limit(
    scores: dict[int, int], shown: set[int], limit: int
) -> None:
    chosen = choose_worst([(score, key) for key, score in scores.items()], shown, limit)
    assert len(chosen) == min(limit, len(scores))
    left_out = [score for key, score in scores.items() if key not in chosen]
    worse = sorted((scores[key] for key in chosen), reverse=True)[: (limit + 1) // 2]
    assert all(score >= other for score in worse for other in left_out)


@given(SCORES, st.integers(1, 8))
def test_what_was_chosen_is_chosen_again_while_nothing_changes(scores: dict[int, int], limit: int) -> None:
    scored = [(score, key) for key, score in scores.items()]
    chosen = choose_worst(scored, {}, limit)
    assert set(choose_worst(scored, chosen, limit)) == set(chosen)


@given(st.dictionaries(st.integers(0, 30), st.integers(0, 5)), st.lists(st.integers(0, 30)), st.integers(0, 20))
def test_those_admitted_fit_and_who_was_there_first_stays(sizes: dict[int, int], shown: list[int], limit: int) -> None:
    admitted = admit(sizes, shown, limit)
    assert sum(sizes[key] for key in admitted) <= limit
    assert list(admit(sizes, admitted, limit))[: len(admitted)] == list(admitted)
    assert all(sizes[key] > 0 for key in sizes.keys() - admitted.keys())


def test_the_other_half_is_for_those_shown_before_as_long_as_they_are_bad_enough() -> None:
    scored = [(10 - rank, f"{rank}") for rank in range(10)]
    assert set(choose_worst(scored, {"6", "7", "8"}, 4)) == {"0", "1", "6", "7"}
    assert set(choose_worst(scored, {"8"}, 4)) == {"0", "1", "2", "3"}
    assert set(choose_worst(scored[:3], {"9"}, 4)) == {"0", "1", "2"}


def test_what_does_not_fit_is_left_out_and_what_comes_after_it_may_fit() -> None:
    sizes = {"a": 3, "b": 4, "c": 2}
    assert list(admit(sizes, [], 5)) == ["a", "c"]
    assert list(admit(sizes, ["c", "gone"], 5)) == ["c", "a"]
