"""What tests of static tables share."""

from __future__ import annotations

from typing import Any

import pytest
from yt.wrapper import YtClient

from yt_wire import yson

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
