"""Options of the data source: where they come from, and what is refused."""

from __future__ import annotations

import pytest

from queue_agent.spark.errors import OptionError
from queue_agent.spark.options import OptionReader

READ = {"path": "//tmp/queue", "proxy": "localhost:8001"}


def reader(
    *, settings: dict[str, str] | None = None, environment: dict[str, str] | None = None, **given: str
) -> OptionReader:
    return OptionReader({**READ, **given}, settings or {}, environment or {})


def test_defaults_are_those_of_the_manual() -> None:
    read, stream, write = reader().read_options(), reader().stream_options(), reader().write_options()

    assert (read.consumer_path, read.include_service_columns, read.types.parsing_type_v3) == (None, False, False)
    assert (stream.max_rows_per_partition, stream.commit_on_idle) == (None, False)
    assert (write.batch_size, write.write_type_v3, write.mode) == (50_000, False, "direct")


def test_options_of_spark_are_in_small_letters_and_say_true_as_they_like() -> None:
    options = OptionReader(
        {"PATH": "//q", "Proxy": "p", "Include_Service_Columns": "True", "spark.yt.write.dynbatchsize": "7"}, {}, {}
    )

    assert options.read_options().include_service_columns
    assert options.write_options().batch_size == 7
    assert options.write_options().batch_size_is_given


def test_an_option_comes_before_the_session_and_that_before_the_environment() -> None:
    settings, environment = {"spark.hadoop.yt.proxy": "session"}, {"YT_PROXY": "environment"}

    def proxy(given: dict[str, str], settings: dict[str, str]) -> str:
        return OptionReader({"path": "//q", **given}, settings, environment).read_options().connection.proxy

    assert proxy({"proxy": "option"}, settings) == "option"
    assert proxy({}, settings) == "session"
    assert proxy({}, {}) == "environment"
    with pytest.raises(OptionError, match='set the option "proxy"'):
        OptionReader({"path": "//q"}, {}, {}).read_options()


def test_names_of_clusters_are_those_of_the_yt_command() -> None:
    environment = {"YT_PROXY_URL_ALIASING_CONFIG": '{hume="http://127.0.0.1:8002"}'}

    assert reader(proxy="hume", environment=environment).read_options().connection.proxy == "http://127.0.0.1:8002"


def test_settings_of_the_session_stand_in_for_options() -> None:
    settings = {
        "spark.yt.write.dynBatchSize": "10",
        "spark.yt.read.typeV3.enabled": "true",
        "spark.yt.write.typeV3.enabled": "true",
    }

    assert reader(settings=settings).read_options().types.parsing_type_v3
    assert reader(settings=settings).write_options().batch_size == 10
    assert not reader(settings=settings).write_options().batch_size_is_given
    assert reader(settings=settings).write_options().write_type_v3
    assert not reader(settings=settings, parsing_type_v3="false").read_options().types.parsing_type_v3


def test_a_token_is_not_shown() -> None:
    connection = reader(token="secret", environment={"YT_TOKEN": "other"}).read_options().connection

    assert connection.token == "secret"
    assert "secret" not in repr(connection)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("retries", "0", 'option "retries" is a whole number above 0, not "0"'),
        ("include_service_columns", "yes", 'option "include_service_columns" is true or false, not "yes"'),
        ("on_trimmed", "ignore", 'option "on_trimmed" is one of fail, skip, not "ignore"'),
        ("columns", "[1]", 'option "columns" cannot be read: expected a JSON list of names'),
        ("ranges", "[1]", 'option "ranges" cannot be read'),
        ("from_time", "2026-01-31T07:00:00", 'option "from_time" cannot be read: .* says no time zone'),
        ("poll_interval", "-1", 'option "poll_interval" is a number of seconds'),
        ("write_mode", "transaction", "write_mode=transaction and ledger_path go together"),
        ("consumer_pth", "//c", 'unknown option "consumer_pth", did you mean "consumer_path"'),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(name: str, value: str, message: str) -> None:
    options = OptionReader({**READ, name: value}, {}, {})

    with pytest.raises(OptionError, match=message):
        options.read_options()
        options.stream_options()
        options.batch_options()
        options.write_options()
        options.refuse_others()


@pytest.mark.parametrize("name", ["arrow_enabled", "readParallelism", "enable_inconsistent_read"])
def test_options_of_spyt_that_change_nothing_here_do_not_stop_a_script(name: str) -> None:
    options = OptionReader({**READ, name: "true"}, {}, {})
    options.read_options()

    with pytest.warns(UserWarning, match=f'option "{name.lower()}" of SPYT changes nothing here'):
        options.refuse_others()


def test_a_period_ends_after_it_begins() -> None:
    early, late = "2026-01-31T09:00+03:00", "2026-01-31T07:00Z"

    assert reader(from_time=early, to_time=late).batch_options().from_time is not None
    with pytest.raises(OptionError, match="is before from_time"):
        reader(from_time=late, to_time=early).batch_options()
