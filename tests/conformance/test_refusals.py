"""Commands that are refused, one by one: each with its code, and with the code that its reference promises."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import QUEUE_SCHEMA, SORTED_SCHEMA, RawHttp, make_queue, make_sorted, start
from yt_local.commands import COMMANDS
from yt_local.reference.absent import NEVER_ANSWERED
from yt_wire import yson

# Codes of the Queue API and of dynamic tables that a client has to know.
CODES_OF_THE_QUEUE_API: Final = (
    {1, 402, 500, 501, 900, 901, 902, *range(1700, 1705), 1706, 1707, *range(1712, 1719), *range(1720, 1726)}
    | {1732, 1735, 1736, 1738, 1744, 3100, 3101, 3102, 3103, 3104, 3105, 11000, 11003, 11008}
) - {3104, 3105}  # those two are the agent's
NO_TRANSACTION: Final = "1-2-30001-4"
NO_TABLET_TRANSACTION: Final = "1-2-30002-4"
LOCKED: Final = {"path": "~/locked"}
SESSION: Final = {"producer_path": "~/p", "queue_path": "~/q", "session_id": "s"}
PULL: Final = {"queue_path": "~/q", "partition_index": 0}
ADVANCE: Final = {"queue_path": "~/q", "consumer_path": "~/c", "partition_index": 0, "new_offset": 1}
ROW: Final = {"data": "x"}


@dataclass(frozen=True)
class Refusal:
    """A request, where `~` is a directory of the test's own, and the code it is refused with."""

    command: str
    code: int
    parameters: Mapping[str, Any]
    rows: list[Any] = field(default_factory=list)
    value: bytes = b""

    def __str__(self) -> str:
        return f"{self.command}-{self.code}"


def pushing(code: int, row: Mapping[str, Any], **parameters: Any) -> Refusal:
    return Refusal("push_queue_producer", code, {**SESSION, "epoch": 1, **parameters}, [row])


