"""Table schemas: columns, their rules, and the views commands take of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from yt_local.schema.column_types import (
    SIMPLE_TYPES,
    PhysicalType,
    parse_type,
    parse_type_v3,
    text_of,
    v3_name,
)
from yt_wire import yson
from yt_wire.error import YtError
from yt_wire.yson import Yson

SortOrder: TypeAlias = Literal["ascending", "descending"]

TABLET_INDEX = "$tablet_index"
ROW_INDEX = "$row_index"
TIMESTAMP = "$timestamp"
CUMULATIVE_DATA_WEIGHT = "$cumulative_data_weight"

_SYSTEM_COLUMN_TYPES = {TIMESTAMP: "uint64", CUMULATIVE_DATA_WEIGHT: "int64"}
_MAX_NAME_LENGTH = 256


def is_system_column(name: str) -> bool:
    """Whether the system fills in the column of ordered tables."""
    return name in _SYSTEM_COLUMN_TYPES


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `type` is a name as in the attribute `type`, e.g. `boolean`, `any`, `utf8`."""

    name: str
    type: str
    required: bool = False
    sort_order: SortOrder | None = None
    composite: Yson | None = field(default=None, hash=False)
    """Canonical `type_v3` where `type` and `required` do not say everything: lists, decimals, nested optionals ..."""
    expression: str | None = None
    aggregate: str | None = None
    lock: str | None = None
    group: str | None = None
    max_inline_hunk_size: int | None = None

    @property
    def physical_type(self) -> PhysicalType:
        """What values are stored as; `any` for composite types, whose values are opaque YSON."""
        return SIMPLE_TYPES[self.type].physical

    @property
    def type_v3(self) -> Yson:
        """The type in the new notation."""
        if self.composite is not None:
            return self.composite
        name = v3_name(self.type)
        return name if self.required or self.physical_type == "null" else {"type_name": "optional", "item": name}

    def to_yson(self) -> dict[str, Yson]:
        """The map `@schema` shows; members without a value are absent."""
        result: dict[str, Yson] = {
            "name": self.name,
            "type": self.type,
            "required": self.required,
            "type_v3": self.type_v3,
        }
        for member in ("sort_order", "expression", "aggregate", "lock", "group", "max_inline_hunk_size"):
            value = getattr(self, member)
            if value is not None:
                result[member] = value
        return result

    def validate(self, in_sorted_table: bool) -> None:
        """Check what does not depend on other columns; YtError names the column."""
        try:
            self._validate_name(in_sorted_table)
            if self.sort_order is not None:
                self._validate_key()
            if self.required and self.physical_type in ("any", "null") and self.composite is None:
                raise YtError(f'Column of type "{self.type}" cannot be "required"')
        except YtError as error:
            raise YtError(f'Error validating schema of column "{self.name}"', inner_errors=[error]) from error

    def _validate_name(self, in_sorted_table: bool) -> None:
        if not self.name:
            raise YtError("Column name cannot be empty")
        length = len(self.name.encode())
        if length > _MAX_NAME_LENGTH:
            raise YtError(f"Column name is longer than maximum allowed: {length} > {_MAX_NAME_LENGTH}")
        if not self.name.startswith("$"):
            return
        expected = _SYSTEM_COLUMN_TYPES.get(self.name)
        if expected is None:
            raise YtError(f'System column name "{self.name}" is not allowed here')
        if self.type != expected:
            raise YtError(f'Column "{self.name}" must have "{expected}" type')
        if self.sort_order is not None:
            raise YtError(f'Column "{self.name}" cannot be a part of key')
        if in_sorted_table:
            raise YtError(f'Column "{self.name}" cannot appear in a sorted table')

    def _validate_key(self) -> None:
        if self.aggregate is not None:
            raise YtError("Key column cannot be aggregated")
        if self.lock is not None:
            raise YtError("Column lock cannot be set on a key column")


