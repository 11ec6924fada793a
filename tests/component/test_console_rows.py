"""Looks at rows: with the caller's right to read, whatever is in them, and never much at a time."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from queue_agent.controllers.acts import rows as viewer
from tests.component.console_world import QUEUE, ConsoleWorld, console_world

NAMES = ("<img src=x onerror=alert(1)>", "\u202egnp.exe", "a" * 1500)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ConsoleWorld]:
    async with console_world(tmp_path) as world:
        yield world


def address(path: str = QUEUE, **parameters: Any) -> str:
    query = "&".join(f"{name.rstrip('_')}={quote(str(value), safe='')}" for name, value in parameters.items())
    return f"/api/v1/rows?cluster=pythia&path={quote(path, safe='')}&{query}"


def on_the_wire(name: str) -> str:
    """YTsaurus's JSON has a character for each byte."""
    return name.encode().decode("latin-1")


def offsets(document: Any) -> list[int]:
    return [row["offset"] for row in document["rows"]]


async def test_rows_are_found_by_offset_time_and_from_the_end(world: ConsoleWorld) -> None:
    bob = await world.bob()

    async def find(**parameters: Any) -> Any:
        status, document = await bob.ask("GET", address(partition=1, **parameters))
        assert status == 200, document
        return document

    last = await find(from_="tail:3")
    assert (offsets(last), last["next"], last["columns"]) == ([7, 8, 9], None, ["data"])
    middle = await find(from_="offset:4", limit=2)
    assert (offsets(middle), middle["next"]) == ([4, 5], 6)
    assert middle["rows"][0]["columns"] == {"data": {"type": "string", "text": "row 4", "truncated": False, "size": 5}}
    assert (middle["lower_row_index"], middle["upper_row_index"]) == (0, 10)
    assert offsets(await find(from_=f"time:{last['rows'][0]['timestamp']}", limit=1)) != []
    assert offsets(await find(from_="time:2099-01-01T00:00:00Z")) == []
    assert offsets(await find(from_="offset:10")) == []
    await world.root.run("trim_rows", path=QUEUE, tablet_index=1, trimmed_row_count=6)
    assert offsets(await find(from_="offset:0")) == [6, 7, 8, 9]
    assert await world.offsets() == [5, 5]


async def test_who_may_not_read_a_queue_sees_no_row_of_it(world: ConsoleWorld) -> None:
    deny = {"action": "deny", "subjects": ["bob"], "permissions": ["read"]}
    await world.root.set(f"{QUEUE}/@acl", [deny])
    bob, ann = await world.bob(), await world.ann()
    status, error = await bob.ask("GET", address())
    assert (status, error["code"]) == (403, 901)
    assert (await ann.ask("GET", address()))[0] == 200


async def test_huge_rows_come_a_few_at_a_time(world: ConsoleWorld) -> None:
    for _ in range(6):
        await world.root.insert(QUEUE, [{"data": "x" * 400_000, "$tablet_index": 0}] * 2)
    ann = await world.ann()
    status, document = await ann.ask("GET", address(from_="offset:10", limit=100))
    assert status == 200
    assert 1 <= len(document["rows"]) <= 4
    assert document["next"] == 10 + len(document["rows"])
    assert len(json.dumps(document)) < 20_000
    cell = document["rows"][0]["columns"]["data"]
    assert (len(cell["text"]), cell["truncated"], cell["size"]) == (1000, True, 400_000)


async def test_names_and_values_of_strangers_are_data(world: ConsoleWorld) -> None:
    ann = await world.ann()
    columns = [*map(on_the_wire, NAMES[:2])]
    schema = [{"name": name, "type": "any"} for name in columns] + [{"name": "$timestamp", "type": "uint64"}]
    for name in NAMES:
        path = f"//home/{name}"
        await world.root.create_queue(on_the_wire(path), schema=schema)
        await world.root.insert(on_the_wire(path), [{columns[0]: {"k": ["x", None]}, "$tablet_index": 0}])
        status, document = await ann.ask("GET", address(path))
        assert (status, document["columns"]) == (200, list(NAMES[:2]))
        assert document["rows"][0]["columns"][NAMES[0]]["type"] == "any"
        assert document["rows"][0]["columns"][NAMES[1]]["type"] == "null"


@pytest.mark.parametrize(
    ("parameters", "status"),
    [
        ({"partition": 7}, 409),
        ({"partition": -1}, 400),
        ({"partition": "\u0661"}, 400),
        ({"limit": 101}, 400),
        ({"limit": 0}, 400),
        ({"from_": "tail:-1"}, 400),
        ({"from_": "time:2026-01-01"}, 400),
        ({"from_": "offset:" + "9" * 30}, 400),
        ({"from_": "offset:999999999999999999"}, 200),
        ({"from_": "time:0001-01-01T00:00:00+14:00"}, 200),
        ({"from_": "time:9999-12-31T23:59:59-14:00"}, 200),
    ],
)
async def test_what_is_asked_for_is_checked(world: ConsoleWorld, parameters: dict[str, Any], status: int) -> None:
    ann = await world.ann()
    assert (await ann.ask("GET", address(**parameters)))[0] == status
    for path in ("//home/queue/@acl", "//home/queue{data}", "#1-2-3-4", "//sys/tokens/../queue", ""):
        assert (await ann.ask("GET", address(path)))[0] in (400, 404)


async def test_rows_that_do_not_come_are_not_waited_for(world: ConsoleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer, "SECONDS", 0.000001)
    ann = await world.ann()
    status, error = await ann.ask("GET", address())
    assert (status, "did not come" in error["message"]) == (503, True)


async def test_an_unmounted_queue_says_so(world: ConsoleWorld) -> None:
    ann = await world.ann()
    await world.root.run("unmount_table", path=QUEUE)
    status, error = await ann.ask("GET", address())
    assert (status, "is unmounted" in error["message"]) == (409, True)
