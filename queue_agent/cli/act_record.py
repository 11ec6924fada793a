"""Acts of commands in the audit journal, beside those that people have agents do."""

from __future__ import annotations

import secrets
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import typer

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.state.audit_table import AuditTable
from queue_agent.cli.init_state import StateLocation
from queue_agent.cli.options import now
from queue_agent.core.access.acts import ActRequest
from queue_agent.core.state.audit_journal import AuditRecord
from queue_agent.errors import ClusterError, ObjectNotFound, OutcomeUnknown

LOGIN: Final = "command"
"""How the journal says that nobody has logged in to an agent."""

_NOBODY: Final = "unknown"
"""User on a cluster that does not tell whose token it was given."""


@dataclass(slots=True)
class Act:
    """An act under way."""

    failures: Mapping[int, str] = field(default_factory=dict)
    """What went wrong, by partition."""


@asynccontextmanager
async def recorded(location: StateLocation | None, request: ActRequest, plan: Mapping[str, Any]) -> AsyncIterator[Act]:
    """Write down an act before it begins and after it has ended.

    Whoever runs the command could do the same without it. So a journal that cannot be written stops nothing: the
    command says so and goes on. Without the table there is no journal.

    Args:
        location: of the state tables; None: nobody has told, and nothing is written.
        request: the act.
        plan: what the user has agreed to.
    """
    act = Act()
    if location is None:
        yield act
        return
    async with location.reach.open(location.name) as cluster:
        audit = AuditTable(cluster, location.root)
        record = await _begin(cluster, audit, request, plan)
        if record is None:
            yield act
            return
        try:
            yield act
        except BaseException as error:
            is_failure = isinstance(error, ClusterError) and not isinstance(error, OutcomeUnknown)
            done = replace(record, outcome="failed" if is_failure else "unknown", error=str(error) or repr(error))
            await _write(audit, replace(done, finished=now()))
            raise
        words = "; ".join(f"partition {index}: {failure}" for index, failure in act.failures.items())
        done = replace(record, outcome="failed" if words else "done", error=words or None)
        await _write(audit, replace(done, finished=now()))


async def _begin(
    cluster: YtCluster, audit: AuditTable, request: ActRequest, plan: Mapping[str, Any]
) -> AuditRecord | None:
    """What is written; None if it could not be."""
    try:
        user = await cluster.find_user()
    except ClusterError:
        user = None  # writing fails as well, and tells why
    host = socket.gethostname()
    record = AuditRecord(
        instant=now(),
        id=secrets.token_urlsafe(),
        user=user or _NOBODY,
        login=LOGIN,
        peer="",
        agent=host,
        act=request.kind.value,
        subject=request.subject,
        plan=plan,
        queue=request.queue,
        consumer=request.consumer,
    )
    return record if await _write(audit, record) else None


async def _write(audit: AuditTable, record: AuditRecord) -> bool:
    try:
        await audit.write(record)
    except ObjectNotFound:
        return False
    except ClusterError as error:
        typer.echo(f"note: this is not in the audit journal: {error}", err=True)
        return False
    return True
