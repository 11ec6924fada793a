"""What people can have done: kinds of acts, and requests for them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from queue_agent.core.values.refs import CrossClusterRef

MAX_TEXT: Final = 16_384
"""Characters of a path or a name in a request."""

MAX_PARTITIONS: Final = 10_000


class ActKind(enum.StrEnum):
    """Kinds, as configuration and addresses call them."""

    RESET = "reset"
    ACKNOWLEDGE = "acknowledge"
    PROTECT = "protect"
    REGISTER = "register"
    UNREGISTER = "unregister"
    MOUNT = "mount"
    UNMOUNT = "unmount"
    PAUSE_TRIMMING = "pause-trimming"
    RESUME_TRIMMING = "resume-trimming"
    BAN = "ban"
    UNBAN = "unban"


OF_PAIRS: Final = frozenset({ActKind.RESET, ActKind.ACKNOWLEDGE, ActKind.PROTECT, ActKind.REGISTER, ActKind.UNREGISTER})
"""Kinds about a consumer in a queue."""

OF_AGENTS: Final = frozenset({ActKind.BAN, ActKind.UNBAN})
"""Kinds about an agent. The others are about a queue."""


@dataclass(frozen=True, slots=True)
class ActRequest:
    """What is asked for; of the fields only those that the kind needs are there."""

    kind: ActKind
    queue: CrossClusterRef | None = None
    consumer: CrossClusterRef | None = None
    vital: bool | None = None
    """Of a new registration."""

    to: str = ""
    """Destination of a reset."""

    partitions: tuple[int, ...] = ()
    """Of a reset; all if empty."""

    agent: str = ""
    """Address of an agent, `host:port`."""

    @property
    def subject(self) -> str:
        """What the act is about, for people and for the audit journal."""
        if self.agent:
            return self.agent
        return str(self.queue) if self.consumer is None else f"{self.consumer} in {self.queue}"

    @property
    def clusters(self) -> frozenset[str]:
        """Names of the clusters of queue and consumer."""
        return frozenset(ref.cluster for ref in (self.queue, self.consumer) if ref is not None)


def read_act(kind: ActKind, document: Mapping[str, Any]) -> ActRequest:
    """Read the fields of a request; ValueError if one is missing or wrong."""
    if kind in OF_AGENTS:
        return ActRequest(kind, agent=_text(document, "agent"))
    if kind not in OF_PAIRS:
        return ActRequest(kind, CrossClusterRef(_text(document, "cluster"), _path(document, "path")))
    queue = CrossClusterRef(_text(document, "queue_cluster"), _path(document, "queue_path"))
    name = _text(document, "name") if document.get("name") else ""
    consumer = CrossClusterRef(_text(document, "cluster"), _path(document, "path"), name)
    if kind is ActKind.RESET:
        return ActRequest(kind, queue, consumer, to=_text(document, "to"), partitions=_partitions(document))
    if kind is ActKind.REGISTER:
        vital = document.get("vital")
        if not isinstance(vital, bool):
            raise ValueError('"vital" must be true or false')
        return ActRequest(kind, queue, consumer, vital)
    return ActRequest(kind, queue, consumer)


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT:
        raise ValueError(f'"{name}" must be a string of 1 to {MAX_TEXT} characters')
    return value


def _path(document: Mapping[str, Any], name: str) -> str:
    path = _text(document, name)
    check_path(path)
    return path


def check_path(path: str) -> None:
    """Whether this names a table by its path; ValueError for attributes of it, ranges of it, and other things."""
    plain = path.replace("\\\\", "").replace("\\/", "").replace("\\@", "").replace("\\[", "").replace("\\{", "")
    if not path.startswith("//") or path == "//" or "/@" in plain or plain.endswith(("]", "}", "/")):
        raise ValueError("a path must begin with // and name a table, without attributes, columns and ranges")


def _partitions(document: Mapping[str, Any]) -> tuple[int, ...]:
    value = document.get("partitions") or []
    if (
        not isinstance(value, list)
        or len(value) > MAX_PARTITIONS
        or not all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in value)
    ):
        raise ValueError(f'"partitions" must be a list of up to {MAX_PARTITIONS} numbers from 0 on')
    return tuple(sorted(set(value)))
