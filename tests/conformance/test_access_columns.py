"""Rules for columns: who may read which of a table that is readable as a whole."""

from __future__ import annotations

from typing import Any

import pytest
from yt.wrapper import TablePath, YtClient

from tests.conformance.access import User, allow, deny
from tests.conformance.harness import RawHttp, make_queue, make_sorted, refused, rows_of
from yt_wire import yson

SCHEMA = [{"name": name, "type": "string"} for name in ("open", "secret", "shared")]
ROW = {"open": "o", "secret": "x", "shared": "s"}


@pytest.fixture
def table(client: YtClient, home: str, bob: User) -> str:
    """Nobody may read `secret`; bob may read `shared`, others may not."""
    acl = [
        allow("users", "read"),
        allow("root", "read", columns=["secret"]),
        allow(bob.name, "read", columns=["shared"]),
    ]
    client.create("table", f"{home}/t", attributes={"schema": SCHEMA, "acl": acl})
    client.write_table(f"{home}/t", [ROW])
    return f"{home}/t"


def test_entries_for_columns_are_kept(client: YtClient, table: str) -> None:
    entry = allow("root", "read", columns=["secret"], inheritance_mode="object_and_descendants")
    assert entry in client.get(f"{table}/@acl")
    assert entry in client.get(f"{table}/@effective_acl")


def test_a_column_that_an_entry_names_is_denied_unless_one_allows_it(client: YtClient, table: str, bob: User) -> None:
    answer = client.check_permission(bob.name, "read", table, columns=["open", "secret", "shared"])
    assert answer["action"] == "allow"
    assert [column["action"] for column in answer["columns"]] == ["allow", "deny", "allow"]
    assert answer["columns"][2]["subject_name"] == bob.name
    assert client.check_permission(bob.name, "full_read", table)["action"] == "deny"
    of_root = client.check_permission("root", "read", table, columns=["secret"])
    assert of_root["columns"] == [{"action": "allow"}]


def test_a_denial_beats_what_allows(client: YtClient, table: str, bob: User) -> None:
    client.set(f"{table}/@acl/end", deny("users", "read", columns=["shared"]))
    answer = client.check_permission(bob.name, "read", table, columns=["shared"])
    assert answer["columns"][0]["action"] == "deny"
    assert answer["columns"][0]["subject_name"] == "users"


def test_rules_for_columns_are_inherited(client: YtClient, home: str, bob: User) -> None:
    client.set(f"{home}/@acl", [allow("users", "read"), allow("root", "read", columns=["secret"])])
    client.create("table", f"{home}/t", attributes={"schema": SCHEMA})
    answer = client.check_permission(bob.name, "read", f"{home}/t", columns=["secret", "open"])
    assert [column["action"] for column in answer["columns"]] == ["deny", "allow"]


def test_columns_that_are_denied_are_not_read(raw: RawHttp, client: YtClient, table: str, bob: User) -> None:
    with refused(901, 'column "secret"'):
        list(bob.client.read_table(table))
    readable = TablePath(table, columns=["open", "shared"])
    assert list(bob.client.read_table(readable)) == [{"open": "o", "shared": "s"}]
    with refused(901, 'column "secret"'):
        list(bob.client.read_table(TablePath(table, columns=["secret"])))
    parameters: dict[str, Any] = {"path": table, "omit_inaccessible_columns": True}
    token = {"Authorization": f"OAuth {bob.client.config['token']}"}
    answer = raw.command("GET", "read_table", parameters, headers=token)
    told = yson.loads(answer.headers["X-YT-Response-Parameters"].encode())
    assert told["omitted_inaccessible_columns"] == ["secret"]
    assert yson.loads(b"[" + answer.body + b"]") == [{"open": "o", "shared": "s"}]
    assert list(client.read_table(table)) == [ROW]


def test_what_is_not_read_whole_is_not_copied(client: YtClient, table: str, bob: User, home: str) -> None:
    client.set(f"{home}/@acl", [allow(bob.name, "read", "write", "remove", "administer")])
    client.create("table", f"{home}/copied")
    with refused(901, "full_read"):
        bob.client.copy(table, f"{home}/copy")
    with refused(901, 'column "secret"'):
        bob.client.concatenate([table], f"{home}/copied")
    assert list(client.read_table(f"{home}/copied")) == []


def test_a_column_of_a_weak_table_is_left_out_of_its_rows(raw: RawHttp, client: YtClient, home: str, bob: User) -> None:
    acl = [allow("users", "read"), allow("root", "read", columns=["secret"])]
    client.create("table", f"{home}/t", attributes={"acl": acl})
    client.write_table(f"{home}/t", [{"secret": 1, "open": 2}])
    with refused(901, 'column "secret"'):
        list(bob.client.read_table(f"{home}/t"))
    token = {"Authorization": f"OAuth {bob.client.config['token']}"}
    parameters = {"path": f"{home}/t", "omit_inaccessible_columns": True}
    answer = raw.command("GET", "read_table", parameters, headers=token)
    assert yson.loads(b"[" + answer.body + b"]") == [{"open": 2}]


def test_rows_of_dynamic_tables_keep_their_columns_too(client: YtClient, home: str, bob: User) -> None:
    acl = [allow("users", "read"), allow("root", "read", columns=["value", "data"])]
    sorted_table, queue = make_sorted(client, f"{home}/t"), make_queue(client, f"{home}/q")
    client.insert_rows(sorted_table, [{"key": 1, "value": "x"}])
    client.insert_rows(queue, [{"data": "x"}])
    for path in (sorted_table, queue):
        client.set(f"{path}/@acl", acl)
    with refused(901, 'column "value"'):
        list(bob.client.lookup_rows(sorted_table, [{"key": 1}]))
    assert list(bob.client.lookup_rows(sorted_table, [{"key": 1}], column_names=["key"])) == [{"key": 1}]
    with refused(901, 'column "value"'):
        rows_of(bob.client, f"* from [{sorted_table}]")
    with refused(901, 'column "data"'):
        list(bob.client.pull_queue(queue, offset=0, partition_index=0))
    with refused(901, 'column "data"'):
        bob.client.get_table_columnar_statistics([queue])
    assert len(rows_of(client, f"* from [{sorted_table}]")) == 1
