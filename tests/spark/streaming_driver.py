"""Streams from queues into tables, in this process or in one that a test can kill.

`python -m tests.spark.streaming_driver SETTINGS STREAMS` runs streams until it is killed; both arguments are JSON. It
begins the next one with every line of standard input: on a busy machine, many that begin at once wait too long for
each other.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

ENDED = "a stream has ended:"
"""Begins the line that says so, and why."""


@dataclass(frozen=True)
class Stream:
    """From where to where."""

    queue: str
    consumer: str
    result: str
    checkpoint: str
    """In Cypress."""

    options: Mapping[str, str] = field(default_factory=dict)
    """Of writing."""

    def writer(self, spark: SparkSession) -> DataStreamWriter:
        """Rows with service columns, as they are."""
        frame = (
            spark.readStream.format("yt")
            .options(consumer_path=self.consumer, include_service_columns=True, poll_interval=0.2)
            .load(self.queue)
        )
        return (
            frame.writeStream.format("yt")
            .options(**self.options)
            .option("checkpointLocation", f"yt://{self.checkpoint[1:]}")
            .option("path", self.result)
        )

    def start(self, spark: SparkSession) -> StreamingQuery:
        """Run for ever."""
        return self.writer(spark).trigger(processingTime="200 milliseconds").start()


@contextmanager
def driver(settings: Mapping[str, str], streams: Sequence[Stream], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs streams, see `start_next`; in the end it is killed, with its JVM and all its workers.

    Args:
        settings: of its session.
        streams: to be run.
        log: gets what it says.
    """
    command = [sys.executable, "-m", __name__, json.dumps(settings), json.dumps([asdict(stream) for stream in streams])]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
            start_new_session=True,
        )
    try:
        yield process
    finally:
        kill(process)
        assert process.stdin is not None
        process.stdin.close()


def start_next(process: subprocess.Popen[bytes]) -> None:
    """Let a driver begin the next of its streams, once it is there."""
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.flush()


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a driver, its JVM and its workers, without a chance to say anything; again does no harm."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run(settings: Mapping[str, str], streams: Sequence[Stream]) -> None:
    """Run streams until this process is killed."""
    from pyspark.errors import StreamingQueryException

    from queue_agent.spark import spark_session

    lines: SimpleQueue[str] = SimpleQueue()
    Thread(target=_read_input, args=(lines,), daemon=True).start()
    # Room for two tasks of each stream: one that is held up keeps no other from running.
    with spark_session("killed", master=f"local[{2 * len(streams)}]", spark_conf_args=settings) as spark:
        spark.sparkContext.setLogLevel("ERROR")
        for stream in streams:
            lines.get()
            stream.start(spark)
        while True:
            try:
                spark.streams.awaitAnyTermination()
            except StreamingQueryException as error:
                # In one piece: somebody is reading along.
                sys.stdout.write(f"{ENDED} {' '.join(str(error)[:1000].split())}\n")
                sys.stdout.flush()
            spark.streams.resetTerminated()


def _read_input(lines: SimpleQueue[str]) -> None:
    """Pass lines on; with whoever writes them, all ends: a test may be killed, too."""
    for line in sys.stdin:
        lines.put(line)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    run(json.loads(sys.argv[1]), [Stream(**stream) for stream in json.loads(sys.argv[2])])
