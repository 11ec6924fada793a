"""Schemas of `skiff`: how the rows of a table are laid out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from yt_local.formats.options import Attributes
from yt_wire import yson
from yt_wire.error import YtError

KEY_SWITCH: Final = "$key_switch"
ROW_INDEX: Final = "$row_index"
RANGE_INDEX: Final = "$range_index"
OTHER_COLUMNS: Final = "$other_columns"
SPARSE_COLUMNS: Final = "$sparse_columns"

_INTEGERS: Final = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64, 128))
SIMPLE_WIRE_TYPES: Final = frozenset({*_INTEGERS, "int256", "nothing", "boolean", "double", "string32", "yson32"})
_COMPLEX: Final = frozenset({"variant8", "variant16", "repeated_variant8", "repeated_variant16", "tuple"})


@dataclass(frozen=True, slots=True)
class SkiffSchema:
    """Layout of one value."""

    wire_type: str
    name: str = ""
    children: tuple[SkiffSchema, ...] = ()

    @property
    def is_simple(self) -> bool:
        return self.wire_type in SIMPLE_WIRE_TYPES

    def without_optional(self) -> tuple[SkiffSchema, bool]:
        """The value's own layout, and whether it stands in a variant with nothing as its other choice."""
        if self.wire_type == "variant8" and len(self.children) == 2 and self.children[0].wire_type == "nothing":
            return replace(self.children[1], name=self.name), True
        return self, False


@dataclass(frozen=True, slots=True)
class SkiffTable:
    """Layout of the rows of a table."""

    dense: tuple[SkiffSchema, ...]
    """In each row, one behind the other; some are no columns but say where the row is from."""

    sparse: tuple[SkiffSchema, ...] | None
    """Of which a row has those that are not null; None: there is no place for them."""

    has_other_columns: bool
    """Whether a row ends in a map of all the other columns."""


def parse_skiff_tables(attributes: Attributes) -> list[SkiffTable]:
    """Read the schemas of a format's attributes, one for each table; YtError if they make no sense."""
    schemas, registry = attributes.get("table_skiff_schemas"), attributes.get("skiff_schema_registry")
    if not isinstance(schemas, list):
        raise YtError('Format "skiff" needs the attribute "table_skiff_schemas", a list of schemas')
    if yson.is_null(registry):
        registry = {}
    if not isinstance(registry, dict):
        raise YtError('Format attribute "skiff_schema_registry" must be a map of schemas')
    return [_table(_parse(schema, registry, ())) for schema in schemas]


def _parse(value: Any, registry: Mapping[str, Any], open_names: Sequence[str]) -> SkiffSchema:
    if yson.is_string(value):
        name = str(yson.plain(value))
        if not name.startswith("$"):
            raise YtError(f'Invalid reference "{name}", reference must start with "$"')
        name = name[1:]
        if name in open_names:
            raise YtError(f'Type "{name}" is recursive, recursive types are forbidden')
        if name not in registry:
            raise YtError(f'Cannot resolve type reference: "{name}"')
        return _parse(registry[name], registry, (*open_names, name))
    if not isinstance(value, dict):
        raise YtError('Invalid type for Skiff schema description; expected "map" or "string"')
    wire_type, own_name = str(value.get("wire_type", "")), value.get("name")
    if wire_type not in SIMPLE_WIRE_TYPES | _COMPLEX:
        raise YtError(f'Error parsing EWireType value "{wire_type}"')
    children = value.get("children")
    if wire_type in SIMPLE_WIRE_TYPES:
        children = []
    elif not isinstance(children, list):
        raise YtError(f'Complex type "{wire_type}" lacks children')
    return SkiffSchema(
        wire_type,
        "" if yson.is_null(own_name) else str(own_name),
        tuple(_parse(child, registry, open_names) for child in children),
    )


def _table(schema: SkiffSchema) -> SkiffTable:
    if schema.wire_type != "tuple":
        raise YtError(f'Invalid wire type for table row: expected "tuple", found "{schema.wire_type}"')
    dense = list(schema.children)
    has_other_columns = bool(dense) and dense[-1].name == OTHER_COLUMNS
    if has_other_columns:
        _expect_wire_type(dense.pop(), "yson32")
    sparse = None
    if dense and dense[-1].name == SPARSE_COLUMNS:
        place = dense.pop()
        _expect_wire_type(place, "repeated_variant16")
        sparse = place.children
    table = SkiffTable(tuple(dense), sparse, has_other_columns)
    _check_names(table)
    return table


def _check_names(table: SkiffTable) -> None:
    names: set[str] = set()
    for index, column in enumerate(table.dense):
        if not column.name:
            raise YtError(f"Element #{index} of row Skiff schema must have a name")
        if column.name in (OTHER_COLUMNS, SPARSE_COLUMNS):
            raise YtError(f'Invalid placement of special column "{column.name}"')
        if column.name == KEY_SWITCH:
            _expect_wire_type(column, "boolean")
        if column.name in (ROW_INDEX, RANGE_INDEX):
            _check_index(column)
    for column in table.sparse or ():
        if not column.name:
            raise YtError(f'Children of "{SPARSE_COLUMNS}" must have nonempty name')
        if column.name in (KEY_SWITCH, ROW_INDEX, RANGE_INDEX, OTHER_COLUMNS, SPARSE_COLUMNS):
            raise YtError(f'Skiff special column "{column.name}" cannot be a child of "{SPARSE_COLUMNS}"')
    for column in (*table.dense, *(table.sparse or ())):
        if column.name in names:
            raise YtError(f'Name "{column.name}" is found multiple times')
        names.add(column.name)


def _check_index(column: SkiffSchema) -> None:
    kinds = [child.wire_type for child in column.children]
    if column.wire_type != "variant8" or kinds not in (["nothing", "int64"], ["nothing", "int64", "nothing"]):
        raise YtError(f'Column "{column.name}" has unsupported Skiff type: "{column.wire_type}"')


def _expect_wire_type(column: SkiffSchema, expected: str) -> None:
    if column.wire_type != expected:
        raise YtError(
            f'Invalid wire type for column "{column.name}": expected "{expected}", found "{column.wire_type}"'
        )
