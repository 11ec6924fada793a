from __future__ import annotations

import asyncio

from yt_wire.turns import Turns


async def test_turns_go_round_among_addresses_however_many_one_of_them_waits_for() -> None:
    turns = Turns(per_iteration=2)
    taken: list[str] = []

    async def work(address: str) -> None:
        await turns.take(address)
        taken.append(address)

    async with asyncio.TaskGroup() as group:
        for address in ["greedy"] * 50 + ["modest"]:
            group.create_task(work(address))
    assert taken.index("modest") < 6
    assert len(taken) == 51


async def test_the_loop_gets_to_others_between_turns() -> None:
    turns = Turns(per_iteration=2)
    at_a_time: list[int] = []
    taken = 0

    async def work() -> None:
        nonlocal taken
        await turns.take("a")
        taken += 1

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work()) for _ in range(20)]
        while not all(task.done() for task in tasks):
            before = taken
            await asyncio.sleep(0)
            at_a_time.append(taken - before)
    assert max(at_a_time) <= 4
    assert taken == 20


async def test_who_stops_waiting_takes_nobody_s_turn() -> None:
    turns = Turns(per_iteration=1)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(turns.take(str(number))) for number in range(5)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        tasks[2].cancel()
    assert [task.cancelled() for task in tasks] == [False, True, True, False, False]
