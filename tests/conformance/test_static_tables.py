"""Static tables through ytsaurus-client and the `yt` command: written, read in part, appended to, put together."""

from __future__ import annotations

import json
from typing import Any

import pytest
from yt.wrapper import JsonFormat, TablePath, YsonFormat, YtClient
from yt.yson.yson_types import YsonUint64

from queue_agent.wire import yson
from tests.conformance.harness import Cli, Clients, RawHttp, make_queue, make_sorted, refused

KEYED = [{"name": "key", "type": "int64", "sort_order": "ascending"}, {"name": "value", "type": "string"}]


def unique(columns: list[dict[str, Any]]) -> Any:
    return yson.with_attributes(columns, {"strict": True, "unique_keys": True})


def table(client: YtClient, path: str, schema: Any = None, **attributes: Any) -> str:
    given = {} if schema is None else {"schema": schema}
    client.create("table", path, attributes={**given, **attributes})
    return path


def read(client: YtClient, path: Any, **options: Any) -> list[Any]:
    return [dict(row) if isinstance(row, dict) else row for row in client.read_table(path, **options)]


def numbers(client: YtClient, path: Any) -> list[int]:
    return [row["key"] for row in read(client, path)]


@pytest.fixture
def path(home: str) -> str:
    return f"{home}/t"


def test_rows_without_a_schema_come_back_as_they_were_written(client: YtClient, path: str) -> None:
    rows = [{"b": "hello"}, {"b": "2", "a": 1}, {"x": YsonUint64(10), "y": [1, {"z": None}], "a": 1.5}, {"n": None}, {}]
    client.write_table(path, rows)
    assert read(client, path) == rows
    assert client.get(f"{path}/@schema_mode") == "weak"
    assert client.get(f"{path}/@row_count") == 5
    assert client.get(f"{path}/@chunk_count") == len(client.get(f"{path}/@chunk_ids")) == 1


def test_a_write_replaces_what_was_there_unless_it_appends(client: YtClient, path: str) -> None:
    client.write_table(path, [{"key": 1}])
    client.write_table(path, [{"key": 2}])
    assert numbers(client, path) == [2]
    client.write_table(f"<append=%true>{path}", [{"key": 3}, {"key": 4}])
    assert numbers(client, path) == [2, 3, 4]
    assert client.get(f"{path}/@chunk_count") == 2
    assert client.get(f"{path}/@data_weight") == 3 * 9
    client.write_table(path, [])
    assert numbers(client, path) == []
    assert client.get(f"{path}/@chunk_count") == 0


def test_nothing_is_written_where_no_table_is(client: YtClient, home: str) -> None:
    client.create("map_node", f"{home}/m")
    with refused(1, "map_node"):
        client.write_table(f"{home}/m", [{"a": 1}], force_create=False)
    with refused(500, "nowhere"):
        client.write_table(f"{home}/nowhere", [{"a": 1}], force_create=False)
    queue = make_queue(client, f"{home}/q")
    with refused(1, "dynamic"):
        client.write_table(queue, [{"data": "a"}], force_create=False)


@pytest.mark.parametrize(
    ("column", "value", "code"),
    [
        ({"type": "int64"}, b"text", 307),
        ({"type": "int64"}, 1.5, 307),
        ({"type": "string"}, 1, 307),
        ({"type": "boolean"}, 0, 307),
        ({"type": "uint8"}, YsonUint64(256), 307),
        ({"type": "utf8"}, b"\xff", 307),
        ({"type": "int64", "required": True}, None, 307),
    ],
)
def test_a_value_of_a_wrong_type_is_refused(
    client: YtClient, path: str, column: dict[str, Any], value: Any, code: int
) -> None:
    table(client, path, [{"name": "v", **column}])
    with refused(code, '"v"'):
        client.write_table(path, [{b"v": value}], format=YsonFormat(encoding=None))
    assert client.get(f"{path}/@row_count") == 0


def test_a_strict_schema_takes_its_own_columns_only_and_fills_in_nulls(client: YtClient, path: str) -> None:
    table(client, path, KEYED)
    with refused(307, "other"):
        client.write_table(path, [{"key": 1, "other": 2}])
    client.write_table(path, [{"key": 1}])
    assert read(client, path) == [{"key": 1, "value": None}]
    assert client.get(f"{path}/@schema_mode") == "strong"


