"""An agent as a process: signals, handing over, and its garbage."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NoReturn

import structlog

from queue_agent.app.agent import Addresses, run_agent
from queue_agent.app.open_ports import allow_open_files
from queue_agent.config.agent import AgentConfig
from queue_agent.controllers.group.departure import Departure

log = structlog.get_logger(__name__)

_GARBAGE_THRESHOLD: Final = 1_000_000
_FREEZE_SECONDS: Final = 0.2
_GARBAGE_SUSPECTED: Final = 20_000
"""Objects more than at the last freeze: what comes and goes with a pass leaves no more behind than it found."""

_FREEZES: Final = 3000
"""Between looks at everything."""


async def run_until_signalled(config: AgentConfig, ready: Callable[[Addresses], None]) -> None:
    """Run one agent until SIGTERM or SIGINT, then hand over what it leads and return; a second signal cuts that short.

    Raises:
        ExceptionGroup: of what `run_agent` raises.
    """
    allow_open_files()
    loop = asyncio.get_running_loop()
    departure = Departure()

    def stop() -> None:
        (departure.done if departure.wanted.is_set() else departure.wanted).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    async with asyncio.TaskGroup() as group:
        garbage = group.create_task(_collect_garbage())
        agent = group.create_task(run_agent(config, ready, departure=departure))
        await departure.wanted.wait()
        log.info("stopping")
        with suppress(TimeoutError):
            async with asyncio.timeout(config.membership.hand_over_timeout.total_seconds()):
                await departure.done.wait()
        agent.cancel()
        garbage.cancel()


async def _collect_garbage() -> NoReturn:
    """Keep the garbage collector from looking through all that is in memory.

    It would do so whenever passes have replaced most of it: with very many objects that takes a second, in which nobody
    is served. What is old is frozen, which takes no time; it is still freed by reference counts, and once in a while
    looked through as a whole for cycles that were not garbage yet when they were frozen.
    """
    gc.set_threshold(_GARBAGE_THRESHOLD)
    while True:
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        for _ in range(_FREEZES):
            await asyncio.sleep(_FREEZE_SECONDS)
            if gc.get_count()[0] > _GARBAGE_SUSPECTED:
                gc.collect(0)
            gc.freeze()
