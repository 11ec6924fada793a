"""Acts from the console: what was shown is done, once, with the caller's rights, and written down; or nothing is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.component.console_world import ACTS, ALLOWED, CONSUMER, OF_QUEUE, PAIR, QUEUE, ConsoleWorld, console_world
from tests.component.running_agent import eventually

RESET = {**PAIR, "to": "earliest"}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ConsoleWorld]:
    async with console_world(tmp_path) as world:
        yield world


async def get(world: ConsoleWorld, path: str) -> Any:
    return (await world.root.run("get", path=path))["value"]


async def test_a_reset_moves_what_was_shown_and_is_written_down(world: ConsoleWorld) -> None:
    ann = await world.ann()
    status, shown = await ann.preview("reset", RESET)
    assert (status, shown["done"]) == (200, False)
    assert [(one["current"], one["target"]) for one in shown["plan"]["partitions"]] == [(5, 0), (5, 0)]
    assert await world.offsets() == [5, 5]
    status, done = await ann.confirm("reset", RESET, shown["preview"])
    assert (status, done["done"], done["failures"]) == (200, True, {})
    assert await world.offsets() == [0, 0]
    [record] = await world.journal()
    told = {name: record[name] for name in ("user", "login", "peer", "act", "outcome", "error")}
    assert told == {
        "user": "ann", "login": "token", "peer": "127.0.0.1", "act": "reset", "outcome": "done", "error": None,
    }  # fmt: skip
    assert record["plan"] == shown["plan"]
    assert record["instant"] <= record["finished"]


async def test_rows_that_come_meanwhile_do_not_change_where_a_reset_goes(world: ConsoleWorld) -> None:
    ann = await world.ann()
    wanted = {**PAIR, "to": "latest", "partitions": [1]}
    _, shown = await ann.preview("reset", wanted)
    await world.root.insert(QUEUE, [{"data": "late", "$tablet_index": 1}] * 5)
    assert (await ann.confirm("reset", wanted, shown["preview"]))[0] == 200
    assert await world.offsets() == [5, 10]


async def test_a_preview_is_good_once(world: ConsoleWorld) -> None:
    ann = await world.ann()
    _, shown = await ann.preview("reset", RESET)
    assert (await ann.confirm("reset", RESET, shown["preview"]))[0] == 200
    for index in (0, 1):
        await world.root.advance(CONSUMER, QUEUE, index, 5)
    assert (await ann.confirm("reset", RESET, shown["preview"]))[0] == 409
    assert await world.offsets() == [5, 5]


async def test_a_preview_is_good_for_its_owner_and_its_request_alone(world: ConsoleWorld) -> None:
    ann, again = await world.ann(), await world.ann()
    _, shown = await ann.preview("reset", RESET)
    assert (await again.confirm("reset", RESET, shown["preview"]))[0] == 409
    assert (await ann.confirm("reset", {**PAIR, "to": "latest"}, shown["preview"]))[0] == 409
    assert (await ann.confirm("reset", RESET, shown["preview"]))[0] == 409
    assert (await ann.confirm("reset", RESET, "guessed"))[0] == 409
    assert await world.offsets() == [5, 5]


@pytest.mark.parametrize("change", ["offset", "vital", "queue", "rows"])
async def test_nothing_moves_if_the_world_has_changed(world: ConsoleWorld, change: str) -> None:
    ann = await world.ann()
    _, shown = await ann.preview("reset", RESET)
    match change:
        case "offset":
            await world.root.advance(CONSUMER, QUEUE, 1, 6)
        case "vital":
            await world.root.run("register_queue_consumer", queue_path=QUEUE, consumer_path=CONSUMER, vital=False)
        case "queue":
            await world.root.run("remove", path=QUEUE)
            await world.root.create_queue(QUEUE, tablet_count=2)
        case "rows":
            await world.root.run("trim_rows", path=QUEUE, tablet_index=1, trimmed_row_count=2)
    before = await world.offsets()
    status, error = await ann.confirm("reset", RESET, shown["preview"])
    assert (status, error["message"].startswith("Nothing was")) == (409, True)
    assert await world.offsets() == before
    assert await world.journal() == []


async def test_nobody_does_what_they_may_not_do_on_the_cluster(world: ConsoleWorld) -> None:
    await world.root.set(f"{QUEUE}/@auto_trim_config", {"enable": True})
    bob = await world.bob()
    for act in ("reset", "register", "unmount", "pause-trimming"):
        body = {**(PAIR if act in ("reset", "register") else OF_QUEUE), "to": "latest", "vital": False}
        assert (await bob.preview(act, body))[0] == 403, act
    status, error = await bob.carry_out("unregister", PAIR)  # the cluster itself refuses that
    assert (status, error["code"]) == (403, 901)
    assert await world.offsets() == [5, 5]
    assert await get(world, f"{QUEUE}/@tablet_state") == "mounted"
    assert [record["outcome"] for record in await world.journal()] == ["failed"]


async def test_each_act_does_its_own_and_is_refused_where_there_is_nothing_to_do(world: ConsoleWorld) -> None:
    await world.root.set(f"{QUEUE}/@auto_trim_config", {"enable": True, "retained_rows": 7})
    ann = await world.ann()

    async def do(act: str, body: Mapping[str, Any]) -> None:
        assert (await ann.carry_out(act, body))[0] == 200, act
        assert (await ann.preview(act, body))[0] == 409, act

    await do("unmount", OF_QUEUE)
    assert await get(world, f"{QUEUE}/@tablet_state") == "unmounted"
    await do("mount", OF_QUEUE)
    assert await get(world, f"{QUEUE}/@tablet_state") == "mounted"
    await do("pause-trimming", OF_QUEUE)
    assert await get(world, f"{QUEUE}/@auto_trim_config") == {"enable": False, "retained_rows": 7}
    await do("resume-trimming", OF_QUEUE)
    assert await get(world, f"{QUEUE}/@auto_trim_config") == {"enable": True, "retained_rows": 7}
    await do("register", {**PAIR, "vital": False})
    await do("unregister", PAIR)
    await do("register", {**PAIR, "vital": True})
    [registration] = await world.root.run("list_queue_consumer_registrations", queue_path=QUEUE)
    assert registration["vital"] is True
    assert [record["outcome"] for record in await world.journal()] == ["done"] * 7


async def test_agents_are_banned_by_who_may_write_the_state(world: ConsoleWorld) -> None:
    ann, root = await world.ann(), world.browser()
    agent = {"agent": (await ann.ask("GET", "/api/v1/session"))[1]["agent"]}
    assert (await ann.preview("ban", agent))[0] == 403
    assert (await root.log_in("roots-token-00000000"))[0] == 200
    assert (await root.carry_out("ban", agent))[0] == 200
    node = f"//sys/queue_agents/instances/{agent['agent']}/@banned"
    assert await get(world, node) is True
    assert (await root.carry_out("unban", agent))[0] == 200
    assert (await root.preview("unban", agent))[0] == 409
    status, error = await root.preview("ban", {"agent": "../../@banned"})
    assert (status, "never been registered" in error["message"]) == (409, True)


@pytest.mark.parametrize("path", ["//sys/queue_agents/queues", "//home", "//home/queue/@id", "//no/such"])
async def test_only_queues_are_mounted(world: ConsoleWorld, path: str) -> None:
    root = world.browser()
    assert (await root.log_in("roots-token-00000000"))[0] == 200
    assert (await root.preview("unmount", {**OF_QUEUE, "path": path}))[0] in (400, 404, 409)


async def test_nothing_is_done_that_can_not_be_written_down(world: ConsoleWorld) -> None:
    ann = await world.ann()
    await world.root.run("remove", path="//sys/queue_agents/audit_journal")
    status, error = await ann.carry_out("reset", RESET)
    assert (status, "init-state" in error["message"]) == (409, True)
    assert await world.offsets() == [5, 5]


async def test_an_act_that_configuration_does_not_name_is_not_done(tmp_path: Path) -> None:
    async with console_world(tmp_path, {**ALLOWED, "acts": [act for act in ACTS if act != "reset"]}) as world:
        ann = await world.ann()
        assert (await ann.preview("reset", RESET))[0] == 409
        assert (await ann.preview("unmount", OF_QUEUE))[0] == 200


@pytest.mark.parametrize(
    "change", [{"to": "yesterday"}, {"partitions": [9]}, {"to": "offset:11"}, {"queue_path": "//home"}, {"path": "c"}]
)
async def test_resets_that_make_no_sense_are_refused(world: ConsoleWorld, change: Mapping[str, Any]) -> None:
    ann = await world.ann()
    assert (await ann.preview("reset", {**RESET, **change}))[0] in (400, 409)


async def test_acts_are_events_of_their_queue_and_names_are_for_those_who_have_logged_in(world: ConsoleWorld) -> None:
    ann = await world.ann()
    assert (await ann.carry_out("reset", {**PAIR, "to": "earliest"}))[0] == 200
    assert (await ann.carry_out("unmount", OF_QUEUE))[0] == 200
    about_queue = f"/api/v1/events?kind=act&limit=1&queue=pythia:{QUEUE}"
    status, page = await ann.ask("GET", about_queue)
    assert status == 200, page
    [unmount] = page["events"]
    assert (unmount["actor"], unmount["details"]["act"], unmount["details"]["outcome"]) == ("ann", "unmount", "done")
    _, older = await ann.ask("GET", f"{about_queue}&before={page['next']}")
    [reset] = older["events"]
    assert (reset["queue"], reset["consumer"]) == (f"pythia:{QUEUE}", f"pythia:{CONSUMER}")
    assert reset["instant"] < unmount["instant"]
    for query in ("", f"&consumer=pythia:{CONSUMER}", f"&queue=pythia:{QUEUE}&consumer=pythia:{CONSUMER}"):
        _, page = await world.browser().ask("GET", f"/api/v1/events?kind=act{query}")
        assert reset["id"] in [one["id"] for one in page["events"]]
        assert {one["actor"] for one in page["events"]} == {"a user"}
        assert "ann" not in str([one["reason"] for one in page["events"]])
    for query in (f"queue=pythia:{QUEUE}2", f"queue=pythia:{QUEUE[:-1]}", f"consumer=pythia:{CONSUMER}2"):
        assert (await ann.ask("GET", f"/api/v1/events?kind=act&{query}"))[1]["events"] == []


async def test_without_a_journal_there_are_no_acts_and_one_out_of_reach_is_told(world: ConsoleWorld) -> None:
    ann = await world.ann()
    await world.root.run("unmount_table", path="//sys/queue_agents/audit_journal")
    _, page = await ann.ask("GET", "/api/v1/events")
    assert (page["persisted"], page["acts_read"]) == (True, False)
    await world.root.run("remove", path="//sys/queue_agents/audit_journal")
    _, page = await ann.ask("GET", "/api/v1/events")
    assert (page["events"], page["acts_read"]) == ([], True)


async def test_what_came_after_the_preview_is_not_acknowledged(world: ConsoleWorld) -> None:
    stage = "//sys/clusters/pythia/queue_agent/stages/production"
    await world.root.set(stage, {"addresses": [world.agent.rpc_address]})
    ann, bob = await world.ann(), await world.bob()

    async def resharded(count: int, last: str = "") -> str:
        await world.root.run("unmount_table", path=QUEUE)
        await world.root.run("reshard_table", path=QUEUE, tablet_count=count)
        await world.root.run("mount_table", path=QUEUE)
        found = await eventually(verdict, lambda one: one["rebuild"] is not None and one["rebuild"]["time"] > last)
        return str(found["rebuild"]["time"])

    async def verdict() -> Any:
        document = await world.agent.find_consumer("pythia", CONSUMER)
        return None if document is None else document["status"].get("queues", {}).get(f"pythia:{QUEUE}")

    await eventually(verdict, lambda one: one["verdict"] == "ok")
    first = await resharded(3)
    assert (await bob.preview("acknowledge", PAIR))[0] == 403
    _, shown = await ann.preview("acknowledge", PAIR)
    await resharded(4, first)
    assert (await ann.confirm("acknowledge", PAIR, shown["preview"]))[0] == 200
    assert shown["plan"]["until"] == first
    assert await get(world, f"{CONSUMER}/@queue_agent_acknowledged") == {f"pythia:{QUEUE}": first}
    assert (await ann.carry_out("acknowledge", PAIR))[0] == 200
    await eventually(verdict, lambda one: one["rebuild"] is None)
    assert [one["act"] for one in await world.journal()] == ["acknowledge", "acknowledge"]


async def test_only_who_may_write_to_a_consumer_protects_it_and_it_is_written_down(world: ConsoleWorld) -> None:
    ann, bob = await world.ann(), await world.bob()
    attribute = f"{CONSUMER}/@queue_agent_protected"
    assert (await bob.preview("protect", PAIR))[0] == 403
    _, shown = await ann.preview("protect", PAIR)
    assert shown["plan"]["is_there"] is False
    assert (await ann.confirm("protect", PAIR, shown["preview"]))[0] == 200
    assert list(await get(world, attribute)) == [f"pythia:{QUEUE}"]
    _, shown = await ann.preview("protect", PAIR)
    assert shown["plan"]["is_there"] is True
    await world.root.set(attribute, 5)
    assert (await ann.preview("protect", PAIR))[0] == 409, "it makes no sense"
    assert await get(world, attribute) == 5
    assert [one["act"] for one in await world.journal()] == ["protect"]
