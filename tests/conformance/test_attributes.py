"""Attributes of nodes: users' own, builtin ones, and what they say of tables."""

from __future__ import annotations

import re
from typing import Any

import pytest
from yt.wrapper import YtClient
from yt.wrapper import YtError as YtClientError
from yt.yson import to_yson_type

from tests.conformance.harness import NAMES, QUEUE_SCHEMA, Cli, ClusterThread, RawHttp, make_queue, make_sorted, refused
from yt_wire import yson
from yt_wire.guid import Guid


def test_own_attributes_take_any_value(client: YtClient, home: str) -> None:
    for value in (
        "text",
        -1,
        yson.Uint64(2**63),
        1.25,
        True,
        None,
        [1, [2]],
        {"a": {"b": "c"}},
        to_yson_type(1, {"x": 2}),
    ):
        client.set(f"{home}/@mine", value)
        found = client.get(f"{home}/@mine")
        assert found == value
        assert isinstance(found, yson.Uint64) == isinstance(value, yson.Uint64)
    client.remove(f"{home}/@mine")
    assert not client.exists(f"{home}/@mine")


def test_attributes_are_read_and_changed_inside(client: YtClient, home: str) -> None:
    client.set(f"{home}/@mine", {"a": [1, {"b": "c"}]})
    assert client.get(f"{home}/@mine/a/1/b") == "c"
    client.set(f"{home}/@mine/a/1/d", 5)
    client.set(f"{home}/@mine/e", to_yson_type("f", {"inner": 1}))
    client.set(f"{home}/@mine/e/@second", 2)
    client.remove(f"{home}/@mine/a/0")
    assert client.get(f"{home}/@mine/a") == [{"b": "c", "d": 5}]
    assert client.get(f"{home}/@mine/e/@") == {"inner": 1, "second": 2}
    client.remove(f"{home}/@mine/e/@inner")
    assert client.get(f"{home}/@mine/e/@") == {"second": 2}
    with refused(500, "nope"):
        client.get(f"{home}/@mine/nope")


def test_a_missing_attribute_is_an_error_with_its_name(client: YtClient, home: str) -> None:
    with refused(500, "nope"):
        client.get(f"{home}/@nope")
    with refused(500, "nope"):
        client.remove(f"{home}/@nope")
    client.remove(f"{home}/@nope", force=True)
    client.remove(f"{home}/@nope/inner", force=True)
    assert client.get_attribute(home, "nope", default="given") == "given"


def test_setting_all_attributes_replaces_the_own_ones(client: YtClient, home: str) -> None:
    client.set(f"{home}/@a", 1)
    client.set(f"{home}/@opaque", True)
    client.set(f"{home}/@", {"b": 2})
    assert client.get(f"{home}/@user_attributes") == {"b": 2}
    assert not client.get(f"{home}/@opaque")
    for value in (1, "a", [1]):
        with pytest.raises(YtClientError):
            client.set(f"{home}/@", value)
    client.remove(f"{home}/@*")
    assert client.get(f"{home}/@user_attribute_keys") == []


def test_several_attributes_are_set_at_once_or_not_at_all(raw: RawHttp, client: YtClient, home: str) -> None:
    def multiset(values: dict[str, Any]) -> int:
        parameters = {"path": f"{home}/@", "input_format": "yson"}
        return raw.command("PUT", "multiset_attributes", parameters, yson.dumps(values)).status

    client.set(f"{home}/@a", 0)
    assert multiset({"b": 2, "c/d": 3}) == 200
    assert client.get(f"{home}/@user_attributes") == {"a": 0, "b": 2, "c/d": 3}
    assert multiset({"b": 5, "id": "1-2-3-4"}) == 400
    assert client.get(f"{home}/@user_attributes") == {"a": 0, "b": 2, "c/d": 3}


def test_builtin_attributes_are_neither_set_nor_removed(client: YtClient, home: str) -> None:
    make_queue(client, f"{home}/q")
    for name in ("id", "type", "revision", "creation_time", "tablet_state", "queue_status", "schema", "key"):
        with refused(1, name):
            client.set(f"{home}/q/@{name}", "x")
        with refused(1, name):
            client.remove(f"{home}/q/@{name}", force=True)
    assert client.get(f"{home}/q/@tablet_state") == "mounted"


