"""Configuration files are read with care."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from queue_agent.config import ConfigModel, load_config
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


def test_a_bare_number_is_milliseconds(tmp_path: Path) -> None:
    path = write(tmp_path, "agent.yaml", MINIMAL + "queue_agent: {controller: {trimming_period: 2500}}\n")
    assert load_config(path).queue_agent.controller.trimming_period == timedelta(seconds=2.5)


def test_yson_is_read_by_its_suffix(tmp_path: Path) -> None:
    text = '{stage=s; clusters={c={proxy="localhost:1"}}; state={cluster=c}; rpc={port=1234}}'
    config = load_config(write(tmp_path, "agent.yson", text))
    assert config.stage == "s"
    assert config.rpc.port == 1234


@pytest.mark.parametrize(
    ("addition", "expected"),
    [
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
    ("name", "text"),
    [("agent.json", "{}"), ("agent.yaml", "a: ["), ("agent.yson", "{a="), ("agent.yaml", "just words")],
)
def test_a_file_that_can_not_be_read_is_a_config_error(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=name):
        load_config(write(tmp_path, name, text))


def test_a_missing_file_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml"):
        load_config(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize("model", ConfigModel.__subclasses__())
def test_every_field_is_explained(model: type[ConfigModel]) -> None:
    assert [name for name, field in model.model_fields.items() if not field.description] == []
