"""Incidents, driven through processes: how soon each surface tells of it, and which message is sent."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import quote

import pytest
import pytest_asyncio
import yaml

from deploy.incident_tests.alertmanager_server import Message
from deploy.incident_tests.stage import (
    ACCOUNT,
    CLUSTER,
    RATHER_SLOW_ROWS,
    ROWS,
    SLOW_ROWS,
    WAITS,
    Stage,
    queue_of,
    reader_of,
    running_stage,
    seconds_until,
    since,
)
from deploy.tests.prometheus_server import DEPLOY, hasten

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(1200)]

HEALTHY, SLOW, RACED, DEAD, MISSING, UNMOUNTED, FILLING, RESHARDED, CREATED_AGAIN = NAMES = [
    "healthy",
    "slow",
    "shared",
    "dead",
    "missing",
    "offline",
    "filling",
    "grown",
    "created_again",
]
SLOW_READER: Final = "//home/slow/slow_reader"
RACING_READER: Final = "//home/shared/other_reader"
RARE_BEATS: Final = 40
"""From one read of it to the next: twenty seconds. Trims follow the vital reader by less."""

QUIET: Final = timedelta(seconds=32)
"""What else would fire has had its time: a quarter of an hour of the rules, a minute of which lasts two seconds."""

MARKS: Final = ("<!-- made by make check-incidents -->", "<!-- end -->")
PAGE: Final = DEPLOY.parent / "docs/incidents.md"


@dataclass(frozen=True, slots=True)
class Incident:
    """What goes wrong, and who tells."""

    title: str
    queue: str
    """Its name on the stage."""

    begin: Callable[[Stage], Awaitable[None]]
    word: str
    """Verdict that all surfaces tell."""

    attribute: str
    consumer: str
    alert: str
    said: tuple[str, ...]
    """In the message: culprit and remedy."""

    key: str = "registrations"
    """Of the queue's status, where the API tells."""

    subject: str | None = None
    """What the message is about; None: the queue."""

    @property
    def told_about(self) -> str:
        """Subject of the message."""
        return self.subject or queue_of(self.queue)


async def _slow_down(stage: Stage) -> None:
    stage.find_reader(SLOW_READER).rows_at_a_time = SLOW_ROWS


async def _slow_down_a_little(stage: Stage) -> None:
    stage.find_reader(reader_of(FILLING)).rows_at_a_time = RATHER_SLOW_ROWS


async def _hurry(stage: Stage) -> None:
    """The vital reader reads at each beat now, and trimming follows it."""
    stage.find_reader(reader_of(RACED)).beats = 1


async def _stop_reader(stage: Stage) -> None:
    stage.find_reader(reader_of(DEAD)).is_alive = False


async def _remove_consumer(stage: Stage) -> None:
    stage.find_reader(reader_of(MISSING)).is_alive = False
    await stage.next_beat()
    await stage.user.run("remove", path=reader_of(MISSING))


async def _unmount(stage: Stage) -> None:
    await stage.pause(UNMOUNTED)
    await stage.user.run("unmount_table", path=queue_of(UNMOUNTED))


async def _reshard(stage: Stage) -> None:
    """Two partitions, and a reader that knows of one."""
    await stage.pause(RESHARDED)
    queue = queue_of(RESHARDED)
    await stage.user.run("unmount_table", path=queue)
    await stage.user.run("reshard_table", path=queue, tablet_count=2)
    await stage.user.run("mount_table", path=queue)
    await stage.user.insert(queue, [{"data": "some bytes", "$tablet_index": 1}] * ROWS)
    stage.paused.remove(RESHARDED)


async def _create_again(stage: Stage) -> None:
    """The queue has fewer rows than before, and its reader waits where it was."""
    await stage.pause(CREATED_AGAIN)
    queue = queue_of(CREATED_AGAIN)
    await stage.user.run("remove", path=queue)
    await stage.user.create_queue(queue, auto_trim_config={"enable": True})
    await stage.user.insert(queue, [{"data": "some bytes", "$tablet_index": 0}] * ROWS)


