"""Makes the data source known to a session, and sessions that know it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from queue_agent.spark.data_source import YtDataSource
from queue_agent.spark.environment import driver_environment
from queue_agent.spark.options import PROXY_SETTING, SESSION_SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Make `format("yt")` work in a session.

    Settings of the session, variables of the environment (`YT_PROXY`, tokens) and the token file of ytsaurus-client are
    taken as they are now, and go with every job: executors need none of their own.

    Raises:
        OptionError: the token file cannot be used.
    """
    settings = {name: value for name in SESSION_SETTINGS if (value := spark.conf.get(name, None)) is not None}
    variables = driver_environment(settings)

    # Made here, the class is pickled by its value, and the settings with it.
    class RegisteredSource(YtDataSource):
        session_settings = settings
        environment = variables

    spark.dataSource.register(RegisteredSource)


@contextmanager
def spark_session(
    app_name: str | None = None,
    *,
    master: str | None = None,
    yt_proxy: str | None = None,
    spark_conf_args: Mapping[str, object] | None = None,
) -> Iterator[SparkSession]:
    """A session in which `format("yt")` works; on leaving it is stopped, unless it was there before.

    Args:
        app_name: shown in Spark's pages.
        master: of a new session; by default what `spark-submit` says, else this process.
        yt_proxy: the cluster that options name no other for.
        spark_conf_args: further settings.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    # Workers of this machine need the interpreter that has pyarrow, not the first in PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Not `getActiveSession`, which knows only of sessions that this thread began.
    found = SparkContext._active_spark_context is not None
    builder = SparkSession.builder
    if app_name is not None:
        builder = builder.appName(app_name)
    if master is not None:
        builder = builder.master(master)
    if yt_proxy is not None:
        builder = builder.config(PROXY_SETTING, yt_proxy)
    for name, value in (spark_conf_args or {}).items():
        builder = builder.config(name, str(value))
    spark = builder.getOrCreate()
    register(spark)
    try:
        yield spark
    finally:
        if not found:
            spark.stop()
