from __future__ import annotations

from typing import Any

import pytest

from queue_agent.adapters.cluster.batch_answer import digest_of, join_results, split_results
from yt_wire import yson


def infos(total_row_count: int, barrier: int) -> dict[str, Any]:
    return {
        "output": {
            "tablets": [
                {
                    "total_row_count": total_row_count,
                    "barrier_timestamp": yson.Uint64(barrier),
                    "last_write_timestamp": yson.Uint64(7 << 30),
                }
            ]
        }
    }


def facts(object_id: str) -> dict[str, Any]:
    return {"output": {"value": {"id": object_id, "tablet_count_by_state": {"mounted": 1}}}}


def batch(*results: Any) -> bytes:
    return yson.dumps({"results": list(results)})


def test_results_are_told_apart_and_read_one_by_one() -> None:
    pieces = split_results(batch(facts("a"), infos(5, 1), facts("b")), 3)
    assert pieces is not None
    for chosen, ids in (([0], ["a"]), ([2], ["b"]), ([0, 2], ["a", "b"])):
        results = yson.loads(join_results([pieces[index] for index in chosen]))
        assert [result["output"]["value"]["id"] for result in results] == ids
    [result] = yson.loads(join_results([pieces[1]]))
    assert result["output"]["tablets"] == [{"total_row_count": 5, "last_write_timestamp": 7 << 30}]


@pytest.mark.parametrize("barrier", [0, 1, 127, 128, 1 << 40, (1 << 64) - 1])
def test_barrier_timestamps_make_no_difference(barrier: int) -> None:
    first = split_results(batch(infos(5, 77), facts("a")), 2)
    second = split_results(batch(infos(5, barrier), facts("a")), 2)
    assert first == second
    assert first is not None
    assert second is not None
    assert digest_of(first) == digest_of(second)


def test_anything_else_makes_a_difference() -> None:
    digests = set()
    for results in ([infos(5, 1), facts("a")], [infos(6, 1), facts("a")], [infos(5, 1), facts("b")]):
        pieces = split_results(batch(*results), 2)
        assert pieces is not None
        digests.add(digest_of(pieces))
    assert len(digests) == 3


@pytest.mark.parametrize(
    "body",
    [
        batch(facts("a"), {"error": {"code": 500, "message": "no", "attributes": {}}}),
        batch({"error": {"code": 500, "message": "no", "attributes": {}}}, facts("a")),
        batch(facts("a")),
        batch(facts("a"), facts("b"), facts("c")),
        yson.dumps({"results": [facts("a"), facts("b")]}, "text"),
        yson.dumps({"results": [facts("a"), facts("b")], "more": 5}),
        b"",
        b"]",
    ],
)
def test_an_answer_that_is_not_two_outputs_is_left_to_a_parser(body: bytes) -> None:
    assert split_results(body, 2) is None


def test_an_output_may_hold_what_looks_like_another() -> None:
    nested = {"output": {"value": [facts("b")]}}
    assert split_results(batch(facts("a"), nested), 2) is None
