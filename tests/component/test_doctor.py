"""`queue-agent doctor` finds what is wrong with local clusters and a configuration, and says how to mend it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from queue_agent.cli.doctor import examine
from queue_agent.cli.findings import Finding, Grade, is_healthy
from queue_agent.cli.patient import admitted
from queue_agent.config.agent import AgentConfig
from tests.pasting import paste
from yt_local.testing import LocalClusterSet

QUEUE: Final = "//tmp/it's a queue"
ROOT: Final = "//sys/queue_agents"

Start = Callable[..., LocalClusterSet]


class Ward:
    """Clusters, and a configuration for them."""

    def __init__(self, clusters: LocalClusterSet) -> None:
        self.clusters = clusters
        self.pythia = clusters["pythia"].client
        self.document: dict[str, Any] = {
            "stage": "production",
            "host": "127.0.0.1",
            "clusters": {name: {"proxy": cluster.address} for name, cluster in clusters.items()},
            "state": {"cluster": "pythia"},
            "http": {"port": 1},  # nobody listens there
        }

    def examine(self, now: Callable[[], datetime] | None = None) -> Mapping[tuple[str, str], Finding]:
        """By subject and check; where there are several of the same, the last."""
        config = AgentConfig.model_validate(self.document)

        async def look() -> list[Finding]:
            clock = now or self.clusters.clock.now
            async with admitted(config, Path("agent.yaml"), clock) as patient:
                return await examine(patient)

        self.findings = asyncio.run(look())
        return {(finding.subject, finding.check): finding for finding in self.findings}

    def paste(self, command: str) -> None:
        """Run a command as it was printed, in a shell that knows of no cluster."""
        paste(command, {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"})

    def failures(self) -> set[str]:
        """Checks that failed in the latest examination."""
        return {finding.check for finding in self.findings if finding.grade is Grade.FAILURE}


@pytest.fixture
def ward(yt_clusters: Start) -> Ward:
    return Ward(yt_clusters("pythia", "hume"))


def test_clusters_without_agents_lack_agents_alone(ward: Ward) -> None:
    found = ward.examine()
    assert {finding.grade for finding in ward.findings if finding.subject.startswith("state")} == {Grade.OK}
    assert found["clusters", "names and registrations"].grade is Grade.OK
    assert found["cluster hume", "user"].detail == "the agent is known as root"
    assert found["masters", "answers"].grade is Grade.SKIPPED
    addresses = found["cluster hume", "addresses in //sys/clusters/hume"]
    assert (addresses.grade, addresses.commands) == (
        Grade.FAILURE,
        ["queue-agent register-addresses --config agent.yaml --cluster hume --address 127.0.0.1:9030"],
    )
    assert found["agent http://127.0.0.1:1", "running"].grade is Grade.SKIPPED
    assert not is_healthy(ward.findings)
    assert all(one.advice or one.commands for one in ward.findings if one.grade in (Grade.FAILURE, Grade.WARNING))


def test_addresses_nobody_answers_at_and_masters_without_an_answer_are_named(ward: Ward) -> None:
    stages = {"production": {"addresses": ["127.0.0.1:1"]}}
    for place in ("//sys/clusters/pythia", "//sys/@cluster_connection"):
        section = ward.pythia.get(place).get("queue_agent", {})
        ward.pythia.set(f"{place}/queue_agent", {**section, "stages": stages})
    ward.pythia.insert_rows(
        f"{ROOT}/queues", [{"cluster": "pythia", "path": QUEUE, "queue_agent_stage": "production", "row_revision": 0}]
    )
    ward.pythia.create("table", QUEUE, attributes={"dynamic": True, "schema": [{"name": "data", "type": "string"}]})
    found = ward.examine()
    assert found["rpc 127.0.0.1:1", "reachability"].grade is Grade.FAILURE
    addresses = found["cluster pythia", "addresses in //sys/@cluster_connection"]
    assert addresses.grade is Grade.WARNING
    command = "queue-agent register-addresses --config agent.yaml --cluster pythia"
    assert addresses.commands == [f"{command} --address 127.0.0.1:1 --address 127.0.0.1:9030"]
    answers = found["master of pythia", "answers"]
    assert (answers.grade, QUEUE in answers.detail) == (Grade.FAILURE, True)
    assert found["objects of stage production", "permissions"].grade is Grade.OK


def test_a_cluster_that_does_not_know_itself_is_named_with_the_commands_that_mend_it(ward: Ward) -> None:
    ward.clusters["hume"].client.remove("//sys/clusters/hume", recursive=True)
    found = ward.examine()["cluster hume", "addresses in //sys/clusters/hume"]
    assert (found.grade, "there is no //sys/clusters/hume" in found.detail) == (Grade.FAILURE, True)
    copy, register = found.commands
    assert "get //sys/@cluster_connection" in copy
    assert "set --recursive //sys/clusters/hume" in copy
    assert register.startswith("queue-agent register-addresses")


def test_state_that_can_not_be_used_is_named_with_the_command_that_mends_it(ward: Ward) -> None:
    ward.pythia.set(f"{ROOT}/@version", 7)
    tables = ward.examine()[f"state pythia:{ROOT}", "tables"]
    assert (tables.grade, "Still to do: set version 8" in tables.detail) == (Grade.WARNING, True)
    ward.pythia.unmount_table(f"{ROOT}/consumers", sync=True)
    ward.pythia.create("document", f"{ROOT}/config", attributes={"value": {"queue_agent": {"pass_period": -1}}})
    ward.document["history"] = {}
    found = ward.examine()
    tables = found[f"state pythia:{ROOT}", "tables"]
    assert (tables.grade, tables.detail) == (Grade.FAILURE, "consumers cannot be read: not mounted")
    options = found[f"options {ROOT}/config", "document"]
    assert (options.grade, "queue_agent.pass_period" in options.detail) == (Grade.FAILURE, True)
    for command in (*tables.commands, *options.commands):
        ward.paste(command)
    mended = ward.examine()
    assert mended[f"state pythia:{ROOT}", "tables"].grade is Grade.WARNING, "of the version"
    assert mended[f"options {ROOT}/config", "document"].grade is Grade.OK
    init = ["queue-agent init-state --config agent.yaml"]
    assert found[f"history pythia:{ROOT}/history_queue", "tables"].commands == init
    ward.pythia.remove(ROOT, recursive=True)
    tables = ward.examine()[f"state pythia:{ROOT}", "tables"]
    assert (tables.detail, tables.commands) == ("there are none", init)


def test_what_disagrees_with_the_clusters_is_named(ward: Ward) -> None:
    ward.document["clusters"]["kant"] = ward.document["clusters"].pop("hume")
    ward.document["state"]["consumer_registration_table_path"] = "//tmp/elsewhere"
    ward.clusters.clock.advance(10)
    found = ward.examine(lambda: datetime.now(UTC))  # noqa: TID251 - the machine's, from which the clusters' differs
    details = [one.detail for one in ward.findings if one.check == "names and registrations"]
    assert any('cluster "kant" of the configuration calls itself "hume"' in detail for detail in details)
    assert any("registrations are read from pythia://tmp/elsewhere" in detail for detail in details)
    assert found["state pythia://tmp/elsewhere", "tables"].detail == "it does not exist"
    clock = found["cluster kant", "clock"]
    assert (clock.grade, "s ahead of that of this machine" in clock.detail) == (Grade.WARNING, True)
    ward.clusters.clock.advance(100)
    assert ward.examine(lambda: datetime.now(UTC))["cluster kant", "clock"].grade is Grade.FAILURE  # noqa: TID251 - as above


def test_unknown_keys_and_invalid_values_of_queues_are_named(ward: Ward) -> None:
    rows = [
        {"path": "//tmp/misspelt", "auto_trim_config": {"enabl": True}},
        {"path": "//tmp/invalid", "synchronization_error": {"code": 1, "message": "no map", "attributes": {}}},
    ]
    common = {"cluster": "pythia", "queue_agent_stage": "production", "row_revision": 0}
    ward.pythia.insert_rows(f"{ROOT}/queues", [{**common, **row} for row in rows])
    found = ward.examine()
    misspelt = found["queue pythia://tmp/misspelt", "configuration"]
    assert misspelt.detail == ('the agent ignores the unknown key @auto_trim_config/enabl (did you mean "enable"?)')
    assert misspelt.commands[0].endswith("get //tmp/misspelt/@auto_trim_config")
    assert found["queue pythia://tmp/invalid", "configuration"].detail == "no map"


def test_a_cluster_that_can_not_be_reached_and_tokens_that_are_not_there_are_named(ward: Ward, tmp_path: Path) -> None:
    ward.document["clusters"]["hume"] = {"proxy": "127.0.0.1:1"}
    found = ward.examine()
    assert (found["cluster hume", "connection"].grade, ("cluster hume", "user") in found) == (Grade.FAILURE, False)
    assert found[f"state pythia:{ROOT}", "tables"].grade is Grade.OK
    token = tmp_path / "token"
    ward.document["clusters"]["pythia"]["token_file"] = str(token)
    found = ward.examine()
    assert found["cluster pythia", "token"].grade is Grade.FAILURE
    assert "issue_token" in found["cluster pythia", "token"].commands[0]
    assert found["state", "all the rest"].grade is Grade.SKIPPED
    token.write_text("x")
    token.chmod(0o644)
    assert ward.examine()["cluster pythia", "token"].commands == [f"chmod o= {token}"]


def test_directories_of_exports_have_to_be_written_to_by_who_exports(ward: Ward, tmp_path: Path) -> None:
    ward.pythia.create("user", attributes={"name": "weak"})
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text(ward.pythia.issue_token("weak", ""))
    ward.document["clusters"]["pythia"]["token_file"] = str(token)
    ward.document["static_exports"] = "allowed"
    directory = "//home/exports"
    ward.pythia.create("map_node", directory, recursive=True, attributes={"inherit_acl": False})
    configs = {"good": {"e": {"export_directory": directory, "export_period": 60_000}}, "bad": {"e": {}}}
    common = {"cluster": "pythia", "queue_agent_stage": "production", "row_revision": 0}
    rows = [{**common, "path": f"//home/{name}", "static_export_config": one} for name, one in configs.items()]
    ward.pythia.insert_rows(f"{ROOT}/queues", rows)
    ward.pythia.set(f"{ROOT}/@acl/end", {"action": "allow", "subjects": ["weak"], "permissions": ["read"]})
    found = ward.examine()["directories of static exports", "permissions"]
    assert (found.grade, found.detail) == (Grade.FAILURE, f"lacking: write of pythia:{directory}")


def test_permissions_that_are_lacking_are_named_with_the_command_that_grants_them(ward: Ward, tmp_path: Path) -> None:
    ward.pythia.create("user", attributes={"name": "weak"})
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text(ward.pythia.issue_token("weak", ""))
    ward.document["clusters"]["pythia"]["token_file"] = str(token)
    ward.document["trimming"] = "allowed"
    ward.pythia.create(
        "table",
        QUEUE,
        attributes={
            "dynamic": True,
            "schema": [{"name": "data", "type": "string"}],
            "inherit_acl": False,
            "acl": [{"action": "allow", "subjects": ["weak"], "permissions": ["read"]}],
        },
    )
    ward.pythia.insert_rows(
        f"{ROOT}/queues", [{"cluster": "pythia", "path": QUEUE, "queue_agent_stage": "production", "row_revision": 0}]
    )
    found = ward.examine()
    assert found["cluster pythia", "user"].detail == "the agent is known as weak"
    objects = found["objects of stage production", "permissions"]
    assert (objects.grade, objects.detail) == (Grade.FAILURE, f"lacking: write of pythia:{QUEUE}")
    assert ("directories of static exports", "permissions") not in found
    state = found[f"state pythia:{ROOT}", "permissions"]
    assert state.grade is Grade.FAILURE
    for command in (*objects.commands, *state.commands):
        ward.paste(command)
    granted = ward.examine()
    assert granted["objects of stage production", "permissions"].grade is Grade.OK
    assert granted[f"state pythia:{ROOT}", "permissions"].grade is Grade.OK
