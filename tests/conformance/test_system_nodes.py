"""What the web UI reads of `//sys` before and on its pages: foreign-clients.md §10 and §11."""

from __future__ import annotations

import pytest
from yt.wrapper import YtClient, errors

from tests.conformance.harness import RawHttp


def test_what_the_web_interface_asks_before_its_first_page(client: YtClient) -> None:
    [master] = client.list("//sys/primary_masters")
    assert client.list("//sys/media") == ["default"]
    version = client.get(f"//sys/primary_masters/{master}/orchid/service/version")
    assert version == client.get(f"//sys/http_proxies/{client.list('//sys/http_proxies')[0]}/@version")
    assert client.get("//sys/pool_trees/@default_tree") == "default"
    assert client.get("//sys/@master_alerts") == []
    features = client.get_supported_features() if hasattr(client, "get_supported_features") else None
    assert features is None or "int64" in features["primitive_types"]


def test_a_slash_may_end_the_path_of_a_map_of_objects_and_of_no_other(client: YtClient, home: str) -> None:
    for path in ("//sys/accounts", "//sys/users", "//sys/transactions", "//sys/topmost_transactions"):
        assert client.list(f"{path}/") == client.list(path)
    with pytest.raises(errors.YtResponseError):
        client.list(f"{home}/")


def test_an_account_tells_what_is_charged_to_it(client: YtClient, home: str) -> None:
    name = "charged_" + home.rpartition("/")[2]
    client.create("account", attributes={"name": name})
    account = f"//sys/accounts/{name}"
    assert client.get(f"{account}/@resource_usage/node_count") == 0
    client.create("map_node", f"{home}/charged", attributes={"account": name})
    client.create("table", f"{home}/charged/table", attributes={"account": name})
    client.write_table(f"{home}/charged/table", [{"x": "y" * 1000}])
    usage = client.get(f"{account}/@resource_usage")
    assert usage["node_count"] == 2
    assert usage["disk_space"] >= 1000
    assert usage["disk_space_per_medium"] == {"default": usage["disk_space"]}
    assert client.get(f"{account}/@resource_limits/node_count") > 10**9
    client.remove(f"{home}/charged", recursive=True)
    assert client.get(f"{account}/@recursive_resource_usage/disk_space") == 0
    assert name in client.get("//sys/users/root/@usable_accounts")


def test_groups_are_listed_with_their_members_in_every_format(raw: RawHttp) -> None:
    parameters = {"path": "//sys/groups", "attributes": ["members"], "output_format": "json"}
    answer = raw.command("GET", "list", parameters)
    assert answer.status == 200
    assert b'"guest"' in answer.body


def test_there_are_no_operations_and_no_queries(raw: RawHttp) -> None:
    assert raw.command("GET", "list_operations", {}).value["operations"] == []
    assert raw.command("GET", "list_operations", {"enable_ui_mode": "true"}).value["failed_jobs_count"] == 0
    assert raw.command("GET", "list_queries", {}).value == {"queries": [], "incomplete": False, "timestamp": 0}
    for command, code in (
        ("start_operation", 1),
        ("get_operation", 1915),
        ("abort_operation", 200),
        ("start_query", 1),
    ):
        answer = raw.command("POST", command, {"operation_id": "1-2-3-4"})
        assert answer.error
        assert (answer.status, answer.error.code) == (400, code)
    assert raw.command("POST", "merge", {}).status == 404  # v4 has one name for all operations


def test_maps_of_objects_have_types_of_their_own(client: YtClient, home: str) -> None:
    types = {
        "users": "user_map",
        "groups": "group_map",
        "accounts": "account_map",
        "tablet_cells": "tablet_cell_map",
        "tablet_cell_bundles": "tablet_cell_bundle_map",
        "media": "medium_map",
        "racks": "rack_map",
        "cluster_nodes": "cluster_node_map",
        "chunks": "chunk_map",
        "lost_vital_chunks": "lost_vital_chunk_map",
        "pool_trees": "scheduler_pool_tree_map",
        "transactions": "transaction_map",
    }
    listed = client.list("//sys", attributes=["type"])
    for name, shown in types.items():
        assert client.get(f"//sys/{name}/@type") == shown
        assert isinstance(client.list(f"//sys/{name}/"), list)
    assert {str(item): item.attributes["type"] for item in listed if str(item) in types} == types
    client.create("map_node", f"{home}/users")
    assert client.get(f"{home}/users/@type") == "map_node"


def test_clusters_stand_in_one_document(client: YtClient) -> None:
    assert client.get("//sys/clusters/@type") == "document"
    before = client.get("//sys/clusters")
    try:
        client.set("//sys/clusters/far", {"a": 1})
        assert client.get("//sys/clusters/far/a") == 1
        client.set("//sys/clusters", {**before, "farther": {"b": 2}})
        assert client.get("//sys/clusters/farther") == {"b": 2}
        assert not client.exists("//sys/clusters/far")
    finally:
        client.set("//sys/clusters", before)
