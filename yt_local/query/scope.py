"""What names of columns stand for: the tables of a query side by side in one row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from yt_local.query.expressions import Reference
from yt_local.query.wording import qualified
from yt_local.schema.schema import Column
from yt_wire.error import YtError


@dataclass(frozen=True, slots=True)
class _Part:
    columns: Sequence[Column]
    alias: str | None
    hidden: frozenset[str]


class Scope:
    """Columns of the tables that were added, at their places in the joined row."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._places: dict[tuple[str | None, str], list[Reference]] = {}
        self.columns: list[Column] = []
        """Of the joined row."""

    def add(self, columns: Sequence[Column], alias: str | None, hidden: frozenset[str] = frozenset()) -> None:
        """Put a table behind the others.

        Args:
            columns: of the table.
            alias: what it is called; its columns then go by that name only, else by none.
            hidden: columns that an earlier table has under the same name and with the same values.
        """
        self._parts.append(_Part(columns, alias, hidden))
        for index, column in enumerate(columns, len(self.columns)):
            if column.name not in hidden:
                self._places.setdefault((alias, column.name), []).append(Reference(index, column.physical_type))
        self.columns += columns

    def find(self, name: str, table: str | None) -> Reference | None:
        """The place of a column; YtError if two tables have it."""
        found = self._places.get((table, name), [])
        if len(found) > 1:
            raise YtError(f'Ambiguous resolution for column "{qualified(name, table)}"')
        return found[0] if found else None

    def visible(self) -> Iterator[tuple[str, Reference]]:
        """All columns by the names they have in the query."""
        for part in self._parts:
            for column in part.columns:
                if column.name not in part.hidden:
                    reference = self.find(column.name, part.alias)
                    assert reference is not None
                    yield qualified(column.name, part.alias), reference
