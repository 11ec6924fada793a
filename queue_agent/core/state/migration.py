"""What has to be done to bring the state tables to a version: found state to steps."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from queue_agent.core.state.schema import (
    BUNDLE_VERSION,
    BUNDLES,
    INDEX_TABLE,
    INDEX_VERSION,
    INDEXED_TABLE,
    LATEST_VERSION,
    MAY_BE_REPLICATED,
    OWN_TABLES,
    Columns,
    tables_at,
)

REBUILT_SUFFIX: Final = ".rebuilt"
"""Name of a table's successor while rows are copied into it, behind the table's own."""

REPLACED_SUFFIX: Final = ".replaced"
"""Name of the table whose place its successor took; it is kept."""


class MigrationError(Exception):
    """The wanted version cannot be reached; the message says why."""


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A state table as it is."""

    columns: Sequence[str]
    key_columns: Sequence[str]
    bundle: str | None = None
    is_plain: bool = True
    """Neither replicated nor a replica of a replicated table."""

    is_mounted: bool = True
    """Every tablet; frozen tablets are not."""


@dataclass(frozen=True, slots=True)
class FoundState:
    """What there is at the beginning."""

    version: int | None = None
    """None: nobody has written one down."""

    root_exists: bool = True
    tables: Mapping[str, FoundTable] | None = None
    """By name; half-done successors and replaced tables among them. None stands for none."""

    bundles: Collection[str] = ("default",)
    knows_indexes: bool = False
    """Whether the cluster has secondary indexes at all."""

    has_index: bool = False
    """Whether the index of `replicated_table_mapping` is there."""


@dataclass(frozen=True, slots=True)
class CreateDirectory:
    """Make the directory of the tables."""

    def __str__(self) -> str:
        return "create the directory"


@dataclass(frozen=True, slots=True)
class CreateTable:
    """Make a table and mount it."""

    name: str
    columns: Columns
    bundle: str
    attributes: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return f"create table {self.name} in bundle {self.bundle}"


@dataclass(frozen=True, slots=True)
class AddColumns:
    """Give a table further value columns."""

    name: str
    added: Columns

    def __str__(self) -> str:
        return f"add {_names(self.added)} to {self.name}"


@dataclass(frozen=True, slots=True)
class RebuildTable:
    """Copy a table's rows into a successor with further key columns, which takes its place; the old one is kept."""

    name: str
    added: Columns
    """Key columns, and value columns if such are missing, too."""

    def __str__(self) -> str:
        return f"rebuild {self.name} with {_names(self.added)}; the old table stays as {self.name}{REPLACED_SUFFIX}"


@dataclass(frozen=True, slots=True)
class FinishRebuild:
    """Put a successor into the place its table has left already."""

    name: str

    def __str__(self) -> str:
        return f"finish rebuilding {self.name}"


@dataclass(frozen=True, slots=True)
class MoveToBundle:
    """Have another tablet cell bundle serve a table."""

    name: str
    bundle: str

    def __str__(self) -> str:
        return f"move {self.name} to bundle {self.bundle}"


@dataclass(frozen=True, slots=True)
class CreateIndex:
    """Have the cluster keep `replica_mapping` as an index of `replicated_table_mapping`."""

    def __str__(self) -> str:
        return f"create the secondary index {INDEX_TABLE} of {INDEXED_TABLE}"


@dataclass(frozen=True, slots=True)
class MountTable:
    """Have a table served."""

    name: str

    def __str__(self) -> str:
        return f"mount {self.name}"


@dataclass(frozen=True, slots=True)
class SetVersion:
    """Write down that a version is reached."""

    version: int

    def __str__(self) -> str:
        return f"set version {self.version}"


Step: TypeAlias = (
    CreateDirectory
    | CreateTable
    | AddColumns
    | RebuildTable
    | FinishRebuild
    | MoveToBundle
    | CreateIndex
    | MountTable
    | SetVersion
)


def plan_migration(found: FoundState, target: int = LATEST_VERSION) -> list[Step]:
    """Say what to do, version by version.

    Each step can be repeated, and the version is written down behind the steps that lead to it: whatever has been done
    of a plan, the next plan goes on from there. With nothing left to do the plan is empty.

    Args:
        found: the present state.
        target: the version wanted.

    Raises:
        MigrationError: there is no such version, the state is ahead of it, or tables are in the way.
    """
    if not 0 <= target <= LATEST_VERSION:
        raise MigrationError(f"There is no version {target} of the state tables, only 0 to {LATEST_VERSION}")
    if found.version is not None and found.version > target:
        raise MigrationError(f"The state tables are at version {found.version}, they cannot go back to {target}")
    bundle = next((name for name in BUNDLES if name in found.bundles), None)
    if bundle is None:
        raise MigrationError(f"None of the tablet cell bundles {', '.join(BUNDLES)} exists")
    return list(_plan(found, target, bundle))


def notes_on(found: FoundState, target: int) -> list[str]:
    """What people should know of a plan: what it leaves alone and why."""
    notes = [
        f"{name} is replicated or a replica; it is left as it is"
        for name, table in (found.tables or {}).items()
        if not table.is_plain
    ]
    if target >= INDEX_VERSION and not found.knows_indexes:
        notes.append(f"this cluster has no secondary indexes; {INDEX_TABLE} is left out")
    return notes


