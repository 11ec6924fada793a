"""Commands on rows of dynamic tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from yt_local.cluster import Cluster
from yt_local.commands.command import (
    Body,
    Command,
    Int64,
    Parameters,
    PathParameter,
    RichPathParameter,
    Rows,
    TransactionId,
    light,
    tablet_transaction,
    tabular,
    volatile,
)
from yt_local.formats.format import InputRow
from yt_local.formats.row_output import ValueRows
from yt_local.query import SelectOptions
from yt_local.rows.row_locks import LOCK_TYPES, LockName
from yt_local.schema.retention import Retention
from yt_local.session import Session
from yt_local.tables.dynamic.tablet_transaction import Atomicity
from yt_wire.error import YtError
from yt_wire.guid import NULL_GUID


class _Write(Parameters):
    path: PathParameter
    atomicity: Atomicity = "full"
    durability: Literal["sync", "async"] = "sync"
    require_sync_replica: bool = True
    transaction_id: TransactionId = None


class _Insert(_Write):
    update: bool = False
    aggregate: bool = False
    allow_missing_key_columns: bool = False
    lock_type: Literal["exclusive", "shared_write"] = "exclusive"


class _Lock(Parameters):
    path: PathParameter
    locks: list[str] = Field(default_factory=list)
    lock_type: LockName = "shared_strong"
    transaction_id: TransactionId = None


class _Lookup(Parameters):
    transaction_id: TransactionId = None
    path: RichPathParameter
    column_names: list[str] | None = None
    versioned: bool = False
    retention_config: dict[str, Any] | None = None
    keep_missing_rows: bool = False
    timestamp: Int64 | None = None


class _Select(Parameters):
    transaction_id: TransactionId = None
    query: str
    input_row_limit: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    output_row_limit: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    placeholder_values: dict[str, Any] | None = None
    timestamp: Int64 | None = None
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


class _Trim(Parameters):
    path: PathParameter
    tablet_index: Int64
    trimmed_row_count: Int64


async def _insert_rows(cluster: Cluster, session: Session, parameters: _Insert, body: Body) -> Any:
    cluster.writer.insert_rows(
        session.access,
        parameters.path,
        _rows_to_write(cluster, session, parameters.path, body),
        update=parameters.update,
        aggregate=parameters.aggregate,
        lock=LOCK_TYPES[parameters.lock_type],
        atomicity=parameters.atomicity,
        require_sync_replica=parameters.require_sync_replica,
        transaction=tablet_transaction(cluster, parameters.transaction_id),
    )
    return {}


async def _delete_rows(cluster: Cluster, session: Session, parameters: _Write, body: Body) -> Any:
    cluster.writer.delete_rows(
        session.access,
        parameters.path,
        _rows_to_write(cluster, session, parameters.path, body),
        atomicity=parameters.atomicity,
        require_sync_replica=parameters.require_sync_replica,
        transaction=tablet_transaction(cluster, parameters.transaction_id),
    )
    return {}


async def _lock_rows(cluster: Cluster, session: Session, parameters: _Lock, body: Body) -> Any:
    transaction = cluster.tablet_transactions.get(parameters.transaction_id or str(NULL_GUID))
    rows = _rows_to_write(cluster, session, parameters.path, body)
    cluster.writer.lock_rows(
        session.access, parameters.path, rows, parameters.locks, LOCK_TYPES[parameters.lock_type], transaction
    )
    return {}


async def _lookup_rows(cluster: Cluster, session: Session, parameters: _Lookup, body: Body) -> Rows:
    selectors, attributes = parameters.path.columns_and_ranges, parameters.path.attributes
    if selectors.startswith("{") or "columns" in attributes:
        raise YtError('Columns cannot be specified with table path, use "column_names" instead')
    if selectors or "ranges" in attributes:
        raise YtError("Ranges cannot be specified")
    timestamp = _read_timestamp(cluster, parameters)
    path, column_names, keep_missing = parameters.path.bare, parameters.column_names, parameters.keep_missing_rows
    keys = body.rows_for(lambda: cluster.tables.open(path, session.access.to("read")).schema.columns)
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
        )
    )


async def _select_rows(cluster: Cluster, session: Session, parameters: _Select, _: Body) -> Rows:
    options = SelectOptions(
        parameters.input_row_limit,
        parameters.output_row_limit,
        parameters.fail_on_incomplete_result,
        parameters.allow_full_scan,
        parameters.allow_join_without_index,
        parameters.syntax_version,
    )
    timestamp = _read_timestamp(cluster, parameters)
    result = await cluster.turns.run(
        lambda: cluster.tables.select(
            session.access,
            parameters.query,
            placeholder_values=parameters.placeholder_values,
            options=options,
            timestamp=timestamp,
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


def _rows_to_write(cluster: Cluster, session: Session, path: str, body: Body) -> list[InputRow]:
    return body.rows_for(lambda: cluster.tables.open(path, session.access.to("write")).schema.columns)


def _read_timestamp(cluster: Cluster, parameters: _Lookup | _Select) -> int | None:
    """What the client asks for, or else the start of its transaction."""
    transaction = tablet_transaction(cluster, parameters.transaction_id)
    if parameters.timestamp is not None or transaction is None:
        return parameters.timestamp
    return transaction.read_timestamp


async def _trim_rows(cluster: Cluster, session: Session, parameters: _Trim, _: Body) -> Any:
    cluster.tables.trim_rows(session.access, parameters.path, parameters.tablet_index, parameters.trimmed_row_count)
    return {}


COMMANDS: Final[tuple[Command, ...]] = (
    volatile("insert_rows", _Insert, _insert_rows, input_type="tabular", is_heavy=True, transactions="taken"),
    volatile("delete_rows", _Write, _delete_rows, input_type="tabular", is_heavy=True, transactions="taken"),
    volatile("lock_rows", _Lock, _lock_rows, input_type="tabular", is_heavy=True, transactions="taken"),
    tabular("lookup_rows", _Lookup, _lookup_rows, input_type="tabular", transactions="taken"),
    tabular("select_rows", _Select, _select_rows, transactions="taken"),
    light("explain_query", _Explain, _explain_query, transactions="ignored"),
    volatile("trim_rows", _Trim, _trim_rows, is_heavy=True, transactions="ignored"),
)
