"""Odd values wherever an agent reads what others have written; what it reads is taken from its own tables."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from queue_agent.config.agent import DYNAMIC_SECTIONS, AgentConfig
from queue_agent.core.exports.config import parse_exports
from queue_agent.core.exports.progress import StoredProgress, TabletProgress
from queue_agent.core.state.attributes import CONSUMER_ATTRIBUTES, QUEUE_ATTRIBUTES
from queue_agent.core.state.schema import LATEST_VERSION, StateColumn, tables_at
from queue_agent.core.state.trim_config import AutoTrimConfig
from yt_wire import yson

HUGE_NUMBERS: Final = (
    2**31,
    2**53 + 1,
    10**14,
    10**15,
    86_400_000 * 999_999_999,
    2**62,
    2**63 - 1,
    2**63 - 808,  # a multiple of 1000
    -1,
    -(2**31),
    -(2**63),
    yson.Uint64(0),
    yson.Uint64(2**63),
    yson.Uint64(2**63 + 192),  # likewise
    yson.Uint64(2**64 - 1),
    yson.Uint64(2**64 - 616),  # likewise
)
_DOUBLES: Final = (0.0, -0.0, 0.5, 1e308, -1e308, 5e-324, float("inf"), float("-inf"), float("nan"))
_TEXTS: Final = (
    "",
    " ",
    "\x00",
    "\n\r\t",
    'a"b\\c{d}',
    "true",
    "%true",
    "#",
    "-1",
    "9" * 30,
    "9" * 5000,
    "1e999",
    "nan",
    "\u0660\u0661",
    "\U0010ffff",
    "\u202e",
    "//tmp",
    "nowhere://tmp/x",
    "<cluster=nowhere>//tmp/x",
    "0-0-0-0",
    "2262-04-11T23:47:16.854775Z",
    "9999-12-31T23:59:59.999999Z",
    "0001-01-01T00:00:00+23:59",
    "%UNIX_TS-%ISO-%PERIOD-%Y",
    "%",
    "\ud7ff%Q",
    "* * * * *",
    "0 0 31 2 *",
    "sync",
    "table",
    "replicated_table",
    "chaos_replicated_table",
    "production",
    "x" * 70_000,
)
_BYTES: Final = (b"\xff", b"\xff\xfe\x00", b"//tmp/\xd0", b"\x80" * 1000)
DEEPEST: Final = 240
"""How deep a value may be nested that is inside of others: clusters allow little more."""


def odd_value(choices: random.Random, depth: int = 0) -> Any:
    """Any value that YSON has, an odd one more often than not."""
    match choices.randrange(11 if depth < 3 else 6):
        case 0 | 1:
            return choices.choice(HUGE_NUMBERS)
        case 2:
            return choices.choice(_DOUBLES)
        case 3:
            return choices.choice(_TEXTS)
        case 4:
            return choices.choice(_BYTES)
        case 5:
            return choices.choice((None, True, False, [], {}, [None], {"": None}))
        case 6:
            return [odd_value(choices, depth + 1) for _ in range(choices.randint(1, 3))]
        case 7:
            keys = (*_TEXTS[:20], *_BYTES, "0", "00", "a", "A")
            return {choices.choice(keys): odd_value(choices, depth + 1) for _ in range(choices.randint(1, 3))}
        case 8:
            return _nested(choices.choice((5, 20, DEEPEST)), in_maps=choices.random() < 0.5)
        case 9:
            return yson.with_attributes(odd_value(choices, 3), {"a": odd_value(choices, 3)})
        case _:
            return yson.with_attributes(None, {"cluster": odd_value(choices, 3)})


def _nested(depth: int, *, in_maps: bool) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if in_maps else [value]
    return value


class _Asked(dict[str, Any]):
    """Remembers what it was asked for, and so do the maps inside."""

    def __init__(self, value: Mapping[str, Any], prefix: tuple[str, ...], asked: dict[tuple[str, ...], None]) -> None:
        super().__init__(
            {
                key: _Asked(member, (*prefix, key), asked) if isinstance(member, Mapping) else member
                for key, member in value.items()
            }
        )
        self._prefix = prefix
        self._asked = asked

    def __getitem__(self, key: str) -> Any:
        self._asked[*self._prefix, key] = None
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._asked[*self._prefix, key] = None
        return super().get(key, default)

    def items(self) -> Any:
        for key in self:
            self._asked[*self._prefix, key] = None
        return super().items()


def keys_asked(parse: Callable[[Mapping[str, Any]], Any], good: Mapping[str, Any]) -> Sequence[tuple[str, ...]]:
    """The paths in a map that a parser looks at, given one it takes; those that are not there as well."""
    asked: dict[tuple[str, ...], None] = {}
    parse(_Asked(good, (), asked))
    return list(asked)


GOOD_TRIM: Final = {"enable": True, "retained_rows": 2, "retained_lifetime_duration": 1000}
GOOD_EXPORT: Final[Mapping[str, Any]] = {
    "default": {
        "export_directory": "//tmp/exports/x",
        "export_period": 1000,
        "export_ttl": 3_600_000,
        "output_table_name_pattern": "%UNIX_TS",
    }
}
GOOD_PROGRESS: Final = StoredProgress(tablets={0: TabletProgress()}).to_map()
_REPLICA: Final = {"cluster_name": "hume", "replica_path": "//tmp/healthy/q", "state": "enabled", "mode": "sync"}
GOOD_META: Final[Mapping[str, Any]] = {
    "replicated_table_meta": {"replicas": {"1-2-3-4": {**_REPLICA, "content_type": "data"}}},
    "chaos_replicated_table_meta": {
        "replication_card_id": "1-2-3-4",
        "replicas": {"1-2-3-4": {**_REPLICA, "content_type": "queue"}},
    },
}
_GOOD_ERROR: Final = {"code": 0, "message": "", "attributes": {}, "inner_errors": [{"code": 1, "message": "x"}]}

GOOD_ATTRIBUTES: Final[Mapping[str, Any]] = {
    "auto_trim_config": GOOD_TRIM,
    "static_export_config": GOOD_EXPORT,
    "replicas": GOOD_META["chaos_replicated_table_meta"]["replicas"],
}
"""Of the attributes that are maps; into these odd values are put at every place that is looked at."""

_PATHS_INSIDE: Final[Mapping[str, Sequence[tuple[str, ...]]]] = {
    "auto_trim_config": [(field.name,) for field in fields(AutoTrimConfig)],
    "static_export_config": keys_asked(parse_exports, GOOD_EXPORT),
    "progress": keys_asked(StoredProgress.parse, GOOD_PROGRESS),
    "replicas": [("1-2-3-4",), *(("1-2-3-4", key) for key in (*_REPLICA, "content_type"))],
    "meta": [
        (kind, *rest)
        for kind in GOOD_META
        for rest in (
            (),
            ("replicas",),
            ("replicas", "1-2-3-4"),
            *(("replicas", "1-2-3-4", key) for key in (*_REPLICA, "content_type")),
        )
    ],
    "synchronization_error": [(key,) for key in _GOOD_ERROR],
}


def odd_map(choices: random.Random, name: str, good: Mapping[str, Any]) -> Any:
    """A map of a known form with odd values at one or two of its places; or anything."""
    if choices.random() < 0.1:
        return odd_value(choices)
    result: Any = good
    for _ in range(choices.randint(1, 2)):
        path = choices.choice(_PATHS_INSIDE[name])
        result = _with(result, path, odd_value(choices) if choices.random() < 0.5 else choices.choice(HUGE_NUMBERS))
    return result


def _with(value: Any, path: Sequence[str], odd: Any) -> Any:
    if not path:
        return odd
    if not isinstance(value, Mapping):
        return value
    return {**value, path[0]: _with(value.get(path[0], {}), path[1:], odd)}


def odd_attribute(choices: random.Random, name: str) -> Any:
    good = GOOD_ATTRIBUTES.get(name)
    return odd_value(choices) if good is None else odd_map(choices, name, good)


def odd_attributes(choices: random.Random, names: Sequence[str]) -> dict[str, Any]:
    """One or two of the attributes; rarely the revision: an object with an old one is fetched again in every pass."""
    if choices.random() < 0.9:
        names = [name for name in names if name != "attribute_revision"]
    chosen = choices.sample(names, k=choices.choice((1, 1, 2)))
    return {name: odd_attribute(choices, name) for name in chosen}


def odd_progress(choices: random.Random) -> Any:
    return odd_map(choices, "progress", GOOD_PROGRESS)


@dataclass(frozen=True, slots=True)
class OddRow:
    """Of a state table."""

    table: str
    row: Mapping[str, Any]


_CELLS: Final[Mapping[str, Callable[[random.Random], Any]]] = {
    "uint64": lambda choices: yson.Uint64(choices.choice((0, 1, 2**63, 2**64 - 1))),
    "int64": lambda choices: choices.choice((0, -1, 2**63 - 1, -(2**63))),
    "boolean": lambda choices: choices.random() < 0.5,
    "string": lambda choices: choices.choice((*(text for text in _TEXTS if len(text) < 16_000), *_BYTES)),
    "any": odd_value,
}
"""What fits a column of a type: tables take nothing else."""

_MAPS: Final[Mapping[str, Mapping[str, Any]]] = {
    "auto_trim_config": GOOD_TRIM,
    "static_export_config": GOOD_EXPORT,
    "meta": GOOD_META,
    "synchronization_error": _GOOD_ERROR,
}


def state_tables() -> Iterator[tuple[str, Sequence[StateColumn]]]:
    """Every table an agent reads rows of, with its columns; the index of one of them is written by the cluster."""
    for name, columns in tables_at(LATEST_VERSION).items():
        if not any(column.name == "$empty" for column in columns):
            yield name, columns


def odd_cell(choices: random.Random, column: StateColumn) -> Any:
    """Of the column's type; null now and then."""
    if choices.random() < 0.1:
        return None
    if column.name in _MAPS and choices.random() < 0.8:
        return odd_map(choices, column.name, _MAPS[column.name])
    if column.type is None:
        return [choices.choice(("nowhere://tmp/x", "", "//tmp/x"))]
    return _CELLS[column.type](choices)


