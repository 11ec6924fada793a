"""The agent's error tree; anything else raised is a bug."""

from __future__ import annotations


class QueueAgentError(Exception):
    """Base of all errors the agent expects."""


class ConfigError(QueueAgentError):
    """The configuration cannot be used."""


class TelemetryError(QueueAgentError):
    """A collector did not take what was pushed to it."""


class ClusterError(QueueAgentError):
    """A cluster answered with an error, or did not answer.

    Args:
        message: for people; names the object concerned.
        code: YTsaurus's error code, 1 if there is none.
        details: the whole error as YTsaurus's map `{code; message; attributes; inner_errors}`, when a server sent one.
    """

    def __init__(self, message: str, code: int = 1, details: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.details = details


class ClusterUnavailable(ClusterError):
    """No proxy of the cluster could be reached, or it answered that it cannot serve now."""


class OutcomeUnknown(ClusterUnavailable):
    """A request that changes something got no answer that tells: it was carried out, or it was not.

    Whoever sent it looks at the object, or lets a condition decide (an offset, a number, a transaction), before it is
    sent once more.
    """


class ObjectNotFound(ClusterError):
    """A path does not resolve (code 500)."""


class TabletNotMounted(ClusterError):
    """A tablet needed for the request is not mounted (codes 1701, 1702)."""


class AccessDenied(ClusterError):
    """The agent's user may not do this (codes 900, 901)."""


class ActionRefused(ClusterError):
    """The agent itself does not let an action begin: it may not be the leader of the object any more."""


class UnexpectedError(ClusterError):
    """A bug showed while one object was looked at: reported like an error of that object, see `isolation`."""


class ActRefused(QueueAgentError):
    """What somebody asks for cannot be done as things are; the message says why and what to do. Nothing was changed."""
