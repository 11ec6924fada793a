"""`make check-console`: the console's pages in a real browser."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.console.console_browser import Console, axe_source, console_at
from tests.console.stand_in import StandIn
from tests.e2e.playground import Playground, running
from tests.examples.browser import CHROMIUM

REPORT = os.environ.get("CONSOLE_REPORT")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = None if REPORT and CHROMIUM else "`make check-console` sets CONSOLE_REPORT and gets a browser"
    for item in items:
        if missing and item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.skip(reason=missing))


@pytest.fixture(scope="session")
def report() -> Path:
    assert REPORT
    folder = Path(REPORT)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    return axe_source(tmp_path_factory.mktemp("axe"))


@pytest.fixture(scope="session")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """What `make run` starts, on other ports, and with a second agent: each has to know of what the other leads."""
    with running(tmp_path_factory.mktemp("playground"), "--demo", "--agents=2") as playground:
        yield playground


@pytest.fixture
async def console(playground: Playground, axe: str, report: Path) -> AsyncIterator[Console]:
    """The console of the agent of `make run`."""
    async with console_at(playground.console_url, axe, report) as console:
        yield console


@pytest.fixture
async def stand_in() -> AsyncIterator[StandIn]:
    async with StandIn() as stand_in:
        yield stand_in


@pytest.fixture
async def large(stand_in: StandIn, axe: str, report: Path) -> AsyncIterator[Console]:
    """The console of an agent with 5,000 queues, which the test plays."""
    async with console_at(stand_in.url, axe, report) as console:
        yield console
