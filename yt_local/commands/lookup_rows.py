"""lookup_rows: rows by their keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import Field

from yt_local.calls.call import Call, Method, reply
from yt_local.calls.command import Body, Command, Int64, Parameters, RichPathParameter, Rows, TransactionId, tabular
from yt_local.calls.manual import READ_ERRORS, Manual
from yt_local.calls.messages import rich_path, text
from yt_local.calls.rows import at_timestamp, check_all_taken, read_timestamp, rowset_reply, take
from yt_local.calls.rowsets import decode_rows, descriptor, encode_rows, encode_versioned_rows
from yt_local.cluster import Cluster
from yt_local.schema.retention import Retention
from yt_local.security.permissions import UNCHECKED
from yt_local.session import Session
from yt_wire.bus import Part
from yt_wire.connection import Reply
from yt_wire.error import YtError
from yt_wire.proto import api_pb2 as api
from yt_wire.ypath import parse_rich

_MICROSECONDS: Final = 1000


class _Lookup(Parameters):
    transaction_id: TransactionId = None
    path: RichPathParameter
    column_names: list[str] | None = None
    versioned: bool = False
    retention_config: dict[str, Any] | None = None
    keep_missing_rows: bool = False
    timestamp: Int64 | None = None
    retention_timestamp: Annotated[int, Field(ge=0, lt=2**63)] = 0


async def _lookup_rows(cluster: Cluster, session: Session, parameters: _Lookup, body: Body) -> Rows:
    selectors, attributes = parameters.path.columns_and_ranges, parameters.path.attributes
    if selectors.startswith("{") or "columns" in attributes:
        raise YtError('Columns cannot be specified with table path, use "column_names" instead')
    if selectors or "ranges" in attributes:
        raise YtError("Ranges cannot be specified")
    timestamp = read_timestamp(cluster, parameters.transaction_id, parameters.timestamp)
    path, column_names, keep_missing = parameters.path.bare, parameters.column_names, parameters.keep_missing_rows
    keys = body.rows_for(lambda: cluster.tables.open(path, session.access.to("read")).schema.columns)
    if parameters.versioned and parameters.retention_timestamp:
        raise YtError('Versioned lookups take "retention_config", not "retention_timestamp"')
    if parameters.versioned:
        retention = Retention.of(parameters.retention_config or {})
        return Rows(
            cluster.tables.lookup_versions(
                session.access,
                path,
                keys,
                column_names=column_names,
                retention=retention,
                keep_missing_rows=keep_missing,
                timestamp=timestamp,
            )
        )
    return Rows(
        cluster.tables.lookup_rows(
            session.access,
            path,
            keys,
            column_names=column_names,
            keep_missing_rows=keep_missing,
            timestamp=timestamp,
            retention_timestamp=parameters.retention_timestamp,
        )
    )


COMMANDS: Final[tuple[Command, ...]] = (
    tabular(
        "lookup_rows",
        _Lookup,
        _lookup_rows,
        Manual(
            "Rows by their keys.",
            "Rows in the order of the keys. Keys that are not there are left out, or `#` with `keep_missing_rows`; "
            "with `versioned` every column is a list of values with `timestamp`.",
            {
                **READ_ERRORS,
                1: "no such column; columns or ranges in the path",
                307: "a key against the schema",
                1716: "ordered",
            },
            ignored=(
                "timeout",
                "read_from",
                "rpc_hedging_delay",
                "replica_consistency",
                "cached_sync_replicas_timeout",
                "use_lookup_cache",
                "enable_partial_result",
                "versioned_read_options",
                "table_writer",
            ),
            differs="Answers of replicated tables are always consistent.",
            parameters={
                "column_names": "columns of the answer; all if null",
                "versioned": "all versions of each value",
                "retention_config": "which versions a versioned lookup shows",
                "keep_missing_rows": "entities for keys that are not there",
                "timestamp": "as of when; within a transaction its start",
                "retention_timestamp": "values that were written before are null, rows of such values alone are not "
                "there; refused for aggregate columns, and where values are so old that nobody knows when they were "
                "written",
            },
        ),
        input_type="tabular",
        transactions="taken",
    ),
)


async def _looked_up(
    call: Call,
    request: api.TReqLookupRows | api.TReqVersionedLookupRows | api.TReqMultiLookup.TSubrequest,
    timestamp: int,
    attachments: Sequence[Part],
    **options: Any,
) -> Any:
    keys = decode_rows(request.rowset_descriptor, attachments)
    found: dict[str, Any] = {
        "path": rich_path(request.path),
        "keep_missing_rows": request.keep_missing_rows,
        **at_timestamp(timestamp),
        **options,
    }
    if request.columns:
        found["column_names"] = list(map(text, request.columns))
    answer = await call.execute("lookup_rows", found, Body(rows=[key.values for key in keys]))
    return answer.rows


async def _rpc_lookup(call: Call, request: api.TReqLookupRows) -> Reply:
    retention = {"retention_timestamp": request.retention_timestamp}
    rows = await _looked_up(call, request, request.timestamp, call.attachments, **retention)
    return rowset_reply(api.TRspLookupRows(rowset_descriptor=descriptor(rows.columns)), rows)


async def _rpc_multi_lookup(call: Call, request: api.TReqMultiLookup) -> Reply:
    rest = list(call.attachments)
    answer = api.TRspMultiLookup()
    attachments = []
    for subrequest in request.subrequests:
        rows = await _looked_up(call, subrequest, request.timestamp, take(rest, subrequest.attachment_count))
        answer.subresponses.add(rowset_descriptor=descriptor(rows.columns), attachment_count=1)
        attachments.append(encode_rows(rows.columns, rows.rows))
    check_all_taken(rest)
    return reply(answer, *attachments)


async def _rpc_lookup_versions(call: Call, request: api.TReqVersionedLookupRows) -> Reply:
    options: dict[str, Any] = {"versioned": True}
    if request.HasField("retention_config"):
        retention = request.retention_config
        options["retention_config"] = {
            "min_data_versions": retention.min_data_versions,
            "max_data_versions": retention.max_data_versions,
            "min_data_ttl": retention.min_data_ttl // _MICROSECONDS,
            "max_data_ttl": retention.max_data_ttl // _MICROSECONDS,
        }
    rows = await _looked_up(call, request, request.timestamp, call.attachments, **options)
    schema = call.cluster.tables.open(parse_rich(request.path).path, UNCHECKED).schema
    wanted = list(map(text, request.columns))
    columns = [column for column in schema.columns if not wanted or column.name in wanted]
    message = api.TRspVersionedLookupRows(rowset_descriptor=descriptor(columns, versioned=True))
    return reply(message, encode_versioned_rows(columns, rows))


METHODS: Final[tuple[Method, ...]] = (
    Method(api.TReqLookupRows, _rpc_lookup),
    Method(api.TReqMultiLookup, _rpc_multi_lookup),
    Method(api.TReqVersionedLookupRows, _rpc_lookup_versions),
)
