"""Parameters, formats and bodies of commands: right more often than not."""

from __future__ import annotations

import json
import random
from typing import Any, Final

from yt_local.calls.command import Command
from yt_local.commands import COMMANDS
from yt_wire import yson

QUEUE: Final = "//tmp/queue"
TABLE: Final = "//tmp/table"
_PATHS: Final = (
    "//tmp",
    QUEUE,
    TABLE,
    "/",
    "",
    "//",
    "//tmp/@",
    "//tmp/&/@type",
    f"{QUEUE}/@tablets/0/state",
    f"{TABLE}/@schema/-1/name",
    "//tmp/\\x",
    "//tmp/\\xff",
    "//tmp/*",
    "#0-0-0-0",
    f"<cluster=a>{QUEUE}",
    f"<cluster=nowhere>{QUEUE}",
    f"<cluster=5>{QUEUE}",
    f"<columns=5;ranges=5>{TABLE}",
    f"<timestamp=-1;retention_timestamp={2**64 - 1}u>{TABLE}",
    "<append=%true",
    f"{TABLE}{{key}}[5:7,#1]",
    f"{TABLE}[[[",
    "//tmp/\ud7ff\U0010ffff",
    "//tmp" + "/a" * 3000,
    "//tmp/" + "a" * 5000,
    "//sys/users/root",
    "//sys/tokens",
)
_QUERIES: Final = (
    f"* from [{TABLE}]",
    f"sum(1) from [{QUEUE}] group by 1",
    "* from",
    f"{'(' * 3000}1{')' * 3000} from [{TABLE}]",
    f"{'not ' * 3000}true from [{TABLE}]",
    f"{'-' * 3000}1 from [{TABLE}]",
    f"1{'+1' * 3000} from [{TABLE}]",
    f"key in ({','.join(map(str, range(3000)))}) from [{TABLE}]",
    f"key = {'9' * 400} from [{TABLE}]",
    f"key / 0, key % 0 from [{TABLE}]",
    f"1e999, -9223372036854775808 - 1 from [{TABLE}]",
    f"'\\xff\ud7ff' from [{TABLE}] limit 99999999999999999999",
    f"key from [{TABLE}] where key = {{placeholder}}",
    f"{'if(true, ' * 500}1{', 1)' * 500} from [{TABLE}]",
)
_NUMBERS: Final = (0, 1, -1, 2**31, -(2**31), 2**63 - 1, -(2**63), yson.Uint64(2**64 - 1), 1e308, -0.0)
_TYPES: Final = (
    "table",
    "map_node",
    "document",
    "link",
    "queue_consumer",
    "queue_producer",
    "user",
    "group",
    "file",
    "list_node",
    "string_node",
    "int64_node",
)
_TEXTS: Final = ("", "x", "true", "\x00", "\ud7ff", "x" * 70000, "%true", "#", "5u", "0-0-0-0", "read", "map_node")


def as_json(value: Any) -> bytes:
    return json.dumps(value, default=str, ensure_ascii=True).encode()


def fitting_value(choices: random.Random, name: str, annotation: str) -> Any:
    """What fits a parameter of this name and type, more often than not."""
    if choices.random() < 0.1:
        return _value(choices)
    if name == "path" or name.endswith("_path"):
        return choices.choice(_PATHS)
    match name:
        case "query":
            return choices.choice(_QUERIES)
        case "type":
            return choices.choice(_TYPES)
        case "attributes" | "schema":
            schema: Any = choices.choice(
                (
                    [{"name": "a", "type": choices.choice(("int64", "any", "nothing"))}],
                    [{"name": "k", "type": "int64", "sort_order": "ascending"}, {"name": "v", "type": "string"}],
                    [{"name": "k", "type": "uint64", "sort_order": "ascending", "expression": "farm_hash(k)"}],
                    [{"name": "a", "type_v3": {"type_name": "optional", "item": _nested(60, in_maps=True)}}],
                    [],
                    5,
                    [[]],
                )
            )
            table = {
                "dynamic": choices.random() < 0.8,
                "schema": schema,
                "tablet_count": choices.choice((1, 3, -1, 2**60)),
            }
            return schema if name == "schema" else table
        case "requests":
            return [
                {"command": choices.choice(list(COMMANDS)), "parameters": {"path": choices.choice(_PATHS)}}
                for _ in range(choices.randint(0, 5))
            ]
    if "int" in annotation:
        return choices.choice(_NUMBERS[:8])
    if "bool" in annotation:
        return choices.choice((True, False, "true", "0", 1))
    if "list" in annotation:
        return [choices.choice((0, 1, 2, "key", "data")) for _ in range(choices.randint(0, 3))]
    if "dict" in annotation:
        return {choices.choice(_TEXTS): _value(choices, 2) for _ in range(choices.randint(0, 3))}
    return choices.choice(_TEXTS) if "str" in annotation else _value(choices)


