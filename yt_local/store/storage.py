"""All SQL on records of nodes, tablets and transactions and on rows of tables; one writer, in a file or in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from yt_local.store.database import StorageError, open_database

_KEYS_AT_ONCE = 256
"""Looked up by one statement."""


class OrderedRow(NamedTuple):
    """One row of an ordered tablet; `value` is opaque here."""

    row_index: int
    timestamp: int
    cumulative_data_weight: int
    value: bytes


def shown(value: int) -> int | None:
    """What clients see of a timestamp or weight as `marked_rows` has it: null if it is hidden."""
    return value if value >= 0 else None


class SortedRow(NamedTuple):
    """The version of a key that is visible at some moment."""

    key: bytes
    timestamp: int
    value: bytes


class SortedVersion(NamedTuple):
    """One version of a key."""

    timestamp: int
    value: bytes | None
    """The whole row as of then; None for a deletion."""

    written: bytes | None
    """The columns the transaction wrote, as `pack_columns` gives them; None if it was all."""

    @staticmethod
    def pack_columns(columns: int) -> bytes:
        """Column positions as bits of a number, in the form they are stored in."""
        return columns.to_bytes((columns.bit_length() + 7) // 8)

    def has_written(self, position: int) -> bool:
        """Whether the transaction wrote the column at this position."""
        return self.written is None or int.from_bytes(self.written) >> position & 1 == 1


class Storage:
    """A SQLite database.

    A change is durable when `transaction` ends: it survives the death of the process, whatever way it dies.

    Args:
        file: where to keep it; None keeps it in memory.

    Raises:
        StorageError: the file cannot be used; another process that uses it is waited for, for two seconds.
    """

    def __init__(self, file: Path | None) -> None:
        try:
            self._database = open_database(file)
        except (sqlite3.Error, StorageError) as error:
            raise StorageError(f"{file}: {error}") from error

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing."""
        try:
            self._database.execute("BEGIN IMMEDIATE")
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:  # some failures of a commit have ended it already
                self._database.execute("ROLLBACK")
            raise

    def counters(self) -> dict[str, int]:
        return dict(self._database.execute("SELECT name, value FROM counters"))

    def put_counters(self, values: Iterable[tuple[str, int]]) -> None:
        self._database.executemany("INSERT OR REPLACE INTO counters VALUES (?, ?)", values)

    def nodes(self) -> Iterator[bytes]:
        return (record for (record,) in self._database.execute("SELECT record FROM nodes"))

    def put_node(self, node_id: str, record: bytes) -> None:
        self._database.execute("INSERT OR REPLACE INTO nodes VALUES (?, ?)", (node_id, record))

    def delete_node(self, node_id: str) -> None:
        self._database.execute("DELETE FROM nodes WHERE id = ?", (node_id,))

    def tablets(self) -> Iterator[bytes]:
        return (record for (record,) in self._database.execute("SELECT record FROM tablets ORDER BY number"))

    def put_tablet(self, number: int, record: bytes) -> None:
        self._database.execute("INSERT OR REPLACE INTO tablets VALUES (?, ?)", (number, record))

    def delete_tablet(self, number: int) -> None:
        """Drop the tablet's record and all its rows."""
        self._database.execute("DELETE FROM tablets WHERE number = ?", (number,))
        self._database.execute("DELETE FROM ordered_rows WHERE tablet = ?", (number,))
        self._database.execute("DELETE FROM sorted_rows WHERE tablet = ?", (number,))
        self._database.execute("DELETE FROM segments WHERE tablet = ?", (number,))

    def segments(self) -> Iterator[tuple[int, bytes]]:
        """All there are, each with the number of its tablet, in the order of their rows."""
        return iter(self._database.execute("SELECT tablet, record FROM segments ORDER BY tablet, row_index"))

    def put_segment(self, tablet: int, row_index: int, record: bytes) -> None:
        """Insert, or replace the one that begins at this row."""
        self._database.execute("INSERT OR REPLACE INTO segments VALUES (?, ?, ?)", (tablet, row_index, record))

    def delete_segments(self, tablet: int) -> None:
        """Forget all of a tablet; the rows stay."""
        self._database.execute("DELETE FROM segments WHERE tablet = ?", (tablet,))

    def chunks(self) -> Iterator[bytes]:
        return (record for (record,) in self._database.execute("SELECT record FROM chunks"))

    def put_chunk(self, chunk_id: str, record: bytes, blobs: Iterable[tuple[int, bytes, bytes]]) -> None:
        """Keep a new chunk; a blob has the number of its block and a name that is unique there."""
        self._database.execute("INSERT INTO chunks VALUES (?, ?)", (chunk_id, record))
        self._database.executemany("INSERT INTO chunk_blobs VALUES (?, ?, ?, ?)", ((chunk_id, *blob) for blob in blobs))

    def delete_chunk(self, chunk_id: str) -> None:
        self._database.execute("DELETE FROM chunks WHERE id = ?", (chunk_id,))
        self._database.execute("DELETE FROM chunk_blobs WHERE chunk = ?", (chunk_id,))

    def chunk_blob(self, chunk_id: str, block: int, name: bytes) -> bytes | None:
        """One blob of a chunk; None if the block has none of this name."""
        row = self._database.execute(
            "SELECT data FROM chunk_blobs WHERE chunk = ? AND block = ? AND name = ?", (chunk_id, block, name)
        ).fetchone()
        return None if row is None else bytes(row[0])

    def transactions(self) -> Iterator[bytes]:
        return (record for (record,) in self._database.execute("SELECT record FROM transactions"))

    def put_transaction(self, transaction_id: str, record: bytes) -> None:
        self._database.execute("INSERT OR REPLACE INTO transactions VALUES (?, ?)", (transaction_id, record))

    def delete_transaction(self, transaction_id: str) -> None:
        self._database.execute("DELETE FROM transactions WHERE id = ?", (transaction_id,))

    def locks(self) -> Iterator[bytes]:
        return (record for (record,) in self._database.execute("SELECT record FROM locks"))

    def put_lock(self, lock_id: str, record: bytes) -> None:
        self._database.execute("INSERT OR REPLACE INTO locks VALUES (?, ?)", (lock_id, record))

    def delete_lock(self, lock_id: str) -> None:
        self._database.execute("DELETE FROM locks WHERE id = ?", (lock_id,))

    def branches(self) -> Iterator[bytes]:
        return (record for (record,) in self._database.execute("SELECT record FROM branches"))

    def put_branch(self, transaction_id: str, node_id: str, record: bytes) -> None:
        self._database.execute("INSERT OR REPLACE INTO branches VALUES (?, ?, ?)", (transaction_id, node_id, record))

    def delete_branch(self, transaction_id: str, node_id: str) -> None:
        self._database.execute("DELETE FROM branches WHERE transaction_id = ? AND node = ?", (transaction_id, node_id))

    def append_rows(self, tablet: int, rows: Iterable[tuple[int, int, int, bytes]]) -> None:
        """Rows have the fields of `OrderedRow`."""
        self._database.executemany("INSERT INTO ordered_rows VALUES (?, ?, ?, ?, ?)", ((tablet, *row) for row in rows))

    def ordered_rows(self, tablet: int, lower: int, upper: int) -> Iterator[OrderedRow]:
        """Rows with `lower <= row_index < upper`, in order; read as they are taken."""
        cursor = self._database.execute(
            "SELECT row_index, max(timestamp, ~timestamp), max(cumulative_data_weight, ~cumulative_data_weight), value"
            " FROM ordered_rows WHERE tablet = ? AND row_index >= ? AND row_index < ? ORDER BY row_index",
            (tablet, lower, upper),
        )
        return map(OrderedRow._make, cursor)

    def marked_rows(self, tablet: int, lower: int, upper: int) -> Iterator[OrderedRow]:
        """Like `ordered_rows`; timestamps and weights that are hidden are negative: `~` of what they are."""
        cursor = self._database.execute(
            "SELECT row_index, timestamp, cumulative_data_weight, value FROM ordered_rows"
            " WHERE tablet = ? AND row_index >= ? AND row_index < ? ORDER BY row_index",
            (tablet, lower, upper),
        )
        return map(OrderedRow._make, cursor)

    def hide_timestamps(self, tablet: int) -> None:
        """Have clients see none in the rows that are there; the table had no column for it when they were written."""
        self._database.execute(
            "UPDATE ordered_rows SET timestamp = ~timestamp WHERE tablet = ? AND timestamp >= 0", (tablet,)
        )

    def hide_weights(self, tablet: int) -> None:
        """The same for cumulative data weights."""
        self._database.execute(
            "UPDATE ordered_rows SET cumulative_data_weight = ~cumulative_data_weight"
            " WHERE tablet = ? AND cumulative_data_weight >= 0",
            (tablet,),
        )

    def timestamps_of(self, tablet: int, lower: int, upper: int) -> tuple[int, int]:
        """Smallest and greatest timestamp of the rows with `lower <= row_index < upper`; 0 if there are none."""
        row = self._database.execute(
            "SELECT coalesce(min(max(timestamp, ~timestamp)), 0), coalesce(max(max(timestamp, ~timestamp)), 0)"
            " FROM ordered_rows"
            " WHERE tablet = ? AND row_index >= ? AND row_index < ?",
            (tablet, lower, upper),
        ).fetchone()
        return row[0], row[1]

    def delete_rows_from(self, tablet: int, row_index: int) -> None:
        self._database.execute("DELETE FROM ordered_rows WHERE tablet = ? AND row_index >= ?", (tablet, row_index))

    def delete_rows_below(self, tablet: int, row_index: int) -> None:
        self._database.execute("DELETE FROM ordered_rows WHERE tablet = ? AND row_index < ?", (tablet, row_index))

    def move_ordered_rows(self, source: int, target: int, shift: int, weight_shift: int) -> None:
        """Give rows to another tablet, `shift` added to their indexes and `weight_shift` to their weights."""
        self._database.execute(
            "INSERT INTO ordered_rows SELECT ?, row_index + ?, timestamp, CASE WHEN cumulative_data_weight < 0"
            " THEN cumulative_data_weight - ? ELSE cumulative_data_weight + ? END, value"
            " FROM ordered_rows WHERE tablet = ?",
            (target, shift, weight_shift, weight_shift, source),
        )

    def copy_rows(self, source: int, target: int) -> None:
        """Copy all rows, with every version, into an empty tablet."""
        self._database.execute(
            "INSERT INTO ordered_rows SELECT ?, row_index, timestamp, cumulative_data_weight, value"
            " FROM ordered_rows WHERE tablet = ?",
            (target, source),
        )
        self._database.execute(
            "INSERT INTO sorted_rows SELECT ?, key, timestamp, value, written FROM sorted_rows WHERE tablet = ?",
            (target, source),
        )

    def put_versions(
        self, tablet: int, timestamp: int, versions: Iterable[tuple[bytes, bytes | None, bytes | None]]
    ) -> None:
        """Write a version of each key: key, value and written columns as in `SortedVersion`."""
        self._database.executemany(
            "INSERT OR REPLACE INTO sorted_rows VALUES (?, ?, ?, ?, ?)",
            ((tablet, key, timestamp, value, written) for key, value, written in versions),
        )

    def versions(self, tablet: int, key: bytes, timestamp: int) -> list[SortedVersion]:
        """All versions of a key up to a timestamp, newest first."""
        cursor = self._database.execute(
            "SELECT timestamp, value, written FROM sorted_rows WHERE tablet = ? AND key = ? AND timestamp <= ?"
            " ORDER BY timestamp DESC",
            (tablet, key, timestamp),
        )
        return [SortedVersion._make(row) for row in cursor]

    def delete_versions(self, tablet: int, key: bytes, timestamps: Iterable[int]) -> None:
        self._database.executemany(
            "DELETE FROM sorted_rows WHERE tablet = ? AND key = ? AND timestamp = ?",
            ((tablet, key, timestamp) for timestamp in timestamps),
        )

    def move_sorted_rows(self, source: int, target: int, lower: bytes, upper: bytes | None) -> None:
        """Give all versions of keys with `lower <= key < upper` (None: to the end) to another tablet."""
        if upper is None:
            self._database.execute(
                "UPDATE sorted_rows SET tablet = ? WHERE tablet = ? AND key >= ?", (target, source, lower)
            )
        else:
            self._database.execute(
                "UPDATE sorted_rows SET tablet = ? WHERE tablet = ? AND key >= ? AND key < ?",
                (target, source, lower, upper),
            )

    def rewrite_rows(
        self,
        tablet: int,
        key_suffix: bytes,
        convert: Callable[[bytes], bytes],
        convert_written: Callable[[bytes], bytes],
    ) -> None:
        """Lengthen all keys, and give every row a new value and new written columns."""
        ordered = self._database.execute("SELECT row_index, value FROM ordered_rows WHERE tablet = ?", (tablet,))
        self._database.executemany(
            "UPDATE ordered_rows SET value = ? WHERE tablet = ? AND row_index = ?",
            [(convert(value), tablet, row_index) for row_index, value in ordered],
        )
        versions = self._database.execute(
            "SELECT key, timestamp, value, written FROM sorted_rows WHERE tablet = ?", (tablet,)
        )
        self._database.executemany(
            "UPDATE sorted_rows SET key = ?, value = ?, written = ? WHERE tablet = ? AND key = ? AND timestamp = ?",
            [
                (
                    key + key_suffix,
                    None if value is None else convert(value),
                    None if written is None else convert_written(written),
                    tablet,
                    key,
                    timestamp,
                )
                for key, timestamp, value, written in versions
            ],
        )

    def drop_old_versions(self, tablet: int, keys: Iterable[bytes], horizon: int) -> None:
        """Forget versions that were replaced before `horizon`: nobody can ask for them any more."""
        self._database.executemany(
            "DELETE FROM sorted_rows WHERE tablet = ?1 AND key = ?2 AND timestamp <"
            " (SELECT max(timestamp) FROM sorted_rows WHERE tablet = ?1 AND key = ?2 AND timestamp <= ?3)",
            ((tablet, key, horizon) for key in keys),
        )

    def find_version(self, tablet: int, key: bytes, timestamp: int) -> SortedRow | None:
        """What was visible of the key at that timestamp; None if it did not exist."""
        row = self._database.execute(
            "SELECT timestamp, value FROM sorted_rows WHERE tablet = ? AND key = ? AND timestamp <= ?"
            " ORDER BY timestamp DESC LIMIT 1",
            (tablet, key, timestamp),
        ).fetchone()
        return SortedRow(key, *row) if row and row[1] is not None else None

    def find_values(self, tablet: int, keys: Sequence[bytes], timestamp: int) -> dict[bytes, bytes | None]:
        """What was visible of each key at that timestamp; None for those that did not exist."""
        found: dict[bytes, bytes | None] = {}
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            wanted = keys[start : start + _KEYS_AT_ONCE]
            found.update(
                self._database.execute(
                    f"WITH wanted (key) AS (VALUES {', '.join(['(?)'] * len(wanted))})"  # noqa: S608 - question marks are inserted
                    " SELECT key, (SELECT value FROM sorted_rows"
                    " WHERE tablet = ? AND key = wanted.key AND timestamp <= ? ORDER BY timestamp DESC LIMIT 1)"
                    " FROM wanted",
                    (*wanted, tablet, timestamp),
                )
            )
        return found

    def sorted_rows(self, tablet: int, lower: bytes, upper: bytes | None, timestamp: int) -> Iterator[SortedRow]:
        """What was visible at a timestamp of keys with `lower <= key < upper` (None: to the end), in key order."""
        condition = "" if upper is None else " AND key < ?4"
        arguments = (tablet, timestamp, lower) if upper is None else (tablet, timestamp, lower, upper)
        cursor = self._database.execute(
            # SQLite takes the value from the row that gives the maximum.
            "SELECT key, max(timestamp), value FROM sorted_rows WHERE tablet = ?1 AND timestamp <= ?2 AND key >= ?3"  # noqa: S608 - a constant is inserted
            f"{condition} GROUP BY key ORDER BY key",
            arguments,
        )
        return (SortedRow._make(row) for row in cursor if row[2] is not None)
