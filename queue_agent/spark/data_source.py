"""The data source `yt`: says which reader and which writer a path and its options ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from queue_agent.spark.batch_source import QueueReader
from queue_agent.spark.connection import client_of
from queue_agent.spark.dynamic_sink import DynamicTableStreamWriter, DynamicTableWriter
from queue_agent.spark.encoding import RowEncoder
from queue_agent.spark.errors import ColumnError, ConnectorError, OptionError
from queue_agent.spark.ledger import create_ledger
from queue_agent.spark.options import OptionReader, ReadOptions, WriteOptions
from queue_agent.spark.queues import Queue, TableInfo, find_table_info
from queue_agent.spark.static_sink import StaticTableStreamWriter, StaticTableWriter, StaticTarget
from queue_agent.spark.stream_source import QueueStreamReader, RefusedStreamReader
from queue_agent.spark.transaction_sink import TransactionWriter
from queue_agent.spark.types import SERVICE_COLUMNS, Column, columns_of, spark_schema, table_schema


class YtDataSource(DataSource):
    """`format("yt")`; `register` makes a subclass that knows the session."""

    session_settings: ClassVar[Mapping[str, str]] = {}
    environment: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def name(cls) -> str:
        return "yt"

    def schema(self) -> StructType:
        """Columns of the table, service columns first if they are asked for."""
        return _schema_of(self._options().read_options())

    def reader(self, schema: StructType) -> DataSourceReader:
        options = self._options()
        read, batch = options.read_options(), options.batch_options()
        options.refuse_others()
        return QueueReader(read, batch, _checked(schema, read))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        try:
            options = self._options()
            read, stream = options.read_options(), options.stream_options()
            options.refuse_others()
            return QueueStreamReader(read, stream, _checked(schema, read))
        except ConnectorError as error:
            return RefusedStreamReader(error)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        options = self._write_options()
        if options.mode == "transaction":
            raise OptionError("write_mode=transaction is for streams: a frame has no batches that could be repeated")
        info = find_table_info(client_of(options.connection), options.path)
        if info is not None and info.dynamic:
            if overwrite:
                raise OptionError(f"{options.path} is a dynamic table, which cannot be overwritten; use mode append")
            if not options.inconsistent_dynamic_write:
                raise OptionError(
                    f"{options.path} is a dynamic table: a write that fails leaves some of its rows there, and repeats "
                    "others; inconsistent_dynamic_write=true says that this is well"
                )
            return DynamicTableWriter(options, _encoder(options, schema, info), is_sorted=info.sorted)
        return StaticTableWriter(_static_target(options, schema, info, append=not overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802 - Spark's name
        options = self._write_options()
        if overwrite:
            raise OptionError("only outputMode append is there: tables are added to")
        info = find_table_info(client_of(options.connection), options.path)
        if info is None:
            raise OptionError(f"the table {options.path} is not there; create it, and mount it if it is dynamic")
        if not info.dynamic:
            if options.mode == "transaction":
                raise OptionError(f"{options.path} is a static table, in which every batch is written once anyway")
            return StaticTableStreamWriter(_static_target(options, schema, info, append=True))
        if options.ledger_path is None:
            return DynamicTableStreamWriter(options, _encoder(options, schema, info), is_sorted=info.sorted)
        create_ledger(options.connection, options.ledger_path)
        dropped = SERVICE_COLUMNS if options.consumer_path is not None else ()
        return TransactionWriter(options, schema, _encoder(options, schema, info, dropped))

    def _write_options(self) -> WriteOptions:
        options = self._options()
        write = options.write_options()
        options.refuse_others()
        return write

    def _options(self) -> OptionReader:
        return OptionReader(self.options, self.session_settings, self.environment)


def _schema_of(options: ReadOptions) -> StructType:
    columns = Queue(options).info().columns
    return spark_schema(
        _chosen(columns, options.columns), options.types, service_columns=options.include_service_columns
    )


def _chosen(columns: Sequence[Column], names: tuple[str, ...] | None) -> Sequence[Column]:
    if names is None:
        return columns
    by_name = {column.name: column for column in columns}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise OptionError(f'option "columns": there are no columns {unknown}, only {list(by_name)}')
    return [by_name[name] for name in names]


def _checked(schema: StructType, options: ReadOptions) -> StructType:
    """The schema of a frame with what is known of its columns; a user's own may choose among them."""
    known = {field.name: field for field in _schema_of(options).fields}
    fields = []
    for field in schema.fields:
        if field.name not in known:
            raise ColumnError(f'column "{field.name}" of the given schema is not in {options.path}')
        if field.dataType != known[field.name].dataType:
            raise ColumnError(
                f'column "{field.name}" is {known[field.name].dataType.simpleString()}, '
                f"not {field.dataType.simpleString()} as the given schema says"
            )
        fields.append(known[field.name])
    return StructType(fields)


def _encoder(options: WriteOptions, schema: StructType, info: TableInfo, dropped: Sequence[str] = ()) -> RowEncoder:
    return RowEncoder(
        schema, info.columns, is_queue=not info.sorted, write_type_v3=options.write_type_v3, dropped=dropped
    )


def _static_target(options: WriteOptions, schema: StructType, info: TableInfo | None, *, append: bool) -> StaticTarget:
    if info is None:
        table = table_schema(schema, type_v3=options.write_type_v3)
        columns = columns_of(table)
    else:
        if info.sorted:
            raise OptionError(f"{options.path} is sorted; rows are appended to tables without keys only")
        columns = list(info.columns)
        table = client_of(options.connection).get(f"{options.path}/@schema")
    encoder = RowEncoder(schema, columns, is_queue=False, write_type_v3=options.write_type_v3)
    return StaticTarget(options, encoder, table, append)
