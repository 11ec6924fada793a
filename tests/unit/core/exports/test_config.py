"""`@static_export_config`, schedules and names of tables."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.exports.config import DuplicateDirectories, ExportConfig, InvalidSchedule, parse_exports
from queue_agent.core.exports.schedule import ByCron, EveryPeriod

T = 1700000040


def config(**changes: Any) -> ExportConfig:
    one = {"export_directory": "//tmp/x", "export_period": 60_000, **changes}
    return parse_exports({"e": {name: value for name, value in one.items() if value is not None}})["e"]


def test_what_is_not_said_has_a_default() -> None:
    assert parse_exports(None) == {}
    assert config() == ExportConfig(EveryPeriod(60), "//tmp/x")
    assert config(export_ttl=0).ttl is None
    assert config(export_name="what the web interface leaves there") == config()


def test_what_is_said_counts() -> None:
    whole = config(
        export_period=None,
        export_cron_schedule="@hourly",
        export_ttl=5000,
        output_table_name_pattern="%H",
        use_upper_bound_for_table_names="true",
        enable_export_from_queue_with_hunks=True,
    )
    assert isinstance(whole.schedule, ByCron)
    assert (whole.ttl, whole.pattern, whole.use_upper_bound) == (timedelta(seconds=5), "%H", True)
    assert whole.enable_hunks


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"export_period": None}, 'Exactly one of "export_period" and "export_cron_schedule"'),
        ({"export_cron_schedule": "@hourly"}, "Exactly one of"),
        ({"export_period": 1500}, 'The value of "export_period" must be a multiple of 1000'),
        ({"export_period": 0}, "from 1 to"),
        ({"export_period": True}, "from 1 to"),
        ({"export_period": None, "export_cron_schedule": 5}, "expected a string"),
        ({"export_period": None, "export_cron_schedule": ",".join(["0-59"] * 1000)}, "1 to 4096 characters"),
        ({"export_directory": None}, "expected a string"),
        ({"export_directory": "//" + "d" * 4096}, "1 to 4096 characters"),
        ({"output_table_name_pattern": "%Y" * 2049}, "1 to 4096 characters"),
        ({"export_directory": "tmp"}, "expected a path"),
        ({"export_ttl": -1}, "from 0 to"),
        ({"output_table_name_pattern": ""}, "expected a string"),
        ({"use_upper_bound_for_table_names": "maybe"}, "expected a boolean"),
        ({"export_directory": 5}, '"export_directory"'),
        ({"output_table_name_pattern": 5}, '"output_table_name_pattern"'),
        ({"output_table_name_pattern": "a/b"}, 'Tables cannot be named "a/b"'),
        ({"use_upper_bound_for_table_names": 5}, '"use_upper_bound_for_table_names"'),
        ({"enable_export_from_queue_with_hunks": 5}, '"enable_export_from_queue_with_hunks"'),
        ({"export_period": None, "export_cron_schedule": 5}, '"export_cron_schedule"'),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        config(**changes)


def test_an_export_is_a_map() -> None:
    with pytest.raises(ValueError, match='Export "e" is not a map'):
        parse_exports({"e": 1})


def test_two_exports_do_not_share_a_directory() -> None:
    one = {"export_directory": "//tmp/x", "export_period": 1000}
    with pytest.raises(DuplicateDirectories, match="Duplicate directory in config"):
        parse_exports({"a": one, "b": one, "c": {**one, "export_directory": "//tmp/y"}})


def test_a_cron_expression_that_can_not_be_read_is_the_matter_of_its_export() -> None:
    assert config(export_period=None, export_cron_schedule="* *").schedule == InvalidSchedule(
        "* *", "Invalid number of fields, expression must consist of 5-7 fields but has: 2"
    )


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "1699999980-60"),
        ({"use_upper_bound_for_table_names": True}, "1700000040-60"),
        ({"output_table_name_pattern": "%ISO"}, "2023-11-14T22:13:00Z"),
        ({"output_table_name_pattern": "%Y-%H:%M", "use_upper_bound_for_table_names": True}, "2023-22:14"),
        ({"output_table_name_pattern": "%UNIX_TS%UNIX_TS"}, "16999999801699999980"),
    ],
)
def test_names_of_tables(changes: dict[str, Any], name: str) -> None:
    assert config(**changes).table_name(T) == name


def test_by_cron_the_period_is_that_since_the_moment_before() -> None:
    monthly = config(export_period=None, export_cron_schedule="@monthly", output_table_name_pattern="%Y-%m %PERIOD")
    march = int(datetime(2024, 3, 1, tzinfo=UTC).timestamp())
    assert monthly.table_name(march) == f"2024-02 {29 * 86400}"


def test_a_table_expires_so_long_after_its_tick_and_not_before_it_was_there_so_long() -> None:
    early, late = datetime.fromtimestamp(T - 5, UTC), datetime.fromtimestamp(T + 3600, UTC)
    assert config().expiration_time(T, late) is None
    assert config(export_ttl=1000).expiration_time(T, early) == datetime.fromtimestamp(T + 1, UTC)
    assert config(export_ttl=1000).expiration_time(T, late) == late + timedelta(seconds=1)


def test_what_expires_later_than_any_date_never_does() -> None:
    for_ever = config(export_ttl=10**14)
    assert for_ever.expiration_time(T, datetime.fromtimestamp(200_000_000_000, UTC)) is None
    assert for_ever.expiration_time(2**40, datetime.fromtimestamp(T, UTC)) is None


@pytest.mark.parametrize(
    "pattern", ["l/x-%UNIX_TS", "%D", "x@y", "a&", "%n", "a\x00", "[%UNIX_TS]", "*", "{a}", "a\\b"]
)
def test_a_name_that_is_not_one_component_of_a_path_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="output_table_name_pattern"):
        config(output_table_name_pattern=pattern)


@given(st.text(max_size=20), st.integers(0, 2**33))
def test_whatever_the_pattern_a_name_is_one_component_of_a_path(pattern: str, second: int) -> None:
    try:
        name = config(output_table_name_pattern=pattern).table_name(second)
    except ValueError:
        return
    assert name
    assert not set(name) & set("/@&*[]{}\\\x00\n")


@pytest.mark.parametrize("name", ["export_ttl", "export_period"])
def test_durations_beyond_all_dates_are_refused(name: str) -> None:
    for number in (2**63, 2**63 - 1, -1, 10**14 + 1000):
        with pytest.raises(ValueError, match=name):
            config(**{name: number})


@given(st.integers(1, 10_000), st.integers(0, 2_000_000_000))
def test_every_second_is_in_one_range(period: int, second: int) -> None:
    schedule = EveryPeriod(period)
    begin, end = schedule.range_at(second)
    assert begin <= second < end
    assert (begin % period, end - begin) == (0, period)
    assert schedule.range_at(end).begin == end


def test_a_queue_has_so_many_exports_at_most_and_their_names_so_many_characters() -> None:
    exports = {f"e{index}": {"export_directory": f"//tmp/{index}", "export_period": 1000} for index in range(101)}
    with pytest.raises(ValueError, match="100 exports at most, got 101"):
        parse_exports(exports)
    exports.popitem()
    assert len(parse_exports(exports)) == 100
    with pytest.raises(ValueError, match="4096 characters at most") as raised:
        parse_exports({"e" * 5000: exports["e0"]})
    assert len(str(raised.value)) < 200


def test_a_moment_beyond_all_dates_has_no_table() -> None:
    with pytest.raises(ValueError, match="no date for second"):
        config().table_name(10**20)


def test_names_and_paths_may_be_as_long_as_is_said_and_an_id_is_a_path() -> None:
    one = {"export_directory": "//" + "d" * 4094, "export_period": 1000}
    assert list(parse_exports({"n" * 4096: one})) == ["n" * 4096]
    with pytest.raises(ValueError, match="4096 characters at most"):
        parse_exports({"n" * 4097: one})
    assert config(export_directory="#1-2-3-4").directory == "#1-2-3-4"


def test_tables_are_named_by_the_time_of_greenwich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    try:
        assert config(output_table_name_pattern="%H-%M %ISO").table_name(T + 60) == "22-14 2023-11-14T22:14:00Z"
    finally:
        monkeypatch.undo()
        time.tzset()
