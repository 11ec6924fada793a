"""What a node costs with what transactions have made of it; test_state.py shows that counting keeps up with changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from yt_local.schema.schema import parse_schema
from yt_local.store.charges import DEFAULT_ACCOUNT, Charges, Usage
from yt_local.store.chunks import Chunk
from yt_local.store.model import Branch, Content, Node, TableState

CHUNKS = {name: Chunk(name, (size,), size, size) for name, size in {"a": 10, "b": 200, "c": 3000}.items()}
NODE = Node("1-2-3-4", "file", "1-1-1-1", "f", "", "", 1, 1, 1)
IN_A, IN_AB, IN_C = (replace(NODE, content=Content(tuple(names))) for names in ("a", "ab", "c"))


def charges_of(node: Node, branches: Iterable[Branch] = ()) -> Charges:
    by_transaction = {branch.transaction_id: branch for branch in branches}
    return Charges({node.id: node}, lambda _: by_transaction, CHUNKS.get)


def usage(size: int, chunk_count: int) -> Usage:
    return Usage(node_count=1, chunk_count=chunk_count, disk_space=size)


@pytest.mark.parametrize(
    ("node", "branches", "expected", "committed"),
    [
        (NODE, [], usage(0, 0), usage(0, 0)),
        (replace(NODE, content=Content(("a", "b", "a"))), [], usage(220, 3), usage(220, 3)),
        (IN_A, [Branch("t", IN_AB, replaced=True)], usage(210, 2), usage(10, 1)),
        (IN_A, [Branch("t", IN_C, replaced=True)], usage(3010, 2), usage(10, 1)),
        (IN_A, [Branch("t", IN_C)], usage(10, 1), usage(10, 1)),
        (IN_C, [Branch("t", IN_AB, snapshot=True)], usage(3210, 3), usage(3000, 1)),
        (
            IN_A,
            [Branch("t", IN_AB, replaced=True), Branch("u", IN_C, replaced=True)],
            usage(3210, 3),
            usage(10, 1),
        ),
        (replace(IN_A, parent_id=None), [Branch("t", IN_A, snapshot=True)], usage(10, 1), Usage()),
    ],
    ids=["empty", "twice", "appended", "replaced", "attributes alone", "snapshot", "two transactions", "removed"],
)
def test_a_node_costs_all_its_versions_once(
    node: Node, branches: list[Branch], expected: Usage, committed: Usage
) -> None:
    charges = charges_of(node, branches)
    assert charges.usage(DEFAULT_ACCOUNT) == expected
    assert charges.committed_usage(DEFAULT_ACCOUNT) == committed
    assert charges.usage("another") == Usage()


def test_a_node_of_a_transaction_is_charged_to_the_account_the_transaction_gave_it() -> None:
    made = replace(NODE, parent_id=None)
    charges = charges_of(made, [Branch("t", IN_A, replaced=True, attributes={"account": "ada"})])
    assert (charges.usage("ada"), charges.committed_usage("ada")) == (usage(10, 1), Usage())


@pytest.mark.parametrize("node_type", ["user", "group", "account", "tablet_cell", "medium", "table_replica"])
def test_objects_of_the_system_cost_nothing(node_type: str) -> None:
    assert charges_of(replace(NODE, type=node_type)).usage(DEFAULT_ACCOUNT) == Usage()


def test_dynamic_tables_are_named_because_their_rows_change_without_them() -> None:
    schema = parse_schema([{"name": "data", "type": "string"}])
    static, dynamic = (replace(NODE, table=TableState(schema, kind)) for kind in (False, True))
    assert charges_of(static).dynamic_tables(DEFAULT_ACCOUNT) == []
    assert charges_of(dynamic).dynamic_tables(DEFAULT_ACCOUNT) == [dynamic]
