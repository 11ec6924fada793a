"""The one error of commands for people."""

from __future__ import annotations

from queue_agent.errors import QueueAgentError


class CommandError(QueueAgentError):
    """The command cannot do what it was asked for, and has done nothing; the message says why."""