def test_a_schema_that_is_not_strict_takes_more(client: YtClient, path: str) -> None:
    table(client, path, yson.with_attributes([{"name": "key", "type": "int64"}], {"strict": False}))
    client.write_table(path, [{"key": 1, "more": "x"}, {"key": 2}])
    assert read(client, path) == [{"key": 1, "more": "x"}, {"key": 2}]
    with refused(307, "key"):
        client.write_table(path, [{"key": "no"}])


def test_rows_of_a_sorted_table_have_to_be_in_order(client: YtClient, path: str) -> None:
    table(client, path, KEYED)
    client.write_table(path, [{"key": 1}, {"key": 1}, {"key": 3}])
    assert client.get(f"{path}/@sorted")
    assert client.get(f"{path}/@boundary_keys") == {"min_key": [1], "max_key": [3]}
    with refused(301, "Sort order violation"):
        client.write_table(path, [{"key": 2}, {"key": 1}])
    with refused(301, "Sort order violation"):
        client.write_table(f"<append=%true>{path}", [{"key": 2}])
    client.write_table(f"<append=%true>{path}", [{"key": 3}, {"key": 4}])
    assert numbers(client, path) == [1, 1, 3, 3, 4]


def test_unique_keys_are_unique(client: YtClient, path: str) -> None:
    table(client, path, unique(KEYED))
    client.write_table(path, [{"key": 1}, {"key": 2}])
    with refused(306, "Duplicate key"):
        client.write_table(path, [{"key": 1}, {"key": 1}])
    with refused(306, "Duplicate key"):
        client.write_table(f"<append=%true>{path}", [{"key": 2}])
    assert numbers(client, path) == [1, 2]


def test_descending_order_is_an_order_too(client: YtClient, path: str) -> None:
    table(client, path, [{"name": "key", "type": "int64", "sort_order": "descending"}])
    client.write_table(path, [{"key": 3}, {"key": 1}])
    with refused(301):
        client.write_table(path, [{"key": 1}, {"key": 3}])
    assert numbers(client, f"{path}[2:]") == [1]


def test_computed_columns_are_computed(client: YtClient, path: str) -> None:
    hashed = {"name": "hash", "type": "int64", "sort_order": "ascending", "expression": "key % 4", "required": True}
    with refused(1, "Non-key"):
        table(client, path, [{"name": "hash", "type": "int64", "expression": "1"}])
    table(client, path, [hashed, *KEYED])
    keys = sorted(range(40), key=lambda key: (key % 4, key))
    client.write_table(path, [{"key": key} for key in keys])
    assert [(row["hash"], row["key"]) for row in read(client, path)] == [(key % 4, key) for key in keys]
    with refused(307, "hash"):
        client.write_table(path, [{"hash": 0, "key": 1}])
    with refused(301):
        client.write_table(path, [{"key": key} for key in reversed(keys)])


def test_a_path_can_name_the_order(client: YtClient, path: str) -> None:
    table(client, path)
    client.write_table(TablePath(path, sorted_by=["a", "b"]), [{"a": 0, "b": 1}, {"a": 1, "b": 0}])
    assert client.get(f"{path}/@sorted_by") == ["a", "b"]
    assert client.get(f"{path}/@schema_mode") == "weak"
    client.write_table(TablePath(path, sorted_by=["a"], append=True), [{"a": 1, "b": 0}])
    assert client.get(f"{path}/@sorted_by") == ["a"]
    with refused(301):
        client.write_table(TablePath(path, sorted_by=["a"], append=True), [{"a": 0}])
    with refused(1, "Key columns mismatch"):
        client.write_table(TablePath(path, sorted_by=["a", "b"], append=True), [{"a": 5, "b": 0}])
    client.write_table(f"<append=%true>{path}", [{"a": 0}])
    assert not client.get(f"{path}/@sorted")
    assert not client.exists(f"{path}/@sorted_by")


def test_values_of_different_types_sort_by_type(client: YtClient, path: str) -> None:
    values = [None, 1, 2, YsonUint64(3), 2.0, 4.0, False, True, "", "b"]
    table(client, path)
    client.write_table(TablePath(path, sorted_by=["s", "i"]), [{"s": value, "i": i} for i, value in enumerate(values)])

    def found(selector: str) -> list[int]:
        return [row["i"] for row in read(client, path + selector)]

    assert found("[(#,0):(#,100)]") == [0]
    assert found("[(1,0):(2,100)]") == [1, 2]
    assert found("[(3u,0):(4u,100)]") == [3]
    assert found("[(2.0,0):(4.0,100)]") == [4, 5]
    assert found("[(%false,0):(%true,100)]") == [6, 7]
    assert found('[("",0):("b",100)]') == [8, 9]
    with refused(303):
        client.write_table(TablePath(path, sorted_by=["s"]), [{"s": [1]}])


