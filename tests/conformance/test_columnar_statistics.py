"""How much is in which columns."""

from __future__ import annotations

from typing import Any

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import make_sorted, refused

SCHEMA = [{"name": name, "type": "any"} for name in ("x", "y", "z")]


def told(client: YtClient, *paths: str) -> list[dict[str, Any]]:
    return [dict(item) for item in client.get_table_columnar_statistics(list(paths))]


def test_weights_extremes_and_counts_are_told_by_column(client: YtClient, home: str) -> None:
    client.create("table", f"{home}/t", attributes={"schema": SCHEMA})
    client.write_table(f"{home}/t", [{"x": "abacaba", "y": 1}, {"x": 2, "z": True}, {"z": None}])
    everything, some = told(client, f"{home}/t", f"{home}/t{{x}}")
    assert everything == {
        "column_data_weights": {"x": 15, "y": 8, "z": 1},
        "column_min_values": {"x": 2, "y": 1, "z": True},
        "column_max_values": {"x": "abacaba", "y": 1, "z": True},
        "column_non_null_value_counts": {"x": 2, "y": 1, "z": 1},
        "chunk_row_count": 3,
        "legacy_chunk_row_count": 0,
        "legacy_chunks_data_weight": 0,
    }
    assert some["column_data_weights"] == {"x": 15}


def test_lists_and_maps_have_a_weight_and_no_order(client: YtClient, home: str) -> None:
    client.create("table", f"{home}/t", attributes={"schema": SCHEMA})
    client.write_table(f"{home}/t", [{"x": [1, 2]}, {"x": 1}])
    (statistics,) = told(client, f"{home}/t{{x}}")
    assert statistics["column_data_weights"]["x"] > 8
    assert statistics["column_non_null_value_counts"] == {"x": 2}
    assert statistics["column_min_values"] == statistics["column_max_values"] == {"x": None}


def test_a_table_without_a_schema_needs_columns(client: YtClient, home: str) -> None:
    client.create("table", f"{home}/t")
    client.write_table(f"{home}/t", [{"a": 1.5}, {"b": "x"}])
    with refused(1, f'Table "{home}/t" does not have schema and column selector is not specified'):
        told(client, f"{home}/t")
    (statistics,) = told(client, f"{home}/t{{a,c}}")
    assert statistics["column_data_weights"] == {"a": 8, "c": 0}
    assert statistics["column_max_values"] == {"a": 1.5, "c": None}


def test_dynamic_tables(client: YtClient, home: str) -> None:
    path = make_sorted(client, f"{home}/t")
    client.insert_rows(path, [{"key": 1, "value": "ab"}, {"key": 2, "value": "c"}])
    (statistics,) = told(client, path)
    assert statistics["column_data_weights"] == {"key": 16, "value": 3, "other": 0}


def test_directories_have_none(client: YtClient, home: str) -> None:
    with refused(1, "table"):
        told(client, home)
    with pytest.raises(Exception, match="nope"):
        told(client, f"{home}/nope")


@pytest.mark.parametrize("name", ["text", "composite"])
def test_statistics_know_values_of_all_types(client: YtClient, home: str, name: str) -> None:
    schema = [
        {"name": "i", "type": "int64"},
        {"name": "u", "type": "uint64"},
        {"name": "d", "type": "double"},
        {"name": "b", "type": "boolean"},
        {"name": "s", "type": "string"},
        {"name": "a", "type": "any"},
    ]
    client.create("table", f"{home}/t", attributes={"schema": schema})
    rows: list[dict[str, Any]] = [
        {"i": -5, "u": 7, "d": 0.5, "b": False, "s": "x", "a": [1] if name == "composite" else "y"},
        {"i": 3, "u": 2**63, "d": -1.0, "b": True, "s": "\u00e9"},
    ]
    client.write_table(f"{home}/t", rows)
    (statistics,) = told(client, f"{home}/t{{s,i,u,d,b,a}}")
    known = {"a": None if name == "composite" else "y"}
    assert statistics["column_min_values"] == {"i": -5, "u": 7, "d": -1.0, "b": False, "s": "x", **known}
    assert statistics["column_max_values"] == {"i": 3, "u": 2**63, "d": 0.5, "b": True, "s": "\u00e9", **known}
