"""How long master transactions live: pings, timeouts, deadlines, prerequisites."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import NAMES, Clients, ClusterThread, RawHttp, inside, refused, start
from yt_local.base.clock import Clock, format_instant
from yt_wire.error import ErrorCode


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def timed(clock: Clock, clients: Clients) -> Iterator[YtClient]:
    """A client of a cluster of the test's own, whose clock the test may set."""
    with ClusterThread(clock=clock) as thread:
        yield clients.make(thread.address(NAMES[0]))


@pytest.mark.local_only
def test_transactions_are_pinged_by_the_client_and_end_when_they_are_not(timed: YtClient, clock: Clock) -> None:
    pinged = timed.Transaction(timeout=30_000, ping_period=50)
    silent = start(timed)
    deadline = start(timed, deadline="2100-01-01T00:00:00Z")
    with inside(timed, silent):
        timed.set("//tmp/a", 1)
    for _ in range(40):
        clock.advance(timedelta(seconds=20))
        advanced = format_instant(clock.now())
        while timed.get(f"#{pinged.transaction_id}/@last_ping_time") < advanced:
            threading.Event().wait(0.005)
    assert pinged.is_pinger_alive()
    pinged.commit()
    assert not timed.exists(f"//sys/transactions/{silent}")
    assert not timed.exists(f"//sys/transactions/{deadline}")
    assert not timed.exists("//tmp/a")
    with refused(ErrorCode.NO_SUCH_TRANSACTION, silent):
        timed.ping_transaction(silent)


@pytest.mark.local_only
def test_a_deadline_ends_a_transaction_whatever_is_pinged(timed: YtClient, clock: Clock) -> None:
    deadline = clock.now() + timedelta(seconds=30)
    transaction = start(timed, deadline=deadline.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    for _ in range(2):
        clock.advance(timedelta(seconds=14))
        timed.ping_transaction(transaction)
    clock.advance(timedelta(seconds=3))
    with refused(ErrorCode.NO_SUCH_TRANSACTION):
        timed.ping_transaction(transaction)


@pytest.mark.local_only
def test_a_ping_keeps_ancestors_only_if_it_is_told_to(timed: YtClient, clock: Clock) -> None:
    for ancestors in (False, True):
        outer = start(timed)
        inner = start(timed, outer)
        raw = RawHttp(timed.config["proxy"]["url"])
        clock.advance(timedelta(seconds=40))
        parameters = {"transaction_id": inner, "ping_ancestor_transactions": ancestors}
        answer = raw.command("POST", "ping_transaction", parameters)
        assert answer.error is None
        clock.advance(timedelta(seconds=40))
        assert timed.exists(f"#{outer}") == ancestors
        assert timed.exists(f"#{inner}") == ancestors


@pytest.mark.local_only
def test_the_timeout_can_be_changed_later(timed: YtClient, clock: Clock) -> None:
    transaction = start(timed)
    timed.set(f"#{transaction}/@timeout", 100_000)
    assert timed.get(f"#{transaction}/@timeout") == 100_000
    clock.advance(timedelta(seconds=90))
    assert timed.exists(f"#{transaction}")
    timed.set(f"#{transaction}/@timeout", 80_000)
    assert not timed.exists(f"#{transaction}")


def test_timeouts_have_a_default_and_a_limit(client: YtClient, raw: RawHttp) -> None:
    answer = raw.command("POST", "start_transaction", {"type": "master"})
    default = str(answer.value["transaction_id"])
    assert client.get(f"#{default}/@timeout") == 15_000
    long = client.start_transaction(timeout=24 * 60 * 60 * 1000)
    assert client.get(f"#{long}/@timeout") == 60 * 60 * 1000
    client.abort_transaction(default)
    client.abort_transaction(long)


class TestPrerequisites:
    def test_a_command_waits_for_no_transaction_that_is_not_there(
        self, client: YtClient, raw: RawHttp, home: str
    ) -> None:
        good = start(client)
        commands = {
            "get": ("GET", {"path": home}),
            "list": ("GET", {"path": home}),
            "exists": ("GET", {"path": home}),
            "create": ("POST", {"path": f"{home}/a", "type": "map_node"}),
            "remove": ("POST", {"path": f"{home}/a"}),
        }
        for name, (method, parameters) in commands.items():
            answer = raw.command(method, name, {**parameters, "prerequisite_transaction_ids": [good]})
            assert answer.error is None, name
        client.abort_transaction(good)
        for name, (method, parameters) in commands.items():
            answer = raw.command(method, name, {**parameters, "prerequisite_transaction_ids": [good]})
            assert answer.error is not None and answer.error.code == ErrorCode.PREREQUISITE_CHECK_FAILED, name
            assert good in answer.error.message
        assert client.list(home) == []

    def test_a_transaction_does_not_outlive_its_prerequisites(self, client: YtClient, home: str) -> None:
        for end in (client.commit_transaction, client.abort_transaction):
            first = start(client)
            second = start(client, prerequisite_transaction_ids=[first])
            third = start(client, prerequisite_transaction_ids=[first, second])
            with inside(client, third):
                client.set(f"{home}/a", 1)
            end(first)
            assert not client.exists(f"#{second}")
            assert not client.exists(f"#{third}")
            assert client.get(home) == {}
        with refused(ErrorCode.PREREQUISITE_CHECK_FAILED, first):
            start(client, prerequisite_transaction_ids=[first])

    def test_a_commit_without_its_prerequisite_is_an_abort(self, client: YtClient, raw: RawHttp, home: str) -> None:
        transaction = start(client)
        with inside(client, transaction):
            client.set(f"{home}/a", 1)
        parameters = {"transaction_id": transaction, "prerequisite_transaction_ids": ["1-2-30001-4"]}
        answer = raw.command("POST", "commit_transaction", parameters)
        assert answer.error is not None and answer.error.code == ErrorCode.PREREQUISITE_CHECK_FAILED
        assert not client.exists(f"#{transaction}")
        assert client.get(home) == {}

    def test_a_node_must_be_of_the_revision_that_is_named(self, client: YtClient, raw: RawHttp, home: str) -> None:
        client.set(f"{home}/a", 1)
        revision = client.get(f"{home}/a/@revision")

        wanted = [{"path": f"{home}/a", "transaction_id": "0-0-0-0", "revision": revision}]
        first = raw.command("PUT", "set", {"path": f"{home}/a", "prerequisite_revisions": wanted}, b"2")
        assert first.error is None
        second = raw.command("PUT", "set", {"path": f"{home}/a", "prerequisite_revisions": wanted}, b"3")
        assert second.error is not None and second.error.code == ErrorCode.PREREQUISITE_CHECK_FAILED
        assert client.get(f"{home}/a") == 2
