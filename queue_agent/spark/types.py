"""Types of columns: YTsaurus's `type_v3`, Spark's, and how Arrow holds the values in between."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from queue_agent.spark.errors import ColumnError
from queue_agent.spark.options import TypeOptions

TypeV3: TypeAlias = str | Mapping[str, Any]
"""A type as `type_v3` has it: a name, or a map with `type_name`."""

TABLET_INDEX: Final = "__spyt_streaming_src_tablet_index"
ROW_INDEX: Final = "__spyt_streaming_src_row_index"
SERVICE_COLUMNS: Final = (TABLET_INDEX, ROW_INDEX)

SYSTEM_COLUMNS: Final = ("$timestamp", "$cumulative_data_weight")
"""Filled by the cluster when rows are written to an ordered table."""

_METADATA_KEY: Final = "yt"

_MAX_DECIMAL_PRECISION: Final = 35
"""YTsaurus's; Spark's is 38."""

_SIMPLE: Final[Mapping[str, DataType]] = {
    "int8": ByteType(),
    "int16": ShortType(),
    "int32": IntegerType(),
    "int64": LongType(),
    "uint8": ShortType(),
    "uint16": IntegerType(),
    "uint32": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "bool": BooleanType(),
    "utf8": StringType(),
    "json": StringType(),
    "uuid": StringType(),
    "date": DateType(),
    "datetime": TimestampType(),
    "timestamp": TimestampType(),
    "interval": LongType(),
    "date32": DateType(),
    "datetime64": TimestampType(),
    "timestamp64": TimestampType(),
    "interval64": LongType(),
    "null": NullType(),
    "void": NullType(),
}

_V1_NAMES: Final = {"boolean": "bool", "any": "yson"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table and what it is called and typed in Spark."""

    name: str
    """In YTsaurus."""

    type_v3: TypeV3
    """Without the outer `optional` and `tagged`."""

    required: bool
    sort_order: str | None = None

    @property
    def spark_name(self) -> str:
        """A dot would mean a field of a struct to Spark."""
        return self.name.replace(".", "_")

    @property
    def is_composite(self) -> bool:
        """Whether a value is a list or a map rather than one value."""
        return not isinstance(self.type_v3, str) and self.type_v3["type_name"] != "decimal"

    @property
    def is_simple_text(self) -> bool:
        """Whether formats for plain values, as the dsv family, can carry it."""
        return not self.is_composite and self.type_v3 != "yson"


