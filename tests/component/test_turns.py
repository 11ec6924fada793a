"""Long work by turns: others are answered meanwhile, and what they change does no harm to it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import ClientSession

from tests.waiting import until
from yt_local.base.turns import TURN_SECONDS, Turns, aside, give_way
from yt_local.calls.command import Body, Rows
from yt_local.cluster import Cluster
from yt_local.runner import LocalClusters
from yt_local.security.permissions import UNLIMITED
from yt_local.session import Session
from yt_wire import yson
from yt_wire.error import YtError

SORTED = [{"name": "k", "type": "int64", "sort_order": "ascending"}, {"name": "v", "type": "int64"}]
ORDERED = [{"name": "v", "type": "int64"}]
ROW_COUNT = 1200

JOIN = "sum(1) as n from [//tmp/sorted] as a join [//tmp/sorted] as b on a.v = b.v group by 1"
"""Of every row with every row."""

LONG_QUERIES = {
    "join": JOIN,
    "expression": "regex_full_match('(?s)(a|b)*a(a|b){400}c', '"
    + "ab" * 200_000
    + "') as x from [//tmp/sorted] limit 1",
    "expressions": ", ".join(f"regex_full_match('[a-z]{{0,1000}}{i}', 'a') as x{i}" for i in range(150))
    + " from [//tmp/sorted] limit 1",
    "list": "* from [//tmp/sorted] where k in (" + ",".join(map(str, range(60_000))) + ")",
}


async def ask(cluster: Cluster, command: str, body: Body | None = None, **parameters: Any) -> Any:
    return await cluster.execute(Session(UNLIMITED), cluster.command(command), parameters, body or Body())


@asynccontextmanager
async def filled() -> AsyncIterator[LocalClusters]:
    async with LocalClusters({"a": 0}) as clusters:
        cluster = clusters.cluster("a")
        cluster.requests.start()
        for path, columns in (("//tmp/sorted", SORTED), ("//tmp/ordered", ORDERED)):
            schema = yson.with_attributes(columns, {"unique_keys": columns is SORTED})
            await ask(cluster, "create", type="table", path=path, attributes={"dynamic": True, "schema": schema})
            await ask(cluster, "mount_table", path=path)
        keyed = [{b"k": k, b"v": 1} for k in range(ROW_COUNT)]
        await ask(cluster, "insert_rows", Body(rows=keyed), path="//tmp/sorted")
        await ask(cluster, "insert_rows", Body(rows=[{b"v": 1}] * 3000), path="//tmp/ordered")
        yield clusters


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with filled() as clusters:
        yield clusters.cluster("a")


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG_QUERIES)
async def test_others_are_answered_while_a_query_goes_on(name: str) -> None:
    parameters = json.dumps({"query": LONG_QUERIES[name], "allow_join_without_index": True})
    async with filled() as clusters, ClientSession() as session, asyncio.TaskGroup() as group:
        url = f"http://{clusters.addresses['a']}"

        async def query() -> int:
            async with session.get(f"{url}/api/v4/select_rows", headers={"X-YT-Parameters": parameters}) as answer:
                return answer.status

        async def neighbour() -> None:
            async with session.get(f"{url}/api/v4/exists", params={"path": "//tmp"}) as answer:
                assert (await answer.json())["value"]

        task = group.create_task(query())
        await until(lambda: any(one.command == "select_rows" for one in clusters.cluster("a").requests.find()))
        for _ in range(3):
            await neighbour()
        assert not task.done()
        assert await task == 200


async def changed_while_read(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, query: str, change: Callable[[], Any]
) -> Rows:
    """The answer of a query that is put aside after each page of rows, if a change is made after the first."""
    monkeypatch.setattr("yt_local.base.turns.TURN_SECONDS", 0)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(ask(cluster, "select_rows", query=query))
        for _ in range(60):  # of the turns some are in the parser, the others among the first thousand rows
            await asyncio.sleep(0)
        assert not task.done()
        await change()
        answer = await task
    assert isinstance(answer, Rows)
    return answer


@pytest.mark.parametrize("path", ["//tmp/sorted", "//tmp/ordered"])
async def test_a_query_sees_nothing_that_is_written_after_it_began(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    async def write() -> None:
        rows = (
            [{b"k": ROW_COUNT + 1, b"v": 2}, {b"k": ROW_COUNT - 1, b"v": 2}] if path == "//tmp/sorted" else [{b"v": 2}]
        )
        await ask(cluster, "insert_rows", Body(rows=rows), path=path)

    answer = await changed_while_read(cluster, monkeypatch, f"v from [{path}]", write)
    assert [row["v"] for row in answer.rows if row is not None] == [1] * (ROW_COUNT if path == "//tmp/sorted" else 3000)


@pytest.mark.parametrize("path", ["//tmp/sorted", "//tmp/ordered"])
@pytest.mark.parametrize("kind", ["unmounted", "mounted again", "removed", "resharded", "altered"])
async def test_a_query_fails_rather_than_answer_with_a_part_of_the_rows(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, path: str, kind: str
) -> None:
    async def change() -> None:
        if kind == "removed":
            await ask(cluster, "remove", path=path)
            return
        await ask(cluster, "unmount_table", path=path)
        if kind == "resharded":
            pivots = {"pivot_keys": [[], [1100]]} if path == "//tmp/sorted" else {"tablet_count": 2}
            await ask(cluster, "reshard_table", path=path, **pivots)
        if kind == "altered":
            columns = [*(SORTED if path == "//tmp/sorted" else ORDERED), {"name": "new", "type": "int64"}]
            schema = yson.with_attributes(columns, {"unique_keys": path == "//tmp/sorted"})
            await ask(cluster, "alter_table", path=path, schema=schema)
        if kind != "unmounted":
            await ask(cluster, "mount_table", path=path)

    with pytest.raises(ExceptionGroup) as caught:
        await changed_while_read(cluster, monkeypatch, f"v from [{path}]", change)
    [error] = caught.value.exceptions
    assert isinstance(error, YtError)
    assert error.code == 1704


async def test_work_that_never_ends_is_given_up() -> None:
    left = []

    def work() -> None:
        try:
            while True:
                give_way()
        finally:
            left.append(True)

    with pytest.raises(YtError) as caught:
        await Turns().run(work, max_seconds=0.05)
    assert caught.value.code == 3
    assert left


async def test_work_whose_caller_is_gone_is_given_up() -> None:
    left = []
    begun = []

    def work() -> None:
        begun.append(True)
        try:
            while True:
                give_way()
        finally:
            left.append(True)

    task = asyncio.get_running_loop().create_task(Turns().run(work))
    await until(lambda: bool(begun))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert left


async def test_pieces_of_work_take_turns() -> None:
    order: list[str] = []

    def work(name: str) -> Callable[[], str]:
        def run() -> str:
            for _ in range(3):
                order.append(name)
                end = time.monotonic() + 2 * TURN_SECONDS
                while time.monotonic() < end:
                    pass
                give_way()
            return name

        return run

    turns = Turns()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(turns.run(work(name))) for name in "ab"]
    assert [task.result() for task in tasks] == ["a", "b"]
    assert order == list("ababab")


async def test_what_is_done_aside_raises_where_it_was_asked_for() -> None:
    def fail() -> None:
        raise YtError("no")

    def work() -> str:
        try:
            aside(fail)
        except YtError as error:
            return error.message
        return "nothing"

    assert await Turns().run(work) == "no"
    assert aside(lambda: 5) == 5
