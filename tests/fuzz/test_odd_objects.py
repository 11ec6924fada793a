"""No value of one object stops another: very many odd objects at once, and a healthy one that must not notice.

What the agent reads is taken from its own tables, so that what comes new is covered. A fixed choice, the same every
time; with `FUZZ_SECONDS` as many as there is time for. `FUZZ_SEED` chooses. On a failure the objects are halved until
one is left that fails by itself; its seed is named.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import pytest

from queue_agent.controllers.state.connections import parse_connection
from queue_agent.core.state.connections import (
    TABLE_ATTRIBUTES,
    TableFacts,
    find_name_mismatch,
    find_registrations_mismatch,
)
from queue_agent.core.state.schema import INDEX_TABLE
from queue_agent.core.values.refs import CrossClusterRef
from tests.fuzz import odd_objects as odd
from tests.fuzz.odd_world import NAME, QUEUE, OddWorld, no_traceback, odd_offsets, odd_world
from yt_local.security.permissions import UNLIMITED
from yt_wire import yson

SECONDS: Final = float(os.environ.get("FUZZ_SECONDS", "0"))
SEED: Final = int(os.environ.get("FUZZ_SEED", "1"))
OBJECTS: Final = 100
"""At once."""

DOCUMENTS: Final = 25
"""One after the other."""

DOCUMENT: Final = "//sys/queue_agents/config"
NO_TIME: Final = {"queue_agent": {"pass_timeout": 0.001}}
"""Within that time no document can be read that says otherwise."""

REGISTRATIONS: Final = CrossClusterRef(NAME, "//sys/queue_agents/consumer_registrations")

Run = Callable[[Sequence[str]], Awaitable[None]]
"""Has an agent look after odd objects of these seeds; AssertionError if a healthy one notices."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SECONDS + 600)]


def add_object(world: OddWorld, seed: str) -> None:
    """A queue, a consumer, or the directory of an export with something odd about it."""
    choices = random.Random(seed)
    path = f"//tmp/odd/{seed.replace('/', '-')}"
    match choices.randrange(8):
        case 0 | 1 | 2 | 3:
            world.add_queue(path, odd.odd_attributes(choices, odd.QUEUE_NAMES))
        case 4 | 5:
            world.add_consumer(path, odd.odd_attributes(choices, odd.CONSUMER_NAMES), [])
        case 6:
            world.add_consumer(path, {}, [odd_offsets(choices) for _ in range(choices.randint(1, 3))])
        case _:
            directory = f"//tmp/exports/{seed.replace('/', '-')}"
            world.clusters.cluster(NAME).cypress.create(UNLIMITED, directory, "map_node", {})
            config = {"default": {**odd.GOOD_EXPORT["default"], "export_directory": directory}}
            world.add_queue(path, {"static_export_config": config})
            queue_id = world.clusters.cluster(NAME).cypress.get(UNLIMITED, f"{path}/@id")
            world.set(f"{directory}/@queue_static_export_destination", {"originating_queue_id": queue_id})
            world.set(f"{directory}/@queue_static_export_progress", odd.odd_progress(choices))
    if world.paths[path] == "consumers":
        key = {"queue_cluster": NAME, "queue_path": QUEUE, "consumer_cluster": NAME, "consumer_path": path}
        world.insert("consumer_registrations", {**key, "consumer_name": "", "vital": False})


def add_row(world: OddWorld, seed: str) -> None:
    """A row of a state table with odd cells."""
    choices = random.Random(seed)
    tables = [one for one in odd.state_tables() if one[0] != INDEX_TABLE]
    table, columns = choices.choice(tables)
    path = f"//tmp/odd/{seed.replace('/', '-')}"
    good = {
        "cluster": NAME,
        "path": path,
        "name": "one",
        "object": f"{NAME}:{path}",
        "host": "nobody:1",
        "queue_cluster": NAME,
        "queue_path": path,
        "consumer_cluster": NAME,
        "consumer_path": f"{path}-c",
        "consumer_name": "",
        "row_revision": yson.Uint64(1),
        "revision": yson.Uint64(1),
        "object_type": choices.choice(("table", "replicated_table", "chaos_replicated_table")),
        "dynamic": True,
        "sorted": False,
        "auto_trim_config": odd.GOOD_TRIM,
        "queue_agent_stage": "production",
        "object_id": "1-2-3-4",
        "vital": True,
        "meta": odd.GOOD_META,
    }
    names = {column.name for column in columns}
    good = {name: value for name, value in good.items() if name in names}
    world.insert(table, odd.odd_row(choices, columns, good))
    if table in ("queues", "consumers"):
        world.paths[path] = table


