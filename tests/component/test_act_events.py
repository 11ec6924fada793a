"""Acts of people are events, whether a page, a program or a command did them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest

from queue_agent.core.state.audit_journal import ADDED_COLUMNS
from queue_agent.core.state.schema import AUDIT_COLUMNS
from tests.component.console_world import (
    ANN_TOKEN,
    CONSUMER,
    OF_QUEUE,
    PAIR,
    QUEUE,
    ConsoleWorld,
    console_world,
)

JOURNAL: Final = "//sys/queue_agents/audit_journal"
TRICKY: Final = "//home/x in pythia:q"
GONE: Final = "gone.example.net:9030"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ConsoleWorld]:
    async with console_world(tmp_path) as world:
        yield world


async def acts(world: ConsoleWorld, **query: str) -> list[Any]:
    """Newest first."""
    status, page = await (await world.ann()).ask("GET", f"/api/v1/events?{urlencode({'kind': 'act', **query})}")
    assert (status, page["acts_read"]) == (200, True)
    return list(page["events"])


async def run(world: ConsoleWorld, tmp_path: Path, *arguments: str, token: str = "") -> tuple[int, str]:
    """Exit code and standard error of a command with the agent's configuration, and somebody's token."""
    token_file = tmp_path / "token"
    if token:
        token_file = tmp_path / "own-token"
        token_file.write_text(token)
    config = tmp_path / "agent.yaml"
    proxy = world.root._origin.partition("://")[2].partition("/")[0]
    cluster = f'{{proxy: "{proxy}", token_file: "{token_file}", discover_proxies: false}}'
    config.write_text(f"stage: production\nclusters: {{pythia: {cluster}}}\nstate: {{cluster: pythia}}\n")
    command = [sys.executable, "-m", "queue_agent", *arguments, "--config", str(config)]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, errors = await process.communicate()
    assert process.returncode is not None
    return process.returncode, (output + errors).decode()


async def test_acts_of_commands_and_programs_are_events_like_those_of_pages(
    world: ConsoleWorld, tmp_path: Path
) -> None:
    assert (await world.browser(Authorization=f"OAuth {ANN_TOKEN}").carry_out("unmount", OF_QUEUE))[0] == 200
    await world.root.run("mount_table", path=QUEUE)
    await world.root.run("create", type="map_node", path=f"//sys/queue_agents/instances/{GONE}")
    assert await run(world, tmp_path, "ban", GONE) == (0, f"{GONE} is banned\n")
    code, output = await run(
        world, tmp_path, "consumer", "reset", f"pythia:{QUEUE}", f"pythia:{CONSUMER}", "--to", "2", "--yes"
    )
    assert (code, await world.offsets()) == (0, [2, 2]), output
    reset, ban, unmount = await acts(world)
    assert (reset["queue"], reset["consumer"], reset["actor"]) == (f"pythia:{QUEUE}", f"pythia:{CONSUMER}", "root")
    assert reset["reason"] == f"root reset the offsets of pythia:{CONSUMER} in pythia:{QUEUE}"
    assert (ban["queue"], ban["reason"]) == (None, f"root banned {GONE}")
    assert (unmount["queue"], unmount["reason"]) == (f"pythia:{QUEUE}", f"ann unmounted pythia:{QUEUE}")
    assert {one["details"]["outcome"] for one in (reset, ban, unmount)} == {"done"}
    assert [record["login"] for record in await world.journal()] == ["token", "command", "command"]
    assert await acts(world, consumer=f"pythia:{CONSUMER}") == [reset]


async def test_a_command_that_fails_says_so_in_the_journal(world: ConsoleWorld, tmp_path: Path) -> None:
    code, _ = await run(world, tmp_path, "ban", GONE)
    [event] = await acts(world)
    assert (code, event["details"]["outcome"]) == (1, "failed")


async def test_a_command_goes_on_if_its_user_may_not_write_the_journal(world: ConsoleWorld, tmp_path: Path) -> None:
    await world.root.set(f"{JOURNAL}/@inherit_acl", False)
    reset = ("consumer", "reset", f"pythia:{QUEUE}", f"pythia:{CONSUMER}", "--to", "2", "--yes")
    code, output = await run(world, tmp_path, *reset, token=ANN_TOKEN)
    assert (code, await world.offsets()) == (0, [2, 2]), output
    assert "note: this is not in the audit journal" in output
    assert await acts(world) == []


async def test_a_path_with_the_word_in_keeps_its_links(world: ConsoleWorld) -> None:
    await world.root.create_queue(TRICKY)
    await world.root.run("register_queue_consumer", queue_path=TRICKY, consumer_path=CONSUMER, vital=False)
    pair = {**PAIR, "queue_path": TRICKY}
    assert (await (await world.ann()).carry_out("unregister", pair))[0] == 200
    [event] = await acts(world, queue=f"pythia:{TRICKY}")
    assert (event["queue"], event["consumer"]) == (f"pythia:{TRICKY}", f"pythia:{CONSUMER}")


async def test_a_journal_that_an_earlier_version_made_is_written_and_read(world: ConsoleWorld) -> None:
    await world.root.run("remove", path=JOURNAL)
    schema = [column.to_map() for column in AUDIT_COLUMNS if column.name not in ADDED_COLUMNS]
    await world.root.run("create", type="table", path=JOURNAL, attributes={"dynamic": True, "schema": schema})
    await world.root.run("mount_table", path=JOURNAL)
    ann = await world.ann()
    assert (await ann.carry_out("reset", {**PAIR, "to": "earliest"}))[0] == 200
    [event] = await acts(world)
    assert (event["queue"], event["consumer"]) == (f"pythia:{QUEUE}", f"pythia:{CONSUMER}")
