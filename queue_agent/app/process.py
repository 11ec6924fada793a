"""An agent as a process: signals, and handing over."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress

import structlog

from queue_agent.app.agent import Addresses, run_agent
from queue_agent.app.garbage import collect_garbage
from queue_agent.app.open_ports import allow_open_files
from queue_agent.config.agent import AgentConfig
from queue_agent.controllers.group.departure import Departure

log = structlog.get_logger(__name__)


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
        garbage = group.create_task(collect_garbage())
        agent = group.create_task(run_agent(config, ready, departure=departure))
        await departure.wanted.wait()
        log.info("stopping")
        with suppress(TimeoutError):
            async with asyncio.timeout(config.membership.hand_over_timeout.total_seconds()):
                await departure.done.wait()
        agent.cancel()
        garbage.cancel()
