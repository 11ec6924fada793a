"""Which proxy of a cluster a request goes to: decided here, without I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from random import Random

BAN_SECONDS = 120.0


class ProxyPool:
    """The configured address of a cluster and those that the cluster named, some of them banned for a while.

    Light requests go to the configured address, heavy ones to the others; each kind takes the other's when its own are
    banned. One address always stays usable. Times are seconds of a monotonic clock.

    Args:
        configured: origin such as `http://host:80`.
        random: picks among equals.
    """

    def __init__(self, configured: str, random: Random) -> None:
        self._configured = configured
        self._discovered: list[str] = []
        self._banned_until: dict[str, float] = {}
        self._random = random

    def discovered(self, origins: Iterable[str]) -> None:
        """Replace the addresses that the cluster named."""
        self._discovered = list(origins)
        known = {self._configured, *self._discovered}
        self._banned_until = {origin: until for origin, until in self._banned_until.items() if origin in known}

    def ban(self, origin: str, now: float) -> bool:
        """Do not use an address for two minutes; False if it is the last that could be used."""
        if not [other for other in self._usable(now) if other != origin]:
            return False
        self._banned_until[origin] = now + BAN_SECONDS
        return True

    def choose(self, *, heavy: bool, now: float, tried: Collection[str] = ()) -> str:
        """An address for a request, other than the ones it has been tried on if there is any."""
        usable = self._usable(now)
        candidates = [origin for origin in usable if origin not in tried] or usable
        if not heavy and self._configured in candidates:
            return self._configured
        others = [origin for origin in candidates if origin != self._configured]
        return self._random.choice(others) if others else self._configured

    def _usable(self, now: float) -> list[str]:
        known = list(dict.fromkeys([self._configured, *self._discovered]))
        return [origin for origin in known if self._banned_until.get(origin, 0.0) <= now] or known
