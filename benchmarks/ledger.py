"""The ledger of very many moving positions: processor time, requests, and what its bound sheds to memory.

python -m benchmarks.ledger
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from queue_agent.adapters.state.ledger_table import LedgerTable
from queue_agent.controllers.consumers.ledger_keeper import MAX_ROWS, LedgerKeeper
from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.status.board import Board
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.ledger import Reading
from queue_agent.core.verdicts.queue_poll import observe_queue
from queue_agent.core.verdicts.queue_state import Pair, PartitionReading, QueueState
from queue_agent.ports.guards import LeadershipGuard
from yt_wire import yson

PARTITIONS: Final = 100
MINUTES: Final = 3
START: Final = datetime(2025, 1, 23, tzinfo=UTC)


@dataclass
class SetClock:
    """`ports.Clock` that is moved by hand."""

    time: datetime = START

    def now(self) -> datetime:
        return self.time


class CountingCluster:
    """Takes rows as a cluster would: encoded, one request for each call."""

    def __init__(self) -> None:
        self.requests = self.rows = self.size = 0

    async def insert_rows(self, path: str, rows: Collection[Any]) -> None:
        self.requests += 1
        self.rows += len(rows)
        self.size += len(yson.dumps(cast("Any", list(rows))))


class AlwaysLeading:
    """`ports.LeadershipGuard` of an agent that is alone."""

    def find_hold(self, refs: Collection[CrossClusterRef]) -> None:
        return

    def acting(self, refs: Collection[CrossClusterRef]) -> nullcontext[None]:
        return nullcontext()


class Waiting:
    """`ports.LedgerObserver` that remembers how many pairs wait."""

    last = 0

    def ledger_written(self, count: int) -> None:
        return

    def ledger_failed(self) -> None:
        raise RuntimeError("nothing fails here")

    def ledger_waiting(self, count: int) -> None:
        self.last = count


def moved(state: QueueState, now: float, minute: int) -> QueueState:
    """The state after a poll in which every partition has moved."""
    rows = 1000 * (minute + 1)
    reading = Reading(0, rows + 10, rows, now - 1, "1-2-3-4", "5-6-7-8", now - 2)
    return observe_queue(
        state, dict.fromkeys(range(PARTITIONS), PartitionReading(reading)), range(PARTITIONS), now, 60.0
    )


async def run(positions: int) -> None:
    """Print one line about so many positions, all of which move in every minute."""
    clock, cluster, waiting = SetClock(), CountingCluster(), Waiting()
    table = LedgerTable(cast("Any", cluster), "//sys/queue_agents", clock.now)
    origins = Origins(Process("bench", 1, 2), "Control:0", random.Random(0))
    guard = cast("LeadershipGuard", AlwaysLeading())
    keeper = LedgerKeeper(table, guard, Board("bench", clock), clock, origins, waiting)
    consumer = CrossClusterRef("bench", "//home/bench/consumer")
    pairs = [Pair(CrossClusterRef("bench", f"//home/bench/{i:05}"), consumer) for i in range(positions // PARTITIONS)]
    states = {pair: QueueState(pair, is_kept=True) for pair in pairs}
    judging = writing = slowest = 0.0
    left = 0
    for minute in range(MINUTES + 1):  # what a minute has moved is due at its end, and written in the next
        begun = time.process_time()
        for pair, state in states.items():
            states[pair] = moved(state, clock.time.timestamp(), minute)
            keeper.note(states[pair], urgent=False)
        judging += time.process_time() - begun
        for second in range(60):
            clock.time += timedelta(seconds=1)
            begun = time.process_time()
            await keeper.do_pass(0)
            spent = time.process_time() - begun
            writing, slowest = writing + spent, max(slowest, spent)
            left = waiting.last if second == 58 else left
    seconds = 60 * MINUTES
    print(
        f"{positions:>9,} positions: {cluster.rows / seconds:>6,.0f} rows/s in {cluster.requests / seconds:.2f}"
        f" requests/s, {cluster.size / max(1, cluster.rows):.0f} bytes a row; writing takes"
        f" {1000 * writing / seconds:.0f} ms of processor a second ({1000 * slowest:.0f} ms at most), judging"
        f" {1e6 * judging / (MINUTES + 1) / positions:.0f} µs a change; of those due, {left * PARTITIONS:,} positions"
        " are only in memory a minute later"
    )


def main() -> None:
    """Below the bound, at 100,000, and above it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--positions", type=int, nargs="*", default=[10_000, 100_000, 200_000])
    for positions in parser.parse_args().positions:
        asyncio.run(run(positions))
    print(f"bound: {MAX_ROWS:,} rows a second; queue_agent_consumer_ledger_waiting tells how many pairs wait")


if __name__ == "__main__":
    main()
