"""How often one address may fail to log in: some times at once, then now and then, in bounded memory."""

from __future__ import annotations

import ipaddress
from datetime import datetime, timedelta
from typing import Final

AT_ONCE: Final = 10
"""Failures in a row of one address before it has to wait."""

INTERVAL: Final = timedelta(seconds=6)
"""After each of these one failure is forgotten."""

MOST_ADDRESSES: Final = 10_000

_IPV6_NETWORK: Final = 64
"""Bits. Whoever has one address of IPv6 has all those of its network."""


class FailedLogins:
    """Failures of each address. Time is given by whoever calls.

    Args:
        most: addresses that are remembered; of more, those with the fewest failures are forgotten.
    """

    def __init__(self, most: int = MOST_ADDRESSES) -> None:
        self._most = most
        self._clean_at: dict[str, datetime] = {}
        """When the failures of an address will be forgotten."""

    def __len__(self) -> int:
        return len(self._clean_at)

    def begin(self, address: str, now: datetime) -> timedelta | None:
        """Count a failure, until the login is `forgive`n.

        Many at the same time count as well: nobody tries more by not waiting for answers.

        Returns:
            How long this address has to wait, if it has failed too often; None if it may try.
        """
        key = _network_of(address)
        # A clock that was set back must not make anybody wait longer than a whole series of failures does.
        clean_at = min(max(self._clean_at.get(key, now), now), now + AT_ONCE * INTERVAL)
        wait = clean_at + INTERVAL - (now + AT_ONCE * INTERVAL)
        if wait > timedelta(0):
            self._clean_at[key] = clean_at
            return wait
        if key not in self._clean_at:
            self._make_room(now)
        self._clean_at[key] = clean_at + INTERVAL
        return None

    def forgive(self, address: str) -> None:
        """Take back a failure that was none."""
        key = _network_of(address)
        if key in self._clean_at:
            self._clean_at[key] -= INTERVAL

    def _make_room(self, now: datetime) -> None:
        if len(self._clean_at) < self._most:
            return
        self._clean_at = {key: clean_at for key, clean_at in self._clean_at.items() if clean_at > now}
        if len(self._clean_at) >= self._most:
            del self._clean_at[min(self._clean_at, key=self._clean_at.__getitem__)]


def _network_of(address: str) -> str:
    parsed = ipaddress.ip_address(address)
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    return str(ipaddress.IPv6Network((parsed, _IPV6_NETWORK), strict=False))