def _value(choices: random.Random, depth: int = 0) -> Any:
    match choices.randrange(9 if depth < 4 else 5):
        case 0:
            return choices.choice(_NUMBERS)
        case 1:
            return choices.choice(_TEXTS)
        case 2:
            return choices.random() < 0.5
        case 3:
            return None
        case 4:
            return choices.choice(_PATHS)
        case 5:
            return [_value(choices, depth + 1) for _ in range(choices.randint(0, 4))]
        case 6:
            return {choices.choice(_TEXTS): _value(choices, depth + 1) for _ in range(choices.randint(0, 4))}
        case 7:
            return _nested(choices.choice((10, 60, 250, 300)), in_maps=choices.random() < 0.5)
        case _:
            return yson.with_attributes(choices.choice(_TEXTS), {"a": _value(choices, depth + 1)})


def _nested(depth: int, *, in_maps: bool) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if in_maps else [value]
    return value


def odd_format(choices: random.Random) -> Any:
    """For `input_format` or `output_format`."""
    if choices.random() < 0.05:
        return _value(choices)
    name = choices.choices(("yson", "json", "web_json", "skiff", "dsv", "arrow"), (8, 8, 2, 2, 1, 1))[0]
    style = choices.choices(("text", "pretty", "binary", "nonsense", 5), (8, 4, 4, 1, 1))[0]
    options: Any = choices.choice(({}, {"format": style}, {"encode_utf8": choices.choice((True, False, "false"))}))
    if name == "web_json":
        options = {choices.choice(_WEB_JSON_OPTIONS): choices.choice(("yql", 0, 10, -1, ["key", "data"], None))}
    if name == "skiff":
        options = {"table_skiff_schemas": [_layout(choices)]}
    return yson.with_attributes(name, options) if options else name


_WEB_JSON_OPTIONS: Final = ("value_format", "field_weight_limit", "max_selected_column_count", "column_names")
_WIRE_TYPES: Final = (
    "nothing",
    "boolean",
    "int8",
    "int64",
    "uint64",
    "double",
    "string32",
    "yson32",
    "int128",
    "float",
)
_COMPLEX_WIRE_TYPES: Final = ("tuple", "variant8", "variant16", "repeated_variant8", "repeated_variant16")
_COLUMNS: Final = ("key", "data", "value", "$row_index", "$key_switch", "$sparse_columns", "$other_columns", "")


def _layout(choices: random.Random, depth: int = 0) -> Any:
    """A schema of skiff."""
    if depth > 3 or choices.random() < 0.1:
        return choices.choice(
            ("$other", 5, {"wire_type": choices.choice(_WIRE_TYPES), "name": choices.choice(_COLUMNS)})
        )
    wire_type = "tuple" if depth == 0 else choices.choice((*_WIRE_TYPES, *_COMPLEX_WIRE_TYPES))
    children = [_layout(choices, depth + 1) for _ in range(choices.choice((0, 1, 2, 3)))]
    return {"wire_type": wire_type, "name": choices.choice(_COLUMNS), "children": children}


def odd_body(choices: random.Random, command: Command, input_format: str) -> bytes:
    """Input of a command."""
    if command.input_type == "null" and choices.random() < 0.9:
        return b""
    if choices.random() < 0.8:
        if command.input_type == "structured":
            return as_json(_value(choices)) if input_format == "json" else yson.dumps(_value(choices), "text")
        rows = [_row(choices) for _ in range(choices.choice((0, 1, 3, 500)))]
        if input_format == "json":
            return b"\n".join(map(as_json, rows))
        return yson.dumps_rows(rows, choices.choice(("text", "binary")))
    match choices.randrange(3):
        case 0:
            return choices.randbytes(choices.choice((1, 100, 10_000)))
        case 1:
            return choices.choice((b"[", b"{a=", b"<a=1>", b'{"a":', b"(")) * choices.choice((100, 1000, 100_000))
        case _:
            return choices.choice(
                (b"9" * 10_000, b"-", b"1e999", b"NaN", b"%nan", b"5u5", b'"\\ud800"', b'"\xff"', b"\x02" * 11)
            )


def _row(choices: random.Random) -> dict[str, Any]:
    """For one of the tables, with one thing wrong now and then."""
    row: dict[str, Any] = {"data": choices.choice(_TEXTS)}
    if choices.random() < 0.5:
        row["key"] = choices.choice(_NUMBERS[:8])
    for name in ("$tablet_index", "$sequence_number", "$timestamp", "nothing", ""):
        if choices.random() < 0.1:
            row[name] = choices.choice(_NUMBERS)
    if choices.random() < 0.1:
        row["data"] = _value(choices)
    return row
