"""Whose address counts where proxies stand between people and the agent."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

MOST_PROXIES: Final = 10
"""Entries of the header that are read; in a longer row of proxies the farthest that was read counts."""

_WITH_PORT: Final = re.compile(r"\[(?P<v6>[^\]]*)\](?::\d{1,5})?|(?P<v4>[\d.]+):\d{1,5}")


def find_client(peer: str, forwarded: Sequence[str], proxies: Sequence[IPv4Network | IPv6Network]) -> str:
    """Find the IP address that a request came from before it reached the first of the known proxies.

    Each proxy adds the address that asked it to the end of the header. Everything before the entry of a known proxy is
    what somebody claims. So this reads from the end, and stops at the first address that is no known proxy.

    Args:
        peer: the other end of the connection.
        forwarded: the headers `X-Forwarded-For`, as they came.
        proxies: networks whose entries count.
    """
    client = parse_address(peer)
    entries = _from_the_end(forwarded)
    for _ in range(MOST_PROXIES):
        if not any(client in network for network in proxies):
            break
        try:
            client = parse_address(next(entries))
        except (StopIteration, ValueError):
            break
    return str(client)


def parse_address(text: str) -> IPv4Address | IPv6Address:
    """An address of IPv4 also if IPv6 carries it; ValueError if the text is none, with or without a port."""
    match = _WITH_PORT.fullmatch(text)
    plain = (match["v6"] or match["v4"] or "") if match else text
    address = ipaddress.ip_address(plain.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _from_the_end(forwarded: Sequence[str]) -> Iterator[str]:
    for header in reversed(forwarded):
        for entry in reversed(header.split(",")):
            yield entry.strip()
