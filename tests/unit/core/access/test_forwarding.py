from __future__ import annotations

from ipaddress import ip_network

import pytest

from queue_agent.core.access.forwarding import MOST_PROXIES, find_client, parse_address

PROXIES = (ip_network("10.0.3.0/24"), ip_network("2001:db8::/64"))
INNER, OUTER, SOMEBODY = "10.0.3.7", "2001:db8::1", "192.0.2.1"


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        (SOMEBODY, ["198.51.100.1"], SOMEBODY),
        (INNER, [SOMEBODY], SOMEBODY),
        (f"::ffff:{INNER}", [SOMEBODY], SOMEBODY),
        (INNER, [f"::ffff:{SOMEBODY}"], SOMEBODY),
        (INNER, ["198.51.100.1, 192.0.2.1"], SOMEBODY),
        (INNER, ["198.51.100.1", SOMEBODY], SOMEBODY),
        (INNER, [SOMEBODY, OUTER], SOMEBODY),
        (INNER, [f"198.51.100.1,{SOMEBODY}, {OUTER}"], SOMEBODY),
        (INNER, [f"{SOMEBODY}:4711"], SOMEBODY),
        (INNER, ["[2001:db8:1::2]:4711"], "2001:db8:1::2"),
        (INNER, ["[2001:db8:1::2]"], "2001:db8:1::2"),
        (INNER, ["2001:db8:1::2"], "2001:db8:1::2"),
    ],
    ids=str,
)
def test_the_last_address_that_is_no_proxy_counts(peer: str, forwarded: list[str], client: str) -> None:
    assert find_client(peer, forwarded, PROXIES) == client


@pytest.mark.parametrize(
    "forwarded", [[], [""], ["unknown"], [f"{SOMEBODY}, unknown"], [f"{SOMEBODY},"], ["[]"], ["10.0.3.7:"], ["\ud800"]]
)
def test_a_proxy_that_names_nobody_counts_itself(forwarded: list[str]) -> None:
    assert find_client(INNER, forwarded, PROXIES) == INNER


def test_without_known_proxies_the_header_counts_for_nothing() -> None:
    assert find_client(INNER, [SOMEBODY], ()) == INNER


def test_of_a_long_row_of_proxies_only_the_last_are_read() -> None:
    row = [SOMEBODY, *(f"10.0.3.{number}" for number in range(100, 100 + MOST_PROXIES))]
    assert find_client(INNER, [", ".join(row)], PROXIES) == "10.0.3.100"
    assert find_client(INNER, [", ".join([SOMEBODY, *row[2:]])], PROXIES) == SOMEBODY


def test_a_scope_of_an_address_counts_for_nothing() -> None:
    assert str(parse_address("fe80::1%eth0")) == "fe80::1"
