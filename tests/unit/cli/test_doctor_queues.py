"""The doctor tells problems of queues and consumers, as the agent on its machine knows them."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from queue_agent.cli.doctor_queues import check_objects
from queue_agent.cli.findings import Grade
from queue_agent.cli.patient import Patient
from queue_agent.config.agent import AgentConfig
from tests.unit.cli.stand_in_agent import StandInAgent
from tests.unit.cli.test_watch import documents, position, summary


def patient(agent: StandInAgent) -> Patient:
    host, _, port = agent.address.removeprefix("http://").rpartition(":")
    document = {
        "stage": "production",
        "clusters": {"hume": {"proxy": "127.0.0.1:1"}},
        "state": {"cluster": "hume"},
        "http": {"host": host, "port": int(port)},
    }
    return Patient(AgentConfig.model_validate(document), Path("agent.yaml"), {}, lambda: datetime.now(UTC))  # noqa: TID251 - the clock that commands have


async def problems(documents: dict[str, Any]) -> list[tuple[str, Grade, str, list[str]]]:
    with StandInAgent(documents).running() as agent:
        findings = await check_objects(patient(agent))
    return [(one.subject, one.grade, one.detail, list(one.commands)) for one in findings]


async def test_a_consumer_that_is_stopped_is_told_with_its_sentence_and_the_next_command() -> None:
    assert await problems(documents()) == [
        (
            "consumer hume://home/c",
            Grade.WARNING,
            "hume://home/q: Silent for 9 s. Do: restart the reader",
            ["queue-agent status hume://home/c"],
        )
    ]


async def test_consumers_and_queues_that_cannot_be_read_are_told_and_a_healthy_stage_is_one_line() -> None:
    found = documents()
    error = {"code": 500, "message": "It does not exist", "inner_errors": []}
    found["/api/v1/queues"]["queues"] = [{**summary("//home/q", None), "error": error}]
    found["/api/v1/consumers"]["consumers"] = [{**summary("//home/c", None), "error": error}]
    assert [(subject, detail) for subject, _, detail, _ in await problems(found)] == [
        ("queue hume://home/q", "It does not exist"),
        ("consumer hume://home/c", "It does not exist"),
    ]
    found["/api/v1/queues"]["queues"] = []
    found["/api/v1/consumers"]["consumers"] = [summary("//home/c", [position("ok", 0, 0)])]
    [(subject, grade, _, _)] = await problems(found)
    assert (subject, grade) == ("queues and consumers", Grade.OK)


async def test_twenty_problems_are_named_and_the_rest_is_counted() -> None:
    found = documents()
    listed = [summary(f"//home/{index:03}", [position("stopped", 1, 1, "Silent")]) for index in range(1000)]
    found["/api/v1/consumers"]["consumers"] = listed
    told = await problems(found)
    assert (len(told), told[-1][2]) == (21, "980 more")


async def test_a_name_that_a_shell_would_run_is_quoted_in_the_command_to_copy() -> None:
    found = documents()
    name = "//home/it's $(touch owned)"
    found["/api/v1/consumers"]["consumers"] = [summary(name, [position("stopped", 1, 1, "Silent")])]
    [(_, _, _, [command])] = await problems(found)
    assert shlex.split(command) == ["queue-agent", "status", f"hume:{name}"]
