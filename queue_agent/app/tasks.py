"""The tasks of an agent's passes, each with log lines that say which passes they are about."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from queue_agent.controllers.passes.pass_loop import Schedule, run_passes
from queue_agent.controllers.state.dynamic_config import KIND as DYNAMIC_CONFIG
from queue_agent.controllers.state.dynamic_config import DynamicConfig


@dataclass(frozen=True, slots=True)
class PassTasks:
    """Starts passes in a task group."""

    group: asyncio.TaskGroup
    jitter: Callable[[], float]
    """See `run_passes`, as of all that follows."""

    def start(
        self,
        kind: str,
        do_pass: Callable[[int], Awaitable[None]],
        find_schedule: Callable[[], Schedule],
        finished: Callable[[int, float, Exception | None], None],
        wake: asyncio.Event | None = None,
        disabled: Callable[[], None] = lambda: None,
    ) -> None:
        """Have passes of a kind done from now on."""
        context = contextvars.copy_context()
        context.run(structlog.contextvars.bind_contextvars, kind=kind)
        self.group.create_task(
            run_passes(do_pass, find_schedule, finished, self.jitter, wake, disabled), context=context
        )

    async def start_dynamic_config(self, dynamic: DynamicConfig, find_schedule: Callable[[], Schedule]) -> None:
        """Keep the dynamic configuration in force; returns after the first look, so that all else begins with it."""
        looked = asyncio.Event()

        def finished(pass_index: int, seconds: float, error: Exception | None) -> None:
            dynamic.pass_finished(pass_index, seconds, error)
            looked.set()

        self.start(DYNAMIC_CONFIG, dynamic.do_pass, find_schedule, finished)
        await looked.wait()
