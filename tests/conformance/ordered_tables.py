"""Rows of ordered tables, as tests write and read them."""

from __future__ import annotations

from typing import Any

from yt.wrapper import YtClient

TIMESTAMP = "$timestamp"
WEIGHT = "$cumulative_data_weight"
WORDS = ("foo", "bar", "foobar", "megafoo", "megabar")


def write(client: YtClient, path: str, *words: str, tablet: int | None = None) -> None:
    index = {} if tablet is None else {"$tablet_index": tablet}
    client.insert_rows(path, [{"data": word, **index} for word in words])


def pull(client: YtClient, path: str, offset: int = 0, partition: int = 0, **limits: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in client.pull_queue(path, offset=offset, partition_index=partition, **limits)]


def pull_all(client: YtClient, path: str) -> list[dict[str, Any]]:
    """All rows of the first partition: one pull goes to the end of a segment at most."""
    rows: list[dict[str, Any]] = []
    while batch := pull(client, path, rows[-1]["$row_index"] + 1 if rows else 0):
        rows += batch
    return rows


def info(client: YtClient, path: str, tablet: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = client.get_tablet_infos(path, [tablet])["tablets"][0]
    return found
