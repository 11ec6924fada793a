"""select_rows, explain_query: rows by a query."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Final

from pydantic import Field

from yt_local.calls.call import Call, Method, reply
from yt_local.calls.command import Body, Command, Int64, Parameters, Rows, TransactionId, light, tabular
from yt_local.calls.manual import READ_ERRORS, Manual
from yt_local.calls.messages import request_parameters
from yt_local.calls.rows import at_timestamp, read_timestamp, rowset_reply
from yt_local.calls.rowsets import descriptor
from yt_local.cluster import Cluster
from yt_local.formats.row_output import ValueRows
from yt_local.query import SelectOptions
from yt_local.session import Session
from yt_wire import yson
from yt_wire.connection import Reply
from yt_wire.proto import api_pb2 as api


class _Select(Parameters):
    transaction_id: TransactionId = None
    query: str
    input_row_limit: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    output_row_limit: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    placeholder_values: dict[str, Any] | None = None
    timestamp: Int64 | None = None
    retention_timestamp: Annotated[int, Field(ge=0, lt=2**63)] = 0
    fail_on_incomplete_result: bool = True
    allow_full_scan: bool = True
    allow_join_without_index: bool = False
    syntax_version: Annotated[int, Field(ge=1, le=2)] = 1
    enable_statistics: bool = False


class _Explain(Parameters):
    query: str
    allow_full_scan: bool = True
    allow_join_without_index: bool = False
    syntax_version: Annotated[int, Field(ge=1, le=2)] = 1


async def _select_rows(cluster: Cluster, session: Session, parameters: _Select, _: Body) -> Rows:
    options = SelectOptions(
        parameters.input_row_limit,
        parameters.output_row_limit,
        parameters.fail_on_incomplete_result,
        parameters.allow_full_scan,
        parameters.allow_join_without_index,
        parameters.syntax_version,
    )
    timestamp = read_timestamp(cluster, parameters.transaction_id, parameters.timestamp)
    result = await cluster.turns.run(
        lambda: cluster.tables.select(
            session.access,
            parameters.query,
            placeholder_values=parameters.placeholder_values,
            options=options,
            timestamp=timestamp,
            retention_timestamp=parameters.retention_timestamp,
        )
    )
    statistics = asdict(result.statistics) if parameters.enable_statistics else {}
    return Rows(ValueRows(result.columns, result.rows), statistics)


async def _explain_query(cluster: Cluster, session: Session, parameters: _Explain, _: Body) -> Any:
    options = SelectOptions(
        allow_full_scan=parameters.allow_full_scan,
        allow_join_without_index=parameters.allow_join_without_index,
        syntax_version=parameters.syntax_version,
    )
    plan = await cluster.turns.run(lambda: cluster.tables.explain(session.access, parameters.query, options))
    return {"udf_registry_path": "//sys/udfs", "query": plan}


COMMANDS: Final[tuple[Command, ...]] = (
    tabular(
        "select_rows",
        _Select,
        _select_rows,
        Manual(
            "Rows by a query: [query-language.md](query-language.md).",
            "Rows with the selected columns, null ones too; statistics in the response parameters with "
            "`enable_statistics`.",
            {
                **READ_ERRORS,
                1: "a query that cannot be parsed or typed, or would take a full scan or join that is not allowed",
                500: "a table of the query is not there",
            },
            ignored=(
                "timeout",
                "read_from",
                "range_expansion_limit",
                "max_subqueries",
                "min_row_count_per_subquery",
                "verbose_logging",
                "enable_code_cache",
                "workload_descriptor",
                "execution_pool",
                "udf_registry_path",
                "use_canonical_null_relations",
                "merge_versioned_rows",
                "use_lookup_cache",
                "replica_consistency",
                "use_multijoin",
                "expression_builder_version",
                "execution_backend",
                "versioned_read_options",
            ),
            differs="User-defined functions are missing. query-language.md lists the rest.",
            parameters={
                "input_row_limit": "rows that may be read",
                "output_row_limit": "rows that may be answered",
                "placeholder_values": "a map of values for `{name}` in the query",
                "timestamp": "as of when; within a transaction its start",
                "retention_timestamp": "values of sorted tables that were written before are null, as in `lookup_rows`",
                "fail_on_incomplete_result": "an error instead of a part of the answer, if a limit is reached",
                "enable_statistics": "statistics in the response parameters",
            },
        ),
        transactions="taken",
    ),
    light(
        "explain_query",
        _Explain,
        _explain_query,
        Manual(
            "How a query is going to be answered.",
            "a map that describes the plan; its form is that of a real cluster only in outline",
            {1: "a query that cannot be parsed or typed", 500: "a table of the query is not there"},
            ignored=("verbose_output", "udf_registry_path"),
        ),
        transactions="ignored",
    ),
)


async def _rpc_select(call: Call, request: api.TReqSelectRows) -> Reply:
    found = {
        **request_parameters(request, {"timestamp": ""}),
        **at_timestamp(request.timestamp),
        "enable_statistics": True,
    }
    answer = await call.execute("select_rows", found)
    statistics = answer.response_parameters
    message = api.TRspSelectRows(
        rowset_descriptor=descriptor(answer.rows.columns),
        statistics=api.TQueryStatistics(
            rows_read=statistics["rows_read"],
            incomplete_input=statistics["incomplete_input"],
            incomplete_output=statistics["incomplete_output"],
        ),
    )
    return await call.cluster.turns.run(lambda: rowset_reply(message, answer.rows))


async def _rpc_explain(call: Call, request: api.TReqExplainQuery) -> Reply:
    answer = await call.execute("explain_query", request_parameters(request))
    return reply(api.TRspExplainQuery(value=yson.dumps(answer)))


METHODS: Final[tuple[Method, ...]] = (
    Method(api.TReqSelectRows, _rpc_select),
    Method(api.TReqExplainQuery, _rpc_explain),
)
