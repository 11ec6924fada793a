"""Queues and consumers as people type them."""

from __future__ import annotations

from typing import Final

from queue_agent.cli.errors import CommandError
from queue_agent.core.values.refs import CrossClusterRef
from yt_wire.error import YtError
from yt_wire.ypath import parse_rich

CONSUMER_NAME: Final = "queue_consumer_name"


def parse_table(text: str, what: str) -> CrossClusterRef:
    """Read `cluster://path` or `<cluster=...>//path`.

    Args:
        text: as typed.
        what: the argument, for messages.
    """
    ref = parse_object(text, what)
    if ref.name:
        raise CommandError(f"{what}: {text} is one consumer of several in a table, and a table is wanted")
    return ref


def parse_object(text: str, what: str) -> CrossClusterRef:
    """Read the same, or a consumer in a multi-consumer: `<cluster=...; queue_consumer_name=...>//path`."""
    try:
        path = parse_rich(text)
    except YtError as error:
        raise CommandError(f"{what}: {error.message}") from error
    if path.cluster is None:
        raise CommandError(f"{what}: {text} does not name a cluster, as in cluster://path")
    if not path.path.startswith("//"):
        raise CommandError(f"{what}: {text} is no path that starts with //")
    return CrossClusterRef(str(path.cluster), path.path, str(path.attributes.get(CONSUMER_NAME, "")))
