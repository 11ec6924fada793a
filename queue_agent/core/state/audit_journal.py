"""The audit journal: who had which act done, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from queue_agent.core.state.lifetimes import lifetime_attributes
from queue_agent.core.values.refs import CrossClusterRef

TABLE_NAME: Final = "audit_journal"
"""In the directory of the state tables."""

LIFETIME: Final = timedelta(days=365)
"""Rows of the journal are kept so long; another lifetime can be set when the table is created."""

KEY_COLUMNS: Final[Mapping[str, str]] = {"instant": "string", "id": "string"}
"""Types by name; acts are in order of time."""

ADDED_COLUMNS: Final[Mapping[str, str]] = {"queue": "string", "consumer": "string"}
"""Types by name; tables that earlier versions made lack them."""

VALUE_COLUMNS: Final[Mapping[str, str]] = {
    "user": "string",
    "login": "string",
    "peer": "string",
    "agent": "string",
    "act": "string",
    "subject": "string",
    "plan": "any",
    "outcome": "string",
    "finished": "string",
    "error": "string",
    **ADDED_COLUMNS,
}
"""Types by name."""

TABLE_ATTRIBUTES: Final = lifetime_attributes(LIFETIME)

AuditOutcome = Literal["begun", "done", "failed", "unknown"]
"""`begun` stays if the agent died before it knew the outcome; `unknown`: the cluster did not tell."""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One act: a row of the journal."""

    instant: datetime
    """When it was confirmed."""

    id: str
    user: str
    login: str
    """How the user was found out: `token` or `header`; `command`: by a command, which acts without an agent."""

    peer: str
    """IP address that asked; empty for a command."""

    agent: str
    """Host of the agent or of the command."""

    act: str
    subject: str
    plan: Mapping[str, Any]
    """What the user has agreed to."""

    outcome: AuditOutcome = "begun"
    finished: datetime | None = None
    error: str | None = None
    queue: CrossClusterRef | None = None
    """None: the act is about an agent, or an earlier version wrote the row."""

    consumer: CrossClusterRef | None = None
