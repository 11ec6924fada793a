"""The heartbeat: the only endless loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import NoReturn

import structlog

from queue_agent.errors import QueueAgentError, UnexpectedError
from queue_agent.isolation import contain

log = structlog.get_logger(__name__)

MAX_SLEEP_SECONDS = 1.0
"""How long a loop goes without looking at its schedule, which may have changed."""

MAX_SLOWDOWN = 8

MOST_JITTER = 1.25
"""See `run_passes`."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When passes happen."""

    period: timedelta
    """From the start of one pass to the start of the next."""

    timeout: timedelta
    """A pass that takes longer has failed."""

    enable: bool = True
    """Off: there are no passes for now."""

    max_slowdown: int = MAX_SLOWDOWN
    """A pass that keeps failing is tried again after this many periods at most."""


def next_delay(schedule: Schedule, failures: int, seconds: float) -> float:
    """Seconds to wait after a pass.

    Args:
        schedule: of the passes.
        failures: how many passes have failed in a row; each doubles the period, up to `max_slowdown` times.
        seconds: what the pass took; a longer one than the period is followed by the next at once.
    """
    slowdown = min(1 << min(failures, MAX_SLOWDOWN), schedule.max_slowdown)
    return max(0.0, schedule.period.total_seconds() * slowdown - seconds)


def longest_silence(schedule: Schedule) -> float:
    """Seconds between the ends of two passes that fail by their deadline, and have failed for long."""
    return schedule.timeout.total_seconds() + MOST_JITTER * schedule.max_slowdown * schedule.period.total_seconds()


async def attempt(do_pass: Callable[[], Awaitable[None]], pass_index: int, deadline: timedelta) -> Exception | None:
    """Do one pass; if it fails, log that and give the error."""
    try:
        async with asyncio.timeout(deadline.total_seconds()):
            await do_pass()
    except (QueueAgentError, TimeoutError) as caught:
        log.warning("pass failed", pass_index=pass_index, error=repr(caught))
        return caught
    except Exception as caught:  # noqa: BLE001 - contained
        contain("pass", structlog.contextvars.get_contextvars().get("path", "this agent"), caught)
        return caught
    return None


async def run_passes(
    do_pass: Callable[[int], Awaitable[None]],
    find_schedule: Callable[[], Schedule],
    finished: Callable[[int, float, Exception | None], None],
    jitter: Callable[[], float],
    wake: asyncio.Event | None = None,
    disabled: Callable[[], None] = lambda: None,
    alive: Callable[[float], None] = lambda _: None,
) -> NoReturn:
    """Do passes until cancelled, the first at once; a failed one is reported and delays the next.

    Args:
        do_pass: gets the index of the pass, from 0.
        find_schedule: period and deadline as of now; a change is noticed within `MAX_SLEEP_SECONDS`.
        finished: hears of every pass: index, seconds, and the error if it failed.
        jitter: a factor, up to `MOST_JITTER`, for the delay after a failure, so that what fails together is not tried
            again together.
        wake: when set, the next pass starts early, or it is looked earlier whether there are to be any; it is cleared.
        disabled: called each time it is found that there are to be no passes for now.
        alive: hears again and again that the loop goes on, and in how many seconds at the latest it will hear next.
            It hears nothing while passes that have succeeded before fail by faults of this process: a new process may
            help. If it does not, that one has never succeeded, so it is not ended.
    """
    clock = asyncio.get_running_loop().time
    failures = 0
    pass_index = 0
    has_succeeded = False
    sign = alive
    while True:
        while not find_schedule().enable:
            disabled()
            sign(MAX_SLEEP_SECONDS)
            await _pause(MAX_SLEEP_SECONDS, wake)
        started = clock()
        deadline = find_schedule().timeout
        sign(deadline.total_seconds())
        error = await attempt(partial(do_pass, pass_index), pass_index, deadline)
        ended = clock()
        finished(pass_index, ended - started, error)
        failures = failures + 1 if error else 0
        has_succeeded = has_succeeded or error is None
        sign = _say_nothing if has_succeeded and _is_own_fault(error) else alive
        pass_index += 1
        factor = jitter() if failures else 1.0
        while (schedule := find_schedule()).enable:
            sign(MAX_SLEEP_SECONDS)
            # Compared again after every sleep: a shorter period counts at once.
            rest = ended + factor * next_delay(schedule, failures, ended - started) - clock()
            if await _pause(min(max(rest, 0.0), MAX_SLEEP_SECONDS), wake) or rest <= MAX_SLEEP_SECONDS:
                break


def _is_own_fault(error: Exception | None) -> bool:
    """Whether a pass failed for a reason that is not a cluster's, nor that of anybody else outside."""
    if error is None or isinstance(error, TimeoutError):
        return False
    if isinstance(error, ExceptionGroup):
        return any(_is_own_fault(one) for one in error.exceptions)
    return isinstance(error, UnexpectedError) or not isinstance(error, QueueAgentError)


def _say_nothing(_: float) -> None:
    """In place of a sign of life."""


async def _pause(seconds: float, wake: asyncio.Event | None) -> bool:
    """Sleep; True if woken before the time is over."""
    if wake is None:
        await asyncio.sleep(seconds)
        return False
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await wake.wait()
    woken = wake.is_set()
    wake.clear()
    return woken
