"""The console of an agent with 5,000 queues, and what the agent's side of the contract brings."""

from __future__ import annotations

from typing import Final

from tests.console.console_browser import DESKTOP, PHONE, Console
from tests.console.stand_in import HOSTILE, LOSING, StandIn, losing

ROWS_IN_SIGHT: Final = 120
CONSUMER: Final = "/ui/consumer?cluster=alpha&path=//home/c"


async def test_5000_queues_can_be_used(large: Console) -> None:
    await large.open("/", "section[aria-labelledby=queues] tbody td a")
    browser = large.browser
    assert len(await browser.texts("section tbody tr")) < ROWS_IN_SIGHT
    await browser.retype("#search", "queue-04321")
    await browser.wait_for_texts("section[aria-labelledby=queues] tbody td:nth-child(2)", "alpha://home/queue-04321")
    await browser.retype("#search", " ")
    await browser.wait_for_texts("#queues .quiet", "5,000")
    box = "document.querySelector('section[aria-labelledby=queues] .scroll')"
    await browser.click("section[aria-labelledby=queues] th:nth-child(3) button")
    await large.wait_for_text("section[aria-labelledby=queues] tbody td", "queue-04999")
    await browser.run(f"{box}.scrollTop = {box}.scrollHeight")
    await browser.wait_for(
        "return document.querySelector('section[aria-labelledby=queues] tr[aria-rowindex=\"5001\"]') !== null"
    )
    await large.picture("large-desktop-light", DESKTOP)
    assert await large.faults() == []


async def test_changes_arrive_without_asking(large: Console, stand_in: StandIn) -> None:
    await large.open("/", ".calm")
    row, problem = losing(stand_in.consumers[4321])
    await stand_in.change(consumers=[row], problems=[problem])
    await large.wait_for_text(".problem.red", "trims ahead of it")
    await large.wait_for_text(".problem.red", "It loses rows now.")
    await large.wait_for_text("section[aria-labelledby=consumers] tbody tr:first-child td", "losing")
    await large.browser.wait_for("return document.title.startsWith('(1)')")
    await large.picture("losing-desktop-light", DESKTOP)
    await stand_in.change(consumers=[stand_in.consumers[4321]], problems=[])
    await large.wait(".calm")
    queue = stand_in.queues[10]
    await stand_in.change(gone=[["queue", queue["cluster"], queue["path"]]])
    await large.browser.wait_for_texts("#queues .quiet", "4,999")
    assert large.browser.complaints() == []


async def test_an_update_does_not_take_away_what_a_hand_holds(large: Console, stand_in: StandIn) -> None:
    browser = large.browser
    link = ".problem.red a[href*='consumer']"
    await large.open("/", ".calm")
    row, problem = losing(stand_in.consumers[4321])
    await stand_in.change(consumers=[row], problems=[problem])
    await large.wait(link)
    await browser.press(link)
    _, other = losing(stand_in.consumers[17])
    await stand_in.change(problems=[{**problem, "reason": LOSING.replace("101", "102")}, other])
    await large.wait_for_text(".problem.red", "Loses 102 rows/s")
    await browser.release()
    await large.wait_for_text("h1", row["path"])
    assert browser.complaints() == []


async def test_an_agent_that_does_not_answer_is_named(large: Console, stand_in: StandIn) -> None:
    await large.open("/", ".calm")
    await stand_in.change(
        missing=[{"agent": HOSTILE[0], "reason": f"It cannot be reached {HOSTILE[2]}", "objects": 17}]
    )
    await large.wait_for_text("#missing", "It leads 17 tables.")
    assert await large.browser.texts(".calm") == []
    assert await large.faults() == []
    await large.picture("missing-desktop-light", DESKTOP)
    await large.shape(PHONE)
    assert not await large.is_too_wide()
    await large.shape(DESKTOP)
    await stand_in.change(missing=[])
    await large.wait(".calm")
    await large.browser.wait_for("return document.querySelector('#missing') === null")
    assert await large.browser.run("return document.title") != "broken in"


async def test_forecasts_and_gaps_are_drawn(large: Console) -> None:
    await large.open(CONSUMER, ".chart .u-wrap")
    await large.wait_for_text(".facts", "10 min (5 min to 20 min)")
    await large.wait_for_text(".chart figcaption", "Unread rows and forecast as the agent remembers it")
    await large.wait_for_text("section[aria-labelledby=losses] .facts", "7 rows")
    await large.wait_for_text("section[aria-labelledby=losses] .facts", "2 rows")
    await large.picture("forecast-desktop-light", DESKTOP)
    assert large.browser.complaints() == []


_BUSY: Final = """
const Watcher = window.IntersectionObserver;
window.IntersectionObserver = class extends Watcher {
    constructor(told) { super((changes) => told([{ isIntersecting: false }, ...changes])); }
};
"""
"""A busy browser reports two changes in one call: the element was out of sight, and it is in sight."""


async def test_events_of_strangers_are_text(large: Console) -> None:
    browser = large.browser
    await browser.page.add_init_script(_BUSY)
    await large.open("/ui/events", ".event")
    await browser.run("document.querySelector('#older').scrollIntoView()")
    await browser.wait_for("return document.querySelectorAll('.event').length >= 200")
    assert not await large.is_too_wide()
    await large.picture("events-found-desktop-light", DESKTOP)
    assert await large.faults() == []
    browser.complaints()
    await large.choose("#kind", "loss")
    await browser.wait_for(
        "return new Set([...document.querySelectorAll('.event .verdict')].map((one) => one.innerText)).size === 1"
    )
    assert "kind=loss" in await browser.run("return location.search")
    assert await browser.run("return document.images.length") == 0
    assert await browser.run("return document.title") != "broken in"
    assert browser.complaints() == []
