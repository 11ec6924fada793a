"""A headless Chromium, driven by Playwright."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from playwright.async_api import ConsoleMessage, Locator, Page, async_playwright

from tests.waiting import LIMIT_SECONDS

CHROMIUM: Final = shutil.which("chromium") or shutil.which("google-chrome")


@dataclass(frozen=True)
class Browser:
    """One window. Elements are named by CSS selectors, and waited for: the first one counts."""

    page: Page
    said: list[str]
    """What the console says of errors, and of what the page may not do."""

    async def open(self, url: str) -> None:
        await self.page.goto(url)

    async def click(self, selector: str) -> None:
        """Once the element can be seen, does not move and is not covered."""
        await self._first(selector).click()

    async def choose(self, selector: str, value: str) -> None:
        """Choose an option of a list."""
        await self._first(selector).select_option(value)

    async def type(self, selector: str, text: str) -> None:
        """Replace what is in a field."""
        await self._first(selector).fill(text)

    async def retype(self, selector: str, text: str) -> None:
        """Select what is in a field, and type over it: the page never sees the field empty."""
        await self._first(selector).select_text()
        await self._first(selector).press_sequentially(text)

    async def paste(self, selector: str, text: str) -> None:
        """Select what is in a field, and paste over it: the page sees the whole text at once."""
        await self._first(selector).select_text()
        await self.page.keyboard.insert_text(text)

    async def texts(self, selector: str) -> list[str]:
        """What the elements show, in the order of the document."""
        return await self.page.locator(selector).all_inner_texts()

    async def run(self, script: str) -> Any:
        """Value of a script."""
        return await self.page.evaluate(f"() => {{ {script} }}")

    async def wait_for_texts(self, selector: str, *expected: str) -> None:
        """AssertionError if the elements do not come to show this."""

        async def shown() -> bool:
            return await self.texts(selector) == list(expected)

        try:
            await _wait(shown)
        except AssertionError:
            assert await self.texts(selector) == list(expected)

    async def wait_for(self, script: str) -> None:
        """AssertionError if the script's value does not come to be true."""

        async def true() -> bool:
            return bool(await self.run(script))

        await _wait(true)

    async def key(self, name: str) -> None:
        """Press a key, wherever the focus is."""
        await self.page.keyboard.press(name)

    async def press(self, selector: str) -> None:
        """Put the mouse on an element, and its button down."""
        await self._first(selector).hover()
        await self.page.mouse.down()

    async def release(self) -> None:
        """Let go of the mouse's button, wherever the mouse is."""
        await self.page.mouse.up()

    async def shape(self, width: int, height: int) -> None:
        """Give the window a size."""
        await self.page.set_viewport_size({"width": width, "height": height})

    async def screenshot(self, path: Path) -> None:
        await self.page.screenshot(path=path)

    def complaints(self) -> list[str]:
        """What was said since this was asked last."""
        said = self.said.copy()
        self.said.clear()
        return said

    def _first(self, selector: str) -> Locator:
        return self.page.locator(selector).first


@asynccontextmanager
async def browsing() -> AsyncIterator[Browser]:
    """A browser with an empty profile; gone at the end."""
    assert CHROMIUM
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--disable-quic"])
        page = await chromium.new_page(viewport={"width": 1000, "height": 900})
        page.set_default_timeout(LIMIT_SECONDS * 1000)
        said: list[str] = []

        def listen(message: ConsoleMessage) -> None:
            if message.type == "error":
                said.append(f"{message.text} ({message.location['url']})")

        page.on("console", listen)
        page.on("pageerror", lambda error: said.append(str(error)))
        try:
            yield Browser(page, said)
        finally:
            await chromium.close()


async def _wait(condition: Callable[[], Awaitable[bool]]) -> None:
    deadline = asyncio.get_running_loop().time() + LIMIT_SECONDS
    while not await condition():
        assert asyncio.get_running_loop().time() < deadline, "waited in vain"
        await asyncio.sleep(0.05)