def odd_row(choices: random.Random, columns: Sequence[StateColumn], good: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row that is right but for one or two cells."""
    keys = [column.name for column in columns if column.is_key]
    values = [column for column in columns if not column.is_key]
    row = dict(good)
    for column in choices.sample(values, k=min(len(values), choices.choice((1, 1, 2)))):
        row[column.name] = odd_cell(choices, column)
    if choices.random() < 0.15:
        name = choices.choice(keys)
        row[name] = odd_cell(choices, next(column for column in columns if column.name == name))
    return row


def odd_document(choices: random.Random) -> Any:
    """For the dynamic configuration: every option there is can get an odd value."""
    if choices.random() < 0.1:
        return odd_value(choices)
    path = choices.choice(_OPTIONS)
    value = choices.choice(HUGE_NUMBERS) if choices.random() < 0.5 else odd_value(choices)
    return _with({}, path, value)


def _option_paths(sections: Mapping[str, Any], prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, value in sections.items():
        yield (*prefix, name)
        if isinstance(value, Mapping):
            yield from _option_paths(value, (*prefix, name))


_OPTIONS: Final = [
    path
    for name in DYNAMIC_SECTIONS
    for path in (
        (name,),
        *((name, *rest) for rest in _option_paths(AgentConfig.model_fields[name].default.model_dump())),
    )
]

QUEUE_NAMES: Final = QUEUE_ATTRIBUTES
CONSUMER_NAMES: Final = CONSUMER_ATTRIBUTES
