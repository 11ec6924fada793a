"""Dynamic tables opened for commands, and their tablets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from yt_local.cypress.resolver import Resolver
from yt_local.rows.row_codec import RowCodec
from yt_local.schema.schema import TableSchema
from yt_local.security.permissions import UNCHECKED, Check
from yt_local.store.model import Node, Tablet
from yt_local.store.replicated_types import refuse_chaos
from yt_local.store.state import ClusterState
from yt_local.tables.tablet_keys import SortedTablets
from yt_wire.error import ErrorCode, YtError


@dataclass(frozen=True, slots=True)
class Table:
    """A dynamic table opened for one command."""

    node: Node
    schema: TableSchema
    codec: RowCodec
    path_of: Callable[[Node], str] = field(compare=False, repr=False)

    @property
    def path(self) -> str:
        """Made when asked for: most commands never say it."""
        return self.path_of(self.node)


class OpenTables:
    """Finds dynamic tables and tablets, fit for what is to be done with them."""

    def __init__(self, state: ClusterState, resolver: Resolver) -> None:
        self._state = state
        self._resolver = resolver
        self._codecs: dict[str, tuple[TableSchema, RowCodec]] = {}

    def open(self, path: str, check: Check) -> Table:
        """A dynamic table by its path.

        Args:
            path: where it is.
            check: whether it may be used for what it is opened for.

        Raises:
            YtError: there is nothing, or no dynamic table, or the user lacks the permission for it.
        """
        node = self._resolver.node(path)
        refuse_chaos(node, path)
        if node.table is None:
            raise YtError(f"{path} is not a table but a {node.type}")
        if not node.table.dynamic:
            raise YtError(f"Table {path} is not dynamic")
        check(node)
        schema = node.table.schema
        known = self._codecs.get(node.id)
        if known is None or known[0] is not schema:
            known = self._codecs[node.id] = schema, RowCodec(schema)
        return Table(node, schema, known[1], self._resolver.path_of)

    def open_ordered(self, path: str, check: Check) -> Table:
        table = self.open(path, check)
        if table.schema.is_sorted:
            raise YtError(f"Table {path} is not ordered")
        return table

    def open_sorted(self, path: str, check: Check) -> Table:
        table = self.open(path, check)
        if not table.schema.is_sorted:
            raise YtError(f"Table {path} is not sorted", ErrorCode.TABLE_MUST_BE_SORTED)
        return table

    def reopened(self, table: Table) -> Table:
        """The same table as it is now; YtError 500 if it is gone."""
        node = self._state.find_node(table.node.id)
        if node is table.node:
            return table
        return self.open(f"#{table.node.id}", UNCHECKED)

    def sorted_tablets(self, table: Table) -> SortedTablets:
        """Tablets of a sorted table by key."""
        return SortedTablets(self._state.tablets.of(table.node.id), table.codec.encode_key)

    def tablet_count(self, table: Table) -> int:
        return len(self._state.tablets.of(table.node.id))

    def writable_tablet(self, table: Table, index: int) -> Tablet:
        """One tablet; YtError 1701 if there is none of this index, 1702 if it is not mounted."""
        tablet = self._tablet(table, index)
        if tablet.state != "mounted":
            raise _not_mounted(table, tablet)
        return tablet

    def readable_tablet(self, table: Table, index: int) -> Tablet:
        """One tablet; YtError 1701 if there is none of this index, 1702 if it cannot be read."""
        return self.checked_readable(table, self._tablet(table, index))

    def checked_readable(self, table: Table, tablet: Tablet) -> Tablet:
        """The tablet given; YtError 1702 if it cannot be read."""
        if not tablet.readable:
            raise _not_mounted(table, tablet)
        return tablet

    def _tablet(self, table: Table, index: int) -> Tablet:
        tablet = self._state.tablets.find(table.node.id, index)
        if tablet is None:
            count = self.tablet_count(table)
            raise YtError(
                f"Invalid tablet index for table {table.path}: expected in range [0,{count - 1}], got {index}",
                ErrorCode.NO_SUCH_TABLET,
            )
        return tablet


def _not_mounted(table: Table, tablet: Tablet) -> YtError:
    return YtError(
        f'Tablet {tablet.id} of table {table.path} is in "{tablet.state}" state',
        ErrorCode.TABLET_NOT_MOUNTED,
        {"tablet_id": tablet.id},
    )
