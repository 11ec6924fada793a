"""What a format of requests and answers can be asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

from yt_local.schema.schema import Column
from yt_wire import yson
from yt_wire.error import YtError

InputRow: TypeAlias = dict[bytes, Any]

Batch: TypeAlias = Iterable[Any]
"""Rows that follow each other: maps by `str` or `bytes`, None for a missing row, or control records.

A control record is an entity with one attribute; it says where the next row is from.
"""


@dataclass(frozen=True, slots=True)
class RowShape:
    """What is known of rows before the first of them."""

    columns: Sequence[Column] = ()
    """Of the table or the result; rows may have others, and need not have these."""

    selected: Sequence[bytes] | None = None
    """Names of the columns that were asked for; None: all."""

    is_table: bool = False
    """Whether it is a table that is read, rather than the result of a query or a look-up."""


class RowReader(Protocol):
    """Makes rows of pieces of a body."""

    def feed(self, piece: bytes) -> list[InputRow]:
        """The rows that are complete with this piece; YtError if there is something that can be none."""

    def finish(self) -> list[InputRow]:
        """The rows at the very end; YtError if something is left behind them."""


class Format(ABC):
    """One representation of values in bytes."""

    name: str
    mime_type: str
    needs_columns: ClassVar[bool] = False
    """Whether rows can be read only with the columns of their table; others are given none."""

    tables_only: ClassVar[bool] = False
    """Whether only what is read from a table is written so, and no result of a query or a look-up."""

    def read_node(self, data: bytes) -> Any:
        """One value."""
        raise self._rows_only()

    def write_node(self, value: Any) -> bytes:
        """One value."""
        raise self._rows_only()

    @abstractmethod
    def read_rows(self, data: bytes, columns: Sequence[Column]) -> list[InputRow]:
        """Rows of a table with these columns; all strings in them are bytes."""

    @abstractmethod
    def row_reader(self, columns: Sequence[Column]) -> RowReader:
        """A reader of a body that comes in pieces."""

    @abstractmethod
    def encode_rows(self, batches: Iterable[Batch], shape: RowShape) -> Iterator[bytes]:
        """Rows as bytes, piece by piece; YtError if they cannot be written so."""

    def _rows_only(self) -> YtError:
        return YtError(f'Format "{self.name}" is for rows only')

    def _output_only(self) -> YtError:
        return YtError(f'Format "{self.name}" is for output only')


class PlacedRows:
    """Takes control records out of batches and puts what they say into the rows, as columns."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}

    def of(self, batch: Batch) -> Iterator[Mapping[Any, Any]]:
        """The rows of a batch; missing ones are left out."""
        for row in batch:
            if isinstance(row, dict):
                yield {**row, **self._places} if self._places else row
                if b"$row_index" in self._places:
                    self._places[b"$row_index"] += 1
            else:
                self._places |= {b"$" + name.encode(): int(index) for name, index in yson.attributes_of(row).items()}
