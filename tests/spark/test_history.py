"""The history becomes coarser, and the report is the same, however often the job runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

from queue_agent.core.status.history import OPTIONAL_COLUMNS, REQUIRED_COLUMNS, queue_schema
from yt_local.testing import LocalCluster

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T0 = datetime(2026, 1, 31, 23, 30, tzinfo=UTC)
QUEUE = "//home/orders"
READER = "pythia://home/reader"
ERROR = "not mounted: tablet 1-2-3-4 is away"


def row(minute: float, kind: str, **values: Any) -> dict[str, Any]:
    head: dict[str, Any] = {
        "ts": T0 + timedelta(minutes=minute),
        "agent_instance": "agent-1",
        "pass_index": int(minute * 60),
        "kind": kind,
        "cluster": "pythia",
        "queue": QUEUE,
    }
    return head | values


def history_rows() -> list[dict[str, Any]]:
    """Seventy minutes of a queue of two partitions, of which its consumer leaves one after thirty; and of others."""
    rows = []
    for minute in range(70):
        for partition in (0, 1):
            lower, upper = (500 if minute < 40 else 600), 1000 + 60 * minute
            held: dict[str, Any] = {"trim_constraint": "end_of_partition"}
            if minute >= 30 and partition == 0:
                held = {
                    "trim_constraint": "vital_consumer",
                    "trim_subject": READER,
                    "trim_held_rows": 60 * (minute - 30),
                }
            if minute >= 67 and partition == 0:
                held = {"trim_constraint": "retained_rows", "trim_held_rows": 10}
            rows.append(
                row(
                    minute, "queue", partition=partition, lower=lower, upper=upper, write_rate=1.0, idle_ms=1000, **held
                )
            )
            lag = max(0, 60 * (minute - 30)) if partition == 0 else 0
            state = "pending_consumption" if lag else "up_to_date"
            rows.append(
                row(minute, "consumer", partition=partition, consumer=READER, vital=True, offset=upper - lag)
                | {"lag_rows": lag, "lag_ms": 1000 * lag, "disposition": state, "read_rate": 1.0}
            )
        rows.append(row(minute, "queue", queue="//home/silent", partition=0, lower=0, upper=7, write_rate=0.0))
    for minute in (62, 63):
        text = {"error": ERROR} if minute == 62 else {}
        rows.append(row(minute, "queue", queue="//home/broken", error_code=1702, **text))
        rows.append(row(minute, "alert", cluster=None, queue=None, alert="failed", error_code=3025, **text))
    return rows


def write_exported(directory: Path, rows: list[dict[str, Any]]) -> None:
    """Rows as the export job leaves them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"int64": pa.int64(), "double": pa.float64(), "boolean": pa.bool_(), "string": pa.string()}
    types["timestamp"] = pa.timestamp("us", tz="UTC")
    schema = pa.schema([(name, types[kind]) for name, kind in {**REQUIRED_COLUMNS, **OPTIONAL_COLUMNS}.items()])
    for hour in {f"dt={row['ts']:%Y-%m-%d}/hour={row['ts']:%H}" for row in rows}:
        own = [row for row in rows if f"dt={row['ts']:%Y-%m-%d}/hour={row['ts']:%H}" == hour]
        (directory / hour).mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(own, schema), directory / hour / "00000-0-9.parquet")


def frame_of(spark: SparkSession, rows: list[dict[str, Any]]) -> DataFrame:
    types = {"int64": "bigint"}
    columns = {**REQUIRED_COLUMNS, **OPTIONAL_COLUMNS}
    schema = ", ".join(f"`{name}` {types.get(type_name, type_name)}" for name, type_name in columns.items())
    return spark.createDataFrame([tuple(row.get(name) for name in columns) for row in rows], schema).coalesce(1)


@pytest.fixture(scope="module")
def samples(spark: SparkSession) -> Iterator[DataFrame]:
    from queue_agent.spark.downsample import five_minutes

    rows = history_rows()
    # What is copied at least once may be there twice.
    samples = five_minutes(frame_of(spark, rows + rows[:50])).coalesce(1).cache()
    yield samples
    samples.unpersist()


def collect(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict() for row in frame.collect()]