def test_what_only_other_tables_have_is_not_set_either(client: YtClient, home: str) -> None:
    make_queue(client, f"{home}/q")
    client.create("table", f"{home}/t")
    for path, name in (("q", "row_count"), ("t", "tablet_count"), ("t", "tablet_state"), ("t", "pivot_keys")):
        with refused(1, name):
            client.set(f"{home}/{path}/@{name}", 1)
        assert not client.exists(f"{home}/{path}/@{name}")
    schema = [{"name": "a", "type": "string"}]
    with refused(1, "row_count"):
        client.create("table", f"{home}/d", attributes={"dynamic": True, "schema": schema, "row_count": 7})
    assert sorted(client.list(home)) == ["q", "t"]


def test_all_attributes_are_shown_with_the_dear_ones_as_entities(client: YtClient, home: str) -> None:
    make_queue(client, f"{home}/q", mine="x")
    shown = client.get(f"{home}/q/@")
    assert shown["mine"] == "x"
    assert shown["type"] == "table"
    assert shown["dynamic"] == True  # noqa: E712 - the bindings have a boolean of their own
    for name in ("path", "tablets", "queue_status", "queue_partitions"):
        assert shown[name] == None, name  # noqa: E711 - and an entity of their own
    assert set(client.list(f"{home}/q/@")) == set(shown)
    filtered = client.get(f"{home}/q/@", attributes=["path", "mine", "nope"])
    assert filtered == {"path": f"{home}/q", "mine": "x"}


def test_ids_tell_the_type_of_the_object(client: YtClient, home: str) -> None:
    types = {"map_node": 303, "table": 401, "document": 421, "string_node": 300, "boolean_node": 305}
    for node_type, number in types.items():
        node_id = client.create(node_type, f"{home}/{node_type}")
        assert Guid.parse(node_id).object_type == number
    make_queue(client, f"{home}/q")
    assert Guid.parse(client.get(f"{home}/q/@tablets/0/tablet_id")).object_type == 702
    assert Guid.parse(client.get(f"{home}/q/@tablets/0/cell_id")).object_type == 700
    cell_tag = Guid.parse(client.get(f"{home}/@id")).first >> 48
    assert client.get(f"{home}/@native_cell_tag") == cell_tag


