from __future__ import annotations

from random import Random

import pytest

from queue_agent.adapters.cluster.proxy_pool import BAN_SECONDS, ProxyPool

BALANCER = "http://balancer"
A = "http://a:80"
B = "http://b:80"


@pytest.fixture
def pool() -> ProxyPool:
    pool = ProxyPool(BALANCER, Random(1))
    pool.discovered([A, B])
    return pool


def test_light_requests_go_to_the_configured_address(pool: ProxyPool) -> None:
    assert {pool.choose(heavy=False, now=0) for _ in range(20)} == {BALANCER}


def test_heavy_requests_are_spread_over_the_others(pool: ProxyPool) -> None:
    assert {pool.choose(heavy=True, now=0) for _ in range(50)} == {A, B}


def test_heavy_requests_go_to_the_configured_address_when_no_other_is_known() -> None:
    assert ProxyPool(BALANCER, Random(1)).choose(heavy=True, now=0) == BALANCER


def test_a_repeat_goes_to_an_address_not_tried_yet(pool: ProxyPool) -> None:
    assert pool.choose(heavy=True, now=0, tried=[A]) == B
    assert pool.choose(heavy=False, now=0, tried=[BALANCER]) in {A, B}
    assert pool.choose(heavy=True, now=0, tried=[A, B]) == BALANCER
    assert pool.choose(heavy=True, now=0, tried=[A, B, BALANCER]) in {A, B}


def test_a_banned_address_is_left_alone_until_the_ban_has_run_out(pool: ProxyPool) -> None:
    assert pool.ban(A, now=10)
    assert {pool.choose(heavy=True, now=10 + BAN_SECONDS - 1) for _ in range(20)} == {B}
    assert {pool.choose(heavy=True, now=10 + BAN_SECONDS) for _ in range(50)} == {A, B}


def test_light_requests_leave_a_banned_configured_address(pool: ProxyPool) -> None:
    pool.ban(BALANCER, now=0)
    assert pool.choose(heavy=False, now=1) in {A, B}


def test_the_last_usable_address_is_never_banned(pool: ProxyPool) -> None:
    assert pool.ban(A, now=0)
    assert pool.ban(BALANCER, now=0)
    assert not pool.ban(B, now=0)
    assert pool.choose(heavy=True, now=1) == B
    assert pool.choose(heavy=False, now=1) == B


def test_a_banned_address_serves_again_when_the_usable_ones_have_gone(pool: ProxyPool) -> None:
    pool.ban(BALANCER, now=0)
    pool.discovered([])
    assert pool.choose(heavy=True, now=1) == BALANCER
