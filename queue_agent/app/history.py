"""Puts together what keeps the history."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.history.history_queue import HistoryQueue
from queue_agent.adapters.history.history_reader import HistoryQueueReader
from queue_agent.adapters.metrics.metrics import Metrics
from queue_agent.app.parts import Ground
from queue_agent.config.clusters import HistoryConfig
from queue_agent.controllers.passes.origins import Origins
from queue_agent.controllers.passes.pass_loop import Schedule, run_passes
from queue_agent.controllers.status.history import TIMEOUT, HistoryRecorder
from queue_agent.controllers.status.history_writer import WRITE_PERIOD, HistoryWriter
from queue_agent.controllers.status.told_series import SeriesTeller
from queue_agent.core.values.encoding import encode_instant
from queue_agent.ports.status import SeriesSource
from yt_wire.scope import TaskScope


@asynccontextmanager
async def history_recorder(
    ground: Ground,
    history: HistoryConfig,
    rpc_port: int,
    clusters: Mapping[str, YtCluster],
    origins: Origins,
    metrics: Metrics,
) -> AsyncIterator[HistoryRecorder]:
    """What takes samples of the board; while entered, what it has taken is written in the background.

    Args:
        ground: what everything is built on.
        history: that section of the agent's configuration.
        rpc_port: tells agents of one host apart.
        clusters: by name.
        origins: of errors.
        metrics: hear of the history.
    """
    config, board, clock = ground.config, ground.board, ground.clock
    port = f"{config.host}:{rpc_port}"
    instance = f"{port}/{os.getpid()}/{encode_instant(clock.now())}"
    tables = config.history_tables
    queue = HistoryQueue(clusters[tables.queue.cluster], tables, f"{config.stage}/{port}")
    writer = HistoryWriter(queue, history.max_buffered_bytes, instance, board, clock, origins, metrics)
    schedule = Schedule(WRITE_PERIOD, TIMEOUT)
    async with writer.writing(
        partial(run_passes, writer.do_pass, lambda: schedule, writer.pass_finished, ground.jitter, writer.wake)
    ):
        yield HistoryRecorder(board, queue, writer, clock, instance, metrics)


async def series_teller(
    stack: AsyncExitStack, ground: Ground, clusters: Mapping[str, YtCluster], memory: SeriesSource
) -> SeriesTeller:
    """What tells figures for charts; reads of the history end with the stack."""
    config = ground.config
    queue = config.history_tables.queue
    reader = None if config.history is None else HistoryQueueReader(clusters[queue.cluster], queue.path)
    return SeriesTeller(memory, reader, ground.board, await stack.enter_async_context(TaskScope()), ground.clock)
