"""Reading static tables: in part, in order, in every format, in parallel."""

from __future__ import annotations

import json
from typing import Any

import pytest
from yt.wrapper import JsonFormat, TablePath, YtClient

from tests.conformance.harness import Answer, Cli, Clients, RawHttp, refused
from tests.conformance.static_tables import KEYED, numbers, read, table
from yt_wire import yson


@pytest.fixture
def path(home: str) -> str:
    return f"{home}/t"


def test_rows_are_selected_by_index(client: YtClient, path: str) -> None:
    client.write_table(path, [{"key": number} for number in range(10)])
    for selector, expected in {
        "[#0:#2]": [0, 1],
        "[#-1:#1]": [0],
        "[#8:#50]": [8, 9],
        "[#3:#1]": [],
        "[:#2]": [0, 1],
        "[#8:]": [8, 9],
        "[#3]": [3],
        "[#1:#2,#5,#7:#9]": [1, 5, 7, 8],
        "[:,:]": [*range(10), *range(10)],
    }.items():
        assert numbers(client, path + selector) == expected, selector
    assert numbers(client, TablePath(path, start_index=2, end_index=4)) == [2, 3]
    assert numbers(client, TablePath(path, exact_index=5)) == [5]
    with refused(1, "Key selectors"):
        numbers(client, f"{path}[5:]")


