"""The data source `yt`: says which reader and which writer a path and its options ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from queue_agent.spark.batch_source import QueueReader
from queue_agent.spark.errors import ColumnError, OptionError
from queue_agent.spark.options import OptionReader, ReadOptions
from queue_agent.spark.queues import Queue
from queue_agent.spark.types import Column, spark_schema


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
