"""What people do who have logged in, in the console of `make run`; the cluster's state is read afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest
from yt.wrapper import YtClient

from tests.console.console_browser import DESKTOP, Console
from tests.e2e.playground import Playground, connected, eventually

HOME: Final = "//home/acts"
QUEUE: Final = f"{HOME}/queue"
CONSUMER: Final = f"{HOME}/consumer"
ROW_COUNT: Final = 120
HOSTILE: Final = (
    b"<img src=x onerror=\"document.title='broken in'\">",
    b"\x1b]0;owned\x07\x1b[31mred",
    "\u202egnp.exe\u202c \u2066".encode(),
    b"\xff\xfe\x00binary",
    b"a" * 4096,
)
SCHEMA: Final = [
    {"name": "data", "type": "string"},
    {"name": "<script>document.title='broken in'</script>", "type": "any"},
    {"name": "$timestamp", "type": "uint64"},
    {"name": "$cumulative_data_weight", "type": "int64"},
]


@dataclass(frozen=True)
class Stage:
    """A queue of three partitions, and a consumer in the middle of each."""

    client: YtClient

    def offsets(self) -> list[int]:
        rows = self.client.select_rows(f"[offset] from [{CONSUMER}] order by partition_index limit 9")
        return [row["offset"] for row in rows]

    def audit(self) -> list[Any]:
        query = "[act], [user], [outcome], [subject] from [//sys/queue_agents/audit_journal] limit 100"
        return list(self.client.select_rows(query))


@pytest.fixture(scope="module", autouse=True)
def nothing_left(playground: Playground) -> Iterator[None]:
    """Other tests count what there is."""
    yield
    with connected(playground.clusters["pythia"]) as client:
        client.remove(HOME, recursive=True)
        eventually(lambda: _is_gone(playground))


def _is_gone(playground: Playground) -> None:
    queues = playground.ask_agent("/api/v1/queues")["queues"]
    assert QUEUE not in {one["path"] for one in queues}


@pytest.fixture
def stage(playground: Playground) -> Iterator[Stage]:
    with connected(playground.clusters["pythia"]) as client:
        if not client.exists(QUEUE):
            attributes = {"dynamic": True, "schema": SCHEMA, "tablet_count": 3}
            client.create("table", QUEUE, recursive=True, attributes=attributes)
            client.set(f"{QUEUE}/@auto_trim_config", {"enable": True, "retained_rows": 1_000_000})
            client.mount_table(QUEUE, sync=True)
            client.create("queue_consumer", CONSUMER)
            client.register_queue_consumer(QUEUE, CONSUMER, vital=True)
            values = [HOSTILE[number % len(HOSTILE)] for number in range(ROW_COUNT)]
            rows = [{"data": value, "$tablet_index": index} for value in values for index in range(3)]
            client.insert_rows(QUEUE, rows)
        for index in range(3):
            client.advance_queue_consumer(CONSUMER, QUEUE, index, None, 100)
        eventually(lambda: _is_served(playground))
        yield Stage(client)


def _is_served(playground: Playground) -> None:
    consumers = playground.ask_agent("/api/v1/consumers")["consumers"]
    assert CONSUMER in {one["path"] for one in consumers}


async def log_in(console: Console, cluster: str = "pythia") -> None:
    await console.wait("#login-token")
    await console.choose("#login-cluster", cluster)
    await console.browser.retype("#login-token", "clusters-of-make-run-take-any")
    await console.browser.click("#login")


async def test_people_log_in_and_out(console: Console, stage: Stage) -> None:
    browser = console.browser
    await console.open(f"/ui/queue?cluster=pythia&path={QUEUE}", "section[aria-labelledby=partitions] tbody tr")
    assert await browser.run("return document.querySelector('[data-act]')") is None
    await browser.click("a.who")
    await log_in(console)
    await console.wait_for_text(".who", "root")
    assert await console.faults() == []
    await console.picture("login-desktop-light", DESKTOP)
    assert await browser.run("return document.cookie") == ""
    assert "clusters-of-make-run" not in await browser.run("return document.documentElement.outerHTML")
    await browser.click("#logout")
    await browser.wait_for("return document.querySelector('a.who') !== null")
    await browser.run("history.back()")
    await console.wait("section[aria-labelledby=partitions] tbody tr")
    assert await browser.run("return document.querySelector('[data-act]')") is None
    browser.complaints()


async def test_rows_are_looked_at_and_are_text(console: Console, stage: Stage) -> None:
    browser = console.browser
    address = f"/ui/rows?cluster=pythia&path={QUEUE}&partition=1&from=offset:0&limit=10"
    await console.open(address, "#login-token")
    await log_in(console)
    await console.wait("#rows tbody tr:nth-child(10)")
    cells = await browser.texts("#rows tbody td:nth-child(3)")
    assert cells[0] == HOSTILE[0].decode()
    assert cells[1].startswith("\\u{1b}]0;owned")
    assert cells[2].startswith("\\u{202e}gnp.exe")
    assert cells[3] == "\\xff\\xfe\\x00binary"
    assert "cut" in cells[4]
    await browser.click("#rows-next")
    await console.wait_for_text("#rows tbody tr:first-child td", "10")
    await console.choose("#rows-kind", "tail")
    await browser.retype("#rows-value", "5")
    await browser.click("#rows-show")
    await browser.wait_for_texts("#rows tbody td:first-child", "115", "116", "117", "118", "119")
    assert await console.faults() == []
    await console.picture("rows-found-desktop-light", DESKTOP)
    assert await browser.run("return document.images.length") == 0
    assert await browser.run("return document.title") != "broken in"
    assert stage.offsets() == [100, 100, 100]
    browser.complaints()
    await console.open(address.replace("cluster=pythia", "cluster=hume"), "#login-token")
    await log_in(console, "hume")
    await console.wait_for_text(".failure", QUEUE)


async def test_a_reset_is_carried_through(console: Console, stage: Stage) -> None:
    browser = console.browser
    await console.open("/ui/login", "#login-token")
    await log_in(console)
    await console.wait_for_text(".who", "root")
    at = f"/ui/consumer?cluster=pythia&path={CONSUMER}&queue_cluster=pythia&queue_path={QUEUE}"
    await console.open(at, "[data-act=reset]")
    await browser.click("[data-act=reset]")
    await browser.click("#preview")
    await browser.wait_for_texts("#moves tbody tr:first-child td", "0", "100", "0", "100 again")
    assert await console.faults() == []
    await console.picture("reset-desktop-light", DESKTOP)
    assert stage.offsets() == [100, 100, 100]
    await browser.click("#confirm")
    await console.wait_for_text("dialog .done", "Done.")
    assert stage.offsets() == [0, 0, 0]
    assert {**stage.audit()[-1]} == {
        "act": "reset",
        "user": "root",
        "outcome": "done",
        "subject": f"pythia:{CONSUMER} in pythia:{QUEUE}",
    }
    await browser.click("#close")
    await browser.wait_for("return document.querySelector('dialog') === null")
    await browser.wait_for_texts("section[aria-labelledby=partitions] tbody td:nth-child(5)", "0", "0", "0")
    assert browser.complaints() == []


async def test_a_reset_whose_preview_is_old_moves_nothing(console: Console, stage: Stage) -> None:
    browser = console.browser
    await console.open("/ui/login", "#login-token")
    await log_in(console)
    await console.wait_for_text(".who", "root")
    at = f"/ui/consumer?cluster=pythia&path={CONSUMER}&queue_cluster=pythia&queue_path={QUEUE}"
    await console.open(at, "[data-act=reset]")
    await browser.click("[data-act=reset]")
    await browser.click("#preview")
    await browser.wait_for_texts("#moves tbody tr:first-child td", "0", "100", "0", "100 again")
    stage.client.advance_queue_consumer(CONSUMER, QUEUE, 2, None, 101)
    await browser.click("#confirm")
    await console.wait_for_text("dialog .failure", "Nothing was done")
    assert stage.offsets() == [100, 100, 101]
    await console.wait("#preview")


async def test_trimming_is_paused_and_a_queue_unmounted_and_back(console: Console, stage: Stage) -> None:
    browser = console.browser
    await console.open("/ui/login", "#login-token")
    await log_in(console)
    await console.wait_for_text(".who", "root")
    await console.open(f"/ui/queue?cluster=pythia&path={QUEUE}", "[data-act=mount]")
    for act in ("pause-trimming", "resume-trimming", "unmount", "mount"):
        await browser.click(f"[data-act={act}]")
        await browser.click("#preview")
        await browser.click("#confirm")
        await console.wait_for_text("dialog .done", "Done.")
        await browser.click("#close")
        await browser.wait_for("return document.querySelector('dialog') === null")
        assert bool(stage.client.get(f"{QUEUE}/@auto_trim_config/enable")) is (act != "pause-trimming")
        assert stage.client.get(f"{QUEUE}/@tablet_state") == ("unmounted" if act == "unmount" else "mounted")
    assert [row["act"] for row in stage.audit()[-4:]] == ["pause-trimming", "resume-trimming", "unmount", "mount"]
    assert browser.complaints() == []
