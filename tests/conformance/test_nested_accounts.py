"""Accounts below accounts, and limits that pass between them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import refused

pytestmark = pytest.mark.local_only

LIMITS = {"node_count": 20, "chunk_count": 30, "tablet_count": 2, "disk_space_per_medium": {"default": 1000}}

Make = Callable[..., str]


@pytest.fixture
def make(client: YtClient) -> Iterator[Make]:
    """Makes accounts with limits, below another or not."""
    made: list[str] = []

    def run(parent: str | None = None, **limits: object) -> str:
        name = f"account-{uuid.uuid4().hex[:8]}"
        below = {} if parent is None else {"parent_name": parent}
        client.create("account", attributes={"name": name, "resource_limits": limits, **below})
        made.append(name)
        return name

    yield run
    for name in reversed(made):
        client.remove(f"//sys/accounts/{name}", force=True)


def limit(client: YtClient, account: str, name: str = "node_count") -> int:
    return int(client.get(f"//sys/accounts/{account}/@resource_limits/{name}"))


def test_accounts_have_parents(client: YtClient, make: Make) -> None:
    top = make(**LIMITS)
    inner = make(top, node_count=5)
    assert client.get(f"//sys/accounts/{inner}/@name") == inner
    assert client.get(f"//sys/accounts/{inner}/@parent_name") == top
    assert client.get(f"//sys/accounts/{top}/@parent_name") == "root"
    assert not client.exists("//sys/accounts/root/@parent_name")
    assert client.get(f"//sys/accounts/{top}/@total_children_resource_limits/node_count") == 5
    with refused(1, f'"{inner}" is below it'):
        client.remove(f"//sys/accounts/{top}")
    with refused(1, f'Failed to change account "{top}" parent to "{inner}"', "below itself"):
        client.set(f"//sys/accounts/{top}/@parent_name", inner)
    with refused(905, 'No such account "nope"'):
        client.create("account", attributes={"name": "other", "parent_name": "nope"})
    assert not client.exists("//sys/accounts/other")
    client.set(f"//sys/accounts/{inner}/@parent_name", "root")
    assert client.get(f"//sys/accounts/{top}/@total_children_resource_limits/node_count") == 0


def test_an_account_below_another_begins_with_nothing(client: YtClient, make: Make) -> None:
    top = make(**LIMITS)
    client.create("account", attributes={"name": f"{top}-inner", "parent_name": top})
    assert limit(client, f"{top}-inner") == 0
    client.remove(f"//sys/accounts/{top}-inner")


def test_the_account_above_all_others_cannot_be_used_or_limited(client: YtClient, home: str) -> None:
    with refused(1, "Root account cannot be used"):
        client.set(f"{home}/@account", "root")
    for name, value in (("resource_limits", {}), ("parent_name", "sys"), ("allow_children_limit_overcommit", True)):
        with refused(1, f'Builtin attribute "{name}" cannot be set'):
            client.set(f"//sys/accounts/root/@{name}", value)
    for account in ("root", "sys", "tmp"):
        with refused(1, f'Cannot remove a built-in account "{account}"'):
            client.remove(f"//sys/accounts/{account}")
    assert not client.exists("//sys/accounts/root/@resource_usage")
    whole = client.get("//sys/accounts/root/@recursive_resource_usage/node_count")
    assert whole > client.get("//sys/accounts/sys/@resource_usage/node_count") > 0


def test_limits_of_children_stay_within_those_of_their_parent(client: YtClient, make: Make) -> None:
    top = make(**LIMITS)
    first, second = make(top, node_count=8), make(top, node_count=8)
    words = f'Failed to change resource limits for account "{first}": '
    with refused(1, f'{words}the limit cannot be above that of its parent "{top}"'):
        client.set(f"//sys/accounts/{first}/@resource_limits/node_count", 21)
    with refused(1, f'{words}the change would overcommit its parent "{top}"'):
        client.set(f"//sys/accounts/{first}/@resource_limits/node_count", 13)
    client.set(f"//sys/accounts/{first}/@resource_limits/node_count", 12)
    words = f'Failed to change resource limits for account "{top}": the limit cannot be below '
    with refused(1, f'{words}that of its child account "{first}"'):
        client.set(f"//sys/accounts/{top}/@resource_limits/node_count", 11)
    with refused(1, f"{words}the sum of its children limits"):
        client.set(f"//sys/accounts/{top}/@resource_limits/node_count", 19)
    words = f' parent to "{top}": '
    with refused(1, words, "child resource limit cannot be above that of its parent"):
        make(top, node_count=21)
    with refused(1, words, "the sum of children limits cannot be above parent limits"):
        make(top, node_count=1)
    client.set(f"//sys/accounts/{top}/@allow_children_limit_overcommit", True)
    client.set(f"//sys/accounts/{second}/@resource_limits/node_count", 20)
    with refused(1, f'Failed to forbid overcommit of account "{top}"'):
        client.set(f"//sys/accounts/{top}/@allow_children_limit_overcommit", False)
    client.set(f"//sys/accounts/{second}/@resource_limits/node_count", 8)
    client.set(f"//sys/accounts/{top}/@allow_children_limit_overcommit", False)


def test_what_is_below_an_account_counts_towards_its_limits(client: YtClient, home: str, make: Make) -> None:
    top = make(**LIMITS)
    middle = make(top, node_count=5)
    client.set(f"//sys/accounts/{top}/@allow_children_limit_overcommit", True)
    inner = make(middle, node_count=5)
    client.create("map_node", f"{home}/a", attributes={"account": middle})
    client.create("map_node", f"{home}/a/b", attributes={"account": inner})
    client.set(f"//sys/accounts/{middle}/@allow_children_limit_overcommit", True)
    assert client.get(f"//sys/accounts/{top}/@resource_usage/node_count") == 0
    assert client.get(f"//sys/accounts/{top}/@recursive_resource_usage/node_count") == 2
    assert client.get(f"//sys/accounts/{middle}/@recursive_committed_resource_usage/node_count") == 2
    with refused(1, f'Cannot remove an account "{inner}" because its usage is not zero'):
        client.remove(f"//sys/accounts/{inner}")
    for name in "cde":
        client.create("map_node", f"{home}/a/b/{name}")
    with refused(902, f'Parent account "{middle}" is over Cypress node count limit'):
        client.create("map_node", f"{home}/a/b/f")
    with refused(902, f'Account "{middle}" is over Cypress node count limit'):
        client.create("map_node", f"{home}/a/f")
    client.set(f"//sys/accounts/{top}/@resource_limits/node_count", 5)
    client.set(f"//sys/accounts/{middle}/@parent_name", "root")
    client.set(f"//sys/accounts/{middle}/@resource_limits/node_count", 6)
    client.create("map_node", f"{home}/a/f")
    client.remove(f"{home}/a", recursive=True)


def test_limits_pass_from_account_to_account(client: YtClient, make: Make) -> None:
    source, destination = make(**LIMITS), make(node_count=10, disk_space_per_medium={"default": 5})
    delta = {"node_count": 6, "chunk_count": 9, "disk_space_per_medium": {"default": 300}}
    client.transfer_account_resources(source, destination, delta)
    names = ("node_count", "chunk_count", "tablet_count", "disk_space_per_medium/default", "disk_space")
    assert [limit(client, source, name) for name in names] == [14, 21, 2, 700, 700]
    assert [limit(client, destination, name) for name in names] == [16, 9, 0, 305, 305]
    words = f'Failed to transfer resources from account "{source}" to account "{destination}"'
    with refused(1, words, "it has less than what is to be given"):
        client.transfer_account_resources(source, destination, {"node_count": 15})
    with refused(1, words, 'Limit "node_count" of an account must be an integer of at least 0'):
        client.transfer_account_resources(source, destination, {"node_count": -1})
    with refused(905, 'No such account "nope"'):
        client.transfer_account_resources(source, "nope", {"node_count": 1})
    assert limit(client, source) == 14


def test_limits_pass_through_the_accounts_above_up_to_the_common_one(client: YtClient, make: Make) -> None:
    top = make(**LIMITS)
    left, right = make(top, node_count=10), make(top, node_count=4)
    source, destination = make(left, node_count=7), make(right, node_count=3)
    client.transfer_account_resources(source, destination, {"node_count": 5})
    assert [limit(client, name) for name in (top, left, source, right, destination)] == [20, 5, 2, 9, 8]
    client.transfer_account_resources(top, source, {"node_count": 4})
    assert [limit(client, name) for name in (top, left, source)] == [20, 9, 6]
    with refused(1, "the change would overcommit its parent"):
        client.transfer_account_resources(top, source, {"node_count": 4})
    assert [limit(client, name) for name in (top, left, source)] == [20, 9, 6]
    client.transfer_account_resources(source, source, {"node_count": 100})
    client.transfer_account_resources(source, top, {"node_count": 6})
    assert [limit(client, name) for name in (top, left, source)] == [20, 3, 0]
