"""Types of columns as YQL writes them, for readers of `web_json`."""

from __future__ import annotations

from typing import Any, Final

from yt_wire.yson import Yson

VALUE_TYPES: Final[tuple[Any, ...]] = (
    ["NullType"],
    *(["DataType", name] for name in ("Int64", "Uint64", "Double", "Boolean", "String", "Yson", "Yson")),
)
"""What values are of whose column the schema does not have: null, numbers, boolean, string, any, composite."""


def yql_type(type_v3: Yson) -> Any:
    """A `type_v3` in its canonical form as YQL writes it."""
    if isinstance(type_v3, str):
        match type_v3:
            case "null":
                return ["NullType"]
            case "void":
                return ["VoidType"]
            case "bool":
                return ["DataType", "Boolean"]
        return ["DataType", type_v3.capitalize()]
    match type_v3["type_name"]:
        case "decimal":
            return ["DataType", "Decimal", str(type_v3["precision"]), str(type_v3["scale"])]
        case "optional":
            return ["OptionalType", yql_type(type_v3["item"])]
        case "list":
            return ["ListType", yql_type(type_v3["item"])]
        case "tagged":
            return ["TaggedType", type_v3["tag"], yql_type(type_v3["item"])]
        case "dict":
            return ["DictType", yql_type(type_v3["key"]), yql_type(type_v3["value"])]
        case "variant":
            return ["VariantType", _members(type_v3)]
    return _members(type_v3)


def _members(type_v3: Yson) -> Any:
    if "members" in type_v3:
        return ["StructType", [[member["name"], yql_type(member["type"])] for member in type_v3["members"]]]
    return ["TupleType", [yql_type(element["type"]) for element in type_v3["elements"]]]
