"""Random commands, most of which mean something: they are drawn from the few objects that they make themselves."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from yt.yson import YsonUint64, to_yson_type

DIRECTORIES: Final = ["//tmp/a", "//tmp/b", "//tmp/a/c"]
NAMES: Final = ["x", "y", "z w", "ä", "7"]
QUEUES: Final = ["//tmp/q0", "//tmp/q1"]
SORTED: Final = ["//tmp/s0", "//tmp/s1"]
STATIC: Final = ["//tmp/t0", "//tmp/t1"]
CONSUMERS: Final = ["//tmp/c0", "//tmp/c1"]
PRODUCERS: Final = ["//tmp/p0"]
FILES: Final = ["//tmp/f0"]
STRANGE: Final = [
    "//tmp/none",
    "//tmp/none/deeper",
    "//home",
    "//tmp/q0/@schema",
    "tmp",
    "//",
    "//tmp/a/",
    "#1-2-3-4",
    "",
]

QUEUE_SCHEMA: Final = [
    {"name": "data", "type": "string"},
    {"name": "number", "type": "int64"},
    {"name": "$timestamp", "type": "uint64"},
    {"name": "$cumulative_data_weight", "type": "int64"},
]
SORTED_SCHEMA: Final = to_yson_type(
    [
        {"name": "key", "type": "int64", "sort_order": "ascending"},
        {"name": "data", "type": "string"},
        {"name": "any", "type": "any"},
    ],
    attributes={"strict": True, "unique_keys": True},
)
STATIC_SCHEMA: Final = [{"name": "data", "type": "string"}, {"name": "number", "type": "double"}]

SCALARS: Final[Sequence[Any]] = [
    0,
    -1,
    7,
    YsonUint64(2**63),
    1.5,
    "text",
    "",
    "ä",
    True,
    None,
    [],
    [1, "a"],
    {},
    {"k": 1},
]
ATTRIBUTES: Final = [
    "type",
    "id",
    "schema",
    "row_count",
    "user",
    "nothing",
    "dynamic",
    "tablet_count",
    "acl",
    "account",
]


@dataclass(frozen=True)
class Call:
    """A method of ytsaurus-client."""

    method: str
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    transaction: int | None = None
    """Which of the transactions that were begun, counted from the first."""

    tablet: bool = False
    """In a tablet transaction of its own."""

    def __str__(self) -> str:
        where = "" if self.transaction is None else f" in transaction {self.transaction}"
        return f"{self.method}{self.arguments}{self.options or ''}{where}{' atomically' if self.tablet else ''}"


def setup() -> list[Call]:
    """Objects that are there at the beginning."""
    made = [Call("create", ("map_node", path), {"recursive": True, "ignore_existing": True}) for path in DIRECTORIES]
    made += [Call("create", ("table", path), {"attributes": queue_attributes()}) for path in QUEUES]
    made += [Call("create", ("table", path), {"attributes": sorted_attributes()}) for path in SORTED]
    made += [Call("create", ("table", path), {"attributes": {"schema": STATIC_SCHEMA}}) for path in STATIC]
    made += [Call("create", ("queue_consumer", path)) for path in CONSUMERS]
    made += [Call("create", ("queue_producer", path)) for path in PRODUCERS]
    made += [Call("create", ("file", path)) for path in FILES]
    made += [Call("mount_table", (path,), {"sync": True}) for path in [*QUEUES, *SORTED, *CONSUMERS, *PRODUCERS]]
    return made


def queue_attributes() -> dict[str, Any]:
    return {"dynamic": True, "schema": QUEUE_SCHEMA, "tablet_count": 2}


def sorted_attributes() -> dict[str, Any]:
    return {"dynamic": True, "schema": SORTED_SCHEMA}


class Commands:
    """An endless sequence of calls.

    Args:
        seed: the same seed gives the same calls.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._transactions = 0
        self._kinds: list[tuple[int, Callable[[], Call]]] = [
            (14, self._cypress_read),
            (14, self._cypress_write),
            (4, self._attributes),
            (4, self._transaction),
            (3, self._lock),
            (12, self._insert),
            (8, self._read_rows),
            (8, self._select),
            (5, self._tablets),
            (3, self._repair),
            (10, self._queue),
            (6, self._consumer),
            (4, self._producer),
            (5, self._static),
        ]

    def next(self) -> Call:
        weights = [weight for weight, _ in self._kinds]
        [(_, make)] = self._random.choices(self._kinds, weights)
        call = make()
        if self._transactions and call.method in _IN_TRANSACTIONS and self._chance(0.15):
            return Call(call.method, call.arguments, call.options, self._random.randrange(self._transactions))
        return call

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _pick(self, items: Sequence[Any]) -> Any:
        return self._random.choice(items)

    def _node(self) -> str:
        return f"{self._pick(DIRECTORIES)}/{self._pick(NAMES)}"

    def _path(self) -> str:
        if self._chance(0.08):
            return str(self._pick(STRANGE))
        kind = self._pick([self._node, self._node, lambda: self._pick(DIRECTORIES), self._object])
        return str(kind())

    def _object(self) -> str:
        return str(self._pick([*QUEUES, *SORTED, *STATIC, *CONSUMERS, *PRODUCERS, *FILES]))

    def _of(self, paths: Sequence[str]) -> str:
        """One of these, or seldom something else."""
        return str(self._pick(paths)) if not self._chance(0.06) else self._path()

    def _some(self, names: Sequence[str]) -> list[str]:
        return self._random.sample(names, self._random.randrange(1, 4))

    def _cypress_read(self) -> Call:
        path = self._path()
        match self._random.randrange(5):
            case 0:
                return Call("get", (path,), {"attributes": self._some(ATTRIBUTES)} if self._chance(0.4) else {})
            case 1:
                return Call("list", (path,), {"attributes": self._some(ATTRIBUTES)} if self._chance(0.4) else {})
            case 2:
                return Call("exists", (path,))
            case 3:
                return Call("get", (f"{path}/@{self._pick(ATTRIBUTES)}",))
            case _:
                return Call("get", (f"{path}/@type",))

    def _cypress_write(self) -> Call:
        path = self._node()
        match self._random.randrange(7):
            case 0:
                options = {name: True for name in ("recursive", "ignore_existing", "force") if self._chance(0.4)}
                kind = self._pick(["map_node", "string_node", "document", "list_node", "int64_node", "nonsense"])
                return Call("create", (kind, path), options)
            case 1 | 2:
                return Call("set", (path, self._pick(SCALARS)), {"force": True} if self._chance(0.5) else {})
            case 3:
                return Call("remove", (path,), {"recursive": self._chance(0.7), "force": self._chance(0.3)})
            case 4:
                return Call("copy", (self._node(), path), {"force": True} if self._chance(0.4) else {})
            case 5:
                return Call("move", (self._node(), path), {"force": True} if self._chance(0.4) else {})
            case _:
                return Call("link", (self._path() or "//tmp", path), {"force": True} if self._chance(0.4) else {})

    def _attributes(self) -> Call:
        path = f"{self._path()}/@{self._pick(['user', 'other', 'user/inner', 'type', 'account', 'vital'])}"
        if self._chance(0.7):
            return Call("set", (path, self._pick(SCALARS)))
        return Call("remove", (path,), {"force": self._chance(0.5)})

    def _transaction(self) -> Call:
        if not self._transactions or self._chance(0.5):
            self._transactions += 1
            return Call("start_transaction", (), {"timeout": 600_000})
        return Call(
            self._pick(["commit_transaction", "abort_transaction"]), (), {}, self._random.randrange(self._transactions)
        )

    def _lock(self) -> Call:
        mode = self._pick(["snapshot", "shared", "exclusive", "odd"])
        options = {"mode": mode, **({"child_key": "x"} if self._chance(0.3) else {})}
        number = self._random.randrange(self._transactions) if self._transactions else None
        return Call("lock", (self._path(),), options, number)

    def _insert(self) -> Call:
        if self._chance(0.5):
            columns = ["data", "number", "$tablet_index", *(["odd"] if self._chance(0.05) else [])]
            return Call(
                "insert_rows",
                (self._of(QUEUES), [self._row(columns) for _ in range(self._random.randrange(4))]),
                {},
                tablet=self._chance(0.2),
            )
        rows = [{"key": self._random.randrange(6), "data": self._pick(["a", "b", None])} for _ in range(3)]
        rows = list({row["key"]: row for row in rows}.values())
        if self._chance(0.1):
            rows.append(self._pick([{"data": "x"}, {"key": "text"}, {"key": None}, {"key": 1, "odd": 1}]))
        if self._chance(0.7):
            options = {"update": self._chance(0.5)}
            return Call("insert_rows", (self._of(SORTED), rows), options, tablet=self._chance(0.2))
        return Call("delete_rows", (self._of(SORTED), [{"key": row["key"]} for row in rows if "key" in row]))

    def _row(self, columns: Sequence[str]) -> dict[str, Any]:
        values = {
            "data": self._pick(["a", "bb", "", None]),
            "number": self._pick([0, -5, 2**40, None, "odd"] if self._chance(0.05) else [0, -5, 2**40, None]),
            "$tablet_index": self._pick([0, 1, 1, 0, 9] if self._chance(0.1) else [0, 1]),
            "odd": 1,
        }
        return {name: values[name] for name in columns}

    def _read_rows(self) -> Call:
        keys = [{"key": self._random.randrange(6)} for _ in range(self._random.randrange(3))]
        options = {name: True for name in ("keep_missing_rows",) if self._chance(0.3)}
        if self._chance(0.3):
            options["column_names"] = self._pick([["data"], ["key"], ["data", "key"], ["odd"]])
        return Call("lookup_rows", (self._of(SORTED), keys), options)

    def _select(self) -> Call:
        table = self._of([*QUEUES, *SORTED])
        what = self._pick(
            [
                "* from [{}]",
                "data, number from [{}] where number > -5",
                "[$tablet_index], [$row_index], data from [{}] where [$tablet_index] = 1",
                "key, data from [{}] order by key limit 2",
                "sum(number) as s, data from [{}] group by data",
                "key from [{}] where data = 'a' or key in (1, 2)",
                "odd from [{}]",
                "nonsense [{}]",
            ]
        )
        return Call("select_rows", (what.format(table),))

    def _tablets(self) -> Call:
        path = self._of([*QUEUES, *SORTED])
        match self._random.randrange(6):
            case 0:
                return Call("unmount_table", (path,), {"sync": True})
            case 1:
                return Call("freeze_table", (path,), {"sync": True})
            case 2:
                return Call("unfreeze_table", (path,), {"sync": True})
            case 3:
                return Call("reshard_table", (self._of(QUEUES),), {"tablet_count": self._random.randrange(1, 4)})
            case 4:
                return Call("alter_table", (path,), {"dynamic": self._chance(0.8)})
            case _:
                return Call("get_tablet_infos", (path, [self._random.randrange(3)]))

    def _repair(self) -> Call:
        """So that not everything is unmounted or gone in the end."""
        if self._chance(0.7):
            return Call("mount_table", (self._pick([*QUEUES, *SORTED, *CONSUMERS, *PRODUCERS]),), {"sync": True})
        return self._random.choice(setup())

    def _queue(self) -> Call:
        queue = self._of(QUEUES)
        index, offset = self._random.randrange(3), self._random.randrange(6)
        match self._random.randrange(4):
            case 0:
                return Call("trim_rows", (queue, index, offset))
            case 1:
                return Call("list_queue_consumer_registrations", (), {"queue_path": queue})
            case _:
                return Call("pull_queue", (queue, offset, index), {"max_row_count": self._random.randrange(1, 5)})

    def _consumer(self) -> Call:
        queue, consumer = self._of(QUEUES), self._of(CONSUMERS)
        match self._random.randrange(6):
            case 0:
                return Call("register_queue_consumer", (queue, consumer), {"vital": self._chance(0.5)})
            case 1:
                return Call("unregister_queue_consumer", (queue, consumer))
            case 2:
                return Call("select_rows", (f"queue_path, partition_index, offset from [{self._pick(CONSUMERS)}]",))
            case _:
                old = self._pick([None, 0, 1, 3])
                return Call(
                    "advance_consumer",
                    (consumer, queue, self._random.randrange(2), old, self._random.randrange(5)),
                    {"client_side": False},
                )

    def _producer(self) -> Call:
        producer, queue = self._of(PRODUCERS), self._of(QUEUES)
        session = self._pick(["one", "two"])
        match self._random.randrange(3):
            case 0:
                return Call("create_queue_producer_session", (producer, queue, session))
            case 1:
                return Call("remove_queue_producer_session", (producer, queue, session))
            case _:
                number = self._random.randrange(8)
                rows = [{"data": "pushed", "$tablet_index": 0, "$sequence_number": number}]
                return Call("push_queue_producer", (producer, queue, session, self._random.randrange(3), rows))

    def _static(self) -> Call:
        path = self._of(STATIC)
        match self._random.randrange(5):
            case 0 | 1:
                rows = [{"data": self._pick(["a", None]), "number": 1.5} for _ in range(self._random.randrange(4))]
                return Call("write_table", (path, rows))
            case 2:
                return Call("erase", (path,))
            case _:
                return Call("read_table", (self._pick([path, f"{path}[#1:#3]", f"{path}{{data}}"]),))


_IN_TRANSACTIONS: Final = frozenset(
    {"get", "list", "exists", "create", "set", "remove", "copy", "move", "link", "read_table", "write_table"}
)
