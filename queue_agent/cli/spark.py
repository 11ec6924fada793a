"""`queue-agent spark ...`: the jobs of PySpark, which are modules to run as well."""

from __future__ import annotations

import importlib
from typing import Final

import typer

from queue_agent.cli.options import fail

_NEEDED: Final = frozenset({"pyspark", "pyarrow", "matplotlib"})


def _job(module: str) -> typer.Typer:
    """The job's own application: it reads its arguments the same way wherever it is run from."""
    try:
        found: typer.Typer = importlib.import_module(f"queue_agent.spark.{module}").application
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package not in _NEEDED:
            raise
        fail(f"jobs of PySpark need {package}: install yt-queue-agent with its extra `spark`")
    return found


def __getattr__(name: str) -> typer.Typer:
    modules = {"export": "export.__main__", "downsample": "downsample", "report": "report"}
    if name not in modules:
        raise AttributeError(name)
    return _job(modules[name])
