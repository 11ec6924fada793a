from __future__ import annotations

from typing import Any

import pytest

from queue_agent.core.group.questions import Missing
from queue_agent.core.status.stage_lists import check_list, merge_alerts, merge_pages, merge_verdicts

DEAD = Missing("c:1", "It cannot be reached", 7)


def page(*paths: str, total: int | None = None, is_last: bool = True, role: str = "leading") -> dict[str, Any]:
    queues = [{"cluster": "a", "path": path, "role": role} for path in paths]
    return {
        "queues": queues,
        "total": len(paths) if total is None else total,
        "next": None if is_last else f"a:{paths[-1]}",
    }


def paths_of(document: dict[str, Any]) -> list[str]:
    return [one["path"] for one in document["queues"]]


def test_pages_of_all_agents_become_one_in_order() -> None:
    merged = merge_pages("queues", [page("//1", "//4"), page("//2", "//3")], 10, [DEAD])
    assert (paths_of(merged), merged["total"], merged["next"]) == (["//1", "//2", "//3", "//4"], 4, None)
    assert merged["missing"] == [{"agent": "c:1", "reason": "It cannot be reached", "objects": 7}]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 9])
def test_page_after_page_every_object_comes_once(limit: int) -> None:
    agents = [["//0", "//3", "//4"], ["//1", "//2", "//5", "//6"], []]
    seen: list[str] = []
    after = ""
    while True:
        some = []
        for paths in agents:
            left = [path for path in paths if f"a:{path}" > after]
            some.append(page(*left[:limit], total=len(paths), is_last=len(left) <= limit))
        merged = merge_pages("queues", some, limit, [])
        assert (merged["total"], len(paths_of(merged)) <= limit) == (7, True)
        seen += paths_of(merged)
        if merged["next"] is None:
            break
        after = merged["next"]
    assert seen == [f"//{number}" for number in range(7)]


def test_an_object_in_two_lists_comes_once_from_its_leader() -> None:
    for order in (0, 1):
        pages = [page("//1", role="error"), page("//1", role="leading")]
        merged = merge_pages("queues", pages[::-1] if order else pages, 10, [])
        assert [one["role"] for one in merged["queues"]] == ["leading"]
        assert merged["total"] == 1


def test_nothing_is_an_empty_page() -> None:
    assert merge_pages("queues", [], 10, []) == {"queues": [], "total": 0, "next": None, "missing": []}


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {"queues": [], "total": "7"},
        {"queues": {}, "total": 7},
        {"total": 7},
        {"queues": [7], "total": 1},
        {"queues": [{"cluster": "a"}], "total": 1},
        {"queues": [{"cluster": "a", "path": 5}], "total": 1},
    ],
)
def test_what_is_no_list_is_refused(answer: object) -> None:
    with pytest.raises(ValueError, match="queues"):
        check_list("queues", ("cluster", "path"))(answer)


def test_keys_of_another_version_are_let_through() -> None:
    answer = {"queues": [{"cluster": "a", "path": "//q", "later": 1}], "total": 1, "later": 2}
    assert check_list("queues", ("cluster", "path"))(answer) == answer


def verdict(name: str, consumer: str, vital: bool = False) -> dict[str, Any]:
    return {"consumer": consumer, "queue": "a://q", "vital": vital, "verdict": name}


def test_the_worst_verdict_of_all_agents_comes_first_and_unknown_ones_last() -> None:
    first = [verdict("losing", "a://2"), verdict("ok", "a://3")]
    second = [verdict("losing", "a://4", vital=True), verdict("of_the_future", "a://1")]
    lists = [{"verdicts": first, "total": 2}, {"verdicts": second, "total": 9}]
    merged = merge_verdicts(lists, 10, [DEAD])
    assert [one["consumer"] for one in merged["verdicts"]] == ["a://4", "a://2", "a://3", "a://1"]
    assert (merged["total"], len(merged["missing"])) == (11, 1)
    assert len(merge_verdicts(lists, 2, [])["verdicts"]) == 2


def test_alerts_of_agents_say_whose_they_are() -> None:
    agent = {"kind": "agent", "category": "pass_failed", "reason": "no"}
    queue = {"kind": "queue", "queue": "a://q", "category": "reshard", "reason": "no"}
    strange = {"kind": "of_the_future", "reason": "no"}
    problem = {"kind": "consumer", "reason": "no", **verdict("stopped", "a://1")}
    one = {"alerts": [strange, problem, queue], "total": 3}
    merged = merge_alerts({"a:1": one, "b:1": {"alerts": [agent], "total": 1}}, 10, [])
    assert merged["alerts"] == [{**agent, "agent": "b:1"}, queue, problem, strange]
    assert merge_alerts({"": {"alerts": [agent], "total": 1}}, 10, [])["alerts"] == [agent]
