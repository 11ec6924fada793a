"""Streams from queues into tables, in this process or in one that a test can kill.

`python -m tests.spark.streaming_driver SETTINGS STREAMS` runs streams until it is killed; both arguments are JSON.
Every line of standard input is a list of those that are to begin: on a busy machine, many at once wait too long for
each other.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery, StreamingQueryManager
    from pyspark.sql.streaming.readwriter import DataStreamWriter

ENDED = "a stream has ended:"
"""Begins the line that says so, and why."""

WAITING = "a stream looks for its next batch:"
"""Begins the line that says so, once for every stream, and into which table."""

_NOT_UP = "Python worker failed to connect back"


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
            .options(consumer_path=self.consumer, include_service_columns=True, poll_interval=1)
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
        return self.writer(spark).trigger(processingTime="1 second").start()


@contextmanager
def driver(settings: Mapping[str, str], streams: Sequence[Stream], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs streams, see `begin`; in the end it is killed, with its JVM and all its workers.

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


def begin(process: subprocess.Popen[bytes], numbers: Sequence[int]) -> None:
    """Let a driver begin some of its streams, once it is there."""
    assert process.stdin is not None
    process.stdin.write(f"{json.dumps(numbers)}\n".encode())
    process.stdin.flush()


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a driver, its JVM and its workers, without a chance to say anything; again does no harm."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run(settings: Mapping[str, str], streams: Sequence[Stream]) -> None:
    """Run streams until this process is killed."""
    from queue_agent.spark import spark_session

    # Room for tasks that are held up, two of some streams, and for those of others beside them.
    with spark_session("killed", master=f"local[{len(streams)}]", spark_conf_args=settings) as spark:
        spark.sparkContext.setLogLevel("ERROR")
        Thread(target=_tell_what_ends, args=(spark.streams,), daemon=True).start()
        for line in sys.stdin:
            begun = [(streams[number], streams[number].start(spark)) for number in json.loads(line)]
            for stream, query in begun:
                _wait_until_up(stream, query, spark)
                _tell(f"{WAITING} {stream.result}")
        # With whoever writes there, all ends: a test may be killed, too.
        os.killpg(0, signal.SIGKILL)


def _wait_until_up(stream: Stream, query: StreamingQuery, spark: SparkSession) -> None:
    """Until it looks for a batch or has ended; it is started again if Spark did not wait for its Python process.

    Ten seconds are all that Spark gives it, however busy the machine is.
    """
    while True:
        while query.isActive:
            if query.status["message"].startswith(("Getting offsets", "Waiting for")):
                return
            time.sleep(0.1)
        if _NOT_UP not in str(query.exception()):
            return
        query = stream.start(spark)


def _tell_what_ends(streams: StreamingQueryManager) -> None:
    from pyspark.errors import StreamingQueryException

    while True:
        try:
            streams.awaitAnyTermination()
        except StreamingQueryException as error:
            if _NOT_UP not in str(error):
                _tell(f"{ENDED} {' '.join(str(error)[:1000].split())}")
        streams.resetTerminated()


def _tell(line: str) -> None:
    """In one piece: somebody is reading along."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    run(json.loads(sys.argv[1]), [Stream(**stream) for stream in json.loads(sys.argv[2])])
