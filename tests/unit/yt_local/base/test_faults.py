"""Which request a fault befalls."""

from __future__ import annotations

from typing import Any

import pytest

from yt_local.base.faults import Cut, Delay, Drop, Faults, Hang, Refuse, Scope
from yt_wire import yson
from yt_wire.error import YtError

COMMANDS = {"get", "insert_rows", "select_rows", "execute_batch"}
INSERT = {"path": "//home/x/table"}


@pytest.fixture
def faults() -> Faults:
    return Faults(COMMANDS)


async def is_refused(faults: Faults, command: str, parameters: dict[str, Any]) -> bool:
    try:
        await faults.before(command, parameters)
    except YtError as error:
        assert error.code == 105
        return True
    return False


@pytest.mark.parametrize(
    ("scope", "concerned"),
    [
        (Scope(), True),
        (Scope(path="//home/x"), True),
        (Scope(path="//home/y"), False),
        (Scope(frozenset({"insert_rows", "get"})), True),
        (Scope(frozenset({"get"}), "//home/x"), False),
    ],
)
def test_a_scope_is_commands_and_a_text_in_a_path(scope: Scope, concerned: bool) -> None:
    assert scope.concerns("insert_rows", INSERT) is concerned


@pytest.mark.parametrize(
    "parameters",
    [
        {"path": yson.with_attributes("//tmp/q", {"append": True})},
        {"query": "* from [//tmp/q]"},
        {"consumer_path": "//tmp/c", "queue_path": "<cluster=a>//tmp/q"},
        {"source_paths": ["//tmp/p", "//tmp/q"]},
    ],
)
def test_paths_are_found_wherever_commands_have_them(parameters: dict[str, Any]) -> None:
    assert Scope(path="//tmp/q").concerns("get", parameters)
    assert not Scope(path="//tmp/other").concerns("get", parameters)


async def test_a_fault_is_used_up_by_as_many_requests_as_it_is_for(faults: Faults) -> None:
    fault = faults.add(Refuse(), Scope(frozenset({"insert_rows"}), "/x/"), count=2)
    assert not await is_refused(faults, "get", INSERT)
    assert [await is_refused(faults, "insert_rows", INSERT) for _ in range(4)] == [True, True, False, False]
    assert (fault.hits, fault.remaining) == (2, 0)
    assert faults.all == [fault], "it can still be asked how often it was hit"


async def test_the_first_of_several_faults_befalls_a_request_and_the_next_one_after_it(faults: Faults) -> None:
    first = faults.add(Refuse(YtError("first", 105)), count=1)
    second = faults.add(Refuse(YtError("second", 105)))
    for words in ("first", "second", "second"):
        with pytest.raises(YtError, match=words):
            await faults.before("get", {})
    assert (first.hits, second.hits) == (1, 2)


async def test_one_part_of_a_batch_is_refused_and_a_dropped_connection_is_that_of_all(faults: Faults) -> None:
    batch = {"requests": [{"command": "get", "parameters": {"path": "//a"}}, {"command": "get", "parameters": INSERT}]}
    about_x = Scope(frozenset({"get"}), "/x/")
    with faults.active(Refuse(), about_x):
        assert not await is_refused(faults, "execute_batch", batch)
        assert await is_refused(faults, "get", INSERT)
        assert faults.take_connection_fault("execute_batch", batch) is None
    with faults.active(Drop(), about_x) as fault:
        assert faults.take_connection_fault("execute_batch", batch) is fault
        assert not await is_refused(faults, "get", INSERT)


@pytest.mark.parametrize("requests", [None, 5, [5], [{"command": 5}], [{"command": "get", "parameters": 5}]])
def test_a_batch_that_makes_no_sense_is_looked_at_without_harm(faults: Faults, requests: Any) -> None:
    faults.add(Cut(), Scope(path="//nowhere"))
    assert faults.take_connection_fault("execute_batch", {"requests": requests}) is None


async def test_what_is_turned_off_delays_nobody_any_longer(faults: Faults) -> None:
    fault = faults.add(Delay(1000))
    hanging = faults.add(Hang())
    faults.clear()
    await fault.hold(1000)
    await hanging.ended.wait()
    assert faults.all == []


def test_a_fault_for_a_command_that_does_not_exist_is_a_mistake(faults: Faults) -> None:
    with pytest.raises(YtError, match="insert_row"):
        faults.add(Refuse(), Scope(frozenset({"insert_row"})))


def test_a_cluster_that_is_off_comes_back_when_it_is_told_to(faults: Faults) -> None:
    assert not faults.is_off
    faults.turn_off()
    assert faults.is_off
    faults.turn_on()
    assert not faults.is_off
    faults.turn_off(seconds=0)
    assert not faults.is_off
