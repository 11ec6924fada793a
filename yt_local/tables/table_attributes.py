"""Attributes of tables, of their tablets, and of what consists of chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from yt_local.base.clock import MIN_TIMESTAMP
from yt_local.cypress.settable_attributes import (
    is_dynamic,
    is_queue,
    is_replicated,
    is_sorted_dynamic,
    is_table,
)
from yt_local.cypress.transaction_attributes import Computed
from yt_local.store.model import Node, TableState, Tablet
from yt_local.store.replicated_types import NO_REPLICA, UPSTREAM_REPLICA_ID
from yt_local.store.state import TreeState
from yt_local.tables.replication.replica_attributes import describe_replicas
from yt_local.tables.replication.replication import Replication
from yt_local.tables.static.content_attributes import content_attributes, measure_content
from yt_local.tables.static.table_sizes import TableSize, measure_tablet
from yt_local.tables.tablet_keys import key_to_yson
from yt_wire import yson


def table_attributes(state: TreeState, replication: Replication) -> Mapping[str, Computed]:
    """By name."""
    committed = state.committed

    def size(node: Node) -> TableSize:
        return measure_content(committed, node)

    def tablets(node: Node) -> list[dict[str, Any]]:
        return [_describe(state, node, tablet) for tablet in committed.tablets.of(node.id)]

    return {
        "schema": (is_table, lambda node: _table(node).schema.to_yson()),
        "schema_mode": (is_table, lambda node: "weak" if _table(node).weak else "strong"),
        "dynamic": (is_table, lambda node: _table(node).dynamic),
        "sorted": (is_table, lambda node: _table(node).schema.is_sorted),
        "key_columns": (is_table, lambda node: [column.name for column in _table(node).schema.key_columns]),
        "sorted_by": (
            lambda node: is_table(node) and _table(node).schema.is_sorted,
            lambda node: [column.name for column in _table(node).schema.key_columns],
        ),
        UPSTREAM_REPLICA_ID: (
            lambda node: is_dynamic(node) and node.type == "table",
            lambda node: node.attributes.get(UPSTREAM_REPLICA_ID, NO_REPLICA),
        ),
        "replicas": (is_replicated, lambda node: describe_replicas(replication, node)),
        "tablet_count": (is_dynamic, lambda node: len(committed.tablets.of(node.id))),
        "tablet_state": (is_dynamic, lambda node: _tablet_state(committed.tablets.of(node.id))),
        "tablet_count_by_state": (
            is_dynamic,
            lambda node: dict(Counter(tablet.state for tablet in committed.tablets.of(node.id))),
        ),
        "tablets": (is_dynamic, tablets),
        "unmerged_row_count": (is_sorted_dynamic, lambda node: size(node).row_count),
        "tablet_statistics": (is_dynamic, lambda node: size(node).statistics()),
        **content_attributes(committed),
        "retained_timestamp": (is_sorted_dynamic, lambda _: yson.Uint64(MIN_TIMESTAMP)),
        "unflushed_timestamp": (is_sorted_dynamic, lambda _: yson.Uint64(committed.timestamps.present)),
        "pivot_keys": (
            is_sorted_dynamic,
            lambda node: [_pivot_key(node, tablet) for tablet in committed.tablets.of(node.id)],
        ),
        "tablet_error_count": (is_dynamic, lambda _: 0),
        "tablet_errors": (is_dynamic, lambda _: []),
        "remount_needed_tablet_count": (is_dynamic, lambda _: 0),
        "last_commit_timestamp": (
            is_dynamic,
            lambda node: yson.Uint64(
                max((tablet.last_write_timestamp for tablet in committed.tablets.of(node.id)), default=0)
            ),
        ),
    }


def _tablet_state(tablets: Sequence[Tablet]) -> str:
    """`@tablet_state`: the state all tablets share, or `mixed`."""
    states = {tablet.state for tablet in tablets}
    if not states:
        return "unmounted"
    return states.pop() if len(states) == 1 else "mixed"


def _describe(state: TreeState, node: Node, tablet: Tablet) -> dict[str, Any]:
    described: dict[str, Any] = {
        "index": tablet.index,
        "tablet_id": tablet.id,
        "state": tablet.state,
        "statistics": measure_tablet(state.committed, _table(node).schema, tablet).statistics(),
        "performance_counters": {},
        "last_commit_timestamp": yson.Uint64(tablet.last_write_timestamp),
        "mount_revision": yson.Uint64(tablet.mount_revision),
        "error_count": 0,
        "replication_error_count": 0,
    }
    cell = state.find_node(tablet.cell_id) if tablet.cell_id else None
    if cell:
        described["cell_id"] = cell.id
        for peer in cell.attributes["peers"][:1]:
            described["cell_leader_address"] = peer["address"]
    if is_queue(node):
        described["trimmed_row_count"] = tablet.trimmed_row_count
        described["flushed_row_count"] = tablet.flushed_row_count
    else:
        described["pivot_key"] = _pivot_key(node, tablet)
    return described


def _pivot_key(node: Node, tablet: Tablet) -> list[Any]:
    return key_to_yson(_table(node).schema.key_columns, tablet.pivot_key)


def _table(node: Node) -> TableState:
    assert node.table is not None, "only asked of tables"
    return node.table
