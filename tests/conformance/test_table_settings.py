"""Attributes of tables by which owners say how tablets are to be mounted and balanced, and how tables are stored."""

from __future__ import annotations

from typing import Any

import pytest
from yt.wrapper import YtClient

from tests.conformance.access import User
from tests.conformance.harness import inside, make_queue, refused, start

DEFAULT_BALANCING = {"enable_auto_reshard": True, "enable_auto_tablet_move": True, "enable_verbose_logging": False}


def test_every_table_has_a_mount_config(client: YtClient, home: str) -> None:
    client.create("table", f"{home}/static")
    for path in (make_queue(client, f"{home}/q"), f"{home}/static"):
        assert client.get(f"{path}/@mount_config") == {}
        client.set(f"{path}/@mount_config/max_dynamic_store_row_count", 5)
        client.set(f"{path}/@mount_config", {**client.get(f"{path}/@mount_config"), "x": 1})
        assert client.get(f"{path}/@mount_config") == {"max_dynamic_store_row_count": 5, "x": 1}
        with refused(1, "mount_config"):
            client.set(f"{path}/@mount_config", 5)


def test_wishes_about_balancing_are_checked_and_kept(client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q")
    config = f"{queue}/@tablet_balancer_config"
    assert client.get(config) == DEFAULT_BALANCING
    client.set(f"{config}/desired_tablet_count", 3)
    client.set(config, {"enable_auto_reshard": False, "mine": "x", "min_tablet_size": 1, "max_tablet_size": 9})
    expected: dict[str, Any] = {**DEFAULT_BALANCING, "enable_auto_reshard": False, "mine": "x"}
    assert client.get(config) == {**expected, "min_tablet_size": 1, "max_tablet_size": 9}
    with refused(1, '"desired_tablet_size" must be less than or equal to "max_tablet_size"'):
        client.set(f"{config}/desired_tablet_size", 10)
    with refused(1, "/min_tablet_count"):
        client.set(f"{config}/min_tablet_count", "many")
    with inside(client, start(client)), refused(1, "Operation cannot be performed in transaction"):
        client.set(f"{config}/desired_tablet_size", 5)
    client.create("table", f"{home}/static")
    assert not client.exists(f"{home}/static/@tablet_balancer_config")


def test_the_balancer_has_nothing_to_do(client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q")
    assert client.reshard_table_automatic(queue) == []
    assert client.balance_tablet_cells("default", [queue]) == []
    with refused(500, "nope"):
        client.balance_tablet_cells("nope")
    with refused(1, "not dynamic"):
        client.create("table", f"{home}/static")
        client.reshard_table_automatic(f"{home}/static")


@pytest.mark.parametrize(
    ("optimize_for", "chunk_format"),
    [("scan", "table_unversioned_columnar"), ("lookup", "table_unversioned_schemaless_horizontal")],
)
def test_chunks_are_told_of_by_their_format(client: YtClient, home: str, optimize_for: str, chunk_format: str) -> None:
    client.create("table", f"{home}/t", attributes={"optimize_for": optimize_for})
    assert client.get(f"{home}/t/@optimize_for_statistics") == {}
    client.write_table(f"{home}/t", [{"a": "xyz"}])
    shown = client.get(f"{home}/t/@")
    for name, key in (("optimize_for_statistics", optimize_for), ("table_chunk_format_statistics", chunk_format)):
        assert shown[name] == None  # noqa: E711 - an entity of the bindings
        statistics = client.get(f"{home}/t/@{name}")
        assert list(statistics) == [key]
        assert statistics[key]["chunk_count"] == 1
        assert statistics[key]["data_weight"] == client.get(f"{home}/t/@data_weight")


def test_there_is_one_cell_of_masters(client: YtClient, bob: User, home: str) -> None:
    client.create("table", f"{home}/t", attributes={"external": False, "external_cell_bias": 0.5})
    assert not client.get(f"{home}/t/@external")
    assert "external_cell_bias" not in client.list(f"{home}/t/@")
    with refused(1, "No secondary masters"):
        client.create("table", f"{home}/u", attributes={"external": True})
    with refused(1, f'User "{bob.name}" is not allowed to create explicitly non-external nodes'):
        bob.client.create("table", f"{home}/u", attributes={"external": False})