def columns_of(schema: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Columns of a table's `@schema`, whether it says `type_v3` or only `type` and `required`."""
    columns = []
    for entry in schema:
        if "type_v3" in entry:
            inner, required = strip_optional(entry["type_v3"])
        else:
            name = str(entry["type"])
            inner, required = _V1_NAMES.get(name, name), bool(entry.get("required", False))
        sort_order = entry.get("sort_order")
        columns.append(Column(str(entry["name"]), inner, required, str(sort_order) if sort_order else None))
    return columns


def strip_optional(type_v3: Any) -> tuple[TypeV3, bool]:
    """A type without one outer `optional`, and tags around, and whether values are required."""
    if isinstance(type_v3, str):
        return str(type_v3), type_v3 not in ("null", "void")
    if type_v3["type_name"] == "tagged":
        return strip_optional(type_v3["item"])
    if type_v3["type_name"] != "optional":
        return type_v3, True
    item = type_v3["item"]
    while not isinstance(item, str) and item["type_name"] == "tagged":
        item = item["item"]
    return (str(item) if isinstance(item, str) else item), False


def spark_schema(columns: Sequence[Column], options: TypeOptions, *, service_columns: bool = False) -> StructType:
    """The schema of a frame, service columns first; ColumnError names a column that Spark has no type for."""
    fields = [StructField(name, LongType(), nullable=True) for name in SERVICE_COLUMNS] if service_columns else []
    for column in columns:
        metadata = {_METADATA_KEY: json.dumps({"name": column.name, "type_v3": column.type_v3})}
        fields.append(
            StructField(column.spark_name, spark_type(column, options), nullable=not column.required, metadata=metadata)
        )
    names = [field.name for field in fields]
    for name in names:
        if names.count(name) > 1:
            raise ColumnError(f'two columns would be called "{name}": a dot in a name becomes "_"')
    return StructType(fields)


def column_of(field: StructField) -> Column:
    """The column that a field of `spark_schema` was made of."""
    known = json.loads(field.metadata[_METADATA_KEY])
    return Column(known["name"], known["type_v3"], required=not field.nullable)


def spark_type(column: Column, options: TypeOptions) -> DataType:
    """Type of a column in Spark; ColumnError if it has none."""
    if column.is_composite and not options.parsing_type_v3:
        return StringType() if options.any_as_json else BinaryType()
    try:
        return _spark_type(column.type_v3, options)
    except ColumnError as error:
        raise ColumnError(f'column "{column.name}": {error}; leave it out with the option "columns"') from error


def _spark_type(type_v3: TypeV3, options: TypeOptions) -> DataType:
    if isinstance(type_v3, str):
        match type_v3:
            case "string":
                return BinaryType() if options.string_as_binary else StringType()
            case "uint64":
                return LongType() if options.uint64_as == "long" else DecimalType(20, 0)
            case "yson":
                return StringType() if options.any_as_json else BinaryType()
        known = _SIMPLE.get(type_v3)
        if known is None:
            raise ColumnError(f'Spark has no type for "{type_v3}"')
        return known
    match type_v3["type_name"]:
        case "decimal":
            return _decimal(type_v3)
        case "list":
            item, required = strip_optional(type_v3["item"])
            return ArrayType(_inner(item, options), containsNull=not required)
        case "dict":
            key, key_required = strip_optional(type_v3["key"])
            value, required = strip_optional(type_v3["value"])
            if not key_required:
                raise ColumnError("keys of a map in Spark cannot be null")
            return MapType(_inner(key, options), _inner(value, options), valueContainsNull=not required)
        case "struct" | "tuple":
            return StructType([_member(name, item, options) for name, item in members_of(type_v3)])
        case "variant":
            return StructType(
                [
                    StructField(f"_v{name}", _inner(strip_optional(item)[0], options))
                    for name, item in members_of(type_v3)
                ]
            )
        case "optional":
            raise ColumnError("Spark cannot tell an absent value from a null one (optional of optional)")
        case other:
            raise ColumnError(f'Spark has no type for "{other}"')


def _inner(type_v3: TypeV3, options: TypeOptions) -> DataType:
    # SPYT does the same: floats are wider inside of composite values.
    return DoubleType() if type_v3 == "float" else _spark_type(type_v3, options)


def _member(name: str, item: Any, options: TypeOptions) -> StructField:
    inner, required = strip_optional(item)
    return StructField(name, _inner(inner, options), nullable=not required)


def _decimal(type_v3: Mapping[str, Any]) -> DecimalType:
    precision, scale = int(type_v3["precision"]), int(type_v3["scale"])
    if precision > _MAX_DECIMAL_PRECISION:
        raise ColumnError(f"a decimal of {precision} digits; {_MAX_DECIMAL_PRECISION} are supported")
    return DecimalType(precision, scale)


def members_of(type_v3: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Names and types of what a struct, tuple or variant is made of; elements are called `_1`, `_2`, …"""
    if type_v3.get("members") is not None:
        return [(str(member["name"]), member["type"]) for member in type_v3["members"]]
    return [(f"_{index}", element["type"]) for index, element in enumerate(type_v3["elements"], 1)]


_FROM_SPARK: Final[Mapping[type[DataType], str]] = {
    ByteType: "int8",
    ShortType: "int16",
    IntegerType: "int32",
    LongType: "int64",
    FloatType: "float",
    DoubleType: "double",
    BooleanType: "bool",
    StringType: "string",
    BinaryType: "string",
    DateType: "date",
    TimestampType: "timestamp",
    NullType: "null",
}


def table_schema(schema: StructType, *, type_v3: bool) -> list[dict[str, Any]]:
    """A schema for a table that takes a frame; columns that came from a table keep their type.

    Args:
        schema: of the frame.
        type_v3: composite columns as such; otherwise as `any`.

    Raises:
        ColumnError: a column has a type that YTsaurus has no equal of.
    """
    entries = []
    for field in schema.fields:
        if _METADATA_KEY in field.metadata:
            column = column_of(field)
            inner: Any = column.type_v3 if type_v3 or not column.is_composite else "yson"
        else:
            inner = _column_type(field, type_v3=type_v3)
        # YTsaurus refuses `any` that is required: a value of it may be an entity, which is null.
        optional = inner == "yson" or (field.nullable and inner not in ("null", "void"))
        entries.append({"name": field.name, "type_v3": {"type_name": "optional", "item": inner} if optional else inner})
    return entries


def _column_type(field: StructField, *, type_v3: bool) -> TypeV3:
    if isinstance(field.dataType, (ArrayType, MapType, StructType)) and not type_v3:
        return "yson"
    try:
        return _type_v3(field.dataType)
    except ColumnError as error:
        raise ColumnError(f'column "{field.name}": {error}') from error


def _type_v3(data_type: DataType) -> TypeV3:
    known = _FROM_SPARK.get(type(data_type))
    if known is not None:
        return known
    match data_type:
        case DecimalType():
            if data_type.precision > _MAX_DECIMAL_PRECISION:
                raise ColumnError(f"a decimal of {data_type.precision} digits; YTsaurus has {_MAX_DECIMAL_PRECISION}")
            return {"type_name": "decimal", "precision": data_type.precision, "scale": data_type.scale}
        case ArrayType():
            return {"type_name": "list", "item": _optional(data_type.elementType, data_type.containsNull)}
        case MapType():
            return {
                "type_name": "dict",
                "key": _type_v3(data_type.keyType),
                "value": _optional(data_type.valueType, data_type.valueContainsNull),
            }
        case StructType():
            return {
                "type_name": "struct",
                "members": [
                    {"name": field.name, "type": _optional(field.dataType, field.nullable)}
                    for field in data_type.fields
                ],
            }
        case _:
            raise ColumnError(f"YTsaurus has no type for {data_type.simpleString()}")


def _optional(data_type: DataType, nullable: bool) -> TypeV3:
    inner = _type_v3(data_type)
    return {"type_name": "optional", "item": inner} if nullable and inner not in ("null", "void") else inner
