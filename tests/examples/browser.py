"""A headless Chromium, driven over the WebDriver protocol."""

from __future__ import annotations

import asyncio
import base64
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp

CHROMIUM: Final = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER: Final = shutil.which("chromedriver")
FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1000,900",
)
WAIT_SECONDS: Final = 30
_DRIVER_TRIES: Final = 3
_ELEMENT: Final = "element-6066-11e4-a52e-4f735466cecf"
"""The key of an element's id in WebDriver's answers."""
_PORT: Final = re.compile(rb"started successfully on port (\d+)")


@dataclass(frozen=True)
class Browser:
    """One window. Elements are named by CSS selectors, and waited for."""

    http: aiohttp.ClientSession
    session: str

    async def open(self, url: str) -> None:
        await self._post("url", url=url)

    async def click(self, selector: str) -> None:
        await self._post(f"element/{await self._element(selector)}/click")

    async def type(self, selector: str, text: str) -> None:
        """Replace what is in a field."""
        element = await self._element(selector)
        await self._post(f"element/{element}/clear")
        await self._post(f"element/{element}/value", text=text)

    async def retype(self, selector: str, text: str) -> None:
        """Select what is in a field, and type over it: the page never sees the field empty."""
        element = await self._element(selector)
        await self.run("document.querySelector(arguments[0]).select()", selector)
        await self._post(f"element/{element}/value", text=text)

    async def texts(self, selector: str) -> list[str]:
        """What the elements show, in the order of the document."""
        shown: list[str] = await self.run(
            "return [...document.querySelectorAll(arguments[0])].map((item) => item.innerText)", selector
        )
        return shown

    async def run(self, script: str, *arguments: Any) -> Any:
        """Value of a script."""
        return await self._post("execute/sync", script=script, args=list(arguments))

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

    async def keys(self, keys: str) -> None:
        """Press keys, one after the other, wherever the focus is."""
        steps = [step for key in keys for step in ({"type": "keyDown", "value": key}, {"type": "keyUp", "value": key})]
        await self._post("actions", actions=[{"type": "key", "id": "keyboard", "actions": steps}])

    async def press(self, selector: str) -> None:
        """Put the mouse on an element, and its button down."""
        over = {"type": "pointerMove", "x": 0, "y": 0, "origin": {_ELEMENT: await self._element(selector)}}
        await self._mouse(over, {"type": "pointerDown", "button": 0})

    async def release(self) -> None:
        """Let go of the mouse's button, wherever the mouse is."""
        await self._mouse({"type": "pointerUp", "button": 0})

    async def devtools(self, name: str, parameters: Mapping[str, Any]) -> Any:
        """Answer to a command of Chromium's own protocol."""
        return await self._post("goog/cdp/execute", cmd=name, params=dict(parameters))

    async def screenshot(self, path: Path) -> None:
        async with self.http.get(f"/session/{self.session}/screenshot") as response:
            await asyncio.to_thread(path.write_bytes, base64.b64decode((await response.json())["value"]))

    async def complaints(self) -> list[str]:
        """What the console says of errors, and of what the page may not do."""
        entries = await self._post("se/log", type="browser")
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    async def _mouse(self, *steps: Mapping[str, Any]) -> None:
        await self._post("actions", actions=[{"type": "pointer", "id": "mouse", "actions": list(steps)}])

    async def _element(self, selector: str) -> str:
        found: list[dict[str, str]] = []

        async def there() -> bool:
            found[:] = await self._post("elements", using="css selector", value=selector)
            return bool(found)

        await _wait(there)
        return found[0][_ELEMENT]

    async def _post(self, path: str, **parameters: Any) -> Any:
        async with self.http.post(f"/session/{self.session}/{path}", json=parameters) as response:
            value = (await response.json())["value"]
            assert response.status == 200, (path, parameters, value)
            return value


@asynccontextmanager
async def browsing(profile: Path) -> AsyncIterator[Browser]:
    """A browser with an empty profile; gone at the end."""
    assert CHROMIUM and DRIVER
    process, port = await _start_driver(DRIVER)
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as http:
            options = {"binary": CHROMIUM, "args": [*FLAGS, f"--user-data-dir={profile}"]}
            wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            async with http.post("/session", json={"capabilities": {"alwaysMatch": wanted}}) as response:
                begun = (await response.json())["value"]
                assert response.status == 200, begun
            try:
                yield Browser(http, begun["sessionId"])
            finally:
                async with http.delete(f"/session/{begun['sessionId']}"):
                    pass
    finally:
        process.terminate()
        await process.communicate()


async def _start_driver(driver: str) -> tuple[asyncio.subprocess.Process, int]:
    """A process with its port; one that finds the port taken that it has chosen ends, and another one is tried."""
    for _ in range(_DRIVER_TRIES):
        process = await asyncio.create_subprocess_exec(
            driver, "--port=0", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
        assert process.stdout is not None
        async with asyncio.timeout(WAIT_SECONDS):
            async for line in process.stdout:
                if match := _PORT.search(line):
                    return process, int(match[1])
        await process.communicate()
    raise AssertionError("chromedriver has ended")


async def _wait(condition: Callable[[], Awaitable[bool]]) -> None:
    deadline = asyncio.get_running_loop().time() + WAIT_SECONDS
    while not await condition():
        assert asyncio.get_running_loop().time() < deadline, "waited in vain"
        await asyncio.sleep(0.05)