def test_rows_are_selected_by_key_across_blocks_and_chunks(client: YtClient, path: str) -> None:
    table(client, path, KEYED)
    count = 5000
    client.write_table(path, [{"key": number // 2, "value": str(number)} for number in range(count)])
    client.write_table(f"<append=%true>{path}", [{"key": number // 2} for number in range(count, 2 * count)])
    assert client.get(f"{path}/@chunk_count") == 2
    assert numbers(client, f"{path}[10:12]") == [10, 10, 11, 11]
    assert numbers(client, f"{path}[2499:2501]") == [2499, 2499, 2500, 2500]
    assert numbers(client, f"{path}[(1023)]") == [1023, 1023]
    assert numbers(client, f"{path}[4999:]") == [4999, 4999]
    assert numbers(client, f"{path}[:1]") == [0, 0]
    assert numbers(client, f"{path}[5000:]") == numbers(client, f"{path}[3:3]") == numbers(client, f"{path}[3:2]") == []
    assert numbers(client, f"{path}[#1:1]") == [0]
    assert numbers(client, TablePath(path, lower_key=[7], upper_key=[8])) == [7, 7]
    assert numbers(client, TablePath(path, exact_key=[7])) == [7, 7]
    ranges = [{"lower_limit": {"key_bound": [">", [7]]}, "upper_limit": {"key_bound": ["<=", [8]]}}]
    assert numbers(client, TablePath(path, ranges=ranges)) == [8, 8]
    assert numbers(client, TablePath(path, ranges=[{"exact": {"chunk_index": 1}}]))[:1] == [2500]


def test_columns_are_selected_by_name(client: YtClient, path: str) -> None:
    client.write_table(path, [{"a": 1, "aa": 2, "b": 3}, {"b": 4}])
    assert read(client, path + "{a}") == [{"a": 1}, {}]
    assert read(client, path + "{b, a, a}") == [{"a": 1, "b": 3}, {"b": 4}]
    assert read(client, path + "{}") == [{}, {}]
    assert read(client, path + "{zzz}[#1]") == [{}]
    assert read(client, TablePath(path, columns=["aa"])) == [{"aa": 2}, {}]


def test_selectors_that_make_no_sense_are_refused(raw: RawHttp, client: YtClient, path: str) -> None:
    table(client, path)
    for selector in ("[", "{a", "[#a]", "[1:2:3]", "[a b]", "{1}", "[#]", '["a]', "[(a]"):
        answer = raw.command("GET", "read_table", {"path": path + selector})
        assert answer.error is not None, selector


def test_control_records_say_where_rows_are_from(raw: RawHttp, client: YtClient, path: str) -> None:
    client.write_table(path, [{"a": number} for number in range(6)])
    control = {"enable_range_index": True, "enable_row_index": True, "enable_table_index": True}
    found = raw_rows(raw, f"{path}[#0:#3, #2:#4]", control)
    assert found == [
        {"table_index": 0},
        {"range_index": 0},
        {"row_index": 0},
        0,
        1,
        2,
        {"range_index": 1},
        {"row_index": 2},
        2,
        3,
    ]
    assert raw_rows(raw, f"{path}[#0:#2, #4]", {"enable_row_index": True}) == [
        {"row_index": 0},
        0,
        1,
        {"row_index": 4},
        4,
    ]


def raw_rows(raw: RawHttp, path: str, control: dict[str, bool]) -> list[Any]:
    """Values of `a`, and attributes of control records."""
    answer = raw.command("GET", "read_table", {"path": path, "control_attributes": control})
    return [
        row["a"] if isinstance(row, dict) else yson.attributes_of(row) for row in yson.loads(b"[" + answer.body + b"]")
    ]


def test_the_reader_is_told_where_the_rows_begin_and_how_many_there_are(client: YtClient, path: str) -> None:
    table(client, path, KEYED)
    client.write_table(path, [{"key": 1}, {"key": 1}, {"key": 1}, {"key": 2}])
    told: dict[str, Any] = {}
    assert numbers(client, path) == [1, 1, 1, 2]
    rows = client.read_table(f"{path}[(2)]", response_parameters=told)
    assert len(list(rows)) == 1
    assert told["start_row_index"] == 3
    assert told["approximate_row_count"] == 1


def test_only_the_place_can_be_asked_for(raw: RawHttp, client: YtClient, path: str) -> None:
    client.write_table(path, [{"key": number} for number in range(4)])
    answer = raw.command("GET", "read_table", {"path": f"{path}[#2:]", "start_row_index_only": True})
    assert answer.body == b""
    parameters = yson.loads(answer.headers["X-YT-Response-Parameters"].encode())
    assert parameters["start_row_index"] == 2


def test_formats_of_the_yt_command(cli: Cli, client: YtClient, path: str) -> None:
    assert cli.run("create", "table", path).returncode == 0
    written = cli.run("write", path, "--format", "<encode_utf8=%false>json", stdin=b'{"a":"\xc3\xa4","b":1}{"a":"x"}\n')
    assert written.returncode == 0, written.stderr
    answer = cli.run("read", path, "--format", "<encode_utf8=%false>json")
    assert [json.loads(line) for line in answer.stdout.splitlines()] == [{"a": "\xe4", "b": 1}, {"a": "x"}]
    assert cli.run("read", path, "--format", "<format=text>yson").stdout == (
        b'{"a"="\\xC3\\xA4";"b"=1;};\n{"a"="x";};\n'
    )
    assert cli.run("read", path + "{a}[#1]", "--format", "dsv").stdout == b"a=x\n"
    assert (
        cli.run("write-table", "<append=%true>" + path, "--format", "dsv", stdin=b"a=\\t1\tc=\\=\n\n").returncode == 0
    )
    assert read(client, f"{path}[#2:]") == [{"a": "\t1", "c": "="}, {}]
    options = '<columns=[b;a];missing_value_mode=print_sentinel;missing_value_sentinel="-">schemaful_dsv'
    assert cli.run("read", path + "[#0:#2]", "--format", options).stdout == b"1\t\xc3\xa4\n-\tx\n"
    assert cli.run("write", path, "--format", "<columns=[a;b]>schemaful_dsv", stdin=b"1\t2\n3\t4\n").returncode == 0
    assert read(client, path) == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]
    failed = cli.run("read", path, "--format", "<columns=[zzz]>schemaful_dsv")
    assert failed.returncode != 0
    assert b"zzz" in failed.stderr


def test_lines_may_have_a_prefix_and_sentinels_for_nulls(raw: RawHttp, client: YtClient, path: str) -> None:
    client.create("table", path)

    def write(body: bytes, name: str, **attributes: Any) -> Answer:
        row_format = yson.with_attributes(name, attributes)
        return raw.command("PUT", "write_table", {"path": path, "input_format": row_format}, body)

    columns = {"columns": ["a", "b"]}
    tskv = yson.with_attributes("dsv", {"line_prefix": "tskv"})
    assert write(b"tskv\ta=1\tb=2\ntskv\n", "dsv", line_prefix="tskv").status == 200
    assert read(client, path) == [{"a": "1", "b": "2"}, {}]
    text = raw.command("GET", "read_table", {"path": path, "output_format": tskv}).body
    assert text == b"tskv\ta=1\tb=2\ntskv\n"
    assert write(b"-\tx\n", "schemaful_dsv", **columns).status == 200
    assert read(client, path) == [{"a": "-", "b": "x"}]
    sentinel = {"missing_value_mode": "print_sentinel", "missing_value_sentinel": "-"}
    assert write(b"-\tx\n--\t-\n", "schemaful_dsv", **columns, **sentinel).status == 200
    for refusal in (
        write(b"a=3\n", "dsv", line_prefix="tskv"),
        write(b"a\tb\n3\t3\n", "schemaful_dsv", **columns, enable_column_names_header=True),
        write(b'{"a": 1e400}', "json"),
    ):
        assert refusal.status == 400
        assert refusal.error
    assert read(client, path) == [{"a": None, "b": "x"}, {"a": "--", "b": None}]


def test_nulls_can_be_left_out(raw: RawHttp, client: YtClient, path: str) -> None:
    client.write_table(path, [{"x": 0, "y": None}, {"x": None, "y": 1}])
    for skip, expected in ((True, b'{"x"=0;};\n{"y"=1;};\n'), (False, b'{"x"=0;"y"=#;};\n{"x"=#;"y"=1;};\n')):
        described = yson.with_attributes("yson", {"format": "text", "skip_null_values": skip})
        assert raw.command("GET", "read_table", {"path": path, "output_format": described}).body == expected


def test_rows_come_in_json_as_well(client: YtClient, path: str) -> None:
    rows = [{"a": "\N{SNOWMAN}", "b": [1, {"c": None}]}, {"a": None}]
    client.write_table(path, rows, format=JsonFormat())
    assert read(client, path, format=JsonFormat()) == rows
    assert read(client, path) == rows


def test_tables_are_written_and_read_in_parallel(clients: Clients, proxy: str, home: str) -> None:
    parallel = clients.make(
        proxy,
        write_parallel={"enable": True, "max_thread_count": 3},
        read_parallel={"enable": True, "max_thread_count": 3, "data_size_per_thread": 8 * 1024},
        write_retries={"chunk_size": 4 * 1024},
    )
    rows = [{"key": number, "value": "x" * 50} for number in range(1000)]
    parallel.write_table(f"{home}/p", rows)
    assert parallel.get(f"{home}/p/@chunk_count") > 5
    assert read(parallel, f"{home}/p") == rows
    told: dict[str, Any] = {}
    assert read(parallel, f"{home}/p[#10:#500]", response_parameters=told) == rows[10:500]


def test_a_table_of_many_chunks_is_written_with_retries_and_read_in_order(client: YtClient, path: str) -> None:
    rows = [{"key": number, "value": str(number) * 3} for number in range(40_000)]
    client.write_table(path, rows)
    assert client.get(f"{path}/@row_count") == 40_000
    assert client.get(f"{path}/@chunk_count") == 2
    assert read(client, path) == rows
    assert numbers(client, f"{path}[#32760:#32775]") == list(range(32760, 32775))
