"""Processor time and memory of Spark: the JVM and the Python processes below it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """Since the processes began."""

    processor_seconds: float
    largest_worker: int
    """Most bytes of memory that one Python process ever had."""


def usage(spark: SparkSession) -> Usage:
    """What the session has used so far."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    java = int(gateway.jvm.java.lang.ProcessHandle.current().pid())
    workers = _descendants(java)
    seconds = sum(_processor_seconds(process) for process in (java, *workers))
    return Usage(seconds, max(map(_largest_memory, workers), default=0))


def _descendants(process: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, _read(task).split()):
            found += [child, *_descendants(child)]
    return found


def _processor_seconds(process: int) -> float:
    fields = _read(Path(f"/proc/{process}/stat")).rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def _largest_memory(process: int) -> int:
    for line in _read(Path(f"/proc/{process}/status")).splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    return 0


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has ended meanwhile
        return ""
