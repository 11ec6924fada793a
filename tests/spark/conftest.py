"""One Spark session and one pair of clusters for all tests of the connector; tables are each test's own."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import pytest

from queue_agent.config.clusters import ClusterConfig
from queue_agent.webhdfs.command import serve_clusters
from queue_agent.webhdfs.secret import new_secret
from tests.extras import skipped_without_spark
from yt_local.testing import LocalCluster, LocalClusterSet, local_clusters

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NUMBERS = itertools.count()
_SECRET = new_secret()


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return skipped_without_spark(module_path, parent)


@pytest.fixture(scope="session", autouse=True)
def spark_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PySpark's own without its archive of Python modules.

    From that every Python process of Spark would compile them again, for a second; so they import what is installed.
    """
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    home = tmp_path_factory.mktemp("spark-home")
    for name in ("bin", "jars"):
        (home / name).symlink_to(Path(spec.origin).parent / name)
    os.environ["SPARK_HOME"] = str(home)
    return home


@pytest.fixture(scope="session")
def clusters() -> Iterator[LocalClusterSet]:
    """`home` with consumers and tables, and `remote`."""
    with local_clusters("home", "remote") as clusters:
        yield clusters


@pytest.fixture(autouse=True)
def closed_connections() -> Iterator[None]:
    """Of the connector in this very process; Spark's workers keep theirs."""
    yield
    connection = sys.modules.get("queue_agent.spark.connection")
    if connection is not None:
        connection.close_clients()


@pytest.fixture
def home(clusters: LocalClusterSet) -> Iterator[LocalCluster]:
    cluster = clusters["home"]
    yield cluster
    cluster.faults.clear()


@pytest.fixture
def remote(clusters: LocalClusterSet) -> Iterator[LocalCluster]:
    cluster = clusters["remote"]
    yield cluster
    cluster.faults.clear()


@pytest.fixture
def folder(clusters: LocalClusterSet) -> str:
    """A path that no other test uses, on both clusters."""
    path = f"//tmp/spark-{next(_NUMBERS)}"
    for cluster in clusters.values():
        cluster.client.create("map_node", path)
    return path


@pytest.fixture(scope="session")
def webhdfs(clusters: LocalClusterSet) -> Iterator[str]:
    """Address of the façade that serves the files of `home`, all of them below a secret and its name."""
    stop = Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = ClusterConfig(proxy=clusters["home"].url)
        with ThreadPoolExecutor(1) as executor:
            served = executor.submit(asyncio.run, _serve_files(listener, config, stop))
            yield f"127.0.0.1:{listener.getsockname()[1]}"
            stop.set()
            served.result()


async def _serve_files(listener: socket.socket, config: ClusterConfig, stop: Event) -> None:
    async with serve_clusters({"home": (config, "/")}, listener, secret=_SECRET, hosts=()):
        await asyncio.to_thread(stop.wait)


@pytest.fixture(scope="session")
def checkpoint_settings(webhdfs: str) -> dict[str, str]:
    """Of a session that keeps checkpoints in Cypress of `home`, at `yt:///`."""
    from queue_agent.spark.checkpoints import checkpoint_conf

    return checkpoint_conf(webhdfs, f"{_SECRET}/home")


@pytest.fixture(scope="session")
def spark_settings(clusters: LocalClusterSet, checkpoint_settings: dict[str, str]) -> dict[str, str]:
    """Of a session of tests: quick to start, with checkpoints in Cypress at `yt:///`."""
    from queue_agent.spark.options import PROXY_SETTING

    return {
        PROXY_SETTING: clusters["home"].address,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.adaptive.enabled": "false",
        "spark.driver.memory": "1g",
        # Nothing here runs long enough to be worth the better compiler: with it the JVM needs twice the processor time.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        **checkpoint_settings,
    }


@pytest.fixture(scope="session")
def spark(spark_settings: dict[str, str]) -> Iterator[SparkSession]:
    """A session in which tasks are tried twice."""
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("PySpark needs Java 17: install it, or set JAVA_HOME")
    from queue_agent.spark import spark_session

    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Tests are told nothing about the machine that they run on.
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    with spark_session("tests", master="local[2,2]", spark_conf_args=spark_settings) as session:
        session.sparkContext.setLogLevel("ERROR")
        yield session
