"""`queue-agent watch`: the status on the whole screen, made anew again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from queue_agent.cli.errors import CommandError


async def watch(
    console: Console, look: Callable[[], Awaitable[RenderableType]], interval: float, now: Callable[[], datetime]
) -> None:
    """Show what is seen until cancelled.

    An agent that can not be asked for a while does not end it: what was seen last stays, with a word on that.

    Args:
        console: a terminal.
        look: makes what is to be shown; CommandError if that can not be had.
        interval: seconds from one look to the next.
        now: the clock.
    """
    seen: RenderableType = Text()
    with Live(console=console, screen=True, auto_refresh=False, vertical_overflow="crop") as live:
        while True:
            trouble = ""
            try:
                seen = await look()
            except CommandError as error:
                trouble = str(error)
            head = Text(f"{now().astimezone():%H:%M:%S}  every {interval:g} s, Ctrl-C ends  ", "dim")
            live.update(Group(head.append(trouble, "not dim red"), Text(), seen), refresh=True)
            await asyncio.sleep(interval)
