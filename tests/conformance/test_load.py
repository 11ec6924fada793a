"""Much at once: large bodies, and many clients."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from yt.wrapper import YtClient
from yt.wrapper import YtError as YtClientError

from tests.conformance.harness import Cli, Clients, make_queue
from tests.waiting import LIMIT_SECONDS

MEGABYTES = 50


def test_the_command_line_inserts_fifty_megabytes_at_once(cli: Cli, client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    count = MEGABYTES * 10
    row = b'{data="' + b"x" * 100_000 + b'"};'
    done = cli.run("insert-rows", path, "--format", "yson", stdin=row * count)
    assert done.returncode == 0, done.stderr
    (info,) = client.get_tablet_infos(path, [0])["tablets"]
    assert info["total_row_count"] == count
    (last,) = client.pull_queue(path, offset=count - 1, partition_index=0)
    assert last["$cumulative_data_weight"] == count * (1 + 100_000 + 16)


def test_a_hundred_thousand_rows_in_one_insert(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    client.insert_rows(path, ({"data": f"{number}"} for number in range(100_000)))
    rows = list(client.pull_queue(path, offset=99_000, partition_index=0))
    assert [row["data"] for row in rows] == [str(number) for number in range(99_000, 100_000)]


def test_one_value_of_sixteen_megabytes(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    value = "y" * 16 * 2**20
    client.insert_rows(path, [{"data": value}, {"data": "small"}])
    (row,) = client.pull_queue(path, offset=0, partition_index=0)
    assert row["data"] == value


def test_many_writers_leave_no_gap_and_no_double(clients: Clients, client: YtClient, proxy: str, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    writers, batches, batch_size = 8, 10, 5
    made = [clients.make(proxy) for _ in range(writers)]
    together = threading.Barrier(writers)

    def write(writer: int) -> None:
        together.wait(LIMIT_SECONDS)
        for batch in range(batches):
            made[writer].insert_rows(path, [{"data": f"{writer}-{batch}-{row}"} for row in range(batch_size)])

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(writers)))
    rows = list(client.pull_queue(path, offset=0, partition_index=0))
    total = writers * batches * batch_size
    assert [row["$row_index"] for row in rows] == list(range(total))
    assert len({row["data"] for row in rows}) == total
    assert len({row["$timestamp"] for row in rows}) == writers * batches
    stamps = [row["$timestamp"] for row in rows]
    assert stamps == sorted(stamps)
    for start in range(0, total, batch_size):
        batch = [row["data"].rpartition("-") for row in rows[start : start + batch_size]]
        assert len({name for name, _, _ in batch}) == 1
        assert [number for _, _, number in batch] == [str(number) for number in range(batch_size)]


@pytest.mark.parametrize("verb", ["advance", "create"])
def test_of_many_who_race_one_wins(clients: Clients, client: YtClient, proxy: str, home: str, verb: str) -> None:
    racers = 6
    queue = make_queue(client, f"{home}/q")
    client.create("queue_consumer", f"{home}/c")
    made = [clients.make(proxy) for _ in range(racers)]
    together = threading.Barrier(racers)

    def race(racer: int) -> bool:
        together.wait(LIMIT_SECONDS)
        try:
            if verb == "advance":
                made[racer].advance_queue_consumer(f"{home}/c", queue, 0, old_offset=0, new_offset=racer + 1)
            else:
                made[racer].create("map_node", f"{home}/prize", attributes={"winner": racer})
        except YtClientError as error:
            assert error.contains_code(3100 if verb == "advance" else 501)
            return False
        return True

    with ThreadPoolExecutor(racers) as pool:
        won = list(pool.map(race, range(racers)))
    assert won.count(True) == 1
    if verb == "create":
        assert client.get(f"{home}/prize/@winner") == won.index(True)