INCIDENTS: Final = (
    Incident(
        "A slow reader that is not vital loses rows",
        SLOW,
        _slow_down,
        "losing",
        f"{SLOW_READER}/@queue_consumer_status/queues",
        SLOW_READER,
        "ConsumerLosingRows",
        (SLOW_READER, reader_of(SLOW), "register-queue-consumer", "--vital"),
    ),
    Incident(
        "Rows are trimmed before a reader that is not vital commits them",
        RACED,
        _hurry,
        "racing",
        f"{RACING_READER}/@queue_consumer_status/queues",
        RACING_READER,
        "ConsumerRacesTrimming",
        (RACING_READER, "It may not have read them", "register-queue-consumer", "--vital"),
    ),
    Incident(
        "A vital consumer is dead",
        DEAD,
        _stop_reader,
        "stopped",
        f"{reader_of(DEAD)}/@queue_consumer_status/queues",
        reader_of(DEAD),
        "VitalConsumerStopped",
        (reader_of(DEAD), "Restart the reader"),
    ),
    Incident(
        "A registered consumer is removed",
        MISSING,
        _remove_consumer,
        "does not exist",
        f"{queue_of(MISSING)}/@queue_status/registrations",
        reader_of(MISSING),
        "RegistrationBroken",
        (reader_of(MISSING), "does not exist", "unregister-queue-consumer"),
    ),
    Incident(
        "A queue is unmounted",
        UNMOUNTED,
        _unmount,
        "unmounted",
        f"{reader_of(UNMOUNTED)}/@queue_consumer_status/queues",
        reader_of(UNMOUNTED),
        "QueuePartitionErrors",
        (queue_of(UNMOUNTED), "mount-table"),
    ),
    Incident(
        "An account fills up",
        FILLING,
        _slow_down_a_little,
        reader_of(FILLING),
        f"{queue_of(FILLING)}/@queue_status/time_to_quota",
        reader_of(FILLING),
        "AccountFullSoon",
        (ACCOUNT, reader_of(FILLING), queue_of(FILLING), "unregister-queue-consumer", "@resource_limits"),
        "time_to_quota",
        ACCOUNT,
    ),
    Incident(
        "A queue is resharded, and nobody reads the new partition",
        RESHARDED,
        _reshard,
        "resharded",
        f"{reader_of(RESHARDED)}/@queue_consumer_status/queues",
        reader_of(RESHARDED),
        "QueueRebuilt",
        (queue_of(RESHARDED), "was resharded", reader_of(RESHARDED), "reads each partition"),
    ),
    Incident(
        "A queue is removed and created again",
        CREATED_AGAIN,
        _create_again,
        "ahead",
        f"{reader_of(CREATED_AGAIN)}/@queue_consumer_status/queues",
        reader_of(CREATED_AGAIN),
        "ConsumerAhead",
        (queue_of(CREATED_AGAIN), "was re-created", reader_of(CREATED_AGAIN), "consumer reset", "--to earliest"),
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured, in seconds since the incident began."""

    title: str
    status: float
    attribute: float
    api: float
    alert: float
    message: Message


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    folder = tmp_path_factory.mktemp("incidents")
    others = {SLOW: SLOW_READER, RACED: RACING_READER}
    async with running_stage(folder, NAMES, others, FILLING, {RACED: RARE_BEATS}) as one:
        yield one


async def test_each_incident_is_told_on_every_surface_and_by_one_message(stage: Stage) -> None:
    """With INCIDENTS_PAGE=1 the table of docs/incidents.md is written."""
    assert (await stage.prometheus.ever_fired(), stage.mailbox.messages) == (set(), [])
    code, shown = await stage.command("status", "--problems")
    assert code == 0, shown
    outcomes = [*await _break_all(stage), await _kill_agent(stage)]
    before, rest = PAGE.read_text().split(MARKS[0])
    table, after = rest.split(MARKS[1])
    print(made := _table(outcomes))
    if os.environ.get("INCIDENTS_PAGE"):
        table = made
        PAGE.write_text(f"{before}{MARKS[0]}{table}{MARKS[1]}{after}")
    for outcome in outcomes:
        assert f"| {outcome.title} | " in table
        assert f"[{outcome.message.name}]" in table


async def _break_all(stage: Stage) -> list[Outcome]:
    """All incidents but the last, side by side."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_drive(stage, incident)) for incident in INCIDENTS]

    async def is_inhibited() -> bool:
        return ("QueueRetentionPinned", queue_of(DEAD)) in await stage.mailbox.inhibited()

    await seconds_until(is_inhibited, "QueueRetentionPinned is held back")
    await _be_quiet(stage)
    sent = {(one.name, one.subject) for one in stage.mailbox.messages}
    assert sent == {(one.alert, one.told_about) for one in INCIDENTS}
    return [task.result() for task in tasks]


async def _kill_agent(stage: Stage) -> Outcome:
    """The last incident."""
    before = len(stage.mailbox.messages)
    begun = datetime.now(UTC)  # noqa: TID251 - the clock of the processes
    stage.agent.kill()

    async def is_told_by_command() -> bool:
        return (await stage.command("status"))[0] == 2

    async def is_told_by_attribute() -> bool:
        return isinstance(await stage.attribute(f"{queue_of(HEALTHY)}/@queue_status"), str)

    async def is_told_by_api() -> bool:
        return await stage.api("/api/v1/alerts") is None

    async def is_sent() -> bool:
        return len(stage.mailbox.messages) > before

    async with asyncio.TaskGroup() as group:
        checks = (is_told_by_command, is_told_by_attribute, is_told_by_api)
        tasks = [group.create_task(seconds_until(check, check.__name__)) for check in checks]
    status, attribute, api = (task.result() for task in tasks)
    await seconds_until(is_sent, "a message")
    await _be_quiet(stage)
    new = stage.mailbox.messages[before:]
    assert {one.name for one in new} == {"QueueAgentDown"}
    assert "queue-agent run" in new[0].description
    return Outcome("The agent is killed", status, attribute, api, _unscaled(begun, new[0]), new[0])


async def _be_quiet(stage: Stage) -> None:
    """Until Prometheus has judged what comes in a quarter of an hour, and Alertmanager has sent that."""
    end = datetime.now(UTC) + QUIET  # noqa: TID251 - the clock of the processes

    async def is_over() -> bool:
        return await stage.prometheus.evaluated_since(end)

    await seconds_until(is_over, "rules are evaluated")


async def _drive(stage: Stage, incident: Incident) -> Outcome:
    """Let it happen, and read all surfaces until each reports it."""
    begun = datetime.now(UTC)  # noqa: TID251 - the clock of the processes
    await incident.begin(stage)

    def tells(text: str) -> bool:
        return incident.word in text and incident.consumer in text

    async def by_attribute() -> bool:
        value = await stage.attribute(incident.attribute)
        return incident.word in json.dumps(value)

    async def by_api() -> bool:
        answer = await stage.api(f"/api/v1/queues/{CLUSTER}/{quote(queue_of(incident.queue), safe='')}")
        status = answer["status"] if answer is not None else {}
        told = status.get(incident.key) or ()
        return any(tells(json.dumps(one)) for one in ([told] if isinstance(told, dict) else told))

    async def by_command() -> bool:
        code, shown = await stage.command("status", "--problems")
        return code == 1 and tells(shown)

    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(seconds_until(check, f"{incident.title}: {check.__name__}"))
            for check in (by_command, by_attribute, by_api)
        ]
    status, attribute, api = (task.result() for task in tasks)

    async def by_message() -> bool:
        return incident.alert in stage.mailbox.about(incident.told_about)

    await seconds_until(by_message, f"{incident.title}: {incident.alert}")
    message = stage.mailbox.about(incident.told_about)[incident.alert]
    text = f"{message.summary} {message.description}"
    for word in incident.said:
        assert word in text, message.labels
    return Outcome(incident.title, status, attribute, api, _unscaled(begun, message), message)


def _unscaled(begun: datetime, message: Message) -> float:
    """When the alert would have fired if its wait had not been hastened."""
    for path in (DEPLOY / "prometheus/rules").glob("*.yaml"):
        for group in yaml.safe_load(path.read_text())["groups"]:
            for rule in group["rules"]:
                if rule.get("alert") == message.name:
                    wait = rule.get("for", "0m")
                    hastened = float(hasten(wait)[:-1]) if "for" in rule else 0.0
                    waited = WAITS.get(message.name, hastened)
                    return since(begun, message.started_at) - waited + 60.0 * float(wait[:-1])
    raise AssertionError(f"no rule {message.name}")


def _table(outcomes: list[Outcome]) -> str:
    head = "| incident | `status` | attribute | API | alert | what it says |\n| --- | --- | --- | --- | --- | --- |\n"
    rows = (
        f"| {one.title} | {one.status:.0f} s | {one.attribute:.0f} s | {one.api:.0f} s | {one.alert / 60:.1f} min |"
        f" [{one.message.name}](runbooks/{one.message.name}.md): {_escape(one.message.summary)} |\n"
        for one in outcomes
    )
    return "\n" + head + "".join(rows)


def _escape(text: str) -> str:
    return re.sub(r"([|<>])", r"\\\1", text)
