"""Tokens: found by the driver, sent to where they are needed, and never shown."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from queue_agent.spark import register
from queue_agent.spark.data_source import YtDataSource
from queue_agent.spark.environment import driver_environment
from queue_agent.spark.errors import OptionError
from queue_agent.spark.export.tasks import run_tasks
from queue_agent.spark.options import ConnectionOptions, OptionReader
from tests.spark.queues import create_consumer, create_queue
from yt_local.testing import LocalCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOKEN = "secret-of-the-file"


@pytest.fixture
def token_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where ytsaurus-client looks by itself; there is no other token."""
    for name in ("YT_TOKEN", "YT_SECURE_VAULT_YT_TOKEN", "YT_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return write_token(tmp_path / ".yt" / "token", TOKEN)


def write_token(path: Path, token: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{token}\n")
    path.chmod(0o600)
    return path


def connection(settings: dict[str, str] | None = None, **given: str) -> ConnectionOptions:
    """As executors get it."""
    known = settings or {}
    reader = OptionReader({"path": "//q", "proxy": "p", **given}, known, driver_environment(known))
    options: ConnectionOptions = pickle.loads(pickle.dumps(reader.read_options())).connection
    return options


def test_the_token_file_counts_where_nothing_else_says_a_token(
    token_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = write_token(tmp_path / "other", "of-another-file")

    assert connection().token == TOKEN
    assert connection({"spark.hadoop.yt.token": "of-the-session"}).token == "of-the-session"
    assert connection(token_path=str(other)).token == "of-another-file"
    assert connection(token="given", token_path=str(other)).token == "given"
    monkeypatch.setenv("YT_TOKEN_PATH", str(other))
    assert connection().token == "of-another-file"
    monkeypatch.setenv("YT_TOKEN", "of-the-environment")
    assert connection().token == "of-the-environment"
    assert connection(token_path=str(token_file)).token == TOKEN, "an option comes before the environment"
    assert TOKEN not in repr(connection(token_path=str(token_file)))


def test_no_token_file_is_no_token(token_file: Path) -> None:
    token_file.unlink()

    assert connection().token is None
    with pytest.raises(OptionError, match=r'option "token_path": .*token is not there'):
        connection(token_path=str(token_file))


def test_a_token_file_that_holds_none_is_named_and_not_shown(token_file: Path) -> None:
    token_file.write_text("two words")

    with pytest.raises(OptionError, match=r"the token file ~/\.yt/token cannot be used: YtTokenError") as caught:
        connection()
    assert "two words" not in str(caught.value)
    assert caught.value.__cause__ is None


@dataclass(frozen=True)
class Report:
    """A task that needs a token."""

    connection: ConnectionOptions

    def run(self, batches: Iterator[pa.RecordBatch]) -> list[dict[str, Any]]:
        return [{"rows": sum(batch.num_rows for batch in batches), "has_token": self.connection.token == TOKEN}]


def test_tasks_act_as_the_user_whose_token_the_driver_has_and_nobody_sees_it(
    spark: SparkSession, home: LocalCluster, folder: str, token_file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    queue = f"{folder}/queue"
    create_queue(home, queue)
    create_consumer(home, f"{folder}/consumer", queue)
    home.client.insert_rows(queue, [{"data": "a"}])
    home.client.create("user", attributes={"name": "spark_reader"})
    allowed = {"action": "allow", "subjects": ["spark_reader"], "permissions": ["read", "write"]}
    home.client.set(f"{folder}/@acl/end", allowed)
    token = str(home.client.issue_token("spark_reader", ""))
    write_token(token_file, token)
    register(spark)
    try:
        home.forget_requests()
        frame = spark.read.format("yt").option("consumer_path", f"{folder}/consumer").load(queue)
        shown = [frame._jdf.queryExecution().toString(), frame._jdf.queryExecution().stringWithStats()]
        assert [row["data"] for row in frame.collect()] == ["a"]
        assert {request.user for request in home.requests("pull_queue_consumer")} == {"spark_reader"}
        write_token(token_file, TOKEN)
        assert run_tasks(frame, Report(connection())) == [{"rows": 1, "has_token": True}]
    finally:
        token_file.unlink()
        register(spark)
    executions = spark._jsparkSession.sharedState().statusStore().executionsList()
    for index in range(executions.size()):
        shown += [executions.apply(index).physicalPlanDescription(), executions.apply(index).description()]
    shown += [f"{name}={value}" for name, value in spark.sparkContext.getConf().getAll()]
    shown += [repr(YtDataSource({"token": token})), *capfd.readouterr()]
    assert not [text for text in shown if token in text or TOKEN in text]
