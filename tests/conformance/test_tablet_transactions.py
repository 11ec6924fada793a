"""Tablet transactions: begun, kept alive, ended."""

from __future__ import annotations

from datetime import timedelta

from yt.wrapper import YtClient

from queue_agent.local_cluster.clock import Clock
from queue_agent.wire.guid import Guid
from tests.conformance.harness import Clients, ClusterThread, RawHttp, refused

NO_SUCH_TRANSACTION = 11000


def start(client: YtClient, timeout: int = 60_000) -> str:
    transaction_id: str = client.start_transaction(type="tablet", timeout=timeout, sticky=True)
    return transaction_id


def test_the_id_of_a_transaction_tells_when_it_started(client: YtClient) -> None:
    before = client.generate_timestamp()
    parsed = Guid.parse(start(client))
    assert parsed.object_type == 2
    assert before < parsed.counter < client.generate_timestamp()


def test_a_transaction_without_atomicity_has_a_type_of_its_own(raw: RawHttp) -> None:
    answer = raw.command("POST", "start_transaction", {"type": "tablet", "atomicity": "none", "sticky": True})
    assert Guid.parse(answer.value["transaction_id"]).object_type == 3


def test_a_transaction_that_is_over_is_not_known_any_more(client: YtClient) -> None:
    for end in (client.commit_transaction, client.abort_transaction):
        transaction = start(client)
        client.ping_transaction(transaction)
        end(transaction)
        for command in (client.commit_transaction, client.abort_transaction, client.ping_transaction):
            with refused(NO_SUCH_TRANSACTION, transaction):
                command(transaction)


def test_a_transaction_lives_as_long_as_it_is_pinged(clients: Clients) -> None:
    clock = Clock()
    with ClusterThread(clock=clock) as thread:
        client = clients.make(thread.address("pythia"))
        transaction = start(client, timeout=10_000)
        for _ in range(3):
            clock.advance(timedelta(seconds=7))
            client.ping_transaction(transaction)
        clock.advance(timedelta(seconds=11))
        with refused(NO_SUCH_TRANSACTION, transaction):
            client.ping_transaction(transaction)


def test_a_tablet_transaction_has_no_parent(client: YtClient) -> None:
    with refused(1, "cannot have a parent"):
        client.start_transaction(parent_transaction=start(client), type="tablet", timeout=60_000)