REFUSALS: Final = [
    Refusal("get", 500, {"path": "~/no"}),
    Refusal("list", 500, {"path": "~/no"}),
    Refusal("list", 500, {"path": "~/locked"}),
    Refusal("create", 1, {"type": "castle", "path": "~/x"}),
    Refusal("create", 500, {"type": "table", "path": "~/no/x"}),
    Refusal("create", 501, {"type": "table", "path": "~/q"}),
    Refusal("create", 402, {"type": "document", **LOCKED, "force": True}),
    Refusal("set", 1, {"path": "~/map"}, value=b"{}"),
    Refusal("set", 1, {"path": "~/q/@dynamic"}, value=b"%false"),
    Refusal("set", 402, LOCKED, value=b"1"),
    Refusal("set", 500, {"path": "~/no/x"}, value=b"1"),
    Refusal("multiset_attributes", 500, {"path": "~/no/@"}, value=b"{a=1}"),
    Refusal("remove", 1, {"path": "~/map"}),
    Refusal("remove", 1, {"path": "//sys"}),
    Refusal("remove", 402, LOCKED),
    Refusal("remove", 500, {"path": "~/no"}),
    Refusal("copy", 1, {"source_path": "~/map", "destination_path": "~/map/x"}),
    Refusal("copy", 500, {"source_path": "~/no", "destination_path": "~/x"}),
    Refusal("copy", 501, {"source_path": "~/map", "destination_path": "~/locked"}),
    Refusal("move", 402, {"source_path": "~/locked", "destination_path": "~/x"}),
    Refusal("link", 500, {"target_path": "~/no", "link_path": "~/x"}),
    Refusal("link", 501, {"target_path": "~/map", "link_path": "~/q"}),
    Refusal("lock", 1, {"path": "~/map"}),
    Refusal("unlock", 1, {"path": "~/map"}),
    Refusal("mount_table", 500, {"path": "~/no"}),
    Refusal("mount_table", 1, {"path": "~/static"}),
    Refusal("mount_table", 1, {"path": "~/q", "first_tablet_index": 7}),
    Refusal("freeze_table", 1706, {"path": "~/unmounted"}),
    Refusal("unfreeze_table", 1706, {"path": "~/unmounted"}),
    Refusal("unmount_table", 1, {"path": "~/static"}),
    Refusal("remount_table", 500, {"path": "~/no"}),
    Refusal("reshard_table", 1, {"path": "~/unmounted"}),
    Refusal("reshard_table", 1706, {"path": "~/q", "tablet_count": 3}),
    Refusal("alter_table", 1706, {"path": "~/q", "schema": QUEUE_SCHEMA}),
    Refusal("alter_table", 500, {"path": "~/no", "schema": QUEUE_SCHEMA}),
    Refusal("get_tablet_infos", 1, {"path": "~/static", "tablet_indexes": [0]}),
    Refusal("get_tablet_infos", 1701, {"path": "~/q", "tablet_indexes": [0, 2]}),
    Refusal("get_tablet_infos", 1702, {"path": "~/unmounted", "tablet_indexes": [0]}),
    Refusal("insert_rows", 1, {"path": "~/static"}, [ROW]),
    Refusal("insert_rows", 1, {"path": "~/q", "update": True}, [ROW]),
    Refusal("insert_rows", 307, {"path": "~/q"}, [{"no": 1}]),
    Refusal("insert_rows", 500, {"path": "~/no"}, [ROW]),
    Refusal("insert_rows", 1701, {"path": "~/q"}, [{**ROW, "$tablet_index": 7}]),
    Refusal("insert_rows", 1702, {"path": "~/unmounted"}, [ROW]),
    Refusal("insert_rows", 11000, {"path": "~/q", "transaction_id": NO_TABLET_TRANSACTION}, [ROW]),
    Refusal("delete_rows", 1716, {"path": "~/q"}, [ROW]),
    Refusal("lookup_rows", 1, {"path": "~/s", "column_names": ["no"]}, [{"key": 1}]),
    Refusal("lookup_rows", 1, {"path": "~/s{key}"}, [{"key": 1}]),
    Refusal("lookup_rows", 307, {"path": "~/s"}, [{"no": 1}]),
    Refusal("lookup_rows", 1702, {"path": "~/unmounted_sorted"}, [{"key": 1}]),
    Refusal("lookup_rows", 1716, {"path": "~/q"}, [{"key": 1}]),
    Refusal("select_rows", 1, {"query": "nonsense"}),
    Refusal("select_rows", 500, {"query": "* from [~/no]"}),
    Refusal("select_rows", 1702, {"query": "* from [~/unmounted]"}),
    Refusal("explain_query", 500, {"query": "* from [~/no]"}),
    Refusal("trim_rows", 1, {"path": "~/q", "tablet_index": 0, "trimmed_row_count": 9}),
    Refusal("trim_rows", 1, {"path": "~/s", "tablet_index": 0, "trimmed_row_count": 0}),
    Refusal("trim_rows", 1701, {"path": "~/q", "tablet_index": 7, "trimmed_row_count": 0}),
    Refusal("trim_rows", 1702, {"path": "~/unmounted", "tablet_index": 0, "trimmed_row_count": 0}),
    Refusal("alter_table_replica", 500, {"replica_id": "1-2-3-4", "mode": "sync"}),
    Refusal("get_in_sync_replicas", 1, {"path": "~/s", "timestamp": 1}, [{"key": 1}]),
    Refusal("get_table_pivot_keys", 1716, {"path": "~/q"}),
    Refusal("write_table", 301, {"path": "~/by_key"}, [{"key": 2}, {"key": 1}]),
    Refusal("write_table", 307, {"path": "~/by_key"}, [{"key": "x"}]),
    Refusal("write_table", 500, {"path": "~/no"}, [{"key": 1}]),
    Refusal("read_table", 500, {"path": "~/no"}),
    Refusal("concatenate", 500, {"source_paths": ["~/no"], "destination_path": "~/static"}),
    Refusal("write_file", 500, {"path": "~/no"}),
    Refusal("read_file", 1, {"path": "~/map"}),
    Refusal("register_queue_consumer", 1, {"queue_path": "~/no", "consumer_path": "~/c", "vital": True}),
    Refusal("pull_queue", 1, {**PULL, "offset": -1}),
    Refusal("pull_queue", 1, {**PULL, "offset": 0, "queue_path": "~/s"}),
    Refusal("pull_queue", 500, {**PULL, "offset": 0, "queue_path": "~/no"}),
    Refusal("pull_queue", 1701, {**PULL, "offset": 0, "partition_index": 7}),
    Refusal("pull_queue", 1702, {**PULL, "offset": 0, "queue_path": "~/unmounted"}),
    Refusal("pull_queue_consumer", 901, {**PULL, "offset": 0, "consumer_path": "~/c"}),
    Refusal("advance_queue_consumer", 901, ADVANCE),
    Refusal("advance_queue_consumer", 3100, {**ADVANCE, "old_offset": 5, "client_side": True}),
    Refusal("create_queue_producer_session", 500, {**SESSION, "producer_path": "~/no"}),
    pushing(1, {**ROW, "$sequence_number": 1}, session_id="no"),
    pushing(307, {"no": 1, "$sequence_number": 1}),
    pushing(1701, {**ROW, "$sequence_number": 1, "$tablet_index": 7}),
    pushing(3101, {**ROW, "$sequence_number": 1}, epoch=2),
    pushing(3102, {**ROW, "$sequence_number": 1}, epoch=0),
    pushing(3103, ROW),
    Refusal("start_transaction", 1000, {"prerequisite_transaction_ids": [NO_TRANSACTION]}),
    Refusal("start_transaction", 11000, {"transaction_id": NO_TRANSACTION}),
    Refusal("ping_transaction", 11000, {"transaction_id": NO_TRANSACTION}),
    Refusal("commit_transaction", 1, {}),
    Refusal("commit_transaction", 11000, {"transaction_id": NO_TABLET_TRANSACTION}),
    Refusal("abort_transaction", 11000, {"transaction_id": NO_TRANSACTION}),
    Refusal("check_permission", 1, {"user": "root", "permission": "fly", "path": "~"}),
    Refusal("check_permission", 500, {"user": "root", "permission": "read", "path": "~/no"}),
    Refusal("check_permission", 900, {"user": "nobody-of-that-name", "permission": "read", "path": "~"}),
    Refusal("parse_ypath", 1, {"path": "//tmp/t[#x"}),
    Refusal("execute_batch", 1, {"requests": [{"command": "fly"}]}),
]
ELSEWHERE: Final = {
    902: "test_account_limits.py",
    1700: "test_tablet_transactions.py",
    1704: "test_tablet_transactions.py",
    1714: "test_replicated_tables.py",
    1717: "test_tablet_transactions.py",
    1718: "test_replicated_tables.py",
    1736: "test_replicated_tables.py",
}
"""Codes that take more than one request."""


