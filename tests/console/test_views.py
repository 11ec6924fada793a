"""The console of `make run`, as people use it."""

from __future__ import annotations

import pytest
from yt.wrapper import YtClient

from tests.console.console_browser import DESKTOP, PHONE, SHAPES, THEMES, Console
from tests.e2e.playground import Playground, connected, eventually

QUEUE = "cluster=pythia&path=//home/demo/live/orders"
VIEWS = {
    "overview": ("/", "section table a.name, section table a .name"),
    "queue": (f"/ui/queue?{QUEUE}", ".axis svg .vital"),
    "consumer": ("/ui/consumer?cluster=pythia&path=//home/demo/live/billing", ".chart .u-wrap"),
    "rows": (f"/ui/rows?{QUEUE}&partition=0", "main h1"),
    "agents": ("/ui/agents", ".facts dd"),
    "events": ("/ui/events", "main h1"),
    "docs": ("/docs", ".operation"),
    "login": ("/ui/login", "#login-token"),
}
HOSTILE = ("<img src=x onerror=\"document.title='broken in'\">", "\\x1b\\[31mred", "\u202egnp.exe", "a" * 2000)
HOME = "//home/hostile"


@pytest.mark.parametrize("view", VIEWS)
async def test_everybody_can_use_every_view(console: Console, view: str) -> None:
    address, ready = VIEWS[view]
    for theme in THEMES:
        await console.theme(theme)
        for shape, size in SHAPES.items():
            await console.shape(size)
            await console.open(address, ready)
            assert not await console.is_too_wide(), (theme, shape)
            await console.picture(f"{view}-{shape}-{theme}", size)
            assert console.browser.complaints() == [], (theme, shape)
            if (theme, shape) != ("dark", "phone"):
                assert await console.faults() == [], (theme, shape)
                console.browser.complaints()  # axe-core's own


async def test_views_follow_from_each_other_and_have_addresses(console: Console) -> None:
    browser = console.browser
    await console.open("/?q=billing", "section table")
    await browser.wait_for_texts(
        "section[aria-labelledby=consumers] tbody td:nth-child(2) a", "pythia://home/demo/live/billing"
    )
    assert await browser.texts("section[aria-labelledby=queues] tbody tr") == []
    await browser.retype("#search", "live/orders")
    await browser.wait_for_texts(
        "section[aria-labelledby=queues] tbody td:nth-child(2) a", "pythia://home/demo/live/orders"
    )
    await browser.wait_for("return location.search.includes('q=live')")
    await browser.retype("#search", "demo")
    await console.wait_for_text("section[aria-labelledby=queues] td", "pythia://home/demo/queue")
    rows = "section[aria-labelledby=queues] tbody td:nth-child(2)"
    for heading in ("th:nth-child(5) button", "th:nth-child(2) button"):
        await browser.click(f"section[aria-labelledby=queues] {heading}")
    await browser.wait_for_texts(rows, "pythia://home/demo/live/orders", "pythia://home/demo/queue")
    await browser.click("section[aria-labelledby=queues] th:nth-child(2) button")
    await browser.wait_for_texts(rows, "pythia://home/demo/queue", "pythia://home/demo/live/orders")
    await browser.click(f"{rows} a[href*='live']")
    await console.wait_for_text("h1", "pythia://home/demo/live/orders")
    assert await browser.run("return document.activeElement.id") == "main"
    await console.wait("section[aria-labelledby=exports] article")
    await browser.click("section[aria-labelledby=consumers] a[href*='billing']")
    await console.wait_for_text("h1", "pythia://home/demo/live/billing")
    await browser.run("history.back()")
    await console.wait_for_text("h1", "pythia://home/demo/live/orders")
    assert browser.complaints() == []


async def test_another_trim_policy_is_tried(console: Console) -> None:
    await console.open(f"/ui/queue?{QUEUE}", ".axis svg .rows")
    await console.wait_for_text("form.plan p", "is trimmed automatically")
    await console.browser.retype("#plan-rows", "1000000")
    await console.browser.click("#plan-ask")
    await console.wait_for_text("#plan-answer", "It would trim nothing now")
    assert console.browser.complaints() == []


