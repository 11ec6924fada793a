"""An attack of a given length, and its figures."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.attack.driver import Driver
from tests.attack.stage import running_stage

_JUDGE_SECONDS: Final = 0.5
_TRIM_SECONDS: Final = 60.0
"""Within which agents trim something, once nothing goes wrong any more."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of an attack."""

    seed: int
    seconds: float
    actions: int
    refused: int
    faulty_requests: int
    deaths: int
    freezes: int
    cuts: int
    trims: int
    trimmers: int
    trimmed_rows: int
    unknown_rows: int
    violations: list[str]

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {self.seconds:.0f} s, {self.actions} actions of the driver ({self.refused} refused),"
            f" {self.faulty_requests} requests of agents spoilt, agents killed {self.deaths}, stopped {self.freezes}"
            f" and cut off {self.cuts} times\n{self.trims} trims executed, by {self.trimmers} agents,"
            f" {self.trimmed_rows} rows trimmed ({self.unknown_rows} of them not known to the model),"
            f" {len(self.violations)} violations"
        )


async def attack(directory: Path, seconds: float, calm_seconds: float, seed: int) -> Figures:
    """Attack agents for so long.

    Args:
        directory: for data and logs; empty.
        seconds: of attack, after everything has started.
        calm_seconds: at the end, in which nothing goes wrong any more; longer if nothing was trimmed yet.
        seed: of what is done, and of what goes wrong.
    """
    async with running_stage(directory, random.Random(seed)) as stage:
        driver = Driver(stage, random.Random(seed + 1))
        await driver.prepare()
        stage.start_agents()
        begun, stop = time.monotonic(), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for work in (driver.work(stop), stage.spoil_wires(stop), stage.strike_agents(stop)):
                group.create_task(work)
            while time.monotonic() - begun < seconds:
                await asyncio.sleep(_JUDGE_SECONDS)
                await driver.judge()
            stop.set()
        await _calm(driver, calm_seconds)
        account = driver.account
        return Figures(
            seed,
            time.monotonic() - begun,
            driver.actions,
            len(driver.refusals),
            stage.faulty_requests,
            stage.deaths,
            stage.freezes,
            stage.cuts,
            account.trims,
            len(account.trimmers),
            account.trimmed_rows,
            account.unknown_rows,
            account.violations,
        )


async def _calm(driver: Driver, seconds: float) -> None:
    """Let the agents do what is left."""
    begun = time.monotonic()
    while True:
        await asyncio.sleep(_JUDGE_SECONDS)
        await driver.judge()
        taken = time.monotonic() - begun
        if taken > (seconds if driver.account.trims else _TRIM_SECONDS):
            return