@pytest.fixture(scope="module")
def place(_client: YtClient) -> Iterator[str]:
    client = _client
    home = f"//tmp/{uuid.uuid4().hex}"
    client.create("map_node", f"{home}/map/below", recursive=True)
    make_queue(client, f"{home}/q", tablet_count=2)
    make_sorted(client, f"{home}/s")
    for name, schema in (("unmounted", QUEUE_SCHEMA), ("unmounted_sorted", SORTED_SCHEMA)):
        client.create("table", f"{home}/{name}", attributes={"dynamic": True, "schema": schema})
    by_key = [{"name": "key", "type": "int64", "sort_order": "ascending"}]
    client.create("table", f"{home}/by_key", attributes={"schema": by_key})
    client.create("table", f"{home}/static")
    client.create("document", f"{home}/locked")
    client.create("queue_consumer", f"{home}/c")
    client.create("queue_producer", f"{home}/p")
    for _ in range(2):
        client.create_queue_producer_session(f"{home}/p", f"{home}/q", "s")
    transaction_id = start(client)
    with client.Transaction(transaction_id=transaction_id, acquire=False, ping=False):
        client.lock(f"{home}/locked")
    yield home
    client.abort_transaction(transaction_id)
    client.remove(home, recursive=True)


@pytest.mark.parametrize("refusal", REFUSALS, ids=str)
def test_a_request_is_refused_with_its_code(raw: RawHttp, place: str, refusal: Refusal) -> None:
    command = COMMANDS[refusal.command]
    parameters = {name: at_home(value, place) for name, value in refusal.parameters.items()}
    method, body = ("POST" if command.is_volatile else "GET"), None
    if command.input_type != "null":
        parameters["input_format"] = "yson"
        method, body = "PUT", refusal.value or yson.dumps_rows(refusal.rows)
    answer = raw.command(method, refusal.command, parameters, body)
    assert answer.status == 400, answer.body
    assert answer.error is not None
    assert answer.error.find(refusal.code), answer.error


def at_home(value: Any, home: str) -> Any:
    if isinstance(value, list):
        return [at_home(item, home) for item in value]
    return value.replace("~", home) if isinstance(value, str) else value


def test_the_reference_promises_what_is_answered() -> None:
    # One test for all commands shows who asks and what is denied.
    common = {1, 900, 901, 1000, 11000}
    for refusal in REFUSALS:
        assert refusal.code in set(COMMANDS[refusal.command].manual.errors) | common, refusal


def test_every_code_of_the_queue_api_is_tried_or_said_never_to_come() -> None:
    tried = {refusal.code for refusal in REFUSALS} | set(ELSEWHERE)
    assert tried.isdisjoint(NEVER_ANSWERED)
    assert CODES_OF_THE_QUEUE_API - tried - set(NEVER_ANSWERED) == set()
