"""No layer sends a request twice that must not be done twice, wherever its connection breaks.

Cases are made from the table of commands: a command without an example here fails, and so does one that is sent twice.
"""

from __future__ import annotations

import itertools
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest

from queue_agent.adapters.cluster import yt_http
from queue_agent.adapters.cluster.http_commands import COMMANDS
from queue_agent.adapters.cluster.yt_http import YtHttp
from queue_agent.config.clusters import ClusterConfig
from queue_agent.errors import ClusterUnavailable, OutcomeUnknown
from queue_agent.ports.cluster import Permit
from tests.component.cutting_relay import CuttingRelay, Where
from yt_local.testing import LocalCluster
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError

_ORDERED: Final = [{"name": "data", "type": "string"}]
_SORTED: Final = [{"name": "key", "type": "int64", "sort_order": "ascending"}, {"name": "value", "type": "int64"}]
_LARGE: Final = "x" * (3 << 19)
"""More than systems hold of a connection, so that a break finds the client still sending."""


@dataclass(frozen=True, slots=True)
class Example:
    """A request that a cluster carries out."""

    parameters: Mapping[str, Any]
    rows: Sequence[Any] | None = None
    content: bytes | None = None


EXAMPLES: Final[Mapping[str, Example]] = {
    "get": Example({"path": "//tmp/q/@id"}),
    "generate_timestamp": Example({}),
    "execute_batch": Example(
        {"requests": [{"command": "create", "parameters": {"path": "//tmp/made", "type": "map_node"}}]}
    ),
    "trim_rows": Example({"path": "//tmp/q", "tablet_index": 0, "trimmed_row_count": 1}),
    "insert_rows": Example({"path": "//tmp/q"}, rows=[{"data": _LARGE}]),
    "delete_rows": Example({"path": "//tmp/sorted"}, rows=[{"key": 1}]),
    "advance_queue_consumer": Example(
        {
            "consumer_path": "//tmp/consumer",
            "queue_path": "//tmp/q",
            "partition_index": 0,
            "old_offset": 0,
            "new_offset": 1,
        }
    ),
    "create_queue_producer_session": Example(
        {"producer_path": "//tmp/producer", "queue_path": "//tmp/q", "session_id": "new"}
    ),
    "push_queue_producer": Example(
        {
            "producer_path": "//tmp/producer",
            "queue_path": "//tmp/q",
            "session_id": "begun",
            "epoch": 0,
            "sequence_number": 0,
        },
        rows=[{"data": _LARGE}],
    ),
    "select_rows": Example({"query": "* from [//tmp/sorted]"}),
    "lookup_rows": Example({"path": "//tmp/sorted"}, rows=[{"key": 1}]),
    "pull_queue": Example({"queue_path": "//tmp/q", "partition_index": 0, "offset": 0}),
    "write_table": Example(
        {"path": yson.with_attributes("//tmp/static", {"append": True})}, rows=[{"data": _LARGE}] * 2
    ),
    "read_table": Example({"path": "//tmp/static"}),
    "write_file": Example({"path": yson.with_attributes("//tmp/file", {"append": True})}, content=_LARGE.encode()),
    "read_file": Example({"path": "//tmp/file"}),
}


class LastingPermit:
    """`ports.Permit` of what is always permitted."""

    seconds = 60.0

    def check(self) -> None:
        pass


