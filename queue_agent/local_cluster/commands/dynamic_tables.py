"""Commands on rows of dynamic tables."""

from __future__ import annotations

from typing import Any, Final

from queue_agent.local_cluster.cluster import Cluster
from queue_agent.local_cluster.commands.command import (
    Body,
    Command,
    Int64,
    Parameters,
    PathParameter,
    RichPathParameter,
    Rows,
    tabular,
    volatile,
)
from queue_agent.wire.error import YtError


class _Insert(Parameters):
    path: PathParameter
    update: bool = False
    aggregate: bool = False


class _Delete(Parameters):
    path: PathParameter


class _Lookup(Parameters):
    path: RichPathParameter
    column_names: list[str] | None = None
    versioned: bool = False
    keep_missing_rows: bool = False
    timestamp: Int64 | None = None


class _Select(Parameters):
    query: str
    input_row_limit: Int64 | None = None
    output_row_limit: Int64 | None = None
    placeholder_values: dict[str, Any] | None = None
    timestamp: Int64 | None = None


class _Trim(Parameters):
    path: PathParameter
    tablet_index: Int64
    trimmed_row_count: Int64


async def _insert_rows(cluster: Cluster, parameters: _Insert, body: Body) -> Any:
    if parameters.aggregate:
        raise YtError('Insertion with "aggregate" is not supported by the local cluster yet')
    cluster.tables.insert_rows(parameters.path, body.rows, update=parameters.update)
    return {}


async def _delete_rows(cluster: Cluster, parameters: _Delete, body: Body) -> Any:
    cluster.tables.delete_rows(parameters.path, body.rows)
    return {}


async def _lookup_rows(cluster: Cluster, parameters: _Lookup, body: Body) -> Rows:
    selectors, attributes = parameters.path.columns_and_ranges, parameters.path.attributes
    if selectors.startswith("{") or "columns" in attributes:
        raise YtError('Columns cannot be specified with table path, use "column_names" instead')
    if selectors or "ranges" in attributes:
        raise YtError("Ranges cannot be specified")
    return Rows(
        cluster.tables.lookup_rows(
            parameters.path.bare,
            body.rows,
            column_names=parameters.column_names,
            versioned=parameters.versioned,
            keep_missing_rows=parameters.keep_missing_rows,
            timestamp=parameters.timestamp,
        )
    )


async def _select_rows(cluster: Cluster, parameters: _Select, _: Body) -> Rows:
    return Rows(
        cluster.tables.select_rows(
            parameters.query,
            placeholder_values=parameters.placeholder_values,
            input_row_limit=parameters.input_row_limit,
            output_row_limit=parameters.output_row_limit,
            timestamp=parameters.timestamp,
        )
    )


async def _trim_rows(cluster: Cluster, parameters: _Trim, _: Body) -> Any:
    cluster.tables.trim_rows(parameters.path, parameters.tablet_index, parameters.trimmed_row_count)
    return {}


COMMANDS: Final[tuple[Command, ...]] = (
    volatile("insert_rows", _Insert, _insert_rows, input_type="tabular", is_heavy=True),
    volatile("delete_rows", _Delete, _delete_rows, input_type="tabular", is_heavy=True),
    tabular("lookup_rows", _Lookup, _lookup_rows, input_type="tabular"),
    tabular("select_rows", _Select, _select_rows),
    volatile("trim_rows", _Trim, _trim_rows, is_heavy=True, transactions="ignored"),
)
