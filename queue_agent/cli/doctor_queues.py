"""What is wrong with queues and consumers: their configuration, and what the agent says of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from shlex import quote
from typing import Final

from queue_agent.cli.doctor_state import served_queues
from queue_agent.cli.errors import CommandError
from queue_agent.cli.findings import Finding, Grade
from queue_agent.cli.patient import Patient, refusal
from queue_agent.cli.served_address import address_of
from queue_agent.cli.statuses import consumer_problems, fetch_overview, innermost, name_of, queue_problems
from queue_agent.core.queues.config_keys import UNKNOWN_CONFIG_KEYS, find_unknown_keys
from queue_agent.core.state.rows import QueueRow
from queue_agent.errors import ClusterError

_MAX_NAMED: Final = 20
"""Queues that are named, and consumers; those with problems can be thousands."""


async def check_queue_configs(patient: Patient, users: Collection[str]) -> Sequence[Finding]:
    """`@auto_trim_config` and `@static_export_config` of the stage's queues: values and keys.

    Args:
        patient: what is examined.
        users: clusters that answer.
    """
    try:
        rows = await served_queues(patient, users)
    except ClusterError as error:
        return [refusal("state", "rows", error)]
    found = [finding for row in rows for finding in _judge_config(patient, row)]
    return _shorten(found, "queues", "configuration", f"{len(rows)} queues, every key is known")


async def check_objects(patient: Patient) -> Sequence[Finding]:
    """Problems of queues and consumers, as the agent on this machine knows them; nothing if it does not run."""
    if not patient.config.http.port:
        return []
    try:
        overview = await fetch_overview([address_of(patient.config)])
    except CommandError:
        return []  # that the agent does not answer is a finding already
    found = [
        Finding(
            f"{kind} {name_of(one)}",
            "problem",
            Grade.WARNING,
            problem,
            commands=[f"queue-agent status {quote(name_of(one))}"],
        )
        for kind, objects, problems in (
            ("queue", overview.queues, queue_problems),
            ("consumer", overview.consumers, consumer_problems),
        )
        for one in objects
        for problem in problems(one)
        if problem != f"alert {UNKNOWN_CONFIG_KEYS}"  # each key is a finding already
    ]
    count = len(overview.queues) + len(overview.consumers)
    return _shorten(found, "queues and consumers", "problem", f"{count} objects without problems")


def _judge_config(patient: Patient, row: QueueRow) -> Iterator[Finding]:
    subject, yt = f"queue {row.queue}", patient.yt(row.queue.cluster)
    error = row.synchronization_error or {}
    if error.get("code"):
        look = f"{yt} get {quote(f'{row.queue.path}/@')}"
        yield Finding(subject, "configuration", Grade.WARNING, innermost(error), commands=[look])
    for key in find_unknown_keys(row):
        attribute = key.path.split("/", 1)[0]
        look = f"{yt} get {quote(f'{row.queue.path}/{attribute}')}"
        detail = f"the agent ignores the unknown key {key}"
        yield Finding(subject, "configuration", Grade.WARNING, detail, "rename or remove the key", [look])


def _shorten(found: Sequence[Finding], subject: str, check: str, fine: str) -> Sequence[Finding]:
    if not found:
        return [Finding(subject, check, Grade.OK, fine)]
    if len(found) <= _MAX_NAMED:
        return found
    rest = f"{len(found) - _MAX_NAMED} more"
    more = Finding(subject, check, Grade.WARNING, rest, commands=["queue-agent status --problems"])
    return [*found[:_MAX_NAMED], more]