@pytest.fixture
async def relay(yt_cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[CuttingRelay]:
    monkeypatch.setattr(yt_http, "_FIRST_BACKOFF_SECONDS", 0.0)
    client = yt_cluster.client
    client.create("table", "//tmp/q", attributes={"dynamic": True, "schema": _ORDERED})
    client.create("table", "//tmp/sorted", attributes={"dynamic": True, "schema": _SORTED})
    client.create("queue_consumer", "//tmp/consumer")
    client.create("queue_producer", "//tmp/producer")
    for path in ("//tmp/q", "//tmp/sorted", "//tmp/consumer", "//tmp/producer"):
        client.mount_table(path, sync=True)
    client.insert_rows("//tmp/q", [{"data": "first"}])
    client.insert_rows("//tmp/sorted", [{"key": 1, "value": 1}])
    client.create_queue_producer_session("//tmp/producer", "//tmp/q", "begun")
    client.create("table", "//tmp/static", attributes={"schema": _ORDERED})
    client.write_table("//tmp/static", [{"data": "first"}])
    client.write_file("//tmp/file", b"first")
    client.register_queue_consumer("//tmp/q", "//tmp/consumer", vital=False)
    async with CuttingRelay(yt_cluster.address) as relay:
        yield relay


async def run(http: YtHttp, command: str, permit: Permit | None = None) -> Any:
    """Send the example of a command as its users send it."""
    spec, example = COMMANDS[command], EXAMPLES[command]
    if not spec.formats:
        return await http.call_bytes(command, example.parameters, example.content)
    if spec.tabular:
        return await http.read_rows(command, example.parameters, rows=example.rows)
    return await http.call(command, example.parameters, rows=example.rows, permit=permit)


async def warm_up(http: YtHttp) -> None:
    """Have connections of both kinds that have served a request and are kept alive."""
    await http.call("get", {"path": "//tmp/@id"})
    await http.read_rows("select_rows", {"query": "key from [//tmp/sorted] limit 1"})


def config(relay: CuttingRelay, **fields: Any) -> ClusterConfig:
    return ClusterConfig(proxy=relay.address, discover_proxies=False, **fields)


def test_every_command_has_an_example() -> None:
    assert set(EXAMPLES) == set(COMMANDS)


BREAKS: Final = tuple(itertools.product(Where, (False, True)))
"""Where a connection breaks, and whether it is reset or closed."""


@pytest.mark.parametrize("command", [name for name, spec in COMMANDS.items() if not spec.repeatable])
async def test_what_must_not_be_done_twice_is_sent_once(relay: CuttingRelay, command: str) -> None:
    for where, reset in BREAKS:
        before = relay.carried_out[command]
        relay.cut(command, where, reset=reset)
        async with YtHttp("hume", config(relay)) as http:
            await warm_up(http)
            with pytest.raises(OutcomeUnknown, match=f"{command} .*is not known"):
                await run(http, command)
        assert relay.carried_out[command] - before == (where in (Where.BEFORE_ANSWER, Where.IN_ANSWER))
    assert relay.came[command] == relay.cut_on_kept_alive == len(BREAKS)


async def test_what_is_done_by_permission_is_sent_once(relay: CuttingRelay) -> None:
    for where, reset in BREAKS:
        relay.cut("trim_rows", where, reset=reset)
        async with YtHttp("hume", config(relay)) as http:
            await warm_up(http)
            with pytest.raises(OutcomeUnknown, match="is not known"):
                await run(http, "trim_rows", LastingPermit())
    assert relay.came["trim_rows"] == relay.cut_on_kept_alive == len(BREAKS)


@pytest.mark.parametrize("command", [name for name, spec in COMMANDS.items() if spec.repeatable])
async def test_what_may_be_repeated_is_answered_in_the_end_and_done_once(
    relay: CuttingRelay, yt_cluster: LocalCluster, command: str
) -> None:
    for where in Where:
        async with YtHttp("hume", config(relay)) as http:
            await warm_up(http)
            yt_cluster.forget_requests()
            before = relay.came[command]
            relay.cut(command, where)
            answer = await run(http, command)
        assert relay.came[command] - before == 2, where
        if COMMANDS[command].mutation_id:
            assert "error" not in answer["results"][0], where
            first, *repeats = [request.parameters for request in yt_cluster.requests(command)]
            assert all(repeat["mutation_id"] == first["mutation_id"] for repeat in repeats)
            assert [repeat.get("retry") for repeat in repeats] == [True] * len(repeats)
            yt_cluster.client.remove("//tmp/made")
    assert relay.cut_on_kept_alive == len(Where)


async def test_what_a_batch_changes_may_have_been_done_when_no_answer_comes(relay: CuttingRelay) -> None:
    async with YtHttp("hume", config(relay, retry_count=1)) as http:
        for _ in range(2):
            relay.cut("execute_batch", Where.BEFORE_ANSWER)
        with pytest.raises(OutcomeUnknown, match=r"create //tmp/made .*is not known"):
            await http.execute("create", {"path": "//tmp/made", "type": "map_node"})
        assert await http.call("get", {"path": "//tmp/made/@type"}) == {"value": "map_node"}


async def test_what_was_never_sent_was_not_carried_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = "{}:{}".format(*closed.getsockname())
    async with YtHttp("hume", ClusterConfig(proxy=nobody, discover_proxies=False, retry_count=1)) as http:
        with pytest.raises(ClusterUnavailable) as raised:
            await run(http, "insert_rows")
    assert not isinstance(raised.value, OutcomeUnknown)


async def test_an_error_that_says_nothing_of_the_request_leaves_its_outcome_open(
    relay: CuttingRelay, yt_cluster: LocalCluster
) -> None:
    """What a balancer answers, or a proxy that has lost its node, does not tell whether the request was done."""
    faults = yt_cluster.faults
    async with YtHttp("hume", config(relay, retry_count=0)) as http:
        for command, spec in COMMANDS.items():
            expected = ClusterUnavailable if spec.repeatable else OutcomeUnknown
            for switch in (
                faults.http_status(command, status=502),
                faults.http_status(command, status=504),
                faults.refuse(command, error=YtError("lost", ErrorCode.TRANSPORT)),
                faults.refuse(command, error=YtError("late", ErrorCode.TIMEOUT)),
            ):
                with switch, pytest.raises(ClusterUnavailable) as raised:
                    await run(http, command)
                assert type(raised.value) is expected, command
            refusal = YtError("full", ErrorCode.REQUEST_QUEUE_SIZE_LIMIT_EXCEEDED)
            with faults.refuse(command, error=refusal), pytest.raises(ClusterUnavailable) as raised:
                await run(http, command)
            assert type(raised.value) is ClusterUnavailable, command
