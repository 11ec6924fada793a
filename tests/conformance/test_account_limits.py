"""Limits of accounts: set by administrators, enforced for everybody."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import QUEUE_SCHEMA, refused

PLENTY = 1 << 40

USAGES = ("resource_usage", "committed_resource_usage")


@pytest.fixture
def account(client: YtClient, home: str) -> Iterator[str]:
    """A new account, to which everything below `home` is charged."""
    name = f"account-{uuid.uuid4().hex[:8]}"
    client.create("account", attributes={"name": name})
    client.set(f"{home}/@account", name)
    yield name
    client.set(f"{home}/@account", "tmp")


def limit(client: YtClient, account: str, **limits: int) -> None:
    """Limit an account; what is not named is plenty."""
    space = limits.pop("disk_space", PLENTY)
    counts = {"node_count": PLENTY, "chunk_count": PLENTY, "tablet_count": PLENTY, **limits}
    value = {**counts, "disk_space_per_medium": {"default": space}}
    client.set(f"//sys/accounts/{account}/@resource_limits", value)


def test_limits_are_what_somebody_has_set(client: YtClient, account: str) -> None:
    path = f"//sys/accounts/{account}/@resource_limits"
    limit(client, account, node_count=7, disk_space=1000)
    shown = client.get(path)
    assert (shown["node_count"], shown["disk_space"], shown["disk_space_per_medium"]["default"]) == (7, 1000, 1000)
    assert shown["tablet_static_memory"] == 0
    client.set(f"{path}/node_count", 8)
    client.set(f"{path}/disk_space_per_medium/default", 2000)
    shown = client.get(path)
    assert (shown["node_count"], shown["disk_space"], shown["chunk_count"]) == (8, 2000, PLENTY)
    client.set(path, shown)
    assert client.get(path) == shown


def test_an_account_may_be_made_with_limits(client: YtClient) -> None:
    name = f"account-{uuid.uuid4().hex[:8]}"
    client.create("account", attributes={"name": name, "resource_limits": {"node_count": 3}})
    assert client.get(f"//sys/accounts/{name}/@resource_limits/node_count") == 3


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"node_count": -1}, 'Limit "node_count" of an account must be an integer of at least 0'),
        ({"node_count": "many"}, 'Limit "node_count" of an account must be an integer of at least 0'),
        ({"nodes": 1}, 'Unknown limit "nodes" of an account'),
        ({"disk_space_per_medium": {"default": 5}, "disk_space": 6}, 'is the sum of "disk_space_per_medium"'),
        ({"disk_space_per_medium": 5}, 'Limit "disk_space_per_medium" of an account must be a map'),
        ({"disk_space_per_medium": {"default": -1}}, 'Limit "disk_space_per_medium/default" of an account must be'),
        ({"master_memory": 5}, 'Limit "master_memory" of an account must be a map'),
        ({"master_memory": {"total": 1.5}}, 'Limit "master_memory/total" of an account must be an integer'),
        ({"master_memory": {"all": 1}}, 'Unknown limit "master_memory/all" of an account'),
        ({b"\xff": 1}, "of an account; those known are chunk_count"),
        ("none", "Limits of an account must be a map"),
    ],
)
def test_limits_that_make_no_sense_are_refused(client: YtClient, account: str, limits: object, message: str) -> None:
    with refused(1, message):
        client.set(f"//sys/accounts/{account}/@resource_limits", limits)
    with refused(719, 'No such medium "nope"'):
        client.set(f"//sys/accounts/{account}/@resource_limits", {"disk_space_per_medium": {"nope": 1}})


def test_nodes_beyond_the_limit_are_refused_in_whatever_way_they_come(
    client: YtClient, home: str, account: str
) -> None:
    client.create("map_node", f"{home}/a")
    limit(client, account, node_count=3)
    client.create("map_node", f"{home}/b")
    message = f'Account "{account}" is over Cypress node count limit'
    with refused(902, message):
        client.create("table", f"{home}/c")
    with refused(902, message):
        client.create("map_node", f"{home}/a/deep/deeper", recursive=True)
    with refused(902, message):
        client.set(f"{home}/c", {"x": 1})
    with refused(902, message):
        client.copy(f"{home}/a", f"{home}/c")
    with refused(902, message):
        client.link(f"{home}/a", f"{home}/c")
    with client.Transaction(), refused(902, message):
        client.create("map_node", f"{home}/c")
    assert client.list(home) == ["a", "b"] or sorted(client.list(home)) == ["a", "b"]
    client.move(f"{home}/b", f"{home}/c")
    client.set(f"{home}/a/@some", "thing")
    client.create("map_node", f"{home}/c", force=True)
    client.remove(f"{home}/a")
    client.create("map_node", f"{home}/d")


def test_transactions_cannot_exceed_a_limit_together(client: YtClient, home: str, account: str) -> None:
    limit(client, account, node_count=3)
    message = f'Account "{account}" is over Cypress node count limit'
    first, second = (client.start_transaction() for _ in range(2))
    with client.Transaction(transaction_id=first):
        client.create("map_node", f"{home}/a")
    with client.Transaction(transaction_id=second):
        client.create("map_node", f"{home}/b")
        with refused(902, message):
            client.create("map_node", f"{home}/c")
    usage = f"//sys/accounts/{account}/@resource_usage/node_count"
    committed = f"//sys/accounts/{account}/@committed_resource_usage/node_count"
    assert (client.get(usage), client.get(committed)) == (3, 1)
    client.abort_transaction(first)
    with client.Transaction(transaction_id=second):
        client.create("map_node", f"{home}/c")
    client.commit_transaction(second)
    assert (client.get(usage), client.get(committed)) == (3, 3)


def test_rows_of_transactions_count_before_they_are_committed(client: YtClient, home: str, account: str) -> None:
    client.create("table", f"{home}/t")
    client.write_table(f"{home}/t", [{"a": "x" * 100}])
    usage, committed = (f"//sys/accounts/{account}/@{name}/disk_space" for name in USAGES)
    before = client.get(usage)
    limit(client, account, disk_space=2 * before)
    append = client.TablePath(f"{home}/t", append=True)
    first, second = (client.start_transaction() for _ in range(2))
    with client.Transaction(transaction_id=first):
        client.write_table(append, [{"a": "x" * 100}])
    assert (client.get(usage), client.get(committed)) == (2 * before, before)
    with (
        client.Transaction(transaction_id=second),
        refused(902, f'Account "{account}" is over disk space limit in medium "default"'),
    ):
        client.write_table(append, [{"a": "x" * 100}])
    client.commit_transaction(first)
    assert (client.get(usage), client.get(committed)) == (2 * before, 2 * before)
    client.abort_transaction(second)


def test_a_node_cannot_be_charged_to_an_account_that_is_full(client: YtClient, home: str, account: str) -> None:
    limit(client, account, node_count=1)
    client.create("map_node", "//tmp/elsewhere", ignore_existing=True)
    with refused(902, "is over Cypress node count limit"):
        client.set("//tmp/elsewhere/@account", account)
    client.remove("//tmp/elsewhere")


def test_rows_and_files_beyond_the_disk_space_are_refused(client: YtClient, home: str, account: str) -> None:
    client.create("table", f"{home}/t")
    client.create("file", f"{home}/f")
    client.write_table(f"{home}/t", [{"a": "x" * 100}])
    limit(client, account, disk_space=client.get(f"//sys/accounts/{account}/@resource_usage/disk_space"))
    message = f'Account "{account}" is over disk space limit in medium "default"'
    with refused(902, message):
        client.write_table(client.TablePath(f"{home}/t", append=True), [{"a": "y"}])
    with refused(902, message):
        client.write_file(f"{home}/f", b"x")
    with refused(902, message):
        client.concatenate([f"{home}/t", f"{home}/t"], f"{home}/t")
    assert [row["a"] for row in client.read_table(f"{home}/t")] == ["x" * 100]
    with refused(902, message):  # until the new rows are committed, those they replace count as well
        client.write_table(f"{home}/t", [{"a": "x"}])
    client.remove(f"{home}/f")
    limit(client, account, disk_space=200)
    client.write_table(f"{home}/t", [{"a": "x"}])
    assert client.get(f"//sys/accounts/{account}/@resource_usage/disk_space") < 100


def test_chunks_beyond_the_limit_are_refused(client: YtClient, home: str, account: str) -> None:
    client.create("table", f"{home}/t")
    limit(client, account, chunk_count=1)
    path = client.TablePath(f"{home}/t", append=True)
    client.write_table(path, [{"a": 1}])
    with refused(902, f'Account "{account}" is over chunk count limit'):
        client.write_table(path, [{"a": 2}])


def test_tablets_beyond_the_limit_are_refused(client: YtClient, home: str, account: str) -> None:
    limit(client, account, tablet_count=2)
    message = f'Account "{account}" is over tablet count limit'
    attributes = {"dynamic": True, "schema": QUEUE_SCHEMA}
    with refused(902, message):
        client.create("table", f"{home}/q", attributes={**attributes, "tablet_count": 3})
    client.create("table", f"{home}/q", attributes=attributes)
    client.reshard_table(f"{home}/q", tablet_count=2)
    with refused(902, message):
        client.reshard_table(f"{home}/q", tablet_count=3)
    client.create("table", f"{home}/t", attributes={"schema": QUEUE_SCHEMA})
    with refused(902, message):
        client.alter_table(f"{home}/t", dynamic=True)
    assert client.get(f"{home}/q/@tablet_count") == 2
    assert not client.get(f"{home}/t/@dynamic")


def test_who_has_too_much_already_may_have_less(client: YtClient, home: str, account: str) -> None:
    client.create("map_node", f"{home}/a/b/c", recursive=True)
    limit(client, account, node_count=0)
    client.remove(f"{home}/a/b", recursive=True)
    client.set(f"{home}/a/@kept", 1)
    with refused(902, "is over Cypress node count limit"):
        client.create("map_node", f"{home}/a/b")


def test_rows_of_dynamic_tables_are_refused_once_the_account_has_too_much(
    client: YtClient, home: str, account: str
) -> None:
    client.create("table", f"{home}/q", attributes={"dynamic": True, "schema": QUEUE_SCHEMA})
    client.mount_table(f"{home}/q", sync=True)
    client.insert_rows(f"{home}/q", [{"data": "x" * 100}])
    client.freeze_table(f"{home}/q", sync=True)
    client.unfreeze_table(f"{home}/q", sync=True)
    used = client.get(f"//sys/accounts/{account}/@resource_usage/disk_space")
    assert used > 100
    limit(client, account, disk_space=used)
    client.insert_rows(f"{home}/q", [])
    limit(client, account, disk_space=used - 1)
    with refused(902, f'Account "{account}" violates disk space limit for medium "default"'):
        client.insert_rows(f"{home}/q", [{"data": "y"}])
    limit(client, account, chunk_count=0)
    with refused(902, f'Account "{account}" violates chunk count limit'):
        client.insert_rows(f"{home}/q", [{"data": "y"}])
    limit(client, account)
    client.insert_rows(f"{home}/q", [{"data": "y"}])
    assert [row["data"] for row in client.select_rows(f"data from [{home}/q]")] == ["x" * 100, "y"]


def test_what_the_system_needs_is_charged_to_its_own_account(client: YtClient) -> None:
    paths = ["//sys", "//sys/queue_agents/consumer_registrations", "//sys/queue_agents/queues", "//sys/tablet_cells"]
    assert [client.get(f"{path}/@account") for path in paths] == ["sys"] * 4
    assert [client.get(f"{path}/@account") for path in ("//tmp", "//home")] == ["tmp"] * 2
