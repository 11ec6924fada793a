"""The SQLite database of a cluster: its schema, and how a file of it is opened."""

from __future__ import annotations

import sqlite3
from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS nodes (id TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tablets (number INTEGER PRIMARY KEY, record BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS transactions (id TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS locks (id TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS branches (
    transaction_id TEXT NOT NULL,
    node TEXT NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (transaction_id, node)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ordered_rows (
    tablet INTEGER NOT NULL,
    row_index INTEGER NOT NULL,
    timestamp INTEGER NOT NULL,
    cumulative_data_weight INTEGER NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (tablet, row_index)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sorted_rows (
    tablet INTEGER NOT NULL,
    key BLOB NOT NULL,
    timestamp INTEGER NOT NULL,
    value BLOB,
    written BLOB,
    PRIMARY KEY (tablet, key, timestamp)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS segments (
    tablet INTEGER NOT NULL,
    row_index INTEGER NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (tablet, row_index)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS chunks (id TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS chunk_blobs (
    chunk TEXT NOT NULL,
    block INTEGER NOT NULL,
    name BLOB NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (chunk, block, name)
);
"""

_FORMAT_VERSION = 2
_FIRST_VERSION = 1
"""Versions of rows did not tell which columns had been written."""

_LOCK_SECONDS = 2

_PAGE_BYTES = 16384
"""SQLite keeps only up to a quarter of a page of a row in its place; the rest takes a page of its own."""

_MAPPED_BYTES = 2**30
"""Of a file, read in place: keys in no order have each its page, and copying one costs more than finding the row."""


class StorageError(Exception):
    """A file cannot be used as storage; the message names it."""


def open_database(file: Path | None) -> sqlite3.Connection:
    """The database, of the present format; raises `StorageError` or that of SQLite."""
    # One thread only, and transactions opened by hand: the module must not start any by itself.
    database = sqlite3.connect(file or ":memory:", timeout=_LOCK_SECONDS, isolation_level=None)
    try:
        database.execute(f"PRAGMA page_size = {_PAGE_BYTES}")  # of a new file
        database.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        found = database.execute("PRAGMA user_version").fetchone()[0]
        if found == _FIRST_VERSION:
            database.execute("ALTER TABLE sorted_rows ADD COLUMN written BLOB")
        elif found not in (0, _FORMAT_VERSION):
            raise StorageError(f"it has storage format {found}, this program knows {_FORMAT_VERSION}")
        database.executescript(_SCHEMA)
        database.execute(f"PRAGMA user_version = {_FORMAT_VERSION}")
    except BaseException:
        database.close()
        raise
    return database
