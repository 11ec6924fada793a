"""What tests of users and of their permissions share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from yt.wrapper import YtClient

from tests.conformance.harness import refused

Ace = dict[str, Any]


def allow(subjects: str | Sequence[str], *permissions: str, **more: Any) -> Ace:
    return ace("allow", subjects, *permissions, **more)


def deny(subjects: str | Sequence[str], *permissions: str, **more: Any) -> Ace:
    return ace("deny", subjects, *permissions, **more)


def ace(action: str, subjects: str | Sequence[str], *permissions: str, **more: Any) -> Ace:
    names = [subjects] if isinstance(subjects, str) else list(subjects)
    return {"action": action, "subjects": names, "permissions": list(permissions), **more}


@dataclass(frozen=True)
class User:
    """Somebody who is not root."""

    name: str
    client: YtClient


def all_refused(code: int, culprit: str, *changes: Callable[[], object]) -> None:
    """Each change by itself is refused in these words."""
    for change in changes:
        with refused(code, culprit):
            change()


def action(client: YtClient, user: User | str, permission: str, path: str, **options: Any) -> str:
    name = user if isinstance(user, str) else user.name
    return str(client.check_permission(name, permission, path, **options)["action"])
