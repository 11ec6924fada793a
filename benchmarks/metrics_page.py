"""Metrics of very many objects: what a scrape costs the event loop, and what it costs to bring the page up to date."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from aiohttp import web

from queue_agent.adapters.metrics.metrics import Metrics
from queue_agent.adapters.serving.metrics_server import MetricsServer
from queue_agent.config.serving import MetricsConfig
from queue_agent.controllers.status.board import Board
from queue_agent.core.queues.snapshots import (
    ConsumerPartition,
    ConsumerQueueView,
    ConsumerSnapshot,
    ConsumerView,
    Disposition,
    QueuePartition,
    QueueRowValues,
    QueueSnapshot,
    QueueView,
    Role,
)
from queue_agent.core.state.rows import ConsumerRow, QueueRow, Registration
from queue_agent.core.values.rates import Counters
from queue_agent.core.values.refs import CrossClusterRef

QUEUES: Final = 5_000
PARTITIONS: Final = 10
CONSUMERS: Final = 2
START: Final = datetime(2025, 1, 23, tzinfo=UTC)
TICK: Final = 0.001


class StoppedClock:
    """`ports.Clock` that never moves."""

    def now(self) -> datetime:
        return START


def make_board() -> tuple[Board, list[QueueSnapshot], list[ConsumerSnapshot]]:
    """Every queue with rows, every consumer some way behind."""
    board = Board("bench", StoppedClock())
    queues: list[QueueSnapshot] = []
    consumers: list[ConsumerSnapshot] = []
    for number in range(QUEUES):
        ref = CrossClusterRef("bench", f"//home/bench/queues/{number:05}")
        readers = [CrossClusterRef("bench", f"//home/bench/consumers/{number:05}-{i}") for i in range(CONSUMERS)]
        registrations = [Registration(ref, reader, vital=True) for reader in readers]
        partitions = [
            QueuePartition("t", "mounted", "c", "h", 1000, 1_000_000, START, Counters(), 10**8, 10**5)
            for _ in range(PARTITIONS)
        ]
        view = QueueView(partitions, True, True, START, 1)
        queues.append(QueueSnapshot(QueueRow(ref), Role.LEADING, 1, START, view, registrations=registrations))
        for registration in registrations:
            position = ConsumerQueueView([reading(999_500, 0) for _ in range(PARTITIONS)], START)
            content = ConsumerView({ref: position})
            row = ConsumerRow(registration.consumer)
            consumers.append(ConsumerSnapshot(row, Role.LEADING, 1, START, content, registrations=[registration]))
    return board, queues, consumers


def reading(next_row_index: int, second: int) -> ConsumerPartition:
    return ConsumerPartition(
        next_row_index,
        START,
        Disposition.PENDING_CONSUMPTION,
        500,
        50_000,
        START + timedelta(seconds=second),
        10**8,
        Counters(),
        QueueRowValues("t", next_row_index),
    )


def publish(board: Board, queues: list[QueueSnapshot], consumers: list[ConsumerSnapshot], second: int) -> None:
    """A second in which everything has moved, or with `second` 0 all there is."""
    for queue in queues:
        assert queue.view is not None
        moved = [
            replace(one, upper_row_index=1_000_000 + second)
            for one in queue.view.partitions
            if isinstance(one, QueuePartition)
        ]
        board.put_queue(replace(queue, content=replace(queue.view, partitions=moved)))
    for consumer in consumers:
        assert consumer.view is not None
        views = {
            ref: ConsumerQueueView([reading(999_500 + second, second) for _ in range(PARTITIONS)], START)
            for ref in consumer.view.queues
        }
        board.put_consumer(replace(consumer, content=ConsumerView(views)))


@asynccontextmanager
async def watching() -> AsyncIterator[list[float]]:
    """How long the event loop was busy with something else, at each millisecond."""
    stalls: list[float] = []

    async def tick() -> None:
        while True:
            started = time.perf_counter()
            await asyncio.sleep(TICK)
            stalls.append(time.perf_counter() - started - TICK)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(tick())
        try:
            yield stalls
        finally:
            task.cancel()


async def measure(max_series: int) -> None:
    board, queues, consumers = make_board()
    config = MetricsConfig(max_series=max_series, period=timedelta(hours=1))
    metrics = Metrics(board, config)
    board.observe(metrics.counters)
    publish(board, queues, consumers, 0)
    server = MetricsServer(metrics, config)
    spent: list[float] = []

    @web.middleware
    async def timed(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        started = time.perf_counter()
        response = await handler(request)
        spent.append(time.perf_counter() - started)
        return response

    application = web.Application(middlewares=[timed])
    application.add_routes([web.get("/solomon/all", server.show_all)])
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/solomon/all"
    for what in ("first page", "nothing has moved", "everything has moved"):
        if what.startswith("everything"):
            publish(board, queues, consumers, 1)
        if what == "first page":
            await scrape(url)
            continue
        # As the agent has it done all the time.
        gc.collect()
        gc.freeze()
        async with watching() as stalls:
            started = time.process_time()
            await server.do_pass(0)
            seconds = time.process_time() - started
        print(
            f"  {what}: {seconds:.2f} s of processor time, event loop stalled {max(stalls) * 1e3:.0f} ms at most",
            flush=True,
        )
    for compressed in (True, False):
        await scrape(url, compressed)  # the form is not made before it is asked for once
        spent.clear()
        async with watching() as stalls:
            size = await scrape(url, compressed)
        form = "gzip" if compressed else "plain"
        print(
            f"  scrape ({form}, {size / 1e6:.1f} MB): handler {spent[0] * 1e3:.1f} ms,"
            f" event loop stalled {max(stalls) * 1e3:.0f} ms at most",
            flush=True,
        )
    await runner.cleanup()


async def scrape(url: str, compressed: bool = True) -> int:
    """By another process; the size of what came."""
    accept = "Accept-Encoding: gzip" if compressed else "Accept-Encoding: identity"
    process = await asyncio.create_subprocess_exec(
        "curl", "-sS", "-H", accept, "-o", "/dev/null", "-w", "%{size_download}", url, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    return int(output)


async def main() -> None:
    gc.set_threshold(1_000_000)
    print(f"{QUEUES} queues x {PARTITIONS} partitions x {CONSUMERS} consumers")
    for max_series in (100_000, 500_000):
        print(f"{max_series} series at most", flush=True)
        await measure(max_series)


if __name__ == "__main__":
    asyncio.run(main())
