"""compose.yaml and what it mounts, as far as it can be judged without containers."""

from __future__ import annotations

from pathlib import Path

import yaml
from typer.testing import CliRunner

from queue_agent.cli.main import application
from queue_agent.config.file import load_config

DEPLOY = Path(__file__).parent.parent
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
MOUNTED = "/etc/queue-agent/agent.yaml"


def test_what_is_mounted_is_there_and_volumes_are_declared() -> None:
    for service in COMPOSE["services"].values():
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert (DEPLOY / source).exists() if source.startswith(".") else source in COMPOSE["volumes"], volume


def test_services_wait_for_services_that_there_are() -> None:
    for service in COMPOSE["services"].values():
        assert set(service.get("depends_on", ())) <= COMPOSE["services"].keys()


def test_commands_of_the_agent_s_image_are_known_with_their_options() -> None:
    for service in COMPOSE["services"].values():
        command = service.get("command", [])
        if MOUNTED in command:
            shown = CliRunner().invoke(application, [command[0], "--help"], env={"COLUMNS": "200"})
            assert shown.exit_code == 0
            assert all(word in shown.output for word in command[1:] if word.startswith("--")), command


def test_the_agent_s_configuration_is_read_and_its_ports_are_those_that_others_ask() -> None:
    config = load_config(DEPLOY / "agent.yaml")
    assert config.clusters["local"].proxy == "http://ytsaurus"
    assert config.address(config.rpc.port) in COMPOSE["services"]["register-addresses"]["command"]
    scrape = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())["scrape_configs"][0]
    assert scrape["static_configs"][0]["targets"] == [f"{config.host}:{config.http.port}"]


def test_ports_are_published_to_this_machine_alone_unless_somebody_says_otherwise() -> None:
    published = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]
    assert len(published) == 6
    assert all(port.startswith("${PUBLISH_ADDRESS:-127.0.0.1}:") for port in published)


def test_grafana_finds_its_source_of_data_and_its_dashboards() -> None:
    folder = DEPLOY / "grafana/provisioning"
    [source] = yaml.safe_load((folder / "datasources/prometheus.yaml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    [provider] = yaml.safe_load((folder / "dashboards/queue-agent.yaml").read_text())["providers"]
    mounts = [volume.split(":")[1] for volume in COMPOSE["services"]["grafana"]["volumes"]]
    assert provider["options"]["path"] in mounts