def test_a_path_can_bring_a_schema(client: YtClient, path: str) -> None:
    table(client, path)
    client.write_table(TablePath(path, schema=KEYED), [{"key": 0}])
    assert client.get(f"{path}/@schema_mode") == "strong"
    client.write_table(TablePath(path, schema=[{"name": "key", "type": "any"}]), [{"key": [4]}])
    assert read(client, path) == [{"key": [4]}]
    assert not client.get(f"{path}/@sorted")


def test_attributes_of_a_path_that_do_not_go_together_are_refused(raw: RawHttp, client: YtClient, path: str) -> None:
    table(client, path)
    schema = [{"name": "a", "type": "int64"}]
    for attributes in (
        {"append": True, "schema": schema},
        {"sorted_by": ["a"], "schema": schema},
        {"append": True, "compression_codec": "none"},
        {"schema": [*schema, *schema]},
        {"sorted_by": ["a", "a"]},
    ):
        answer = raw.command("PUT", "write_table", {"path": yson.with_attributes(path, attributes)}, b"")
        assert answer.error is not None, attributes


def test_storage_attributes_of_a_path_stay_with_the_table(client: YtClient, path: str) -> None:
    table(client, path)
    client.write_table(TablePath(path, compression_codec="zlib_6", optimize_for="lookup"), [{"a": 1}])
    assert client.get(f"{path}/@compression_codec") == "zlib_6"
    assert client.get(f"{path}/@optimize_for") == "lookup"
    assert list(client.get(f"{path}/@compression_statistics")) == ["zlib_6"]


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


def test_tables_are_concatenated(client: YtClient, home: str, path: str) -> None:
    one, two = table(client, f"{home}/1", KEYED), table(client, f"{home}/2", KEYED)
    client.write_table(one, [{"key": 1}, {"key": 2}])
    client.write_table(two, [{"key": 5}, {"key": 6}])
    client.concatenate([two, one], path)
    assert numbers(client, path) == [5, 6, 1, 2]
    assert client.get(f"{path}/@schema_mode") == "strong"
    assert not client.get(f"{path}/@sorted")
    assert client.get(f"{path}/@chunk_ids") == [*client.get(f"{two}/@chunk_ids"), *client.get(f"{one}/@chunk_ids")]
    client.concatenate([one], f"<append=%true>{path}")
    assert numbers(client, path) == [5, 6, 1, 2, 1, 2]
    client.remove(one)
    client.remove(two)
    assert numbers(client, path) == [5, 6, 1, 2, 1, 2]


def test_sorted_tables_are_concatenated_in_the_order_of_keys(client: YtClient, home: str, path: str) -> None:
    one, two = table(client, f"{home}/1", KEYED), table(client, f"{home}/2", KEYED)
    client.write_table(one, [{"key": 1}, {"key": 3}])
    client.write_table(two, [{"key": 3}, {"key": 4}])
    table(client, path, KEYED)
    client.concatenate([two, one], path)
    assert numbers(client, path) == [1, 3, 3, 4]
    with refused(301, "overlapping"):
        client.concatenate([one], f"<append=%true>{path}")
    table(client, f"{home}/u", unique(KEYED))
    with refused(307, "unique"):
        client.concatenate([one], f"{home}/u")
    plain = table(client, f"{home}/p", [{"name": "key", "type": "int64"}])
    client.write_table(plain, [{"key": 1}])
    with refused(307, "less key columns"):
        client.concatenate([plain], path)


def test_schemas_of_concatenated_tables_have_to_go_together(client: YtClient, home: str, path: str) -> None:
    text = table(client, f"{home}/text", [{"name": "key", "type": "string"}])
    weak = table(client, f"{home}/weak")
    number = table(client, path, [{"name": "key", "type": "int64"}, {"name": "more", "type": "any"}])
    with refused(307, text, number):
        client.concatenate([text], number)
    with refused(307, "weak"):
        client.concatenate([weak], number)
    small = table(client, f"{home}/small", [{"name": "key", "type": "int32"}])
    client.write_table(small, [{"key": 5}])
    client.concatenate([small], number)
    assert numbers(client, number) == [5]
    client.concatenate([small, text], weak)
    assert client.get(f"{weak}/@schema_mode") == "weak"
    client.create("file", f"{home}/f")
    with refused(1, "must be the same"):
        client.concatenate([weak, f"{home}/f"], weak)
    queue = make_queue(client, f"{home}/q")
    with refused(1, "dynamic"):
        client.concatenate([queue], weak)