def test_times_and_places_are_told(client: YtClient, home: str) -> None:
    client.create("document", f"{home}/d")
    for name in ("creation_time", "modification_time", "access_time"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", client.get(f"{home}/d/@{name}"))
    assert client.get(f"{home}/d/@path") == f"{home}/d"
    assert client.get(f"{home}/d/@key") == "d"
    assert client.get(f"{home}/d/@parent_id") == client.get(f"{home}/@id")
    assert client.get(f"{home}/@count") == 1


def test_changes_raise_revisions(client: YtClient, home: str) -> None:
    path = f"{home}/d"
    client.create("document", path)

    def revisions() -> tuple[int, int, int]:
        names = ("revision", "attribute_revision", "content_revision")
        first, second, third = (client.get(f"{path}/@{name}") for name in names)
        assert all(isinstance(number, yson.Uint64) for number in (first, second, third))
        return first, second, third

    created = revisions()
    client.set(f"{path}/@mine", 1)
    attribute_set = revisions()
    assert attribute_set[0] > created[0]
    assert attribute_set[1] > created[1]
    assert attribute_set[2] == created[2]
    client.set(path, {"a": 1})
    value_set = revisions()
    assert value_set[0] > attribute_set[0]
    assert value_set[1] == attribute_set[1]
    assert value_set[2] > attribute_set[2]
    client.get(path)
    assert revisions() == value_set


def test_booleans_may_be_given_as_words(client: YtClient, cli: Cli, home: str) -> None:
    columns = "[{name=k;type=int64;sort_order=ascending;required=true};{name=v;type=string}]"
    attributes = f"{{dynamic=true;schema={columns};treat_as_queue_consumer=true}}"
    assert cli.run("create", "table", f"{home}/t", "--attributes", attributes).returncode == 0
    for name in ("dynamic", "treat_as_queue_consumer"):
        found = client.get(f"{home}/t/@{name}")
        assert yson.dumps(found) == yson.dumps(True)
    assert client.get(f"{home}/t/@schema")[0]["required"]
    client.set(f"{home}/t/@treat_as_queue_consumer", "false")
    assert not client.get(f"{home}/t/@treat_as_queue_consumer")
    for value in ("perhaps", to_yson_type("perhaps", {"a": 1})):
        with refused(1, "treat_as_queue_consumer"):
            client.set(f"{home}/t/@treat_as_queue_consumer", value)


def test_a_queue_tells_what_it_is(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q", tablet_count=2)
    assert client.get(f"{path}/@type") == "table"
    assert client.get(f"{path}/@dynamic")
    assert not client.get(f"{path}/@sorted")
    assert client.get(f"{path}/@key_columns") == []
    assert client.get(f"{path}/@tablet_count") == 2
    assert client.get(f"{path}/@tablet_state") == "mounted"
    assert client.get(f"{path}/@tablet_count_by_state") == {"mounted": 2}
    assert client.get(f"{path}/@tablet_cell_bundle") == "default"
    assert client.get(f"{path}/@commit_ordering") == "weak"
    assert client.get(f"{path}/@atomicity") == "full"
    assert client.get(f"{path}/@queue_agent_stage") == "production"
    assert client.get(f"{path}/@upstream_replica_id") == "0-0-0-0"
    assert not client.exists(f"{path}/@row_count")
    tablets = client.get(f"{path}/@tablets")
    assert [tablet["index"] for tablet in tablets] == [0, 1]
    for tablet in tablets:
        assert tablet["state"] == "mounted"
        assert client.exists(f"//sys/tablet_cells/{tablet['cell_id']}")
        assert tablet["cell_leader_address"]
        assert tablet["trimmed_row_count"] == tablet["flushed_row_count"] == 0
    assert client.get(f"{path}/@tablets/1/state") == "mounted"


def test_a_sorted_table_tells_what_it_is(client: YtClient, home: str) -> None:
    path = make_sorted(client, f"{home}/t")
    assert client.get(f"{path}/@sorted")
    assert client.get(f"{path}/@key_columns") == client.get(f"{path}/@sorted_by") == ["key"]
    assert client.get(f"{path}/@schema/@unique_keys")
    assert client.get(f"{path}/@schema/@strict")
    assert client.get(f"{path}/@schema/0/sort_order") == "ascending"
    assert not client.exists(f"{path}/@commit_ordering")
    assert not client.exists(f"{path}/@queue_status")
    client.insert_rows(path, [{"key": number, "value": "abc"} for number in range(3)])
    client.delete_rows(path, [{"key": 1}])
    assert client.get(f"{path}/@chunk_row_count") == 2
    assert client.get(f"{path}/@data_weight") == 2 * (1 + 8 + 3)


def test_a_static_table_has_a_row_count_and_no_tablets(client: YtClient, home: str) -> None:
    client.create("table", f"{home}/t")
    assert client.get(f"{home}/t/@row_count") == 0
    assert not client.get(f"{home}/t/@dynamic")
    assert not client.exists(f"{home}/t/@tablet_state")
    assert not client.get(f"{home}/t/@schema/@strict")


def test_sizes_of_a_queue_follow_its_rows(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    assert client.get(f"{path}/@chunk_count") == 0
    client.insert_rows(path, [{"data": "foo"} for _ in range(4)])
    client.trim_rows(path, 0, 1)
    client.freeze_table(path, sync=True)
    assert client.get(f"{path}/@chunk_row_count") == 4
    assert client.get(f"{path}/@data_weight") == client.get(f"{path}/@uncompressed_data_size") == 80
    assert client.get(f"{path}/@chunk_count") == 1
    assert client.get(f"{path}/@tablet_statistics/uncompressed_data_size") == 80
    tablet = client.get(f"{path}/@tablets/0")
    assert tablet["trimmed_row_count"] == 1
    assert tablet["flushed_row_count"] == 4
    assert tablet["statistics"]["unmerged_row_count"] == 4


def test_a_schema_is_told_as_it_was_given_and_in_full(client: YtClient, home: str) -> None:
    make_queue(client, f"{home}/q")
    found = client.get(f"{home}/q/@schema")
    assert [(column["name"], column["type"]) for column in found] == [
        (column["name"], column["type"]) for column in QUEUE_SCHEMA
    ]
    assert found[0]["type_v3"] == {"type_name": "optional", "item": "string"}
    assert not found[0]["required"]
    assert found.attributes == {"strict": True, "unique_keys": False}
    assert client.get(f"{home}/q/@schema_mode") == "strong"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("optimize_for", "sideways"),
        ("in_memory_mode", "sometimes"),
        ("replication_factor", 0),
        ("compression_codec", "lz5"),
        ("erasure_codec", "reed_solomon"),
        ("account", "nobodys"),
        ("treat_as_queue_consumer", True),
        ("queue_agent_stage", ""),
        ("tablet_cell_bundle", 5),
        ("", 1),
    ],
)
def test_values_that_make_no_sense_are_refused(client: YtClient, home: str, name: str, value: Any) -> None:
    make_queue(client, f"{home}/q")
    before = client.get(f"{home}/q/@attribute_revision")
    with pytest.raises(YtClientError):
        client.set(f"{home}/q/@{name}", value) if name else client.set(f"{home}/q/@/", value)
    assert client.get(f"{home}/q/@attribute_revision") == before


def test_what_needs_unmounted_tablets_waits_for_them(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    with refused(1706, "commit ordering"):
        client.set(f"{path}/@commit_ordering", "strong")
    client.unmount_table(path, sync=True)
    client.set(f"{path}/@commit_ordering", "strong")
    assert client.get(f"{path}/@commit_ordering") == "strong"


@pytest.mark.local_only
def test_the_system_directory_introduces_the_cluster(client: YtClient, local: ClusterThread) -> None:
    assert client.get("//sys/@cluster_name") == "pythia"
    assert set(client.list("//sys/clusters")) == {"pythia", "hume"}
    connection = client.get("//sys/@cluster_connection")
    assert connection["cluster_name"] == "pythia"
    assert connection["primary_master"]["addresses"] == [local.address("pythia")]
    assert client.get("//sys/clusters/hume/primary_master/addresses/0") == local.address("hume")
    assert client.exists("//sys/tablet_cell_bundles/default")
    assert not client.exists("//sys/client_config")


def test_queues_and_consumers_are_listed_with_their_revisions(client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q")
    client.create("queue_consumer", f"{home}/c")
    make_sorted(client, f"{home}/t")
    client.create("table", f"{home}/static")
    revisions = client.get("//sys/@queue_agent_object_revisions")
    assert revisions["queues"][queue] == client.get(f"{queue}/@attribute_revision")
    assert revisions["consumers"][f"{home}/c"] == client.get(f"{home}/c/@attribute_revision")
    listed = {*revisions["queues"], *revisions["consumers"]}
    assert {path for path in listed if path.startswith(home)} == {queue, f"{home}/c"}
    client.set(f"{queue}/@auto_trim_config", {"enable": True})
    changed = client.get("//sys/@queue_agent_object_revisions")
    assert changed["queues"][queue] > revisions["queues"][queue]


def test_an_old_mark_of_a_vital_consumer_is_still_there(client: YtClient, home: str) -> None:
    consumer = f"{home}/c"
    client.create("queue_consumer", consumer)
    assert not client.get(f"{consumer}/@vital_queue_consumer")
    client.set(f"{consumer}/@vital_queue_consumer", True)
    assert client.get(f"{consumer}/@vital_queue_consumer")
    for name in ("target_queue", "owner_queue"):  # the first generation's are attributes like any other
        client.set(f"{consumer}/@{name}", "x")
        assert client.get(f"{consumer}/@{name}") == "x"


@pytest.mark.local_only
def test_a_stage_is_looked_for_on_all_clusters(local: ClusterThread, client: YtClient, home: str) -> None:
    queue = f"{home}/q"
    make_queue(client, queue)
    client.set(f"{queue}/@queue_agent_stage", "nowhere")
    with refused(1, 'Queue agent stage "nowhere" is not found'):
        client.get(f"{queue}/@queue_status")
    client.set(f"{queue}/@queue_agent_stage", "elsewhere")
    client.set(f"//sys/clusters/{NAMES[1]}/queue_agent/stages/elsewhere", {"addresses": ["127.0.0.1:1"]})
    with refused(1, "Error executing Orchid request"):
        client.get(f"{queue}/@queue_status")
