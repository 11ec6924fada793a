"""Hands in the stock web UI: buttons, switches and fields go by what people see of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from tests.examples.browser import Browser

_DIALOG: Final = "[role=dialog]"
_TARGET: Final = "data-target-of-hands"
_MARK: Final = f"""
for (const one of document.querySelectorAll('[{_TARGET}]')) one.removeAttribute('{_TARGET}');
const shown = (one) => one.getClientRects().length > 0 && !one.disabled;
const found = candidates().filter(shown).pop();
if (found) found.setAttribute('{_TARGET}', '');
return found !== undefined;
"""
"""Puts a mark on the last of some elements that can be seen and used; whether there is one."""

_PRESSABLE: Final = "button, a, label, [role=menuitem], [role=option]"
_SAID: Final = """
const said = (selector) => [...document.querySelectorAll(selector)].map((one) => one.innerText.trim());
return [...said('.g-toast'), ...said('[class*=error-block]'), ...said('[role=dialog]')].join(' / ').slice(0, 600);
"""


@dataclass(frozen=True)
class Window:
    """The UI of one cluster in one window.

    Args:
        browser: the window.
        url: of the UI, without a path.
        cluster: its name in the UI.
    """

    browser: Browser
    url: str
    cluster: str

    async def open(self, path: str, mode: str, **more: str) -> None:
        """Go to a node's page, and wait until the cluster has answered."""
        query = urlencode({"path": path, "navmode": mode, **more})
        await self.browser.open(f"{self.url}/{self.cluster}/navigation?{query}")
        await self.browser.wait_for("return [...document.querySelectorAll('button')].length > 5")

    async def open_queue(self, path: str, view: str) -> None:
        """Go to a view of the queue tab."""
        await self.open(path, "queue", qMode=view)

    async def press(self, text: str) -> None:
        """Click at what shows exactly this, in the dialog if there is one."""
        await self._click(
            f"const scope = document.querySelector({json.dumps(_DIALOG)}) || document;"
            f"const all = [...scope.querySelectorAll({json.dumps(_PRESSABLE)})];"
            f"const candidates = () => all.filter((one) => (one.innerText || '').trim() === {json.dumps(text)});",
            text,
        )

    async def click_in_row(self, text: str, selector: str) -> None:
        """Click at the first such element of the table row that shows a text."""
        await self._click(
            "const all = [...document.querySelectorAll('tr')];"
            f"const row = all.filter((one) => one.innerText.includes({json.dumps(text)})).pop();"
            f"const candidates = () => row ? [...row.querySelectorAll({json.dumps(selector)})].slice(0, 1) : [];",
            f"{selector} in the row of {text}",
        )

    async def fill(self, place: str, text: str) -> None:
        """Paste over what is in the field of a place of the dialog.

        If it is typed, the UI asks the cluster about each beginning of a path. On a busy machine it takes the answer
        about one of them for that about the whole.
        """
        await self.browser.paste(f"{_DIALOG} {place} input", text)

    async def fill_path(self, place: str, text: str) -> None:
        """Paste a path into a field of a form, and hand it over with Enter.

        Without Enter, the form takes the path 300 ms after it was pasted, and who confirms earlier sends the old one.
        """
        await self.fill(place, text)
        await self.browser.key("Enter")

    async def switch(self, name: str) -> None:
        """Turn a switch of the dialog."""
        await self.browser.click(f'{_DIALOG} [data-qa="df-field:tumbler:{name}"]')

    async def choose(self, place: str, text: str) -> None:
        """Choose one of those that the first list of a place offers, and leave the list."""
        await self.browser.click(f"{_DIALOG} {place} button")
        await self._click(
            "const all = [...document.querySelectorAll('[role=option]')];"
            f"const candidates = () => all.filter((one) => one.innerText.trim() === {json.dumps(text)});",
            f"{text} in a list",
        )
        await self.browser.click(f"{_DIALOG} .g-dialog-header__caption")

    async def wait_until_valid(self) -> None:
        """Until the dialog lets itself be confirmed: some ask the cluster first whether what was typed can be."""
        await self.browser.wait_for(f"return document.querySelector('{_DIALOG} [type=submit]:enabled') !== null")

    async def confirm(self, word: str = "Confirm") -> None:
        """Say yes to the dialog; it closes when the cluster has done what it asks for."""
        await self.press(word)
        await self.browser.wait_for(f"return document.querySelector({json.dumps(_DIALOG)}) === null")

    async def said(self) -> str:
        """What the page says to its user at the moment."""
        return str(await self.browser.run(_SAID))

    async def _click(self, candidates: str, what: str) -> None:
        try:
            await self.browser.wait_for(candidates + _MARK)
        except AssertionError:
            raise AssertionError(f"there is nothing to click at: {what}") from None
        await self.browser.click(f"[{_TARGET}]")