def test_copies_share_chunks_and_live_on(client: YtClient, home: str, path: str) -> None:
    table(client, path, KEYED, mine=5)
    client.write_table(path, [{"key": 1}])
    client.copy(path, f"{home}/copy")
    (chunk_id,) = client.get(f"{path}/@chunk_ids")
    assert client.get(f"{home}/copy/@chunk_ids") == [chunk_id]
    assert sorted(client.get(f"#{chunk_id}/@owning_nodes")) == sorted([path, f"{home}/copy"])
    client.write_table(path, [{"key": 2}])
    assert numbers(client, f"{home}/copy") == [1]
    client.move(path, f"{home}/moved")
    assert numbers(client, f"{home}/moved") == [2]
    client.remove(f"{home}/copy")
    assert not client.exists(f"#{chunk_id}/@type") or client.get(f"#{chunk_id}/@owning_nodes") == []


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


@pytest.mark.parametrize("body", [b"string", b"100", b"{a=1", b"{a=1};{b=<x=1>2};", b"[1;2]", b"{a=1}{b=2}"])
def test_what_is_no_list_of_rows_is_refused_and_nothing_is_written(
    raw: RawHttp, client: YtClient, path: str, body: bytes
) -> None:
    client.write_table(path, [{"a": 0}])
    answer = raw.command("PUT", "write_table", {"path": path}, body)
    assert answer.error is not None
    assert read(client, path) == [{"a": 0}]


def test_heavy_rows_and_keys_are_refused(client: YtClient, path: str) -> None:
    with refused(308, "Row weight"):
        client.write_table(path, [{"a": "long_string"}], table_writer={"max_row_weight": 2})
    with refused(308, "Key weight"):
        client.write_table(TablePath(path, sorted_by=["a"]), [{"a": "long"}], table_writer={"max_key_weight": 2})


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