def test_five_minutes_of_a_partition_are_one_row(samples: DataFrame) -> None:
    rows = collect(samples.orderBy("ts"))
    consumer = [row for row in rows if row["consumer"] == READER and row["partition"] == 0]
    assert len(consumer) == 14
    assert [row["sample_count"] for row in consumer] == [5] * 14
    later = consumer[7]  # minutes 35 to 39
    assert later["ts"].astimezone(UTC) == T0 + timedelta(minutes=35)
    assert (later["lag_rows_avg"], later["lag_rows_max"], later["lag_ms_max"]) == (420.0, 540, 540_000)
    assert later["lag_rows_last"] == 540
    assert (later["behind_count"], later["expired_count"], later["vital"]) == (5, 0, True)
    assert later["offset"] == 1000 + 60 * 30, "the last one"
    [broken] = [row for row in rows if row["queue"] == "//home/broken"]
    assert (broken["error_count"], broken["error_code"], broken["error"], broken["partition"]) == (2, 1702, ERROR, None)
    [alert] = [row for row in rows if row["kind"] == "alert"]
    assert (alert["alert"], alert["sample_count"]) == ("failed", 2)


def test_an_hour_of_a_consumer_adds_up_its_partitions(samples: DataFrame) -> None:
    from queue_agent.spark.downsample import hourly

    rows = collect(hourly(samples).orderBy("ts"))
    assert {row["kind"] for row in rows} == {"queue", "consumer"}
    first, second = (row for row in rows if row["consumer"] == READER)
    assert [row["ts"].astimezone(UTC).hour for row in (first, second)] == [23, 0]
    assert (first["partition_count"], first["sample_count"], first["lag_rows_max"]) == (2, 60, 0)
    assert (second["sample_count"], second["lag_rows_max"], second["lag_ms_max"]) == (80, 60 * 39, 60_000 * 39)
    assert second["behind_count"] == 39
    queue = [row for row in rows if row["queue"] == QUEUE and row["kind"] == "queue"]
    assert [row["write_rate_avg"] for row in queue] == [2.0, 2.0], "both partitions"


@pytest.mark.slow
def test_days_that_are_done_again_are_replaced_by_the_same(spark: SparkSession, tmp_path: Path) -> None:
    from queue_agent.spark import downsample
    from queue_agent.spark.history import load_history

    exported, fine, coarse = (str(tmp_path / name) for name in ("history", "five_minutes", "hourly"))
    write_exported(tmp_path / "history", history_rows())
    downsample.main(exported, fine, coarse, since="beginning")
    hours = [f"{path.parent.name}/{path.name}" for path in (tmp_path / "five_minutes").glob("dt=*/hour=*")]
    assert sorted(hours) == ["dt=2026-01-31/hour=23", "dt=2026-02-01/hour=00"]
    whole = sorted(map(str, load_history(spark, fine).collect()))
    before = set((tmp_path / "five_minutes").glob("dt=2026-01-31/*/*.parquet"))
    next_day = load_history(spark, exported, datetime(2026, 2, 1, tzinfo=UTC))
    downsample.write_days(downsample.five_minutes(next_day), fine, by_hour=True)
    assert sorted(map(str, load_history(spark, fine).collect())) == whole
    assert before == set((tmp_path / "five_minutes").glob("dt=2026-01-31/*/*.parquet"))
    assert sorted(
        row.ts.astimezone(UTC).hour for row in load_history(spark, coarse).where("kind = 'consumer'").collect()
    ) == [0, 23]


def test_a_report_tells_who_is_behind_who_is_busy_and_who_pins_what(samples: DataFrame, tmp_path: Path) -> None:
    from queue_agent.spark.report import PAGE_NAME, Period, collect_report, write_report

    data = collect_report(samples, Period(T0, T0 + timedelta(minutes=70)))
    [consumer] = data.consumers
    assert (consumer["consumer"], consumer["lag_rows_max"], consumer["freshness_max"]) == (READER, 2340, 2340.0)
    assert consumer["behind_share"] == pytest.approx(39 / 140)
    assert [(row["queue"], row["written_rows"]) for row in data.queues] == [
        (QUEUE, 2 * 60 * 65),
        ("//home/silent", 0),
        ("//home/broken", None),
    ]
    assert data.queues[0]["trimmed_rows"] == 2 * 100
    assert (data.queues[0]["partition_count"], data.queues[0]["stored_rows"]) == (2, 2 * (400 + 60 * 69))
    held, after = data.retention
    assert (held["constraint"], held["subject"], held["held_rows_last"]) == ("vital_consumer", READER, 60 * 34)
    assert (after["constraint"], after["subject"], after["held_rows_max"]) == ("retained_rows", None, 10)
    assert [held["share"], after["share"]] == [pytest.approx(7 / 28), pytest.approx(1 / 28)]
    assert [(row["queue"], row["alert"], row["error"], row["minutes"]) for row in data.problem] == [
        (None, "failed", ERROR, 5),
        ("//home/broken", None, ERROR, 5),
    ]
    assert max(data.curves[0].freshness) == 2340.0
    page = write_report(data, tmp_path / "out", "Report", T0)
    assert page.name == PAGE_NAME
    assert {path.name for path in page.parent.iterdir()} >= {"lag.png", "freshness.png", "consumers.csv", PAGE_NAME}