async def test_keys_suffice(console: Console) -> None:
    await console.open("/", "section table")
    await console.browser.key("Tab")
    assert await console.browser.run("return document.activeElement.textContent") == "To the content"
    for _ in range(4):
        await console.browser.key("Tab")
    assert await console.browser.run("return document.activeElement.textContent") == "Events"
    await console.browser.key("Enter")
    await console.wait_for_text("h1", "Events")


async def test_an_incident_goes_from_green_to_red_and_back(playground: Playground, console: Console) -> None:
    queue, consumer = "//home/incident", "//home/incident-consumer"
    with connected(playground.clusters["pythia"]) as client:
        make_queue(client, queue)
        client.create("queue_consumer", consumer)
        client.register_queue_consumer(queue, consumer, vital=True)
        problem = ".problem.red a[href*='incident-consumer']"
        row = "section[aria-labelledby=consumers] tbody td:first-child"
        await console.open("/?q=incident", "#search")
        await console.wait_for_text(row, "ok")
        assert await console.browser.run(f"return document.querySelector({problem!r}) === null")
        client.unmount_table(queue, sync=True)
        await console.wait(problem)
        remedy = ".problem:has(a[href*='incident-consumer']) .remedy"
        await console.browser.wait_for_texts(f"{remedy} code", f"yt --proxy pythia mount-table {queue}")
        assert await console.browser.texts(f"{remedy} button") == ["Copy"]
        for kind in ("consumers", "queues"):
            await console.wait_for_text(f"section[aria-labelledby={kind}] tbody td:first-child", "unreadable")
        await console.picture("incident-desktop-light", DESKTOP)
        await console.shape(PHONE)
        await console.picture("incident-phone-light", PHONE)
        await console.shape(DESKTOP)
        assert await console.faults() == []
        await console.browser.click(problem)
        await console.wait_for_text("h1", consumer)
        await console.wait_for_text("#why", "unreadable")
        client.mount_table(queue, sync=True)
        await console.wait_for_text("#why", "ok")
        await console.open("/?q=incident", "#search")
        await console.wait_for_text(row, "ok")
        assert await console.browser.run(f"return document.querySelector({problem!r}) === null")
        client.remove(queue)
        await console.wait_for_text(f"{remedy}:not(:has(button, code))", "create the queue again")


async def test_names_of_strangers_are_text(playground: Playground, console: Console) -> None:
    with connected(playground.clusters["hume"]) as client:
        client.create("map_node", HOME)
        for name in HOSTILE:
            make_queue(client, f"{HOME}/{name}")
            client.create("queue_consumer", f"{HOME}/{name}-c")
            client.register_queue_consumer(f"{HOME}/{name}", f"{HOME}/{name}-c", vital=False)
        eventually(lambda: _all_are_there(playground))
    await console.open("/?cluster=hume", "section[aria-labelledby=queues] tbody td a")
    await console.browser.wait_for_texts("#queues .quiet", f"{len(HOSTILE)} of {len(HOSTILE) + 2}")
    await console.picture("hostile-desktop-light", DESKTOP)
    links: list[str] = await console.browser.run(
        "return [...document.querySelectorAll('section table a')].map((one) => one.getAttribute('href'))"
    )
    assert len(links) == 3 * len(HOSTILE)
    for link in links:
        await console.open(link, "main h1")
        await console.wait(".facts dd")
        assert not await console.is_too_wide()
        assert (
            await console.browser.run("return document.images.length + document.querySelectorAll('bdi *').length") == 0
        )
        assert await console.browser.run("return document.title") != "broken in"
        shown = await console.browser.run("return document.body.innerText")
        assert "\u202e" not in shown and "\x1b" not in shown
    assert console.browser.complaints() == []


def _all_are_there(playground: Playground) -> None:
    consumers = playground.ask_agent("/api/v1/consumers")["consumers"]
    assert len([one for one in consumers if one["cluster"] == "hume"]) == len(HOSTILE)


def make_queue(client: YtClient, path: str) -> None:
    schema = [{"name": "data", "type": "string"}, {"name": "$timestamp", "type": "uint64"}]
    client.create("table", path, attributes={"dynamic": True, "schema": schema})
    client.mount_table(path, sync=True)
