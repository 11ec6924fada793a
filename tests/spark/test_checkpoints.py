"""Checkpoints at `yt:///`: stock PySpark, WebHDFS, and Cypress behind it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from queue_agent.spark.checkpoints import checkpoint_conf
from tests.waiting import LIMIT_SECONDS
from yt_local.testing import LocalCluster

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

SCHEMA = [{"name": "number", "type": "int64"}, {"name": "word", "type": "string"}]


@pytest.fixture
def queue(home: LocalCluster, folder: str) -> str:
    path = f"{folder}/queue"
    home.client.create("table", path, attributes={"dynamic": True, "schema": SCHEMA})
    home.client.mount_table(path, sync=True)
    home.client.create("queue_consumer", f"{folder}/consumer")
    home.client.register_queue_consumer(path, f"{folder}/consumer", vital=True)
    return path


def write(home: LocalCluster, queue: str, *words: str) -> None:
    home.client.insert_rows(queue, [{"number": number, "word": word} for number, word in enumerate(words)])


def stream(spark: SparkSession, folder: str) -> DataFrame:
    return spark.readStream.format("yt").option("consumer_path", f"{folder}/consumer").load(f"{folder}/queue")


def finish(query: StreamingQuery) -> int:
    """Wait for the end of a query; how many rows it read."""
    assert query.awaitTermination(LIMIT_SECONDS)
    return sum(int(progress["numInputRows"]) for progress in query.recentProgress)


def test_a_stream_goes_on_from_its_checkpoint_in_cypress(
    spark: SparkSession, home: LocalCluster, folder: str, queue: str
) -> None:
    def run() -> int:
        writer = stream(spark, folder).writeStream.format("noop").trigger(availableNow=True)
        return finish(writer.option("checkpointLocation", f"yt://{folder[1:]}/checkpoint").start())

    write(home, queue, "a", "b", "c")
    assert run() == 3
    write(home, queue, "d", "e")
    assert run() == 2
    assert sorted(home.client.list(f"{folder}/checkpoint")) == ["commits", "metadata", "offsets"]
    assert sorted(home.client.list(f"{folder}/checkpoint/commits")) == ["0", "1"]


@pytest.mark.slow
def test_a_stream_with_state_keeps_it_in_cypress(
    spark: SparkSession, home: LocalCluster, folder: str, queue: str
) -> None:
    names = itertools.count()

    def count_words() -> dict[str, int]:
        name = f"words_{next(names)}"
        writer = stream(spark, folder).groupBy("word").count().writeStream.format("memory").queryName(name)
        writer = writer.outputMode("complete").trigger(availableNow=True)
        finish(writer.option("checkpointLocation", f"yt://{folder[1:]}/counts").start())
        return {row["word"]: row["count"] for row in spark.table(name).collect()}

    write(home, queue, "a", "b", "a")
    assert count_words() == {"a": 2, "b": 1}
    write(home, queue, "a", "c")
    assert count_words() == {"a": 3, "b": 1, "c": 1}
    assert "state" in home.client.list(f"{folder}/counts")


def test_settings_name_the_facade_and_what_paths_begin_with() -> None:
    fallback = "spark.hadoop.fs.viewfs.mounttable.yt.linkFallback"
    assert checkpoint_conf("host:9870", "secret/pythia")[fallback] == "webhdfs://host:9870/secret/pythia"
    assert checkpoint_conf("host:443", "secret", tls=True)[fallback] == "swebhdfs://host:443/secret"


def test_spark_does_not_show_the_secret(spark: SparkSession, spark_settings: dict[str, str]) -> None:
    """What its pages and logs show of settings, it takes through this function."""
    fallback = "spark.hadoop.fs.viewfs.mounttable.yt.linkFallback"
    assert "secret-" in spark_settings[fallback]
    jvm = spark._jvm
    assert jvm is not None
    settings = jvm.PythonUtils.toSeq([jvm.scala.Tuple2(fallback, spark_settings[fallback])])
    conf = spark._jsparkSession.sparkContext().conf()
    assert "secret-" not in jvm.org.apache.spark.util.Utils.redact(conf, settings).toString()
