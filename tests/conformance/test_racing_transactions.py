"""Tablet transactions that race each other: nothing is lost, half done, or seen before its time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from yt.wrapper import YtClient
from yt.wrapper import YtError as YtClientError

from tests.conformance.harness import Clients, make_queue, rows_of
from tests.conformance.test_sorted_sharding import make

CONFLICT = 1700
THREADS = 4
ACCOUNTS = 5
BALANCES = [
    {"name": "account", "type": "int64", "sort_order": "ascending"},
    {"name": "balance", "type": "int64"},
    {"name": "views", "type": "int64", "aggregate": "sum", "lock": "views"},
]


def until_done(attempt: Callable[[], None]) -> None:
    """Repeat a transaction while it is the loser of a conflict."""
    while True:
        try:
            attempt()
        except YtClientError as error:
            if not error.contains_code(CONFLICT):
                raise
        else:
            return


def balances_of(client: YtClient, path: str, accounts: Iterable[int]) -> dict[int, int]:
    rows = client.lookup_rows(path, [{"account": account} for account in accounts])
    return {row["account"]: row["balance"] for row in rows}


@pytest.fixture
def bank(client: YtClient, home: str) -> str:
    """Accounts in two tablets with 100 each."""
    path = make(client, f"{home}/bank", BALANCES, pivot_keys=[[], [2]], enable_shared_write_locks=True)
    client.insert_rows(path, [{"account": account, "balance": 100, "views": 0} for account in range(ACCOUNTS)])
    return path


def race(proxy: str, clients: Clients, work: Callable[[YtClient, random.Random], None]) -> None:
    """Do the work in threads at once, each with a client of its own."""
    workers = [clients.make(proxy) for _ in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as executor:
        for future in [executor.submit(work, worker, random.Random(seed)) for seed, worker in enumerate(workers)]:
            future.result()


def test_no_increment_is_lost(proxy: str, clients: Clients, client: YtClient, bank: str) -> None:
    def increment(worker: YtClient) -> None:
        with worker.Transaction(type="tablet", ping=False):
            balance = balances_of(worker, bank, [1])[1]
            worker.insert_rows(bank, [{"account": 1, "balance": balance + 1}], update=True)

    def work(worker: YtClient, _: random.Random) -> None:
        for _attempt in range(10):
            until_done(lambda: increment(worker))

    race(proxy, clients, work)
    assert balances_of(client, bank, [1]) == {1: 100 + 10 * THREADS}


def test_money_is_moved_and_booked_wholly_or_not_at_all(
    proxy: str, clients: Clients, client: YtClient, bank: str, home: str
) -> None:
    journal = make_queue(client, f"{home}/journal", tablet_count=2)

    def transfer(worker: YtClient, choices: random.Random) -> None:
        source, target = choices.sample(range(ACCOUNTS), 2)
        with worker.Transaction(type="tablet", ping=False):
            before = balances_of(worker, bank, range(ACCOUNTS))
            assert sum(before.values()) == 100 * ACCOUNTS
            moved = {source: before[source] - 1, target: before[target] + 1}
            rows = [{"account": account, "balance": balance} for account, balance in moved.items()]
            worker.insert_rows(bank, rows, update=True)
            worker.insert_rows(journal, [{"data": f"{source} {target}"}])

    def work(worker: YtClient, choices: random.Random) -> None:
        for _ in range(8):
            until_done(lambda: transfer(worker, choices))

    race(proxy, clients, work)
    expected = dict.fromkeys(range(ACCOUNTS), 100)
    booked = rows_of(client, f"* from [{journal}]")
    for row in booked:
        source, target = (int(account) for account in row["data"].split())
        expected[source] -= 1
        expected[target] += 1
    assert len(booked) == 8 * THREADS
    assert len({row["$timestamp"] for row in booked}) == 8 * THREADS
    assert balances_of(client, bank, range(ACCOUNTS)) == expected


def test_shared_additions_never_conflict(proxy: str, clients: Clients, client: YtClient, bank: str) -> None:
    def work(worker: YtClient, _: random.Random) -> None:
        for _attempt in range(10):
            with worker.Transaction(type="tablet", ping=False):
                row: dict[str, Any] = {"account": 3, "views": 1}
                worker.insert_rows(bank, [row], update=True, aggregate=True, lock_type="shared_write")

    race(proxy, clients, work)
    (row,) = client.lookup_rows(bank, [{"account": 3}])
    assert (row["views"], row["balance"]) == (10 * THREADS, 100)
