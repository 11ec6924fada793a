"""Configuration files are read with care."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from queue_agent.config.exports import QueueExporterConfig, RetryBackoffConfig, StaticExports, exporting_mode
from queue_agent.config.file import load_config
from queue_agent.config.options import ConfigModel
from queue_agent.config.passes import ControllerConfig, Trimming, trimming_mode
from queue_agent.core.exports.preview import ExportingMode
from queue_agent.core.state.trim_config import TrimmingMode
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ConfigError

MINIMAL = """
stage: production
clusters:
  pythia: {proxy: "localhost:8001"}
  hume: {proxy: "localhost:8002"}
state: {cluster: pythia}
"""


def write(directory: Path, name: str, text: str) -> Path:
    path = directory / name
    path.write_text(text)
    return path


def test_a_minimal_file_has_safe_defaults(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, "agent.yaml", MINIMAL))
    assert not config.queue_agent.controller.enable_automatic_trimming
    assert (config.rpc.port, config.http.port) == (9030, 10030)
    assert config.state.root == "//sys/queue_agents"
    assert config.watched_clusters == ("pythia", "hume")
    assert config.host


def test_agents_with_one_file_have_hosts_of_their_own(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, "agent.yaml", MINIMAL))
    assert config.on_host("agent-1").address(9030) == "agent-1:9030"
    with pytest.raises(ConfigError, match="host"):
        config.on_host("")


def test_a_bare_number_is_milliseconds(tmp_path: Path) -> None:
    path = write(tmp_path, "agent.yaml", MINIMAL + "queue_agent: {controller: {trimming_period: 2500}}\n")
    assert load_config(path).queue_agent.controller.trimming_period == timedelta(seconds=2.5)


def test_a_configuration_is_shown_in_milliseconds(tmp_path: Path) -> None:
    shown = load_config(write(tmp_path, "agent.yaml", MINIMAL)).model_dump(mode="json")
    assert shown["queue_agent"]["controller"]["pass_period"] == 1000
    assert shown["clusters"]["hume"]["proxy"] == "localhost:8002"


def test_there_is_no_history_unless_it_is_configured(tmp_path: Path) -> None:
    assert load_config(write(tmp_path, "agent.yaml", MINIMAL)).history is None


@pytest.mark.parametrize(
    ("section", "queue", "producer"),
    [
        ("{}", "pythia://sys/queue_agents/history_queue", "pythia://sys/queue_agents/history_producer"),
        ('{queue: "hume://home/h"}', "hume://home/h", "hume://sys/queue_agents/history_producer"),
        ('{queue: //home/h, producer: "pythia://home/p"}', "pythia://home/h", "pythia://home/p"),
    ],
)
def test_queue_and_producer_of_the_history_are_on_one_cluster(
    tmp_path: Path, section: str, queue: str, producer: str
) -> None:
    config = load_config(write(tmp_path, "agent.yaml", MINIMAL + f"history: {section}\n"))
    assert [str(table) for table in config.history_tables] == [queue, producer]


def test_yson_is_read_by_its_suffix(tmp_path: Path) -> None:
    text = '{stage=s; clusters={c={proxy="localhost:1"}}; state={cluster=c}; rpc={port=1234}}'
    config = load_config(write(tmp_path, "agent.yson", text))
    assert config.stage == "s"
    assert config.rpc.port == 1234


@pytest.mark.parametrize(
    ("addition", "expected"),
    [
        ("history: {queue: 'nowhere://home/h'}", "history.queue: not in clusters: nowhere"),
        ("history: {producer: 'hume://home/p'}", "history.producer: must be on the cluster of history.queue"),
        ("history: {max_buffered_bytes: 10}", "history.max_buffered_bytes"),
        ("queue_agent: {controller: {trimming_period: 0}}", "queue_agent.controller.trimming_period"),
        ("queue_agent: {pass_peroid: 5}", "queue_agent.pass_peroid"),
        ("rpc: {port: 70000}", "rpc.port"),
        ("cypress_synchronizer: {clusters: [delphi]}", "cypress_synchronizer.clusters: not in clusters: delphi"),
    ],
)
def test_a_wrong_field_is_named_with_its_file(tmp_path: Path, addition: str, expected: str) -> None:
    path = write(tmp_path, "agent.yml", MINIMAL + addition + "\n")
    with pytest.raises(ConfigError) as error:
        load_config(path)
    assert str(path) in str(error.value)
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("trimming", "enabled", "mode"),
    [
        ("allowed", True, TrimmingMode.TRIM),
        ("allowed", False, TrimmingMode.OFF),
        ("observe", True, TrimmingMode.OBSERVE),
        ("observe", False, TrimmingMode.OBSERVE),
        ("never", True, TrimmingMode.OFF),
        ("never", False, TrimmingMode.OFF),
    ],
)
def test_nobody_can_make_an_agent_do_more_about_trimming_than_its_own_file_allows(
    trimming: Trimming, enabled: bool, mode: TrimmingMode
) -> None:
    assert trimming_mode(trimming, ControllerConfig(enable_automatic_trimming=enabled)) is mode


def test_one_file_does_not_both_ask_for_trimming_and_forbid_it(tmp_path: Path) -> None:
    text = f"{MINIMAL}trimming: observe\nqueue_agent: {{controller: {{enable_automatic_trimming: true}}}}\n"
    with pytest.raises(ConfigError, match="trimming: observe contradicts"):
        load_config(write(tmp_path, "agent.yaml", text))
    assert load_config(write(tmp_path, "agent.yaml", MINIMAL + "trimming: never\n")).trimming == "never"


@pytest.mark.parametrize(
    ("static_exports", "enabled", "mode"),
    [
        ("allowed", True, ExportingMode.EXPORT),
        ("allowed", False, ExportingMode.OFF),
        ("observe", True, ExportingMode.OBSERVE),
        ("observe", False, ExportingMode.OBSERVE),
        ("never", True, ExportingMode.OFF),
        ("never", False, ExportingMode.OFF),
    ],
)
def test_nobody_can_make_an_agent_do_more_about_exports_than_its_own_file_allows(
    static_exports: StaticExports, enabled: bool, mode: ExportingMode
) -> None:
    assert exporting_mode(static_exports, QueueExporterConfig(enable=enabled)) is mode


def test_exports_are_allowed_by_a_file_that_turns_them_on_and_by_no_other(tmp_path: Path) -> None:
    enabled = f"{MINIMAL}queue_agent: {{controller: {{queue_exporter: {{enable: true}}}}}}\n"
    assert load_config(write(tmp_path, "agent.yaml", enabled)).static_exports_ceiling == "allowed"
    assert load_config(write(tmp_path, "agent.yaml", MINIMAL)).static_exports_ceiling == "never"
    with pytest.raises(ConfigError, match="static_exports: never contradicts"):
        load_config(write(tmp_path, "agent.yaml", enabled + "static_exports: never\n"))


def test_an_export_that_keeps_failing_is_tried_again_ever_later() -> None:
    backoff = RetryBackoffConfig.model_validate({"min_backoff": 1000, "max_backoff": 3000, "backoff_multiplier": 2})
    assert [backoff.after(failures, 0).total_seconds() for failures in (1, 2, 3, 10_000)] == [1, 2, 3, 3]
    assert backoff.after(1, -1) == timedelta(milliseconds=900)
    assert backoff.after(1, 1) == timedelta(milliseconds=1100)


@pytest.mark.parametrize(
    ("name", "text"),
    [("agent.json", "{}"), ("agent.yaml", "a: ["), ("agent.yson", "{a="), ("agent.yaml", "just words")],
)
def test_a_file_that_can_not_be_read_is_a_config_error(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=name):
        load_config(write(tmp_path, name, text))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("agent.yaml", "", "the configuration is empty"),
        ("agent.yaml", "# nothing but words\n", "the configuration is empty"),
        ("agent.yson", "#", "the configuration is empty"),
        ("agent.yaml", "[1, 2]", "list instead of a map"),
    ],
)
def test_a_file_without_a_configuration_says_so(tmp_path: Path, name: str, text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: .*{words}"):
        load_config(write(tmp_path, name, text))


def test_a_missing_file_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml"):
        load_config(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize("model", ConfigModel.__subclasses__())
def test_every_field_is_explained(model: type[ConfigModel]) -> None:
    assert [name for name, field in model.model_fields.items() if not field.description] == []


def test_tables_may_be_on_other_clusters(tmp_path: Path) -> None:
    text = MINIMAL.replace(
        "{cluster: pythia}",
        "{cluster: pythia, root: //s, consumer_registration_table_path: <cluster=hume>//r,"
        " replicated_table_mapping_table_path: //m}",
    )
    state = load_config(write(tmp_path, "agent.yaml", text)).state
    assert (state.registrations, state.mapping) == (CrossClusterRef("hume", "//r"), CrossClusterRef("pythia", "//m"))
    state = load_config(write(tmp_path, "agent.yaml", MINIMAL)).state
    assert state.registrations == CrossClusterRef("pythia", "//sys/queue_agents/consumer_registrations")
    assert state.mapping == CrossClusterRef("pythia", "//sys/queue_agents/replicated_table_mapping")


@pytest.mark.parametrize("path", ["<cluster=delphi>//r", "r", "<a=b>//r", "<cluster"])
def test_a_table_nowhere_is_refused(tmp_path: Path, path: str) -> None:
    text = MINIMAL.replace("{cluster: pythia}", f'{{cluster: pythia, consumer_registration_table_path: "{path}"}}')
    with pytest.raises(ConfigError, match="consumer_registration_table_path"):
        load_config(write(tmp_path, "agent.yaml", text))


def test_the_synchronizer_polls_unless_told_to_watch(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, "agent.yaml", MINIMAL)).cypress_synchronizer
    assert (config.policy, config.enable, config.write_replicated_table_mapping) == ("polling", True, False)
    text = MINIMAL + "cypress_synchronizer: {policy: watching, write_registration_table_mapping: true}\n"
    config = load_config(write(tmp_path, "agent.yaml", text)).cypress_synchronizer
    assert (config.policy, config.write_replicated_table_mapping) == ("watching", True)


def test_nobody_makes_a_proxy_of_everybody(tmp_path: Path) -> None:
    for network in ("0.0.0.0/0", "::/0"):
        with pytest.raises(ConfigError, match="not everybody can be a proxy"):
            load_config(write(tmp_path, "agent.yaml", f'{MINIMAL}console: {{proxies: ["{network}"]}}\n'))
