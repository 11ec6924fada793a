"""What runbooks and alert rules print is pasted into a shell as it stands there, and works."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from yt.wrapper import YtClient

from tests.e2e.playground import SOURCES, Playground, connected, eventually, get_agent_attribute
from tests.pasting import paste

pytestmark = pytest.mark.slow

QUEUE: Final = "//home/events"
CONSUMER: Final = "//home/reader"
UNREADABLE: Final[Mapping[str, Mapping[str, str]]] = {
    "QueueUnreadable.md": {"PATH": "//home/replicated"},
    "ConsumerUnreadable.md": {"CONSUMER": "//home/unmounted"},
}
"""What pages are about that are not about the queue and the consumer of the others."""

PLACEHOLDERS: Final[Mapping[str, str]] = {
    "PATH": QUEUE,
    "ACCOUNT": "tmp",
    "USER": "root",
    "BYTES": "1000000000",
    "CLUSTER:PATH": f"pythia:{QUEUE}",
    "CLUSTER/PATH": f"pythia/{QUEUE}",
    "primary://home/q": f"pythia:{QUEUE}",
    "//home/q": QUEUE,
    "OFFSET": "1",
    "INDEX": "0",
    "N": "0",
}
SUCCESS: Final[Mapping[str, int]] = {"queue-agent status --problems": 1}
"""Exit codes of those that say by it what they have found; others end with 0."""

NOT_TO_BE_RUN: Final = ("queue-agent run ",)
"""An agent, which would run until it is stopped."""

_CODE: Final = re.compile(r"`((?:yt|queue-agent|curl) [^`]+)`")
_IN_RULE: Final = re.compile(r": ((?:yt|queue-agent) .+?)(?=\.(?: |$)|$)")
_EXAMPLES: Final[Mapping[str, str]] = {"hume": "pythia", "//q": QUEUE, "//c": CONSUMER}
"""What the tests of the rules name, and what it is here."""

_EXAMPLE: Final = re.compile(r"(?:\bhume|//[qc])\b")


def _in_pages() -> Iterator[tuple[str, str]]:
    """Names of pages, and the commands in them."""
    for page in (*sorted((SOURCES / "docs" / "runbooks").glob("*.md")), SOURCES / "docs" / "troubleshooting.md"):
        for command in _CODE.findall(page.read_text()):
            yield page.name, " ".join(command.split())


def _in_rules() -> Iterator[tuple[str, str]]:
    """Names of alerts, and the commands in their descriptions as they are for the queue and the consumer.

    Taken from the tests of the rules, which Prometheus's own tool compares with what the rules make.
    """
    for file in sorted((SOURCES / "deploy" / "prometheus" / "tests").glob("*.yaml")):
        for test in yaml.safe_load(file.read_text())["tests"]:
            for case in test["alert_rule_test"]:
                for alert in case.get("exp_alerts", []):
                    for command in _IN_RULE.findall(alert["exp_annotations"]["description"]):
                        if "queue_consumer_name" not in command:  # there is only one consumer here
                            yield case["alertname"], _EXAMPLE.sub(lambda found: _EXAMPLES[found[0]], command)


def _commands() -> list[Any]:
    """Each one once; those about what cannot be read are others."""
    seen: dict[tuple[str, str], str] = {}
    for where, command in (*_in_pages(), *_in_rules()):
        if not command.startswith(NOT_TO_BE_RUN):
            seen.setdefault((where if where in UNREADABLE else "", command), where)
    return [pytest.param(where, command, id=f"{where}: {command}") for (_, command), where in seen.items()]


class World:
    """A playground with a queue that is exported, a vital consumer, and others that cannot be read."""

    def __init__(self, playground: Playground, client: YtClient, directory: Path) -> None:
        self.client = client
        self.config = directory / "agent.yaml"
        host, _, port = playground.rpc_address.rpartition(":")
        document = {
            "stage": "production",
            "host": host,
            "clusters": {name: {"proxy": url} for name, url in playground.clusters.items()},
            "state": {"cluster": "pythia"},
            "rpc": {"port": int(port)},
            "http": {"port": int(playground.agent_url.rpartition(":")[2])},
        }
        self.config.write_text(json.dumps(document))
        self.placeholders = {
            **PLACEHOLDERS,
            "agent.yaml": str(self.config),
            "FILE": str(self.config),
            "AGENT:10030": playground.agent_url.removeprefix("http://"),
            "PROXY": playground.clusters["pythia"],
        }
        self.environment = {
            **playground.shell_environment,
            "YT_PROXY": "pythia",
            "QUEUE_AGENT_ADDRESS": playground.agent_url,
        }

    def register(self) -> None:
        self.client.register_queue_consumer(QUEUE, CONSUMER, vital=True)

    def fill_in(self, page: str, command: str) -> str:
        """A command with what its reader knows."""
        cluster = "pythia:" if command.startswith("queue-agent ") else ""
        words = {"QUEUE": cluster + QUEUE, "CONSUMER": cluster + CONSUMER} | self.placeholders
        words |= UNREADABLE.get(page, {})
        longest_first = sorted(map(re.escape, words), key=len, reverse=True)
        command = command.replace("curl ", "curl --fail ")
        return re.sub(rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)", lambda found: words[found[0]], command)


@pytest.fixture(scope="module")
def world(playground: Playground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    schema = [{"name": "data", "type": "string"}, {"name": "$timestamp", "type": "uint64"}]
    with connected(playground.clusters["pythia"]) as client:
        export = {"export_directory": "//home/exported", "export_period": 3_600_000}
        config = {"auto_trim_config": {"enable": True}, "static_export_config": {"hourly": export}}
        client.create("table", QUEUE, recursive=True, attributes={"dynamic": True, "schema": schema, **config})
        destination = {"originating_queue_id": client.get(f"{QUEUE}/@id")}
        client.create("map_node", "//home/exported", attributes={"queue_static_export_destination": destination})
        client.mount_table(QUEUE, sync=True)
        client.insert_rows(QUEUE, [{"data": "x", "$tablet_index": 0}] * 5)
        for path in (CONSUMER, "//home/unmounted"):
            client.create("queue_consumer", path)
            client.register_queue_consumer(QUEUE, path, vital=True)
        client.advance_queue_consumer(CONSUMER, QUEUE, 0, 0, 2)
        client.unmount_table("//home/unmounted", sync=True)
        client.create("replicated_table", "//home/replicated", attributes={"dynamic": True, "schema": schema})
        world = World(playground, client, tmp_path_factory.mktemp("config"))

        def served() -> None:
            assert get_agent_attribute(client, f"{QUEUE}/@queue_status/partition_count") == 1
            assert get_agent_attribute(client, f"{CONSUMER}/@queue_consumer_status/queues")
            assert get_agent_attribute(client, "//home/replicated/@queue_status/error")
            [unmounted] = get_agent_attribute(client, "//home/unmounted/@queue_consumer_status/queues").values()
            assert unmounted["verdict"] == "unreadable"

        eventually(served)
        yield world


@pytest.mark.parametrize(("where", "command"), _commands())
def test_a_command_works_as_it_is_printed(world: World, where: str, command: str) -> None:
    world.register()
    paste(world.fill_in(where, command), world.environment, SUCCESS.get(command, 0))


def test_commands_are_found_in_pages_and_rules() -> None:
    assert len({where for where, _ in _in_pages()}) > 20
    assert len(list(_in_rules())) > 8
