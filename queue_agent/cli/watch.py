"""`queue-agent watch`: the status on the whole screen, made anew again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated, Final

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from queue_agent.cli.errors import CommandError
from queue_agent.cli.options import AgentConfigFile, Agents, agent_addresses, exit_codes, now
from queue_agent.cli.status import Object, Problems
from queue_agent.cli.status import look as look_at
from queue_agent.cli.status_view import make_console

EXAMPLES: Final = """
Examples:

queue-agent watch --problems  ·  an empty screen is a good one

queue-agent watch pythia://tmp/queue --interval 0.5

Exit codes: 0: ended by Ctrl-C; 2: the agent can not be asked at the start, or standard output is no terminal.
"""


def command(
    which: Object = None,
    agent: Agents = None,
    config: AgentConfigFile = None,
    problems: Problems = False,
    interval: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="Seconds between two refreshes.")] = 1.0,
) -> None:
    """Show the status full screen and refresh it until Ctrl-C.

    Once it runs, an agent that does not answer does not end it: the last status stays on the screen.
    """
    with exit_codes():
        console = make_console()
        if not console.is_terminal:
            raise CommandError("watch needs a terminal; for anything else there is: queue-agent status --json")
        addresses = agent_addresses(agent, config)
        try:
            asyncio.run(_watch(console, lambda: look_at(addresses, which, problems), interval))
        except KeyboardInterrupt:
            return


async def _watch(console: Console, look: Callable[[], Awaitable[RenderableType]], interval: float) -> None:
    await look()  # what can not be shown at all is an error, not a screen
    await watch(console, look, interval, now)


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
            problem = ""
            try:
                seen = await look()
            except CommandError as error:
                problem = str(error)
            head = Text(f"{now().astimezone():%H:%M:%S}  every {interval:g} s, Ctrl-C ends  ", "dim")
            live.update(Group(head.append(problem, "not dim red"), Text(), seen), refresh=True)
            await asyncio.sleep(interval)
