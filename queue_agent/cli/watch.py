"""`queue-agent watch`: the status on the whole screen, refreshed, with keys to sort, filter and open."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Annotated, Final

import typer
from prompt_toolkit.input import create_input
from prompt_toolkit.keys import Keys
from rich.console import Console
from rich.live import Live
from rich.text import Text

from queue_agent.cli.addresses import agent_addresses
from queue_agent.cli.errors import CommandError
from queue_agent.cli.options import AgentConfigFile, Agents, exit_codes, now
from queue_agent.cli.plain import plain
from queue_agent.cli.references import parse_object
from queue_agent.cli.status_view import make_console
from queue_agent.cli.statuses import Document, Overview, fetch_object, fetch_overview
from queue_agent.cli.watch_keys import Screen, Shown, press
from queue_agent.cli.watch_view import choose_rows, list_rows, view_help, view_object, view_rows

EXAMPLES: Final = """
Examples:

queue-agent watch --problems  ·  an empty screen is a good one

queue-agent watch pythia://tmp/queue --interval 0.5

Exit codes: 0: ended by a key or a signal; 2: the agent does not answer at the start, or
standard output is not a terminal.
"""

_ESCAPE_SECONDS: Final = 0.1
"""How long an escape may be the beginning of another key."""

_ANSWER_SECONDS: Final = 5.0
"""For an agent that is stopped or overloaded; what was seen before stays on the screen meanwhile."""

_HEAD_LINES: Final = 2


def command(
    which: Annotated[
        str | None,
        typer.Argument(
            metavar="QUEUE|CONSUMER",
            help="What to open at once: cluster://path. Without it, everything is listed.",
            show_default=False,
        ),
    ] = None,
    agent: Agents = None,
    config: AgentConfigFile = None,
    problems: Annotated[bool, typer.Option("--problems", help="Begin with problems only.")] = False,
    interval: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="Seconds between two refreshes.")] = 1.0,
) -> None:
    """Show the status full screen and refresh it, worst first. Keys sort, filter and open; ? lists them, q quits.

    Once it runs, an agent that does not answer does not end it: the last status stays on the screen. If standard input
    is not a terminal, there are no keys.
    """
    with exit_codes():
        if problems and which is not None:
            raise CommandError("--problems is for everything; one queue or consumer is shown as it is")
        console = make_console()
        if not console.is_terminal or console.is_dumb_terminal:
            raise CommandError("watch needs a terminal; for anything else there is: queue-agent status --json")
        opened = () if which is None else (str(parse_object(which, "QUEUE|CONSUMER")),)
        watch = Watch(console, agent_addresses(agent, config), interval, Screen(only_problems=problems, opened=opened))
        try:
            asyncio.run(watch.run())
        except OSError:  # the terminal is gone; what is still to be written goes nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@dataclass(slots=True)
class Watch:
    """A screen, and what is known of agents."""

    console: Console
    addresses: Sequence[str]
    interval: float
    screen: Screen
    shown: Shown = field(default_factory=Shown)
    overview: Overview | None = None
    opened: tuple[str, str, Document] | None = None
    """Name, kind and document of what is opened; None: it has not been seen yet."""

    problem: str = ""
    """Why the last refresh failed."""

    wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Something else is wanted than what was asked for last."""

    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Show what is seen until a key or a signal ends it, or the terminal is gone.

        Raises:
            CommandError: nothing can be shown at the start.
            OSError: the terminal is gone.
        """
        await self._look()  # what cannot be shown at all is an error, not a screen
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            loop.add_signal_handler(number, self.ended.set)  # the terminal is left as it was
        with Live(console=self.console, screen=True, auto_refresh=False, vertical_overflow="crop") as live:
            loop.add_signal_handler(signal.SIGWINCH, self._draw, live)
            with self._keys(live):
                async with asyncio.TaskGroup() as group:
                    refresh = group.create_task(self._refresh(live))
                    await self.ended.wait()
                    refresh.cancel()

    async def _refresh(self, live: Live) -> None:
        while True:
            self._draw(live)
            self.wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(self.interval):
                    await self.wake.wait()
            try:
                await self._look()
                self.problem = ""
            except CommandError as error:
                self.problem = str(error)

    async def _look(self) -> None:
        if self.screen.opened:
            name = self.screen.opened[-1]
            kind, document = await fetch_object(self.addresses, parse_object(name, "name"), _ANSWER_SECONDS)
            self.opened = (name, kind, document)
        else:
            self.overview = await fetch_overview(self.addresses, _ANSWER_SECONDS)

    @contextmanager
    def _keys(self, live: Live) -> Iterator[None]:
        """Have keys pressed, if standard input is a terminal."""
        if not sys.stdin.isatty():
            yield
            return
        keyboard = create_input(sys.stdin)
        loop = asyncio.get_running_loop()

        def read() -> None:
            for one in keyboard.read_keys():
                self._press(one.key, one.data, live)
            if keyboard.closed:
                self.ended.set()
            loop.call_later(_ESCAPE_SECONDS, flush)

        def flush() -> None:
            for one in keyboard.flush_keys():
                self._press(one.key, one.data, live)

        with keyboard.raw_mode(), keyboard.attach(read):
            yield

    def _press(self, key: str, data: str, live: Live) -> None:
        before = self.screen
        if key == Keys.BracketedPaste:  # comes as one key
            for character in data:
                self.screen = press(self.screen, character, self.shown) if self.screen.is_typing else self.screen
        else:
            self.screen = press(before, key, self.shown)
        if self.screen.has_ended:
            self.ended.set()
            return
        if self.screen.opened != before.opened:
            self.problem = ""
            self.wake.set()
        self._draw(live)

    def _draw(self, live: Live) -> None:
        room = max(1, self.console.height - _HEAD_LINES)
        head = self._head()
        screen, name = self.screen, (self.screen.opened or ("",))[-1]
        if screen.shows_help:
            view = view_help(head)
        elif name and self.opened is not None and self.opened[0] == name:
            _, kind, document = self.opened
            view, self.shown = view_object(kind, document, screen, self.console, head, room, now())
        elif name or self.overview is None:
            view, self.shown = Text.assemble(head, f"\n{plain(name)} has not answered yet"), Shown()
        else:
            rows = choose_rows(list_rows(self.overview), screen)
            view, self.shown = view_rows(rows, screen, self.console, head, room)
        try:
            live.update(view, refresh=True)
        except OSError:
            self.ended.set()  # the terminal is gone

    def _head(self) -> Text:
        screen = self.screen
        parts = ["?: help", "q: quit"]
        if not screen.opened:
            parts += [f"order: {screen.order.value}", *(["problems only"] if screen.only_problems else [])]
        parts.append(f"{now().astimezone():%H:%M:%S}")
        line = Text("  ".join(parts), "dim", no_wrap=True, overflow="ellipsis", end="")
        line.truncate(self.console.width)
        second = Text(plain(self.problem), "red")
        if screen.is_typing or screen.words:
            second = Text(f"/{plain(screen.words)}{'_' if screen.is_typing else ''}", "bold")
        elif not self.problem and not screen.opened and self.overview is not None:
            rows = list_rows(self.overview)
            second = Text(f"{sum(bool(one.problem) for one in rows)} of {len(rows)} have problems")
        second.truncate(self.console.width, overflow="ellipsis")
        return Text.assemble(line, "\n", second, no_wrap=True, overflow="crop")
