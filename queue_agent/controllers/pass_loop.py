"""The heartbeat: the only endless loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import NoReturn

import structlog

from queue_agent.errors import QueueAgentError

log = structlog.get_logger(__name__)

MAX_SLOWDOWN = 8
"""A pass that keeps failing is tried again after this many periods at most."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When passes happen."""

    period: timedelta
    """From the start of one pass to the start of the next."""

    timeout: timedelta
    """A pass that takes longer has failed."""


def next_delay(schedule: Schedule, failures: int, seconds: float) -> float:
    """Seconds to wait after a pass.

    Args:
        schedule: of the passes.
        failures: how many passes have failed in a row; each doubles the period, up to `MAX_SLOWDOWN` times.
        seconds: what the pass took; a longer one than the period is followed by the next at once.
    """
    slowdown = min(1 << min(failures, MAX_SLOWDOWN), MAX_SLOWDOWN)
    return max(0.0, schedule.period.total_seconds() * slowdown - seconds)


async def run_passes(
    do_pass: Callable[[int], Awaitable[None]],
    schedule: Schedule,
    finished: Callable[[int, float, Exception | None], None],
    jitter: Callable[[], float],
    wake: asyncio.Event | None = None,
) -> NoReturn:
    """Do passes until cancelled, the first at once; a failed one is reported and delays the next.

    Args:
        do_pass: gets the index of the pass, from 0.
        schedule: period and deadline.
        finished: hears of every pass: index, seconds, and the error if it failed.
        jitter: a factor for the delay after a failure, so that what fails together is not tried again together.
        wake: when set, the next pass starts early; it is cleared then.
    """
    clock = asyncio.get_running_loop().time
    failures = 0
    pass_index = 0
    while True:
        started = clock()
        error: Exception | None = None
        try:
            async with asyncio.timeout(schedule.timeout.total_seconds()):
                await do_pass(pass_index)
        except (QueueAgentError, TimeoutError) as caught:
            error = caught
            log.warning("pass failed", pass_index=pass_index, error=repr(caught))
        except Exception as caught:
            error = caught
            log.exception("pass crashed", pass_index=pass_index)
        seconds = clock() - started
        finished(pass_index, seconds, error)
        failures = failures + 1 if error else 0
        pass_index += 1
        delay = next_delay(schedule, failures, seconds)
        await _pause(delay * jitter() if failures else delay, wake)


async def _pause(seconds: float, wake: asyncio.Event | None) -> None:
    if wake is None:
        await asyncio.sleep(seconds)
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await wake.wait()
    wake.clear()
