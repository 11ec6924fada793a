from __future__ import annotations

from typing import Any

import pytest

from queue_agent.core.status.overview_rows import Key
from queue_agent.core.status.stage_rows import StageRows, read_rows

FIRST = 1000
FOR_EVER = float("inf")


def queue(path: str, rows: int = 0, **more: Any) -> dict[str, Any]:
    return {"cluster": "a", "path": path, "rows": rows, **more}


def consumer(path: str, lag: int = 0, **more: Any) -> dict[str, Any]:
    return {"cluster": "a", "path": path, "queue_cluster": "a", "queue_path": "//q", "lag_rows": lag, **more}


class World:
    """Answers of agents, put together; each answer makes a version."""

    def __init__(self) -> None:
        self.rows = StageRows(FIRST)
        self.version = FIRST
        self.leaders: dict[str, str] = {}
        self.now = 0.0

    def tell(self, agent: str, version: int = 1, **answer: Any) -> int:
        self.version += 1
        told = read_rows({"version": version, **answer})
        return self.rows.put(self.version, agent, told, self.now, self.find_leader)

    def keep(self, *agents: str) -> int:
        self.version += 1
        return self.rows.keep(self.version, agents, self.find_leader)

    def find_leader(self, key: Key) -> str | None:
        return self.leaders.get(key[1])

    def shown(self) -> dict[str, int]:
        everything = self.rows.everything()
        return {row["path"]: row.get("rows", row.get("lag_rows")) for kind in everything.values() for row in kind}

    def new(self, since: int) -> tuple[list[str], list[Any]]:
        changes = self.rows.changes(since)
        assert changes is not None
        return [row["path"] for kind in ("queues", "consumers") for row in changes[kind]], changes["gone"]


@pytest.fixture
def world() -> World:
    return World()


def test_rows_of_all_agents_are_shown_and_only_what_is_new_is_told(world: World) -> None:
    assert world.tell("x", full=True, queues=[queue("//1", 5), queue("//2", 5)]) == 2
    assert world.tell("y", full=True, queues=[queue("//3", 5)], consumers=[consumer("//c", 9)]) == 2
    assert world.shown() == {"//1": 5, "//2": 5, "//3": 5, "//c": 9}
    known = world.version
    assert world.tell("x", 2, queues=[queue("//1", 6), queue("//2", 5)]) == 1
    assert world.new(known) == (["//1"], [])
    assert world.tell("y", 2, consumers=[consumer("//c", 8)]) == 1
    assert world.new(known) == (["//1", "//c"], [])


def test_what_is_gone_is_told(world: World) -> None:
    world.tell("x", full=True, queues=[queue("//1"), queue("//2")], consumers=[consumer("//c", name="n")])
    known = world.version
    gone = [["queue", "a", "//1"], ["consumer", "a", "//c", "a", "//q", "n"]]
    assert world.tell("x", 2, gone=[*gone, ["queue", "a", "//unknown"]]) == 2
    assert world.shown() == {"//2": 0}
    told, names = world.new(known)
    assert (told, sorted(names)) == ([], sorted(gone))


def test_a_row_that_is_new_and_gone_in_one_answer_is_there(world: World) -> None:
    world.tell("x", full=True, queues=[queue("//1")], consumers=[consumer("//c")])
    gone = [["queue", "a", "//1"], ["consumer", "a", "//c", "a", "//q", ""]]
    world.tell("x", 2, queues=[queue("//1", 3)], consumers=[consumer("//c", 4)], gone=gone)
    assert world.shown() == {"//1": 3, "//c": 4}


def test_all_rows_of_an_agent_that_begins_again_replace_its_rows(world: World) -> None:
    world.tell("x", full=True, queues=[queue("//1"), queue("//2")])
    known = world.version
    assert world.tell("x", 2, full=True, queues=[queue("//2")]) == 1
    assert world.shown() == {"//2": 0}
    assert world.new(known) == ([], [["queue", "a", "//1"]])


@pytest.mark.parametrize("first", ["x", "y"])
def test_of_two_agents_the_leader_is_believed(world: World, first: str) -> None:
    world.leaders["//1"] = "y"
    told = {"x": 1, "y": 2}
    for agent in (first, "x" if first == "y" else "y"):
        world.tell(agent, full=True, queues=[queue("//1", told[agent])])
    assert world.shown() == {"//1": 2}
    world.tell("x", 2, queues=[queue("//1", 100)])
    assert world.shown() == {"//1": 2}


def test_an_object_that_is_handed_over_does_not_vanish(world: World) -> None:
    world.tell("x", full=True, queues=[queue("//1", 1)])
    world.tell("y", full=True, queues=[queue("//1", 2)])
    assert world.shown() == {"//1": 1}  # nobody knows yet that another leads it
    world.tell("x", 2, gone=[["queue", "a", "//1"]])
    assert world.shown() == {"//1": 2}


def test_rows_of_an_agent_stay_until_it_is_none_any_more(world: World) -> None:
    world.tell("x", full=True, queues=[queue("//1")], problems=[{"kind": "agent"}])
    world.tell("y", full=True, queues=[queue("//2")])
    assert world.keep("x", "y") == 0
    assert world.rows.problems() == {"x": [{"kind": "agent"}], "y": ()}
    assert world.keep("y") == 1
    assert world.shown() == {"//2": 0}
    assert world.rows.problems() == {"y": ()}


def test_problems_stay_until_others_are_told(world: World) -> None:
    world.tell("x", full=True, problems=[{"kind": "agent"}])
    world.tell("x", 2)
    assert world.rows.problems() == {"x": [{"kind": "agent"}]}
    world.tell("x", 3, problems=[])
    assert world.rows.problems() == {"x": []}


def test_sparklines_come_with_everything_and_are_not_news(world: World) -> None:
    world.tell("x", full=True, queues=[queue("//1", spark=[1]), queue("//2", spark="none")])
    known = world.version
    world.tell("x", 2, queues=[queue("//1", 0)])
    assert world.new(known) == ([], [])
    assert {row["path"]: row["spark"] for row in world.rows.everything()["queues"]} == {"//1": [1], "//2": []}


def test_an_agent_is_asked_for_all_if_sparklines_are_old(world: World) -> None:
    assert world.rows.version_of("x", 0, FOR_EVER) is None
    assert not world.rows.is_known
    world.tell("x", 7, full=True)
    assert world.rows.version_of("x", 100, FOR_EVER) == 7
    assert world.rows.is_known
    assert world.rows.version_of("x", 100, 99) is None


def test_nobody_can_tell_what_is_new_since_before_the_beginning(world: World) -> None:
    assert world.rows.changes(FIRST - 1) is None


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {"version": "1"},
        {"version": 1, "queues": None},
        {"version": 1, "queues": [1]},
        {"version": 1, "queues": [{"cluster": "a"}]},
        {"version": 1, "queues": [{"cluster": "a", "path": ["//q"]}]},
        {"version": 1, "consumers": [{"cluster": "a", "path": "//q"}]},
        {"version": 1, "problems": {}},
        {"version": 1, "problems": ["no"]},
        {"version": 1, "gone": "queue"},
        {"version": 1, "gone": [["queue"]]},
        {"version": 1, "gone": [["producer", "a", "//q"]]},
        {"version": 1, "gone": [["queue", 1, 2]]},
        {"version": 1, "gone": [7]},
    ],
)
def test_what_is_no_overview_is_refused(answer: object) -> None:
    with pytest.raises(ValueError):
        read_rows(answer)