async def test_attributes_of_one_object_stop_no_other() -> None:
    async def run(seeds: Sequence[str]) -> None:
        async with odd_world() as world:
            with no_traceback():
                async with world.agent(cypress_synchronizer={"write_replicated_table_mapping": True}) as agent:
                    for seed in seeds:
                        add_object(world, seed)
                    await world.judge(agent)
                async with world.agent(cypress_synchronizer={"write_replicated_table_mapping": True}) as agent:
                    await world.judge(agent)

    await _search(run)


async def test_cells_of_state_tables_stop_no_other() -> None:
    async def run(seeds: Sequence[str]) -> None:
        async with odd_world() as world:
            with no_traceback():
                async with world.agent() as agent:
                    await world.judge(agent)
                # From here on nobody mends the rows.
                async with world.agent(cypress_synchronizer={"enable": False}) as agent:
                    for seed in seeds:
                        add_row(world, seed)
                    await world.judge(agent, discovers=False)

    await _search(run)


async def test_documents_of_the_dynamic_configuration_stop_nothing_once_they_are_gone() -> None:
    async def run(seeds: Sequence[str]) -> None:
        async with odd_world() as world:
            with no_traceback():
                async with world.agent() as agent:
                    world.clusters.cluster(NAME).cypress.create(UNLIMITED, DOCUMENT, "document", {"value": {}})
                    await world.judge(agent)
                    for document in (NO_TIME, *(odd.odd_document(random.Random(seed)) for seed in seeds)):
                        before = await world.looked_at_document(agent)
                        world.set(DOCUMENT, document)
                        await world.looked_at_document(agent, before)
                    world.set(DOCUMENT, {})
                    await world.judge(agent)

    await _search(run, DOCUMENTS)


def test_what_a_cluster_says_of_itself_is_read_whatever_it_is() -> None:
    deadline = time.monotonic() + SECONDS
    index = 0
    while index < 3000 or time.monotonic() < deadline:
        seed = f"{SEED}/{index}"
        choices = random.Random(seed)
        good = {"queue_consumer_registration_manager": {"state_read_path": odd.odd_value(choices)}}
        value = choices.choice((odd.odd_value(choices), {"queue_agent": odd.odd_value(choices)}, {"queue_agent": good}))
        try:
            said = {
                name: parse_connection(name, {"cluster_connection": value, "cluster_name": odd.odd_value(choices)})
                for name in (NAME, "pythia")
            }
            facts = TableFacts.parse({name: odd.odd_value(choices) for name in TABLE_ATTRIBUTES})
            for name, one in said.items():
                find_name_mismatch(name, one)
                find_registrations_mismatch(name, REGISTRATIONS, one, {REGISTRATIONS: facts})
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error
        index += 1


async def _search(run: Run, count: int = OBJECTS) -> None:
    """Rounds of odd objects, until one fails or the time is over."""
    deadline = time.monotonic() + SECONDS
    number = 0
    while number == 0 or time.monotonic() < deadline:
        seeds = [f"{SEED}/{number}/{index}" for index in range(count)]
        failure = await _find_failure(run, seeds)
        if failure is not None:
            culprits, failure = await _halve(run, seeds, failure)
            pytest.fail(f"seeds {culprits}: {failure}")
        number += 1


async def _find_failure(run: Run, seeds: Sequence[str]) -> str | None:
    try:
        await run(seeds)
    except AssertionError as error:
        return str(error)
    except BaseExceptionGroup as group:
        return repr(group)
    return None


async def _halve(run: Run, seeds: Sequence[str], failure: str) -> tuple[Sequence[str], str]:
    """As few of the seeds as fail, by halves; all, where it takes some of both."""
    while len(seeds) > 1:
        middle = len(seeds) // 2
        for half in (seeds[:middle], seeds[middle:]):
            found = await _find_failure(run, half)
            if found is not None:
                seeds, failure = half, found
                break
        else:
            break
    return seeds, failure
