"""The page of the comment service, clicked in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.browser import CHROMIUM, browsing
from tests.examples.comment_world import TABLES, Service, check_nothing_is_half_there, insert_topic, rows_of
from yt_local.testing import ErrorCode, LocalCluster, YtError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="needs chromium: `make check-browser` gets it"),
]

TEXTS = "article .text"
MARKUP = "<img src=x onerror=\"document.title='broken in'\">"


def link(path: str, label: int) -> str:
    """One of the buttons below a comment."""
    return f'article[data-path="{path}"] > div:last-of-type button:nth-of-type({label})'


REPLY, EDIT, DELETE = 1, 2, 3


async def test_a_visitor_talks_to_others(service: Service, cluster: LocalCluster, tmp_path: Path) -> None:
    async with browsing() as browser:
        await browser.open(service.url)
        await browser.type("#user", "ann")
        await browser.type("textarea", "What is a tablet?")
        await browser.click("form button")
        await browser.wait_for_texts(TEXTS, "What is a tablet?")

        await browser.click(link("0", REPLY))
        await browser.type("article textarea", "A part of a table.")
        await browser.click("article form button")
        await browser.wait_for_texts(TEXTS, "What is a tablet?", "A part of a table.")
        await browser.click(link("0", REPLY))
        await browser.type("article textarea", "Something to swallow.")
        await browser.click("article form button")
        await browser.wait_for_texts(TEXTS, "What is a tablet?", "A part of a table.", "Something to swallow.")
        await browser.type("#user", "bob <b>")
        await browser.click(link("0/1", REPLY))
        await browser.type("article textarea", MARKUP)
        await browser.click("article form button")
        await browser.wait_for_texts(TEXTS, "What is a tablet?", "A part of a table.", MARKUP, "Something to swallow.")

        await browser.click(link("0/1", EDIT))
        await browser.type("article textarea", "A range of keys.")
        await browser.click("article form button")
        await browser.wait_for_texts(TEXTS, "What is a tablet?", "A range of keys.", MARKUP, "Something to swallow.")
        await browser.click(link("0/2", DELETE))
        await browser.wait_for_texts(TEXTS, "What is a tablet?", "A range of keys.", MARKUP, "deleted")
        await browser.screenshot(tmp_path / "topic.png")

        await browser.click("#mine")
        await browser.wait_for_texts("h2", "Comments of bob <b>")
        await browser.wait_for_texts(TEXTS, MARKUP)
        await browser.click("article a[href^='#/topic/']")
        await browser.wait_for_texts("h2", "4 comments")
        await browser.click("h1 a")
        await browser.wait_for_texts(TEXTS, "What is a tablet?")
        await browser.screenshot(tmp_path / "topics.png")
        assert await browser.run("return document.title") == "Comments"
        assert await browser.run("return document.images.length") == 0
        assert browser.complaints() == []
    users = {row["parent_path"]: row["user"] for row in rows_of(cluster, TABLES.topic_comments)}
    assert users == {"0": "ann", "0/1": "ann", "0/2": "ann", "0/1/3": "bob <b>"}
    check_nothing_is_half_there(cluster)


async def test_what_was_typed_outlives_a_conflict_and_an_outage(
    service: Service, cluster: LocalCluster, tmp_path: Path
) -> None:
    topic = await service.new_topic(content="root")
    async with browsing() as browser:
        await browser.open(f"{service.url}#/topic/{topic}")
        await browser.click(link("0", REPLY))
        await browser.type("article textarea", "said once")
        await browser.click("article form button")
        await browser.wait_for_texts("#message", "Say who you are first.")
        await browser.type("#user", "ann")
        cluster.unmount_tablet(TABLES.topics)
        await browser.click("article form button")
        await browser.wait_for("return document.querySelector('#message').innerText.includes('mounted')")
        await browser.screenshot(tmp_path / "outage.png")
        cluster.mount_tablet(TABLES.topics)
        conflict = YtError("Row lock conflict", ErrorCode.TABLET_TRANSACTION_LOCK_CONFLICT)
        with cluster.faults.refuse("commit_transaction", error=conflict, count=2) as fault:
            await browser.click("article form button")
            await browser.wait_for_texts(TEXTS, "root", "said once")
            assert fault.hits == 2
    check_nothing_is_half_there(cluster)


async def test_a_long_topic_is_shown_in_two_parts(service: Service, cluster: LocalCluster, tmp_path: Path) -> None:
    topic = insert_topic(cluster, 1200)
    async with browsing() as browser:
        await browser.open(f"{service.url}#/topic/{topic}")
        await browser.wait_for_texts("h2", "1200 comments")
        assert len(await browser.texts("article")) == 500
        await browser.click("main > button")
        await browser.wait_for_texts("main > button")
        assert len(await browser.texts("article")) == 1200
