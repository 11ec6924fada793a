"""Values of every type come back from static tables as they went in, in YSON and in JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from yt.wrapper import JsonFormat, YsonFormat, YtClient
from yt.yson.yson_types import YsonUint64

DAYS = 49673

BYTES = st.binary(max_size=10)
TEXT = st.text(max_size=10).map(str.encode)
# In JSON a key that begins with one "$" would be something else, and the client does not double it.
KEYS = st.text(max_size=10).filter(lambda key: not key.startswith("$")).map(str.encode)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
ANY = st.recursive(
    st.one_of(st.booleans(), NUMBERS, FINITE, BYTES),
    lambda inner: st.lists(inner | st.none(), max_size=3) | st.dictionaries(KEYS, inner | st.none(), max_size=3),
    max_leaves=5,
)


def unsigned(largest: int) -> st.SearchStrategy[Any]:
    return st.integers(0, largest).map(YsonUint64)


def signed(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


TYPES: dict[str, st.SearchStrategy[Any]] = {
    **{f"int{bits}": signed(bits) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": unsigned(2**bits - 1) for bits in (8, 16, 32, 64)},
    "double": FINITE,
    "float": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "string": BYTES,
    "utf8": TEXT,
    "json": st.dictionaries(st.text(), st.integers() | st.none(), max_size=2).map(
        lambda value: json.dumps(value).encode()
    ),
    "uuid": st.uuids().map(lambda value: value.bytes),
    "date": unsigned(DAYS - 1),
    "datetime": unsigned(DAYS * 86400 - 1),
    "timestamp": unsigned(DAYS * 86400 * 10**6 - 1),
    "interval": st.integers(1 - DAYS * 86400 * 10**6, DAYS * 86400 * 10**6 - 1),
    "any": ANY,
    "null": st.none(),
    "void": st.none(),
}
SCHEMA = [{"name": name, "type": name} for name in TYPES]
ROWS = st.lists(
    st.fixed_dictionaries({name.encode(): st.none() | values for name, values in TYPES.items()}), max_size=8
)
FORMATS = {
    "yson": YsonFormat(encoding=None),
    "text": YsonFormat(format="text", encoding=None),
    "json": JsonFormat(encoding=None),
}


def exact(value: Any) -> Any:
    """Without the difference between classes of the client's and Python's own; but 1, 1.0 and True differ."""
    if isinstance(value, dict):
        return {bytes(name): exact(item) for name, item in value.items()}
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, (bool, float)) or type(value).__name__ == "YsonBoolean":
        return type(value).__name__.removeprefix("Yson").lower()[:4], str(float(value))
    return value


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(rows=ROWS)
def test_values_come_back_as_they_were_written(
    client: YtClient, home: str, kind: str, rows: list[dict[bytes, Any]]
) -> None:
    path = f"{home}/{kind}"
    if not client.exists(path):
        client.create("table", path, attributes={"schema": SCHEMA})
    client.write_table(path, rows, format=FORMATS[kind])
    for other in ("yson", kind):
        found = [dict(row) for row in client.read_table(path, format=FORMATS[other])]
        assert exact(found) == exact(rows)


def test_members_that_a_struct_lacks_are_null(client: YtClient, home: str) -> None:
    optional = {"type_name": "optional", "item": "string"}
    members = [{"name": "a", "type": "int64"}, {"name": "b", "type": optional}]
    schema = [{"name": "s", "type_v3": {"type_name": "struct", "members": members}}]
    rows = [{"s": {"a": 1}}, {"s": {"a": 2, "b": "x"}}]
    client.create("table", f"{home}/static", attributes={"schema": schema})
    client.write_table(f"{home}/static", rows)
    client.create("table", f"{home}/queue", attributes={"dynamic": True, "schema": schema})
    client.mount_table(f"{home}/queue", sync=True)
    client.insert_rows(f"{home}/queue", rows)
    expected = [{"a": 1, "b": None}, {"a": 2, "b": "x"}]
    assert [row["s"] for row in client.read_table(f"{home}/static")] == expected
    assert [row["s"] for row in client.select_rows(f"s from [{home}/queue]")] == expected