@dataclass(frozen=True, slots=True)
class TableSchema:
    """Columns in order, key columns first; not valid by itself, see `validate`."""

    columns: tuple[Column, ...]
    strict: bool = True
    unique_keys: bool = False

    @property
    def is_sorted(self) -> bool:
        return any(column.sort_order is not None for column in self.columns)

    @property
    def key_columns(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.sort_order is not None)

    def write_columns(self) -> tuple[Column, ...]:
        """What `insert_rows` takes: for ordered tables `$tablet_index` in front and no system columns.

        Of sorted tables: all but the computed columns.
        """
        if self.is_sorted:
            return tuple(column for column in self.columns if column.expression is None)
        own = tuple(column for column in self.columns if column.name not in _SYSTEM_COLUMN_TYPES)
        return (Column(TABLET_INDEX, "int64"), *own)

    def query_columns(self) -> tuple[Column, ...]:
        """What queries see: ordered tables as if sorted by `$tablet_index` and `$row_index`."""
        if self.is_sorted:
            return self.columns
        return (
            Column(TABLET_INDEX, "int64", sort_order="ascending"),
            Column(ROW_INDEX, "int64", sort_order="ascending"),
            *self.columns,
        )

    def to_yson(self) -> Yson:
        """The value of `@schema`: a list with attributes `strict` and `unique_keys`."""
        columns = [column.to_yson() for column in self.columns]
        return yson.with_attributes(columns, {"strict": self.strict, "unique_keys": self.unique_keys})

    def validate(self) -> None:
        """Check the rules of all tables, static ones too."""
        names: set[str] = set()
        is_sorted = self.is_sorted
        for column in self.columns:
            column.validate(is_sorted)
            if column.name in names:
                raise YtError(f'Duplicate column name "{column.name}" in table schema')
            names.add(column.name)
        width = len(self.key_columns)
        if any(column.sort_order is None for column in self.columns[:width]):
            raise YtError("Key columns must form a prefix of schema")
        if self.unique_keys and not width:
            raise YtError('"unique_keys" can only be true if key columns are present')

    def validate_dynamic(self) -> None:
        """Check the rules of dynamic tables, and those of all tables first."""
        self.validate()
        if not self.strict:
            raise YtError('"strict" cannot be "false" for a dynamic table')
        if self.is_sorted and not self.unique_keys:
            raise YtError('"unique_keys" cannot be "false" for a sorted dynamic table')
        if len(self.key_columns) == len(self.columns):
            raise YtError("There must be at least one non-key column")
        for column in self.key_columns:
            if column.sort_order == "descending":
                raise YtError("Descending sort order is not available in this context yet")
            if column.physical_type == "any":
                raise YtError(f'Dynamic table cannot have key column of type: "{column.type}"')


def parse_schema(value: Yson) -> TableSchema:
    """Read a schema as clients give it: a list of column maps, itself with attributes `strict` and `unique_keys`.

    Members of columns that are not known are ignored, as a real cluster does.

    Raises:
        YtError: it is malformed or breaks a rule of all tables.
    """
    if not isinstance(value, list):
        raise YtError("Error parsing table schema: expected a list of columns")
    attributes = yson.attributes_of(value)
    schema = TableSchema(
        tuple(_parse_column(item) for item in value),
        strict=_parse_boolean(attributes.get("strict", True), "strict"),
        unique_keys=_parse_boolean(attributes.get("unique_keys", False), "unique_keys"),
    )
    schema.validate()
    return schema


def _parse_column(value: Yson) -> Column:
    if not isinstance(value, dict):
        raise YtError("Error parsing table schema: a column must be a map")
    if "name" not in value:
        raise YtError("Error parsing table schema: column name is not specified")
    name = text_of(value["name"], "name")
    try:
        column_type, required, composite = _parse_column_type(value)
        hunk_size = value.get("max_inline_hunk_size")
        if hunk_size is not None and (isinstance(hunk_size, bool) or not isinstance(hunk_size, int) or hunk_size < 0):
            raise YtError('"max_inline_hunk_size" must be a non-negative number')
        return Column(
            name,
            column_type,
            required,
            _parse_sort_order(value.get("sort_order")),
            composite,
            expression=_parse_text(value, "expression"),
            aggregate=_parse_text(value, "aggregate"),
            lock=_parse_text(value, "lock"),
            group=_parse_text(value, "group"),
            max_inline_hunk_size=None if hunk_size is None else int(hunk_size),
        )
    except YtError as error:
        raise YtError(f'Error parsing schema of column "{name}"', inner_errors=[error]) from error


def _parse_column_type(value: dict[str, Yson]) -> tuple[str, bool, Yson | None]:
    required = None if yson.is_null(value.get("required")) else _parse_boolean(value["required"], "required")
    old = None if yson.is_null(value.get("type")) else parse_type(text_of(value["type"], "type"))
    if yson.is_null(value.get("type_v3")):
        if old is None:
            raise YtError("Column type is not specified")
        return old, bool(required), None
    logical = parse_type_v3(value["type_v3"])
    if old is not None and old != logical.type:
        raise YtError(f'"type_v3" does not match "type": expected "{logical.type}", got "{old}"')
    if required is not None and required != logical.required:
        raise YtError('"type_v3" does not match "required"')
    return logical.type, logical.required, logical.composite


def _parse_sort_order(value: Yson) -> SortOrder | None:
    if yson.is_null(value):
        return None
    match text_of(value, "sort_order"):
        case "ascending":
            return "ascending"
        case "descending":
            return "descending"
        case other:
            raise YtError(f'Error parsing ESortOrder value "{other}"')


def _parse_text(value: dict[str, Yson], member: str) -> str | None:
    content = value.get(member)
    if yson.is_null(content):
        return None
    text = text_of(content, member)
    if not text:
        raise YtError(f'"{member}" cannot be empty')
    return text


def _parse_boolean(value: Yson, what: str) -> bool:
    plain = yson.plain(value)
    if plain in ("true", "false"):  # people write `required=true` in YSON, which is a string, and YTsaurus takes it
        return bool(plain == "true")
    if not isinstance(plain, bool):
        raise YtError(f'"{what}" must be a boolean')
    return plain


def system_positions(schema: TableSchema) -> list[tuple[int, str]]:
    """Where the columns the system fills in stand in the schema, in order."""
    return [
        (position, column.name)
        for position, column in enumerate(schema.columns)
        if column.name in (TIMESTAMP, CUMULATIVE_DATA_WEIGHT)
    ]
