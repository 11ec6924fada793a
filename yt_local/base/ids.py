"""Ids of objects; clients read the type out of them."""

from __future__ import annotations

import random
from typing import Final

from yt_wire.guid import Guid

OBJECT_TYPES: Final = {
    "transaction": 1,
    "atomic_tablet_transaction": 2,
    "non_atomic_tablet_transaction": 3,
    "nested_transaction": 4,
    "chunk": 100,
    "chunk_list": 101,
    "lock": 200,
    "string_node": 300,
    "int64_node": 301,
    "double_node": 302,
    "map_node": 303,
    "list_node": 304,
    "boolean_node": 305,
    "uint64_node": 306,
    "file": 400,
    "table": 401,
    "transaction_map": 407,
    "orchid": 412,
    "link": 417,
    "topmost_transaction_map": 418,
    "document": 421,
    "lock_map": 422,
    "replicated_table": 425,
    "account": 500,
    "user": 501,
    "group": 502,
    "medium": 408,
    "tablet_cell": 700,
    "tablet": 702,
    "tablet_cell_bundle": 706,
    "table_replica": 709,
    "chaos_replicated_table": 1206,
    **{f"schema:{kind}": 0x8000 | number for kind, number in (("account", 500), ("user", 501), ("group", 502))},
}
"""Numbers of object types as they stand in ids and in RPC requests."""

_TABLET_TRANSACTIONS: Final = {"full": "atomic_tablet_transaction", "none": "non_atomic_tablet_transaction"}

TABLET_TRANSACTION_TYPES: Final = frozenset(OBJECT_TYPES[name] for name in _TABLET_TRANSACTIONS.values())

MASTER_TRANSACTION_TYPES: Final = frozenset(OBJECT_TYPES[name] for name in ("transaction", "nested_transaction"))


class IdGenerator:
    """Fresh object ids of one cluster.

    Args:
        cell_tag: the cluster's number; ids of two clusters differ in it.
        counter: the last number used before a restart.
    """

    def __init__(self, cell_tag: int, counter: int = 0) -> None:
        self._cell_tag = cell_tag
        self._hashes = random.Random(cell_tag << 32 | counter)
        self.counter = counter

    def next(self, object_type: str) -> str:
        """An id such as `10-3e9-10191-dcd2013e` for a `table`."""
        self.counter += 1
        return self._of(object_type, self.counter)

    def of_transaction(self, atomicity: str, start_timestamp: int) -> str:
        """An id of a tablet transaction, which tells when it started; atomicity is `full` or `none`."""
        return self._of(_TABLET_TRANSACTIONS[atomicity], start_timestamp)

    def _of(self, object_type: str, counter: int) -> str:
        type_and_cell = self._cell_tag << 16 | OBJECT_TYPES[object_type]
        return str(Guid.from_parts(counter >> 32, counter & 0xFFFFFFFF, type_and_cell, self._hashes.getrandbits(32)))