def _plan(found: FoundState, target: int, bundle: str) -> Iterator[Step]:
    if not found.root_exists:
        yield CreateDirectory()
    tables = dict(found.tables or {})
    for name in tables_at(LATEST_VERSION):
        if _needs_finishing(name, tables):
            yield FinishRebuild(name)
            tables[name] = replace(tables[f"{name}{REBUILT_SUFFIX}"], is_mounted=True)
    # A state without any table is made in the wanted version at once.
    first = found.version if found.version is not None else 0 if tables else target
    for version in range(first, target + 1):
        for name, columns in tables_at(version).items():
            if name == INDEX_TABLE and not (found.knows_indexes and _is_plain(tables, INDEXED_TABLE)):
                continue
            if name not in tables:
                newest = tables_at(target)[name]
                yield CreateTable(name, newest, bundle)
                tables[name] = _table_of(newest, bundle)
            elif tables[name].is_plain:
                yield from _change_table(name, columns, tables, bundle if version == BUNDLE_VERSION > first else None)
            elif name not in MAY_BE_REPLICATED:
                raise MigrationError(f"{name} is no plain table")
        if version == target:
            yield from _finish(found, target, tables, bundle)
        if version != found.version:
            yield SetVersion(version)


def _needs_finishing(name: str, tables: Mapping[str, FoundTable]) -> bool:
    """Whether a successor is to take its place; MigrationError if it is not certain that it is complete."""
    rebuilt, replaced = f"{name}{REBUILT_SUFFIX}", f"{name}{REPLACED_SUFFIX}"
    if rebuilt not in tables:
        if name not in tables and replaced in tables:
            raise MigrationError(
                f"{replaced} exists, but neither {name} nor {rebuilt}: recreated, {name} would be empty. Move"
                f" {replaced} to {name}, or elsewhere if its rows are needed no more. Then run this again"
            )
        return False
    if name in tables:
        raise MigrationError(
            f"Both {name} and {rebuilt} exist: rebuilding was broken off, or {name} was recreated meanwhile. If"
            f" {name} has all rows, remove {rebuilt}; if {rebuilt} has, move {name} away and {rebuilt} into its place."
            " Then run this again"
        )
    if replaced not in tables:
        raise MigrationError(
            f"{rebuilt} exists, but neither {name} nor {replaced}: whether it holds all rows is not known. If it does,"
            f" move it to {name}; if not, remove it. Then run this again"
        )
    return True


def _change_table(name: str, columns: Columns, tables: dict[str, FoundTable], bundle: str | None) -> Iterator[Step]:
    table = tables[name]
    keys = [column.name for column in columns if column.is_key]
    if list(table.key_columns) != keys[: len(table.key_columns)]:
        if list(table.key_columns[: len(keys)]) == keys:
            return  # a later version has added to its key already
        raise MigrationError(f"{name} has the key columns {', '.join(table.key_columns)} instead of {', '.join(keys)}")
    added = tuple(column for column in columns if column.name not in table.columns)
    if added:
        is_key = any(column.is_key for column in added)
        if is_key and f"{name}{REPLACED_SUFFIX}" in tables:
            raise MigrationError(
                f"{name} has to be rebuilt, but {name}{REPLACED_SUFFIX} from an earlier time is in the way: move it"
                " elsewhere or remove it, and run this again"
            )
        yield RebuildTable(name, added) if is_key else AddColumns(name, added)
        names = [*table.columns, *(column.name for column in added)]
        tables[name] = replace(table, columns=names, key_columns=keys, is_mounted=True)
    if bundle is not None and tables[name].bundle != bundle:
        yield MoveToBundle(name, bundle)
        tables[name] = replace(tables[name], bundle=bundle, is_mounted=True)


def _finish(found: FoundState, target: int, tables: Mapping[str, FoundTable], bundle: str) -> Iterator[Step]:
    """What is done once all tables are as they should be."""
    wants_index = target >= INDEX_VERSION and found.knows_indexes and not found.has_index
    if wants_index and _is_plain(tables, INDEXED_TABLE) and _is_plain(tables, INDEX_TABLE):
        yield CreateIndex()
    for name, (columns, attributes) in OWN_TABLES.items():
        if name not in tables:
            yield CreateTable(name, columns, bundle, attributes)
            continue
        added = tuple(one for one in columns if one.name not in tables[name].columns and not one.is_key)
        if added and tables[name].is_plain:
            yield AddColumns(name, added)
    for name, table in tables.items():
        known = name in tables_at(LATEST_VERSION) or name in OWN_TABLES
        if known and table.is_plain and not table.is_mounted:
            yield MountTable(name)


def _is_plain(tables: Mapping[str, FoundTable], name: str) -> bool:
    return name not in tables or tables[name].is_plain


def _table_of(columns: Columns, bundle: str | None) -> FoundTable:
    return FoundTable([column.name for column in columns], [column.name for column in columns if column.is_key], bundle)


def _names(columns: Columns) -> str:
    return ", ".join(column.name for column in columns)
