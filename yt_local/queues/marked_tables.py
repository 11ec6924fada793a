"""Consumers and producers as tables: `create queue_consumer` and `create queue_producer`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from yt_local.cypress.cypress import Cypress
from yt_local.queues.consumers import CONSUMER_SCHEMA
from yt_local.queues.producers import PRODUCER_SCHEMA
from yt_local.security.permissions import Access
from yt_local.store.state import TreeState
from yt_local.tables.dynamic.tablets import Tablets
from yt_wire import yson


@dataclass(frozen=True, slots=True)
class MarkedTable:
    """A kind of table that has a creation type of its own."""

    schema: yson.Yson
    mark: str
    """Attribute by which the table is recognised."""


MARKED_TABLES: Final[Mapping[str, MarkedTable]] = {
    "queue_consumer": MarkedTable(CONSUMER_SCHEMA, "treat_as_queue_consumer"),
    "queue_producer": MarkedTable(PRODUCER_SCHEMA, "treat_as_queue_producer"),
}


def create_marked_table(
    state: TreeState,
    cypress: Cypress,
    tablets: Tablets,
    access: Access,
    path: str,
    kind: str,
    attributes: Mapping[str, Any],
    **options: bool,
) -> str:
    """Make such a table, mount it, and return its id; its schema and mark are not the caller's choice."""
    marked = MARKED_TABLES[kind]
    all_attributes = {**attributes, "dynamic": True, "schema": marked.schema, marked.mark: True}
    with state.change():
        table_id = cypress.create(access, path, "table", all_attributes, **options)
        tablets.mount(access, f"#{table_id}")
    return table_id
