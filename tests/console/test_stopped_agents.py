"""Agents that are stopped, as a debugger or a frozen machine does it: what the pages of others say, and their own."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.console.console_browser import DESKTOP, Console, console_at
from tests.e2e.agent_processes import CLUSTER, AgentProcess, Stage, running_stage
from tests.e2e.test_silent_leaders import LEASE, shared_out

QUEUES = 6
MISSING = "#missing"


async def open_queue(console: Console, path: str) -> None:
    await console.open(f"/ui/queue?cluster={CLUSTER}&path={path}", "main h1")


async def find_silent(stage: Stage, is_fit: Callable[[AgentProcess], bool]) -> tuple[AgentProcess, str]:
    """An agent, and a queue that it leads."""
    led = await shared_out(stage)
    for agent in filter(is_fit, stage.agents):
        for path in sorted(led[agent.user] & set(stage.queues)):
            return agent, path
    raise AssertionError("one agent leads all queues")


@pytest.mark.slow
async def test_pages_say_which_agent_is_silent_and_go_on(tmp_path: Path, axe: str, report: Path) -> None:
    async with running_stage(tmp_path, 3, QUEUES, LEASE) as stage:
        asked = stage.agents[0]
        silent, path = await find_silent(stage, lambda agent: agent is not asked)
        async with console_at(asked.url, axe, report) as console:
            browser = console.browser
            await console.open("/", "section[aria-labelledby=queues] tbody td a")
            await browser.wait_for(f"return document.querySelector('{MISSING}') === null")
            silent.send(signal.SIGSTOP)
            await console.wait_for_text(MISSING, silent.address)
            await browser.wait_for_texts("#queues .quiet", str(QUEUES))
            await console.picture("stopped-desktop-light", DESKTOP)
            await console.open("/ui/agents", MISSING)
            await console.wait_for_text(MISSING, silent.address)
            await open_queue(console, path)
            await console.wait_for_text(".alerts", silent.address)
            silent.send(signal.SIGCONT)
            await browser.wait_for("return document.querySelector('.alerts') === null")
            await console.open("/", "section[aria-labelledby=queues] tbody td a")
            await browser.wait_for(f"return document.querySelector('{MISSING}') === null")
            browser.complaints()  # of what did not come
            asked.send(signal.SIGSTOP)
            await console.wait_for_text("[role=status]", "The agent does not answer")
            await browser.wait_for_texts("#queues .quiet", str(QUEUES))
            await browser.wait_for("return document.querySelector('.calm') === null")
            await console.picture("frozen-desktop-light", DESKTOP)
            asked.send(signal.SIGCONT)
            await console.wait_for_text("[role=status]", "live")
