"""What one agent asks the others, and what it hears of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from queue_agent.core.values.refs import CrossClusterRef


@dataclass(frozen=True, slots=True)
class Question:
    """A question an agent answers of what it leads itself; nobody passes it on."""

    name: str
    """`operationId` of the HTTP API, mostly."""

    parameters: Mapping[str, str] = field(default_factory=dict)
    """As in the address of a request, those that name an object included."""

    body: str = ""

    @property
    def ref(self) -> CrossClusterRef:
        """The object that `cluster`, `path` and `name` name."""
        path = "//" + self.parameters.get("path", "").lstrip("/")
        return CrossClusterRef(self.parameters.get("cluster", ""), path, self.parameters.get("name", ""))

    @property
    def is_about_queue(self) -> bool:
        """Whether the object has to be a queue."""
        return self.name.startswith("plan_") or self.parameters.get("kind") == "queue"


@dataclass(frozen=True, slots=True)
class Missing:
    """An agent of the stage of whom an answer says nothing."""

    agent: str | None
    """`host:port` of its RPC; None: objects that no agent leads."""

    reason: str

    objects: int
    """Tables it leads, as far as is known."""

    def to_map(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {"agent": self.agent, "reason": self.reason, "objects": self.objects}


@dataclass(frozen=True, slots=True)
class Answers:
    """What the other agents have answered."""

    by_agent: Mapping[str, Any]
    missing: tuple[Missing, ...] = ()
