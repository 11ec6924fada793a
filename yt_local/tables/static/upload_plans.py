"""What a write into a static table makes of the table: by the attributes of the path and the table's schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from yt_local.schema.schema import Column, TableSchema, parse_schema
from yt_local.store.model import TableState
from yt_wire import yson
from yt_wire.error import YtError

WEAK_SCHEMA: Final = TableSchema(columns=(), strict=False)

_STORAGE_ATTRIBUTES: Final = ("optimize_for", "compression_codec", "erasure_codec")
"""Attributes of a path that become attributes of the table or file."""


@dataclass(frozen=True, slots=True)
class UploadPlan:
    """What is to become of a table."""

    append: bool
    exclusive: bool
    """Nobody else may write meanwhile; several may append to a table that is not sorted."""

    table: TableState
    attributes: Mapping[str, Any]
    """To be set on the table."""


def plan_upload(path_attributes: Mapping[str, Any], table: TableState, row_count: int) -> UploadPlan:
    """Decide how to write.

    Args:
        path_attributes: of the path to write to: `append`, `sorted_by`, `schema` and the like.
        table: as it is.
        row_count: of the table as it is.

    Raises:
        YtError: attributes that do not go together, or not with the table.
    """
    append = is_append(path_attributes)
    given = path_attributes.get("schema")
    sort_columns = _sort_columns(path_attributes.get("sorted_by"))
    for name in ("chunk_sort_columns", "chunk_unique_keys"):
        if name in path_attributes:
            raise YtError(f'Path attribute "{name}" is not supported by the local cluster')
    attributes = storage_attributes(path_attributes)
    if given is not None:
        if append:
            raise _incompatible("append", "schema")
        if sort_columns:
            raise _incompatible("sorted_by", "schema")
        return UploadPlan(append, True, TableState(parse_schema(given), dynamic=False), attributes)
    if not table.weak:
        if sort_columns and sort_columns != _key_of(table.schema):
            raise YtError(
                "Key columns mismatch while trying to write into a table with strong schema mode",
                attributes={"key_columns": [name for name, _ in sort_columns], "table_schema": table.schema.to_yson()},
            )
        return UploadPlan(append, not append or table.schema.is_sorted, table, attributes)
    if append and sort_columns and row_count and _key_of(table.schema)[: len(sort_columns)] != sort_columns:
        raise YtError(
            "Key columns mismatch while trying to append sorted data into a non-empty table",
            attributes={
                "append_key_columns": [name for name, _ in sort_columns],
                "current_key_columns": [name for name, _ in _key_of(table.schema)],
            },
        )
    return UploadPlan(
        append,
        not append or bool(sort_columns),
        TableState(_schema_of_keys(sort_columns), dynamic=False, weak=True),
        attributes,
    )


def is_append(path_attributes: Mapping[str, Any]) -> bool:
    """Whether the path asks to add to what is there."""
    value = yson.as_boolean(path_attributes.get("append", False))
    if not isinstance(value, bool):
        raise YtError(f'Path attribute "append" must be a boolean, got {yson.shown(value)}')
    return value


def storage_attributes(path_attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Those attributes of a path that say how content is to be kept; YtError if it is appended to some."""
    found = {name: path_attributes[name] for name in _STORAGE_ATTRIBUTES if name in path_attributes}
    if found and is_append(path_attributes):
        raise _incompatible("append", next(iter(found)))
    return found


def _incompatible(one: str, other: str) -> YtError:
    return YtError(f'YPath attributes "{one}" and "{other}" are not compatible')


def _sort_columns(value: Any) -> Sequence[tuple[str, str]]:
    """Names and sort orders of `sorted_by`, which is a name or a list of names or of maps."""
    if value is None:
        return []
    columns = []
    for item in value if isinstance(value, list) else [value]:
        described = item if isinstance(item, dict) else {"name": item}
        name, order = described.get("name"), described.get("sort_order", "ascending")
        if not isinstance(name, str) or order not in ("ascending", "descending"):
            raise YtError(f'Path attribute "sorted_by" must name columns, got {yson.shown(value)}')
        columns.append((str(name), str(order)))
    if len({name for name, _ in columns}) < len(columns):
        raise YtError(f'Path attribute "sorted_by" names a column twice: {yson.shown(value)}')
    return columns


def _key_of(schema: TableSchema) -> Sequence[tuple[str, str]]:
    return [(column.name, column.sort_order or "ascending") for column in schema.key_columns]


def _schema_of_keys(sort_columns: Sequence[tuple[str, str]]) -> TableSchema:
    columns = tuple(
        Column(name, "any", sort_order="descending" if order == "descending" else "ascending")
        for name, order in sort_columns
    )
    return TableSchema(columns, strict=False)
