"""Tablet cells, their bundles, and media: made by attributes, used by tables."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest
from yt.wrapper import YtClient

from tests.conformance.access import User
from tests.conformance.harness import QUEUE_SCHEMA, ClusterThread, RawHttp, refused
from yt_wire.guid import Guid


@pytest.fixture
def bundle(client: YtClient) -> Iterator[str]:
    name = f"bundle-{uuid.uuid4().hex[:8]}"
    client.create("tablet_cell_bundle", attributes={"name": name})
    yield name
    for cell in client.list("//sys/tablet_cells", attributes=["tablet_cell_bundle"]):
        if cell.attributes["tablet_cell_bundle"] == name:
            client.remove(f"//sys/tablet_cells/{cell}")
    client.remove(f"//sys/tablet_cell_bundles/{name}")


@pytest.fixture
def medium(client: YtClient) -> Iterator[str]:
    name = f"medium-{uuid.uuid4().hex[:8]}"
    client.create("domestic_medium", attributes={"name": name})
    yield name
    client.remove(f"//sys/media/{name}")


def test_tables_are_served_by_cells_of_their_bundle(client: YtClient, home: str, bundle: str) -> None:
    client.create("table", f"{home}/q", attributes={"dynamic": True, "schema": QUEUE_SCHEMA})
    with refused(500, 'No such tablet cell bundle "nope"'):
        client.set(f"{home}/q/@tablet_cell_bundle", "nope")
    client.set(f"{home}/q/@tablet_cell_bundle", bundle)
    with refused(1, f'No healthy tablet cells in bundle "{bundle}"'):
        client.mount_table(f"{home}/q")
    cell = client.create("tablet_cell", attributes={"size": 1, "tablet_cell_bundle": bundle, "mine": "x"})
    assert Guid.parse(cell).object_type == 700
    shown = client.get(f"#{cell}/@", attributes=["health", "tablet_cell_bundle", "tablet_count", "status", "mine"])
    status = {"health": "good", "decommissioned": False}
    expected = {"health": "good", "tablet_cell_bundle": bundle, "tablet_count": 0, "status": status, "mine": "x"}
    assert shown == expected
    client.mount_table(f"{home}/q", sync=True)
    assert [tablet["cell_id"] for tablet in client.get(f"{home}/q/@tablets")] == [cell]
    assert client.get(f"//sys/tablet_cells/{cell}/@tablet_count") == 1
    with refused(1, "unmount them first"):
        client.remove(f"//sys/tablet_cells/{cell}")
    client.insert_rows(f"{home}/q", [{"data": "before"}])
    other = client.create("tablet_cell", attributes={"size": 1, "tablet_cell_bundle": bundle})
    client.remove(f"//sys/tablet_cells/{cell}")
    (tablet,) = client.get(f"{home}/q/@tablets")
    assert (tablet["cell_id"], tablet["state"]) == (other, "mounted")
    assert client.get(f"//sys/tablet_cells/{other}/@tablet_count") == 1
    client.insert_rows(f"{home}/q", [{"data": "after"}])
    assert [row["data"] for row in client.select_rows(f"data from [{home}/q]")] == ["before", "after"]
    with refused(1, "since it has 1 active tablet cell"):
        client.remove(f"//sys/tablet_cell_bundles/{bundle}")
    client.unmount_table(f"{home}/q", sync=True)


def test_a_table_of_a_bundle_or_medium_that_is_missing_is_refused(client: YtClient, home: str, medium: str) -> None:
    with refused(500, 'No such tablet cell bundle "nope"'):
        client.create("table", f"{home}/t", attributes={"tablet_cell_bundle": "nope"})
    for node_type in ("table", "file"):
        with refused(719, 'No such medium "nope"'):
            client.create(node_type, f"{home}/t", attributes={"primary_medium": "nope"})
    assert client.list(home) == []
    client.create("table", f"{home}/t", attributes={"primary_medium": medium})
    assert client.get(f"{home}/t/@primary_medium") == medium
    assert client.get(f"//sys/media/{medium}/@type") == client.get("//sys/media/default/@type") == "domestic_medium"
    assert set(client.get("//sys/accounts/tmp/@resource_limits/disk_space_per_medium")) >= {"default", medium}


def test_names_are_given_once(client: YtClient, raw: RawHttp, bundle: str, medium: str) -> None:
    for kind, name in (("tablet_cell_bundle", bundle), ("domestic_medium", medium)):
        with refused(501, name):
            client.create(kind, attributes={"name": name})
        parameters = {"type": kind, "attributes": {"name": name}, "ignore_existing": True}
        answer = raw.command("POST", "create", parameters).value
        parent = {"domestic_medium": "media"}.get(kind, "tablet_cell_bundles")
        assert answer == {"object_id": client.get(f"//sys/{parent}/{name}/@id")}
        with refused(1, "name"):
            client.create(kind)
    with refused(500, 'No such tablet cell bundle "nope"'):
        client.create("tablet_cell", attributes={"tablet_cell_bundle": "nope"})


def test_what_a_cluster_cannot_be_without_stays(client: YtClient) -> None:
    for path in ("//sys/tablet_cell_bundles/default", "//sys/media/default"):
        with refused(1, "built-in"):
            client.remove(path)


@pytest.mark.local_only
def test_only_superusers_make_them(local: ClusterThread, make_user: Callable[[], User]) -> None:
    user = make_user()
    for kind in ("tablet_cell_bundle", "tablet_cell", "domestic_medium"):
        with refused(901, "create"):
            user.client.create(kind, attributes={"name": "mine"})


def test_tables_are_mounted_into_cells_of_their_bundle_alone(client: YtClient, home: str, bundle: str) -> None:
    client.create("table", f"{home}/q", attributes={"dynamic": True, "schema": QUEUE_SCHEMA})
    cell = client.create("tablet_cell", attributes={"size": 1, "tablet_cell_bundle": bundle})
    message = f'Cannot mount tablets into cell {cell} since it belongs to bundle "{bundle}"'
    with refused(1, message):
        client.mount_table(f"{home}/q", cell_id=cell)
    table = client.get(f"{home}/q/@id")
    with refused(500, f"No such tablet cell {table}"):
        client.mount_table(f"{home}/q", cell_id=table)
    client.remove(f"//sys/tablet_cells/{cell}")
