"""What is asked about tables, and the answers as the values of `core.values.observed`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from queue_agent.adapters.cluster.light_commands import LightCommand, Outcome, output_of
from queue_agent.core.values.observed import (
    ColumnDescription,
    ObjectRevisions,
    Poll,
    TableFacts,
    TabletDescription,
    TabletInfo,
    Watch,
)
from queue_agent.errors import ClusterError, ClusterUnavailable
from yt_wire import yson
from yt_wire.guid import NULL_GUID

_REMEMBERED_COMMANDS: Final = 1 << 16
_SHARED_VALUES: Final = 1 << 10
_LONGEST_TTL: Final = 10**14
"""Milliseconds: three thousand years, which no row will see."""

TABLE_ATTRIBUTES: Final = (
    "id",
    "schema",
    "tablets",
    "creation_time",
    "min_data_versions",
    "max_data_versions",
    "min_data_ttl",
    "max_data_ttl",
)
_FACTS: Final = ["id", "attribute_revision", "tablet_count_by_state"]


def object_revisions(value: Mapping[str, Any]) -> ObjectRevisions:
    """Value of `//sys/@queue_agent_object_revisions`; paths that are not UTF-8 cannot be served and are left out.

    Raises:
        ClusterError: a list is missing.
    """
    return ObjectRevisions(_revisions(value.get("queues"), "queues"), _revisions(value.get("consumers"), "consumers"))


def column_descriptions(schema: Iterable[Mapping[str, Any]]) -> tuple[ColumnDescription, ...]:
    """Value of `@schema`; the same object for equal ones, of which there are few for very many tables."""
    return _shared(tuple(map(_column, schema)))


def tablet_descriptions(tablets: Iterable[Mapping[str, Any]]) -> list[TabletDescription]:
    """Value of `@tablets`, by index."""
    return sorted(map(_tablet, tablets), key=lambda tablet: tablet.index)


def created_at(attributes: Mapping[str, Any]) -> datetime | None:
    """Of a table, from its `TABLE_ATTRIBUTES`."""
    text = attributes.get("creation_time")
    return None if text is None else datetime.fromisoformat(text)


def data_ttl(attributes: Mapping[str, Any]) -> timedelta | None:
    """Of an ordered table, from its `TABLE_ATTRIBUTES`: rows that are older are removed; None: none are.

    Maxima count if no version has to stay, minima if none may. What makes no sense removes nothing.
    """
    ttls = [
        attributes.get(ttl)
        for versions, ttl in (("min_data_versions", "max_data_ttl"), ("max_data_versions", "min_data_ttl"))
        if attributes.get(versions) == 0
    ]
    shortest = min((ttl for ttl in ttls if isinstance(ttl, int)), default=None)
    return None if shortest is None else timedelta(milliseconds=min(shortest, _LONGEST_TTL))


def tablet_infos_command(path: str, partition_indexes: Sequence[int], object_id: str | None = None) -> LightCommand:
    """Answered by what `tablet_infos` takes; with an object id, no other table at the path can answer."""
    table = path if object_id is None else f"#{object_id}"
    return LightCommand.of("get_tablet_infos", table, tablet_indexes=list(partition_indexes))


def tablet_infos(
    cluster: str, path: str, partition_indexes: Sequence[int], answer: Mapping[str, Any]
) -> dict[int, TabletInfo]:
    """By partition index.

    Args:
        cluster: its name, for messages.
        path: of the table, for messages.
        partition_indexes: those that were asked for.
        answer: of the cluster.

    Raises:
        ClusterError: it is not of as many tablets.
    """
    infos = answer["tablets"]
    if len(infos) != len(partition_indexes):
        raise ClusterError(
            f"get_tablet_infos {path} on cluster {cluster} returned {len(infos)} tablets"
            f" instead of {len(partition_indexes)}"
        )
    return {
        index: TabletInfo(
            int(info["total_row_count"]), int(info["trimmed_row_count"]), int(info["last_write_timestamp"])
        )
        for index, info in zip(partition_indexes, infos, strict=True)
    }


@lru_cache(maxsize=_REMEMBERED_COMMANDS)
def poll_commands(path: str, tablet_count: int, object_id: str | None = None) -> Sequence[LightCommand]:
    """Answered by what `poll` takes; kept, because it is these that are sent in every pass of every object."""
    facts = LightCommand.of("get", f"{path}/@", attributes=_FACTS)
    return (facts, tablet_infos_command(path, range(tablet_count), object_id)) if tablet_count else (facts,)


def poll(cluster: str, watch: Watch, outcomes: Sequence[Outcome], digest: bytes | None = None) -> Poll:
    """What the outcomes of `poll_commands` say.

    Args:
        cluster: its name, for messages.
        watch: the table.
        outcomes: of the commands.
        digest: of all of them, if it is known.

    Raises:
        ClusterError: the table's own, or the cluster's.
    """
    attributes = output_of(outcomes[0])["value"]
    infos: dict[int, TabletInfo] | None = {}
    for outcome in outcomes[1:]:
        if isinstance(outcome, ClusterUnavailable):
            raise outcome
        infos = (
            None
            if isinstance(outcome, Exception)
            else tablet_infos(cluster, watch.path, range(watch.tablet_count), outcome)
        )
    return Poll(
        TableFacts(
            object_id=str(attributes["id"]),
            attribute_revision=int(attributes["attribute_revision"]),
            tablet_count_by_state=_counts(tuple(attributes.get("tablet_count_by_state", {}).items())),
        ),
        infos,
        digest,
    )


def _revisions(value: Any, kind: str) -> Mapping[str, int]:
    if not isinstance(value, Mapping):
        # Taken for an empty list it would have every row of the cluster deleted.
        raise ClusterError(f"//sys/@queue_agent_object_revisions does not list {kind}: {value!r}")
    return {path: int(revision) for path, revision in value.items() if isinstance(path, str)}


def _column(column: Mapping[str, Any]) -> ColumnDescription:
    type_name = column.get("type")
    return ColumnDescription(
        name=str(column["name"]),
        type=str(type_name if type_name is not None else column.get("type_v3")),
        required=bool(column.get("required", False)),
        sort_order=column.get("sort_order"),
    )


def _tablet(tablet: Mapping[str, Any]) -> TabletDescription:
    cell_id = tablet.get("cell_id")
    leader_address = tablet.get("cell_leader_address")
    return TabletDescription(
        index=int(tablet["index"]),
        tablet_id=str(tablet["tablet_id"]),
        state=sys.intern(str(tablet["state"])),
        # The same few for very many tablets.
        cell_id=None if yson.is_null(cell_id) or cell_id == str(NULL_GUID) else sys.intern(str(cell_id)),
        host=None if yson.is_null(leader_address) else sys.intern(str(leader_address)),
    )


@lru_cache(maxsize=_SHARED_VALUES)
def _shared(columns: tuple[ColumnDescription, ...]) -> tuple[ColumnDescription, ...]:
    return columns


@lru_cache(maxsize=_SHARED_VALUES)
def _counts(items: tuple[tuple[str, int], ...]) -> Mapping[str, int]:
    return dict(items)
