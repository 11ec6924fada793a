"""What a cluster does for a request grows no faster than the request: every construct of the languages it reads."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

import pytest
import pytest_asyncio

from yt_local.calls.command import Body
from yt_local.cluster import Cluster
from yt_local.formats.formats import parse_format
from yt_local.query import SelectOptions
from yt_local.runner import LocalClusters
from yt_local.security.permissions import UNLIMITED
from yt_local.session import Session
from yt_wire import yson
from yt_wire.error import YtError

pytestmark = pytest.mark.asyncio(loop_scope="module")

Make = Callable[[int], Any]

TABLE: Final = "//tmp/t"
VALUE: Final = "//growth/value"
LINKS: Final = 20
ROWS: Final = [{b"k": k, b"l": k, b"s": b"text", b"b": True} for k in range(3)]
COLUMNS: Final = [
    {"name": "k", "type": "int64", "sort_order": "ascending"},
    {"name": "l", "type": "int64", "sort_order": "ascending"},
    {"name": "s", "type": "string"},
    {"name": "b", "type": "boolean"},
]

WHERE: Final[Mapping[str, Make]] = {
    "sum": lambda n: "k = " + "+".join(["1"] * n),
    "sum of columns": lambda n: "0 = " + "+".join(["k"] * n),
    "parentheses": lambda n: "(" * n + "k = 1" + ")" * n,
    "parentheses that do not end": lambda n: "(" * n,
    "calls": lambda n: "if(%true, " * n + "1" + ", 2)" * n + " = k",
    "signs": lambda n: "k = " + "-" * n + "1",
    "signs in a list": lambda n: "k in (" + "-" * n + "1)",
    "negations": lambda n: "not (" * n + "b" + ")" * n,
    "or": lambda n: " or ".join(f"k = {i}" for i in range(n)),
    "or of two columns": lambda n: " or ".join(f"k = {i} and l = {i}" for i in range(n)),
    "or of ranges": lambda n: " or ".join(f"k > {i} and l < {i}" for i in range(n)),
    "and": lambda n: " and ".join(f"k != {i}" for i in range(n)),
    "and of ors": lambda n: " and ".join(f"(k = {i} or l = {i})" for i in range(n)),
    "in": lambda n: f"k in ({', '.join(map(str, range(n)))})",
    "not in": lambda n: f"k not in ({', '.join(map(str, range(n)))})",
    "in of tuples": lambda n: f"(k, l) in ({', '.join(f'({i}, {i})' for i in range(n))})",
    "between": lambda n: f"k between ({', '.join(f'{2 * i} and {2 * i}' for i in range(n))})",
    "transform": lambda n: f"k = transform(k, ({', '.join(map(str, range(n)))}), ({', '.join(map(str, range(n)))}))",
    "cases": lambda n: "k = case k " + " ".join(f"when {i} then {i}" for i in range(n)) + " end",
    "cases of a sum": lambda n: "k = case k + l + k " + " ".join(f"when {i} then {i}" for i in range(n)) + " end",
    "arguments": lambda n: f"farm_hash({', '.join(['k'] * n)}) = 1u",
    "tuple": lambda n: f"({', '.join(['k'] * n)}) > ({', '.join(['1'] * n)})",
    "tuple of the key": lambda n: f"({', '.join(['k', 'l'] * n)}) > ({', '.join(['1'] * 2 * n)})",
    "like": lambda n: f"s like '{'%t' * n}'",
    "like from the query": lambda n: f"'{'a' * n}' like '{'a%' * 20}b'",
    "nested repetition": lambda n: f"regex_full_match('(a*)*b', '{'a' * n}')",
    "repetition of choices": lambda n: f"regex_full_match('(a|aa)+$', '{'a' * n}b')",
    "long expression": lambda n: f"regex_full_match('{'a?' * n}', s)",
    "replacing": lambda n: f"regex_replace_all('a', '{'a' * n}', 'b') = s",
    "long literal": lambda n: f"s = '{'x' * n}'",
    "escapes": lambda n: "s = '" + "\\x41" * n + "'",
    "literal that does not end": lambda n: "s = '" + "\\\\'" * n,
    "number": lambda n: "k = " + "1" * n,
    "spaces": lambda n: "k =" + " " * n + "1",
    "unknown name": lambda n: "a" * n + " = 1",
    "commas": lambda n: "k in (1" + "," * n + ")",
    "nonsense": lambda n: "k = 1 " + "] " * n,
}
"""Conditions of `select_rows`."""

QUERIES: Final[Mapping[str, Make]] = {
    "projections": lambda n: ", ".join(f"k as x{i}" for i in range(n)) + f" from [{TABLE}]",
    "names of columns": lambda n: ", ".join(f"k + {i}" for i in range(n)) + f" from [{TABLE}]",
    "aliases of aliases": lambda n: "k as x0, " + ", ".join(f"x{i} as x{i + 1}" for i in range(n)) + f" from [{TABLE}]",
    "aliases that double": lambda n: ", ".join(f"x{i} + x{i} as x{i + 1}" for i in range(n)) + f" from [{TABLE}]",
    "group by": lambda n: f"1 from [{TABLE}] group by " + ", ".join(f"k + {i} as g{i}" for i in range(n)),
    "groups and projections": lambda n: (
        ", ".join(f"g{i}" for i in range(n))
        + f" from [{TABLE}] group by "
        + ", ".join(f"k + {i} as g{i}" for i in range(n))
    ),
    "aggregates": lambda n: ", ".join(f"sum(k + {i}) as x{i}" for i in range(n)) + f" from [{TABLE}] group by 1",
    "order by": lambda n: f"* from [{TABLE}] order by " + ", ".join(["k"] * n) + " limit 1",
    "or as a name": lambda n: " or ".join(["b"] * n) + f" from [{TABLE}]",
    "bracket": lambda n: f"* from [{'[' * n}{']' * n}]",
    "path": lambda n: f"* from [//tmp{'/a' * n}]",
}

PATHS: Final[Mapping[str, Make]] = {
    "missing": lambda n: "//tmp" + "/a" * n,
    "inside a document": lambda n: "//tmp/document" + "/a" * n,
    "inside an attribute": lambda n: "//tmp/@document" + "/a" * n,
    "attributes of attributes": lambda n: "//tmp/document" + "/@a" * n,
    "slashes": lambda n: "//tmp" + "/" * n,
    "ampersands": lambda n: "//tmp" + "&" * n,
    "stars": lambda n: "//tmp" + "/*" * n,
    "escapes": lambda n: "//tmp/" + "\\/" * n,
    "escaped bytes": lambda n: "//tmp/" + "\\x41" * n,
    "through a link": lambda n: "//tmp/link" + "/a" * n,
    "through many links": lambda n: f"//tmp/link{LINKS}" + "/a" * n,
    "columns": lambda n: "//tmp/static{" + ",".join(["k"] * n) + "}",
    "ranges": lambda n: "//tmp/static[" + ",".join(["#1"] * n) + "]",
    "attributes in front": lambda n: "<a=[" + "1;" * n + "]>//tmp",
    "brackets in front": lambda n: "<" * n + "//tmp",
    "long name": lambda n: "//tmp/" + "a" * n,
}
PATH_COMMANDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "get": {},
    "list": {},
    "exists": {},
    "remove": {"recursive": True},
    "create": {"type": "map_node", "recursive": True},
    "set": {"recursive": True},
    "read_table": {},
    "mount_table": {},
    "get_tablet_infos": {"tablet_indexes": [0]},
    "pull_queue": {"queue_path": True, "offset": 0, "partition_index": 0},
    "check_permission": {"user": "root", "permission": "read"},
}

BODIES: Final[Mapping[str, Make]] = {
    "lists": lambda n: b"[" * n + b"]" * n,
    "lists that do not end": lambda n: b"[" * n,
    "maps": lambda n: b"{a=" * n + b"1" + b"}" * n,
    "attributes": lambda n: b"<a=" * n + b"1" + b">1" * n,
    "wide list": lambda n: b"[" + b"1;" * n + b"]",
    "wide map": lambda n: b"{" + b"".join(b"a%d=1;" % i for i in range(n)) + b"}",
    "long string": lambda n: b'"' + b"a" * n + b'"',
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster() -> AsyncIterator[Cluster]:
    async with LocalClusters({"pythia": 0}) as clusters:
        cluster = clusters.cluster("pythia")
        attributes = {"dynamic": True, "schema": yson.with_attributes(COLUMNS, {"unique_keys": True})}
        for parameters in (
            {"type": "table", "path": TABLE, "attributes": attributes},
            {"type": "table", "path": "//tmp/static"},
            {"type": "table", "path": "//tmp/queue", "attributes": {"dynamic": True, "schema": COLUMNS[2:]}},
            {"type": "document", "path": "//tmp/document", "attributes": {"value": {"a": {"a": 1}}}},
            {"type": "link", "path": "//tmp/link", "attributes": {"target_path": "//tmp/document"}},
        ):
            await cluster.execute(Session(UNLIMITED), cluster.command("create"), parameters, Body())
        for number in range(LINKS):
            parameters = {"target_path": f"//tmp/link{number or ''}", "link_path": f"//tmp/link{number + 1}"}
            await cluster.execute(Session(UNLIMITED), cluster.command("link"), parameters, Body())
        await cluster.execute(Session(UNLIMITED), cluster.command("mount_table"), {"path": TABLE}, Body())
        await cluster.execute(Session(UNLIMITED), cluster.command("insert_rows"), {"path": TABLE}, Body(rows=ROWS))
        yield cluster


@contextmanager
def counted(counts: list[int]) -> Iterator[None]:
    """Count the calls of functions of Python and of C."""

    def count(_frame: object, event: str, _argument: object) -> None:
        if event in ("call", "c_call"):
            counts[-1] += 1

    counts.append(0)
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)


def assert_linear(counts: list[int]) -> None:
    """For requests of n, 2n and 4n; what is refused at some size does less from there on."""
    first, second, third = counts
    assert second <= 2.3 * first + 2_000, counts
    assert third <= 2.3 * second + 2_000, counts


@pytest.mark.parametrize(
    ("size", "is_explained"), [(12, False), (12, True), (128, False)], ids=["small", "explained", "large"]
)
@pytest.mark.parametrize("name", [*WHERE, *QUERIES])
async def test_queries(cluster: Cluster, name: str, size: int, is_explained: bool) -> None:
    counts: list[int] = []
    for factor in (1, 2, 4):
        query = (
            f"* from [{TABLE}] where {WHERE[name](size * factor)}" if name in WHERE else QUERIES[name](size * factor)
        )
        with counted(counts):
            try:
                if is_explained:  # in other words, or its syntax tree would be known
                    cluster.tables.explain(UNLIMITED, f" {query}", SelectOptions())
                else:
                    cluster.tables.select(UNLIMITED, query)
            except YtError as error:
                assert not isinstance(error.__cause__, RecursionError)
    assert_linear(counts)


@pytest.mark.parametrize("command", PATH_COMMANDS)
async def test_paths(cluster: Cluster, command: str) -> None:
    for name, make in PATHS.items():
        counts: list[int] = []
        for size in (500, 1000, 2000):
            path = make(size)
            parameters = {"path": path, **PATH_COMMANDS[command]}
            if "queue_path" in parameters:
                parameters["queue_path"] = path
            with counted(counts):
                try:
                    await cluster.execute(Session(UNLIMITED), cluster.command(command), parameters, Body(value=1))
                except YtError as error:
                    assert not isinstance(error.__cause__, RecursionError), name
        assert_linear(counts)


@pytest.mark.parametrize("name", PATHS)
async def test_a_long_path_is_not_copied_for_each_of_its_components(cluster: Cluster, name: str) -> None:
    """Copies are made in C, where calls are not counted; processor time tells them, but not who else is at work."""
    times = []
    for size in (50_000, 200_000):
        started = time.thread_time()
        with suppress(YtError):
            await cluster.execute(Session(UNLIMITED), cluster.command("get"), {"path": PATHS[name](size)}, Body())
        times.append(time.thread_time() - started)
    assert times[1] < 10 * times[0] + 0.1, times


async def test_a_path_that_can_lead_nowhere_is_not_followed(cluster: Cluster) -> None:
    for path in ("//tmp" + "/a" * 1100, "//tmp/" + "a" * 2**20):
        with pytest.raises(YtError) as caught:
            await cluster.execute(Session(UNLIMITED), cluster.command("get"), {"path": path}, Body())
        assert (caught.value.code, len(caught.value.message) < 200) == (500, True)
        assert "longer than any" in caught.value.inner_errors[0].message
    assert await cluster.execute(Session(UNLIMITED), cluster.command("exists"), {"path": path}, Body()) == {
        "value": False
    }


@pytest.mark.parametrize("format_name", ["yson", "json"])
@pytest.mark.parametrize("name", BODIES)
async def test_values(cluster: Cluster, name: str, format_name: str) -> None:
    counts: list[int] = []
    for size in (500, 1000, 2000):
        data = BODIES[name](size)
        if format_name == "json":
            data = data.replace(b"{a=", b'{"a":').replace(b"=", b'":').replace(b";", b",").replace(b",}", b"}")
            data = data.replace(b"{a", b'{"a').replace(b",a", b',"a').replace(b",]", b"]")
        # Or the items of the value before, which is another size, would be removed, too. Other tests remove //tmp.
        new = {"type": "document", "path": VALUE, "recursive": True, "force": True}
        await cluster.execute(Session(UNLIMITED), cluster.command("create"), new, Body())
        with counted(counts):
            try:
                value = parse_format(format_name).read_node(data)
                await cluster.execute(Session(UNLIMITED), cluster.command("set"), {"path": VALUE}, Body(value=value))
                await cluster.execute(Session(UNLIMITED), cluster.command("get"), {"path": VALUE}, Body())
            except YtError as error:
                assert not isinstance(error.__cause__, RecursionError)
    assert_linear(counts)


ACE: Final = {"action": "allow", "subjects": ["root"], "permissions": ["read"]}

REQUESTS: Final[Mapping[str, tuple[str, Callable[[int], Mapping[str, Any]]]]] = {
    "attributes": ("get", lambda n: {"path": "//tmp", "attributes": [f"a{i}" for i in range(n)]}),
    "columns of a schema": (
        "create",
        lambda n: {
            "type": "table",
            "path": f"//tmp/wide{n}",
            "attributes": {"schema": [{"name": f"c{i}", "type": "int64"} for i in range(n)]},
        },
    ),
    "acl": ("set", lambda n: {"path": "//tmp/@acl", "value": [ACE] * n}),
    "batch": ("execute_batch", lambda n: {"requests": [{"command": "exists", "parameters": {"path": "//tmp"}}] * n}),
    "tablets": ("get_tablet_infos", lambda n: {"path": TABLE, "tablet_indexes": [0] * n}),
    "new tablets": ("reshard_table", lambda n: {"path": "//tmp/queue", "tablet_count": n}),
    "prerequisites": ("get", lambda n: {"path": "//tmp", "prerequisite_revisions": [{"path": "//tmp"}] * n}),
    "locks of rows": ("lock_rows", lambda n: {"path": TABLE, "locks": ["a"] * n}),
    "partitions": ("partition_tables", lambda n: {"paths": ["//tmp/static"] * n, "data_weight_per_partition": 1}),
}


@pytest.mark.parametrize("name", REQUESTS)
async def test_lists_in_requests(cluster: Cluster, name: str) -> None:
    command, make = REQUESTS[name]
    counts: list[int] = []
    for size in (100, 200, 400):
        parameters = make(size)
        with counted(counts), suppress(YtError):
            await cluster.execute(
                Session(UNLIMITED), cluster.command(command), parameters, Body(value=parameters.get("value"))
            )
    assert_linear(counts)
