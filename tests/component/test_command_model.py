"""Random commands over HTTP against a plain model: nodes, a queue and its consumer, a sorted and a static table."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.conformance.harness import QUEUE_SCHEMA, SORTED_SCHEMA, RawHttp
from yt_local.thread import ClusterThread
from yt_wire import yson
from yt_wire.error import YtError

PARTITIONS = 2
partitions = st.integers(0, PARTITIONS - 1)
names = st.sampled_from("abc")
keys = st.integers(0, 3)
numbers = st.integers(0, 9)
few = st.integers(0, 4)


class Commands(RuleBasedStateMachine):
    """The cluster and the model do the same, and are asked the same."""

    raw: ClassVar[RawHttp]

    def __init__(self) -> None:
        super().__init__()
        self.home = f"//tmp/{uuid.uuid4().hex}"
        self.queue, self.consumer = f"{self.home}/q", f"{self.home}/c"
        self.rows: list[list[str]] = [[] for _ in range(PARTITIONS)]
        self.trimmed = [0] * PARTITIONS
        self.offsets = [0] * PARTITIONS
        self.state = "mounted"
        self.registered = False
        self.sorted: dict[int, str] = {}
        self.static: list[int] = []
        self.nodes: dict[str, int] = {}

    def ask(self, method: str, name: str, rows: Sequence[Any] | None = None, **parameters: Any) -> tuple[int, bytes]:
        """Code of the innermost error, 0 for none, and the answer."""
        body = None if rows is None else yson.dumps_rows(rows)
        answer = self.raw.command(method, name, {"input_format": "yson", **parameters}, body)
        if answer.error is None:
            return 0, answer.body
        innermost: YtError = list(answer.error.walk())[-1]
        return innermost.code, b""

    def do(self, name: str, **parameters: Any) -> int:
        return self.ask("POST", name, **parameters)[0]

    def read(self, name: str, **parameters: Any) -> tuple[int, list[Mapping[bytes, Any]]]:
        code, body = self.ask("GET", name, **parameters)
        return code, yson.loads_rows(body)

    @initialize()
    def make(self) -> None:
        dynamic = {"dynamic": True, "schema": QUEUE_SCHEMA, "tablet_count": PARTITIONS}
        assert self.do("create", type="table", path=self.queue, recursive=True, attributes=dynamic) == 0
        dynamic = {"dynamic": True, "schema": SORTED_SCHEMA}
        assert self.do("create", type="table", path=f"{self.home}/s", attributes=dynamic) == 0
        for path in (self.queue, f"{self.home}/s"):
            assert self.do("mount_table", path=path) == 0
        assert self.do("create", type="table", path=f"{self.home}/t") == 0
        assert self.do("create", type="queue_consumer", path=self.consumer) == 0

    @rule(partition=partitions, values=st.lists(names, min_size=2, max_size=6))
    def insert(self, partition: int, values: list[str]) -> None:
        rows = [{"$tablet_index": partition, "data": value} for value in values]
        code, _ = self.ask("PUT", "insert_rows", rows, path=self.queue)
        assert code == (0 if self.state == "mounted" else 1702)
        if code == 0:
            self.rows[partition] += values

    @rule(partition=partitions, count=few)
    def trim(self, partition: int, count: int) -> None:
        code = self.do("trim_rows", path=self.queue, tablet_index=partition, trimmed_row_count=count)
        if self.state != "mounted":
            assert code == 1702
        elif count > len(self.rows[partition]):
            assert code == 1
        else:
            assert code == 0
            self.trimmed[partition] = max(self.trimmed[partition], count)

    def check_pulled(self, pulled: list[Mapping[bytes, Any]], partition: int, offset: int) -> None:
        """A prefix of what there is, and empty only if there is nothing."""
        start = max(offset, self.trimmed[partition])
        there = list(enumerate(self.rows[partition]))[start:]
        found = [(row[b"$row_index"], row[b"data"].decode()) for row in pulled]
        assert found == there[: len(found)]
        assert bool(found) == bool(there)

    @rule(partition=partitions, offset=few)
    def pull(self, partition: int, offset: int) -> None:
        code, rows = self.read("pull_queue", queue_path=self.queue, partition_index=partition, offset=offset)
        assert code == (1702 if self.state == "unmounted" else 0)
        if code == 0:
            self.check_pulled(rows, partition, offset)

    @rule(partition=partitions)
    def pull_for_consumer(self, partition: int) -> None:
        both = {"queue_path": self.queue, "consumer_path": self.consumer}
        code, rows = self.read("pull_queue_consumer", partition_index=partition, **both)
        if not self.registered:
            assert code == 901
        elif self.state == "unmounted":
            assert code == 1702
        else:
            assert code == 0
            self.check_pulled(rows, partition, self.offsets[partition])

    @rule(vital=st.booleans())
    def register(self, vital: bool) -> None:
        both = {"queue_path": self.queue, "consumer_path": self.consumer}
        assert self.do("register_queue_consumer", vital=vital, **both) == 0
        self.registered = True

    @rule()
    def unregister(self) -> None:
        both = {"queue_path": self.queue, "consumer_path": self.consumer}
        assert self.do("unregister_queue_consumer", **both) == 0
        self.registered = False

    @rule(partition=partitions, old=st.none() | numbers, new=numbers)
    def advance(self, partition: int, old: int | None, new: int) -> None:
        both = {"queue_path": self.queue, "consumer_path": self.consumer}
        code = self.do("advance_queue_consumer", partition_index=partition, old_offset=old, new_offset=new, **both)
        if not self.registered:
            assert code == 901
        elif old not in (None, self.offsets[partition]):
            assert code == 3100
        else:
            assert code == 0
            self.offsets[partition] = new

    @rule(verb=st.sampled_from(["mount", "unmount", "freeze", "unfreeze"]))
    def change_state(self, verb: str) -> None:
        code = self.do(f"{verb}_table", path=self.queue)
        before = {"mount": ("unmounted", "mounted"), "unmount": ("mounted", "frozen", "unmounted")}
        if self.state in before.get(verb, ("mounted", "frozen")):
            assert code == 0
            self.state = {"freeze": "frozen", "unmount": "unmounted"}.get(verb, "mounted")
        else:
            assert code == 1706
        _, tablet_state = self.ask("GET", "get", path=f"{self.queue}/@tablet_state", return_only_value=True)
        assert yson.loads(tablet_state) == self.state

    @rule(key=keys, value=names)
    def insert_by_key(self, key: int, value: str) -> None:
        assert self.ask("PUT", "insert_rows", [{"key": key, "value": value}], path=f"{self.home}/s")[0] == 0
        self.sorted[key] = value

    @rule(key=keys)
    def delete_by_key(self, key: int) -> None:
        assert self.ask("PUT", "delete_rows", [{"key": key}], path=f"{self.home}/s")[0] == 0
        self.sorted.pop(key, None)

    @rule(low=keys)
    def select(self, low: int) -> None:
        code, rows = self.read("select_rows", query=f"key, value from [{self.home}/s] where key >= {low}")
        assert code == 0
        found = [(row[b"key"], row[b"value"].decode()) for row in rows]
        assert found == sorted(item for item in self.sorted.items() if item[0] >= low)

    @rule(values=st.lists(numbers, max_size=3), append=st.booleans())
    def write(self, values: list[int], append: bool) -> None:
        path = yson.with_attributes(f"{self.home}/t", {"append": append})
        assert self.ask("PUT", "write_table", [{"x": value} for value in values], path=path)[0] == 0
        self.static = [*self.static, *values] if append else values

    @rule(start=numbers)
    def read_rows(self, start: int) -> None:
        code, rows = self.read("read_table", path=f"{self.home}/t[#{start}:]")
        assert code == 0
        assert [row[b"x"] for row in rows] == self.static[start:]

    @rule(name=names, value=numbers)
    def set(self, name: str, value: int) -> None:
        answer = self.raw.command(
            "PUT", "set", {"path": f"{self.home}/{name}_node", "input_format": "yson"}, yson.dumps(value)
        )
        assert answer.status == 200
        self.nodes[name] = value

    @rule(name=names)
    def remove(self, name: str) -> None:
        assert self.do("remove", path=f"{self.home}/{name}_node") == (0 if name in self.nodes else 500)
        self.nodes.pop(name, None)

    @rule(source=names, destination=names)
    def copy(self, source: str, destination: str) -> None:
        if source == destination:
            return
        paths = {"source_path": f"{self.home}/{source}_node", "destination_path": f"{self.home}/{destination}_node"}
        code = self.do("copy", **paths)
        if source not in self.nodes:
            assert code == 500
        elif destination in self.nodes:
            assert code == 501
        else:
            assert code == 0
            self.nodes[destination] = self.nodes[source]

    def teardown(self) -> None:
        _, body = self.ask("GET", "list", path=self.home, return_only_value=True)
        assert {name for name in yson.loads(body) if name.endswith("_node")} == {f"{name}_node" for name in self.nodes}
        self.unregister()
        assert self.do("remove", path=self.home, recursive=True) == 0


@pytest.fixture(scope="module")
def raw() -> Iterator[RawHttp]:
    with ClusterThread(("pythia",)) as thread:
        yield RawHttp(thread.address("pythia"))


@pytest.mark.slow
def test_random_commands_do_what_a_plain_model_does(raw: RawHttp) -> None:
    Commands.raw = raw
    run_state_machine_as_test(Commands, settings=settings(max_examples=80, stateful_step_count=50))
