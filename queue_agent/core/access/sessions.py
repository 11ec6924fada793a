"""Who is logged in: sessions with a bounded number and a bounded life."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Generic, TypeVar

C = TypeVar("C")
"""What proves to a cluster who somebody is. Nothing here looks at it."""


@dataclass(frozen=True, slots=True)
class Login(Generic[C]):
    """Somebody as one cluster knows them."""

    user: str
    credential: C = field(repr=False)
    checked_at: datetime
    """When the cluster last said who this is."""


@dataclass(slots=True)
class Session(Generic[C]):
    """One browser of one person."""

    csrf: str = field(repr=False)
    """What a page of ours has to send with everything that changes something."""

    logins: Mapping[str, Login[C]]
    """By cluster; not empty. The first one names the session."""

    began: datetime
    used: datetime

    @property
    def user(self) -> str:
        return next(iter(self.logins.values())).user


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How many, and for how long."""

    lifetime: timedelta
    idle: timedelta
    count: int
    count_per_user: int


class SessionsFull(Exception):
    """There is no room for one more session."""


SWEEP: Final = timedelta(seconds=10)
"""Between looks for sessions that are over."""


class Sessions(Generic[C]):
    """All of them, by keys that only their owners know. Time is given by whoever calls.

    Args:
        limits: of this table.
    """

    def __init__(self, limits: SessionLimits) -> None:
        self._limits = limits
        self._sessions: dict[bytes, Session[C]] = {}
        self._swept: datetime | None = None

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, key: bytes, session: Session[C], now: datetime) -> None:
        """Add a session. A user with too many loses the one that was used least recently; others lose none.

        Raises:
            SessionsFull: there are too many sessions of other users.
        """
        self._sweep(now, force=len(self._sessions) >= self._limits.count)
        own = [other for other, one in self._sessions.items() if one.user == session.user]
        if len(own) >= self._limits.count_per_user:
            self.close(min(own, key=lambda other: self._sessions[other].used))
        elif len(self._sessions) >= self._limits.count:
            raise SessionsFull
        self._sessions[key] = session

    def find(self, key: bytes, now: datetime) -> Session[C] | None:
        """The session of a key, which counts as used; None if there is none, or it is over."""
        self._sweep(now, force=False)
        session = self._sessions.get(key)
        if session is None:
            return None
        if self._is_over(session, now):
            self.close(key)
            return None
        session.used = now
        return session

    def close(self, key: bytes) -> None:
        """End a session, if there is one."""
        self._sessions.pop(key, None)

    def _sweep(self, now: datetime, *, force: bool) -> None:
        """Forget what is over: credentials of somebody who has left are not kept."""
        if not force and self._swept is not None and now - self._swept < SWEEP:
            return
        self._swept = now
        for key in [key for key, session in self._sessions.items() if self._is_over(session, now)]:
            self.close(key)

    def _is_over(self, session: Session[C], now: datetime) -> bool:
        return now - session.began >= self._limits.lifetime or now - session.used >= self._limits.idle
