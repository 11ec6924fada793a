"""The configuration in force, while a document comes, changes, breaks and goes."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from queue_agent.config.agent import AgentConfig
from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.state.dynamic_config import DynamicConfig
from queue_agent.controllers.status.board import Board
from queue_agent.errors import ClusterError, ClusterUnavailable
from queue_agent.ports.passes import PassScope

START = datetime(2025, 1, 23, 13, 42, 21, tzinfo=UTC)
OPERATORS = {
    "queue_agent": {"controller": {"enable_automatic_trimming": True}},
    "cypress_synchronizer": {"clusters": ["hume"]},
}
"""What the k8s operator writes, but for the policy."""


class World:
    """A document, and those who look at it."""

    def __init__(self, **own: Any) -> None:
        self.document: Any = None
        self.broken: ClusterError | None = None
        self.time = START
        self.applied: list[AgentConfig] = []
        self.board = Board("agent-1", self)
        config = AgentConfig.model_validate(
            {
                "stage": "production",
                "clusters": {"pythia": {"proxy": "localhost:1"}, "hume": {"proxy": "localhost:2"}},
                "state": {"cluster": "pythia"},
                **own,
            }
        )
        origins = Origins(Process("agent-1", 481, 7), "Control:0", random.Random(1))
        self.dynamic = DynamicConfig(config, self, self.applied.append, self.board, self, origins, self)
        self._pass_index = 0

    def now(self) -> datetime:
        return self.time

    async def find(self) -> Any:
        if self.broken is not None:
            raise self.broken
        return self.document

    def pass_finished(
        self, kind: str, pass_index: int, seconds: float, error: Exception | None, scope: PassScope | None = None
    ) -> None:
        assert kind == "dynamic_config"

    async def look(self, document: Any) -> None:
        self.document = document
        self.time += timedelta(seconds=5)
        error: ClusterError | None = None
        try:
            await self.dynamic.do_pass(self._pass_index)
        except ClusterError as caught:
            error = caught
        self.dynamic.pass_finished(self._pass_index, 0.1, error)
        self._pass_index += 1

    @property
    def trimming(self) -> bool:
        return self.dynamic.current.queue_agent.controller.enable_automatic_trimming

    def alert(self) -> tuple[str, int, str] | None:
        alerts: Mapping[str, Any] = self.board.alerts()
        if not alerts:
            return None
        [(category, alert)] = alerts.items()
        return category, alert["code"], alert["inner_errors"][0]["message"]


async def test_what_the_operator_writes_turns_trimming_on() -> None:
    world = World()
    await world.look(OPERATORS)
    assert world.trimming
    assert world.dynamic.current.watched_clusters == ("hume",)
    assert world.applied == [world.dynamic.current]
    assert world.alert() is None


async def test_without_a_document_the_agents_own_configuration_counts() -> None:
    world = World(queue_agent={"controller": {"enable_automatic_trimming": True, "pass_period": 7}})
    assert not world.trimming, "the document may forbid it, and has not been read"
    await world.look(None)
    assert world.trimming
    await world.look({"queue_agent": {"controller": {"enable_automatic_trimming": False}}})
    assert not world.trimming
    assert world.dynamic.current.queue_agent.controller.pass_period == timedelta(milliseconds=7)
    await world.look(None)
    assert world.trimming


async def test_nothing_is_exported_before_the_document_is_known_nor_if_it_says_so() -> None:
    world = World(queue_agent={"controller": {"queue_exporter": {"enable": True}}})
    exporter = world.dynamic.current.queue_agent.controller.queue_exporter
    assert not exporter.enable
    await world.look(None)
    assert world.dynamic.current.queue_agent.controller.queue_exporter.enable
    await world.look({"queue_agent": {"controller": {"queue_exporter": {"enable": False}}}})
    assert not world.dynamic.current.queue_agent.controller.queue_exporter.enable


async def test_nothing_is_trimmed_while_the_document_was_never_understood() -> None:
    world = World(queue_agent={"controller": {"enable_automatic_trimming": True}})
    await world.look("just words")
    world.broken = ClusterUnavailable("no answer")
    await world.look(None)
    assert not world.trimming
    assert world.applied == []


async def test_without_a_manager_nothing_is_waited_for() -> None:
    world = World(
        queue_agent={"controller": {"enable_automatic_trimming": True}}, dynamic_config_manager={"enable": False}
    )
    assert world.trimming


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("just words", "not a map"),
        ({"queue_agent": 5}, "queue_agent: "),
        ({"queue_agent": {"pass_period": 0}}, "queue_agent.pass_period: "),
        ({"queue_agent": {"controller": {"trimming_period": -1}}}, "queue_agent.controller.trimming_period: "),
        ({"queue_agent": {"inactive_object_display_limit": -1}}, "queue_agent.inactive_object_display_limit: "),
        ({"cypress_synchronizer": {"clusters": ["delphi"]}}, "not in clusters: delphi"),
    ],
)
async def test_a_document_that_makes_no_sense_is_an_alert_and_changes_nothing(document: Any, words: str) -> None:
    world = World()
    await world.look(OPERATORS)
    for _ in range(2):
        await world.look(document)
        category, code, message = world.alert() or ("", 0, "")
        assert (category, code) == ("invalid_dynamic_config", 2604)
        assert words in message
        assert world.trimming
    await world.look(OPERATORS)
    assert world.alert() is None


async def test_a_document_that_can_not_be_read_is_an_alert_and_changes_nothing() -> None:
    world = World()
    await world.look(OPERATORS)
    world.broken = ClusterUnavailable("no answer")
    await world.look(None)
    assert world.alert() == ("failed_to_fetch_dynamic_config", 2600, "no answer")
    assert world.trimming
    world.broken = None
    await world.look(OPERATORS)
    assert world.alert() is None


async def test_an_invalid_document_stays_an_alert_after_it_could_not_be_read() -> None:
    world = World()
    await world.look({"queue_agent": 5})
    world.broken = ClusterUnavailable("no answer")
    await world.look(None)
    world.broken = None
    await world.look({"queue_agent": 5})
    assert (world.alert() or ("",))[0] == "invalid_dynamic_config"


async def test_options_without_a_meaning_are_only_remarked_on() -> None:
    world = World()
    await world.look({**OPERATORS, "member_client": {"attribute_update_period": 1}, "discovery_client": {}})
    assert world.alert() is None
    [error] = world.dynamic.node()["errors"]
    assert error["code"] == 2602
    assert error["attributes"]["unrecognized_options"] == ["discovery_client", "member_client"]
    await world.look(OPERATORS)
    assert world.dynamic.node()["errors"] == []


async def test_an_unchanged_document_is_not_applied_again() -> None:
    world = World()
    await world.look(OPERATORS)
    await world.look(dict(OPERATORS))
    assert len(world.applied) == 1
    node = world.dynamic.node()
    assert node["applied_config"] == OPERATORS
    assert node["effective_config"]["queue_agent"]["controller"]["pass_period"] == 1000
    assert node["last_config_change_time"] == "2025-01-23T13:42:26.000000Z"
    assert node["last_config_update_time"] == "2025-01-23T13:42:31.000000Z"