def test_queues_are_read_whatever_state_they_are_in(client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q", tablet_count=2)
    client.insert_rows(
        queue, [{"data": f"{tablet}{row}", "$tablet_index": tablet} for tablet in (0, 1) for row in range(3)]
    )
    rows = read(client, queue)
    assert [row["data"] for row in rows] == ["00", "01", "02", "10", "11", "12"]
    assert list(rows[0]) == ["data", "$timestamp", "$cumulative_data_weight"]
    client.unmount_table(queue, sync=True)
    assert read(client, queue) == rows

    def found(lower: dict[str, int], upper: dict[str, int]) -> list[str]:
        ranges = [{"lower_limit": lower, "upper_limit": upper}]
        return [row["data"] for row in read(client, TablePath(queue, ranges=ranges))]

    assert found({"tablet_index": 0, "row_index": 1}, {"tablet_index": 1, "row_index": 1}) == ["01", "02", "10"]
    assert found({"tablet_index": 1}, {"tablet_index": 2}) == ["10", "11", "12"]
    control = {"enable_tablet_index": True, "enable_row_index": True}
    stream = client.read_table(queue + "{data}", control_attributes=control, raw=True, format=YsonFormat(format="text"))
    assert stream.read() == (
        b'<"tablet_index"=0;>#;\n<"row_index"=0;>#;\n{"data"="00";};\n{"data"="01";};\n{"data"="02";};\n'
        b'<"tablet_index"=1;>#;\n<"row_index"=0;>#;\n{"data"="10";};\n{"data"="11";};\n{"data"="12";};\n'
    )
    with refused(1, "tablet index selector"):
        read(client, f"{queue}[#1:]")
    with refused(1, "Key selectors"):
        read(client, f"{queue}[a:]")


def test_rows_of_a_segment_that_is_trimmed_in_part_are_read_with_it(client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q")
    client.insert_rows(queue, [{"data": "a"}, {"data": "b"}])
    client.freeze_table(queue, sync=True)
    client.unfreeze_table(queue, sync=True)
    client.insert_rows(queue, [{"data": "c"}])
    client.trim_rows(queue, 0, 1)
    assert [row["data"] for row in read(client, queue)] == ["a", "b", "c"]
    client.trim_rows(queue, 0, 2)
    assert [row["data"] for row in read(client, queue)] == ["c"]


def test_sorted_dynamic_tables_are_read_as_of_now_or_of_a_timestamp(client: YtClient, home: str) -> None:
    path = make_sorted(client, f"{home}/s")
    client.insert_rows(path, [{"key": key, "value": str(key), "other": [key]} for key in range(5)])
    then = client.generate_timestamp()
    client.delete_rows(path, [{"key": 2}])
    assert [row["key"] for row in read(client, path)] == [0, 1, 3, 4]
    assert [row["key"] for row in read(client, f"<timestamp={then}>{path}")] == [0, 1, 2, 3, 4]
    assert read(client, f"{path}{{other}}[1:4]") == [{"other": [1]}, {"other": [3]}]
    assert [row["key"] for row in read(client, TablePath(path, exact_key=[3]))] == [3]
    with refused(1, "Row index"):
        read(client, f"{path}[#1:]")


def test_a_queue_becomes_a_static_table_with_the_same_chunks_and_back(client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q", tablet_count=2)
    for tablet in (1, 0):
        client.insert_rows(queue, [{"data": f"{tablet}{row}", "$tablet_index": tablet} for row in range(2)])
    client.trim_rows(queue, 1, 1)
    rows = read(client, queue)
    client.unmount_table(queue, sync=True)
    chunk_ids = client.get(f"{queue}/@chunk_ids")
    schema = client.get(f"{queue}/@schema")
    client.alter_table(queue, dynamic=False)
    assert not client.get(f"{queue}/@dynamic")
    assert client.get(f"{queue}/@chunk_ids") == chunk_ids
    assert client.get(f"{queue}/@schema") == schema
    assert client.get(f"{queue}/@row_count") == 4
    assert [row["data"] for row in read(client, queue)] == ["00", "01", "10", "11"]
    assert read(client, f"{queue}[#0:#2]") == rows[:2]
    client.alter_table(queue, dynamic=True)
    client.mount_table(queue, sync=True)
    assert client.get(f"{queue}/@chunk_ids") == chunk_ids
    pulled = [row for offset in (0, 2) for row in client.pull_queue(queue, offset=offset, partition_index=0)]
    assert [(row["$row_index"], row["data"]) for row in pulled] == [(0, "00"), (1, "01"), (2, "10"), (3, "11")]
    assert [row["$timestamp"] for row in pulled][:2] == [row["$timestamp"] for row in rows][:2]
    client.insert_rows(queue, [{"data": "new"}])
    assert [row["$row_index"] for row in client.pull_queue(queue, offset=4, partition_index=0)] == [4]


def test_a_sorted_static_table_becomes_dynamic_if_its_keys_are_unique(client: YtClient, home: str, path: str) -> None:
    columns = [*KEYED, {"name": "u", "type": "uint64"}, {"name": "y", "type": "any"}]
    table(client, path, unique(columns))
    rows = [{"key": key, "value": str(key), "u": YsonUint64(key), "y": {"a": [key]}} for key in range(3)]
    client.write_table(path, rows)
    client.alter_table(path, dynamic=True)
    client.mount_table(path, sync=True)
    assert [dict(row) for row in client.select_rows(f"* from [{path}]")] == rows
    client.insert_rows(path, [{"key": 1, "value": "new"}])
    client.unmount_table(path, sync=True)
    client.alter_table(path, dynamic=False)
    assert [row["value"] for row in read(client, path)] == ["0", "new", "2"]
    other = table(client, f"{home}/other", KEYED)
    client.write_table(other, [{"key": 1}, {"key": 1}])
    with refused(1, "unique_keys"):
        client.alter_table(other, dynamic=True)


def test_a_schema_changes_as_far_as_the_rows_allow(client: YtClient, path: str) -> None:
    table(client, path, KEYED)
    client.write_table(path, [{"key": 1, "value": "a"}, {"key": 2, "value": "b"}])
    wider = [KEYED[0], {"name": "key2", "type": "int64", "sort_order": "ascending"}, KEYED[1]]
    client.alter_table(path, schema=wider)
    assert read(client, path) == [{"key": 1, "value": "a"}, {"key": 2, "value": "b"}]
    assert numbers(client, f"{path}[(2,#):]") == [2]
    client.alter_table(
        path,
        schema=[{"name": "key", "type": "int64"}, *wider[1:2], KEYED[1]][:0]
        + wider[:1]
        + wider[2:]
        + [{"name": "key2", "type": "int64"}],
    )
    assert client.get(f"{path}/@sorted_by") == ["key"]
    for schema in (
        [{"name": "key", "type": "string", "sort_order": "ascending"}, *wider[1:]],
        [{"name": "value", "type": "string", "sort_order": "ascending"}, {"name": "key", "type": "int64"}],
        [{"name": "key", "type": "int64"}],
        unique(KEYED),
    ):
        with refused(1):
            client.alter_table(path, schema=schema)
