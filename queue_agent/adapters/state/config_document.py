"""The dynamic configuration: a document in Cypress."""

from __future__ import annotations

from typing import Any

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.errors import ObjectNotFound
from yt_wire import yson


class ConfigDocument:
    """`ports.ConfigSource`.

    Args:
        cluster: where the document is.
        path: of the document; any other kind of node that gives a map will do.
    """

    def __init__(self, cluster: YtCluster, path: str) -> None:
        self._cluster = cluster
        self._path = path

    async def find(self) -> Any:
        """See `ports.ConfigSource`."""
        try:
            return to_plain(await self._cluster.get(self._path))
        except ObjectNotFound:
            return None


def to_plain(value: yson.Yson) -> Any:
    """A value of plain Python kinds, without attributes at any depth; a string that is not UTF-8 is bytes."""
    match yson.plain(value):
        case dict() as members:
            return {key: to_plain(member) for key, member in members.items()}
        case list() as members:
            return [to_plain(member) for member in members]
        case int() as number if not isinstance(number, bool):
            return int(number)
        case scalar:
            return scalar