def test_a_period_nobody_knows_anything_of_is_told_as_well(samples: DataFrame) -> None:
    from queue_agent.spark.report import Period, collect_report

    data = collect_report(samples, Period(T0 - timedelta(days=9), T0 - timedelta(days=8)))
    assert data.is_empty
    assert not data.curves


def test_the_queue_itself_can_be_told_of(spark: SparkSession, home: LocalCluster, folder: str) -> None:
    from queue_agent.spark.downsample import five_minutes
    from queue_agent.spark.history import load_queue

    path = f"{folder}/history"
    home.client.create("table", path, attributes={"dynamic": True, "schema": queue_schema()})
    home.client.mount_table(path, sync=True)
    rows = [row for row in history_rows() if row["ts"] < T0 + timedelta(minutes=5)]
    home.client.insert_rows(path, [{**row, "ts": int(row["ts"].timestamp()) * 1_000_000} for row in rows])
    found = collect(five_minutes(load_queue(spark, path)).where("kind = 'consumer'"))
    assert [(row["sample_count"], row["consumer"], row["vital"]) for row in found] == [(5, READER, True)] * 2
    assert found[0]["ts"].astimezone(UTC) == T0


def test_a_queue_without_a_history_is_named(spark: SparkSession, home: LocalCluster, folder: str) -> None:
    from queue_agent.spark import report
    from queue_agent.spark.history import NoHistory, load_queue

    with pytest.raises(typer.BadParameter, match=rf"OptionError: .* {folder}/nowhere is not there$"):
        report.main(Path("never"), queue=f"{folder}/nowhere", proxy=home.address)
    path = f"{folder}/other"
    home.client.create("table", path, attributes={"dynamic": True, "schema": [{"name": "number", "type": "int64"}]})
    with pytest.raises(NoHistory, match="without a column ts"):
        load_queue(spark, path)


def test_a_directory_without_a_history_is_named(spark: SparkSession, tmp_path: Path) -> None:
    from queue_agent.spark import downsample, report

    with pytest.raises(typer.BadParameter, match="nowhere: no history is there"):
        report.main(tmp_path, history=str(tmp_path / "nowhere"))
    write_exported(tmp_path / "history", history_rows()[:1])
    downsample.main(str(tmp_path / "history"), str(tmp_path / "fine"), str(tmp_path / "coarse"), since="1d")
    assert not (tmp_path / "fine").exists(), "nothing is so young"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "one of --history"),
        ({"history": "h", "queue": "//q"}, "one of --history"),
        ({"history": "h", "since": "yesterday"}, "isoformat"),
        ({"history": "h", "since": "1d", "until": "2d"}, "not before"),
    ],
)
def test_a_report_that_makes_no_sense_is_refused(tmp_path: Path, options: dict[str, str], words: str) -> None:
    from queue_agent.spark import report

    with pytest.raises(typer.BadParameter, match=words):
        report.main(tmp_path, **options)


def test_moments_are_given_as_such_or_as_how_long_ago() -> None:
    from queue_agent.spark.history import parse_moment

    assert parse_moment("90m", T0) == T0 - timedelta(minutes=90)
    assert parse_moment("2w", T0) == T0 - timedelta(weeks=2)
    assert parse_moment("2026-01-31", T0) == datetime(2026, 1, 31, tzinfo=UTC)
    assert parse_moment("2026-01-31T02:00:00+02:00", T0) == datetime(2026, 1, 31, tzinfo=UTC)
    with pytest.raises(ValueError, match="Invalid isoformat"):
        parse_moment("yesterday", T0)
