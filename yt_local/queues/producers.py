"""Producers: sessions that keep a queue free of rows written twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from yt_local.cypress.resolver import Resolver
from yt_local.queues.consumers import key_column
from yt_local.schema.keys import Row
from yt_local.schema.row_errors import parse_rows
from yt_local.schema.schema import parse_schema
from yt_local.security.permissions import Access, Check
from yt_local.tables.dynamic.open_tables import Table
from yt_local.tables.dynamic.table_writer import TableWriter
from yt_local.tables.dynamic.tables import DynamicTables
from yt_local.tables.dynamic.tablet_transaction import Insertion, TabletTransaction
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError
from yt_wire.ypath import RichPath

SEQUENCE_NUMBER: Final = b"$sequence_number"
_NEVER_WRITTEN: Final = -1

PRODUCER_SCHEMA: Final = yson.with_attributes(
    [
        key_column("queue_cluster", "string"),
        key_column("queue_path", "string"),
        key_column("session_id", "string"),
        {"name": "sequence_number", "type": "int64", "required": True},
        {"name": "epoch", "type": "int64", "required": True},
        {"name": "user_meta", "type": "any", "required": False},
        {"name": "system_meta", "type": "any", "required": False},
    ],
    {"strict": True, "unique_keys": True},
)
_SCHEMA: Final = parse_schema(PRODUCER_SCHEMA)


@dataclass(frozen=True, slots=True)
class Session:
    """What a producer remembers of one session."""

    epoch: int
    sequence_number: int
    user_meta: yson.Yson


class Producers:
    """Producer commands of one cluster; they work on its own tables only."""

    def __init__(self, cluster_name: str, resolver: Resolver, tables: DynamicTables, writer: TableWriter) -> None:
        self._cluster_name = cluster_name
        self._resolver = resolver
        self._tables = tables
        self._writer = writer

    def create_session(
        self, access: Access, producer_path: RichPath, queue_path: RichPath, session_id: str, user_meta: yson.Yson
    ) -> dict[str, Any]:
        """Begin a session, or fence off whoever had it before by raising its epoch."""
        table = self._open_producer(producer_path.bare, access.to("write"))
        found = self._find_session(table, queue_path, session_id)
        session = Session(
            epoch=found.epoch + 1 if found else 0,
            sequence_number=found.sequence_number if found else _NEVER_WRITTEN,
            user_meta=user_meta if user_meta is not None else (found.user_meta if found else None),
        )
        key = self._key(queue_path, session_id)
        self._writer.write([_session_row(table, key, session.epoch, session.sequence_number, user_meta)], None)
        return {
            "epoch": session.epoch,
            "sequence_number": session.sequence_number,
            "user_meta": session.user_meta,
        }

    def remove_session(self, access: Access, producer_path: RichPath, queue_path: RichPath, session_id: str) -> None:
        """Forget a session; it may never have been."""
        table = self._open_producer(producer_path.bare, access.to("write"))
        key = zip(table.schema.key_columns, self._key(queue_path, session_id), strict=True)
        self._writer.delete_rows(access, table.path, [{column.name.encode(): value for column, value in key}])

    def push(
        self,
        access: Access,
        producer_path: RichPath,
        queue_path: RichPath,
        session_id: str,
        epoch: int,
        rows: Sequence[Mapping[bytes, Any]],
        *,
        first_sequence_number: int | None,
        user_meta: yson.Yson,
        require_sync_replica: bool = True,
        transaction: TabletTransaction | None = None,
    ) -> dict[str, Any]:
        """Append the rows that the session has not written yet, and remember the last one, both or neither.

        Args:
            producer_path: the producer.
            queue_path: the queue.
            session_id: a session made by `create_session`.
            epoch: the one the caller was given.
            rows: with `$sequence_number` each, unless `first_sequence_number` says where they start.
            first_sequence_number: number of the first row; the others follow by one.
            user_meta: kept with the session; None leaves what is there.
            require_sync_replica: refuse to write to a replicated queue of which no replica is synchronous.
            transaction: to be committed with; numbers it has pushed before count as written. None commits at once.

        Raises:
            YtError: 3101 and 3102 for a wrong epoch, 3103 for sequence numbers that do not grow.
        """
        queue = self._valid("queue", queue_path, self._tables.open_ordered, access)
        producer = self._valid("producer", producer_path, self._open_producer, access)
        timestamp = transaction.read_timestamp if transaction else None
        session = self._find_session(producer, queue_path, session_id, timestamp)
        if session is None:
            raise YtError(f'Unknown queue producer session "{session_id}"')
        _check_epoch(epoch, session.epoch)
        pushed = transaction.sequence_numbers if transaction else {}
        place = (producer.node.id, queue_path.bare, session_id)
        written = pushed.get(place, session.sequence_number)
        numbers = sequence_numbers(rows, first_sequence_number)
        new = [
            {name: value for name, value in row.items() if name != SEQUENCE_NUMBER}
            for number, row in zip(numbers, rows, strict=True)
            if number > written
        ]
        parse_rows(queue, new, queue.codec.check_names)
        # A batch that was wholly written before, or is empty, must not lower the number.
        last = max([written, *numbers[-1:]])
        key = self._key(queue_path, session_id)
        requests = [
            Insertion(queue, new, require_sync_replica=require_sync_replica),
            _session_row(producer, key, epoch, last, user_meta),
        ]
        self._writer.write(requests, transaction)
        pushed[place] = last
        return {
            "last_sequence_number": numbers[-1] if numbers else written,
            "skipped_row_count": len(rows) - len(new),
        }

    def _valid(self, role: str, path: RichPath, opened: Callable[[str, Check], Table], access: Access) -> Table:
        try:
            node = self._resolver.node(path.bare)
            if node.table is None:
                raise YtError(f"{path.bare} is not a table but a {node.type}")
        except YtError as error:
            raise YtError(f"Path {path.bare} does not point to a valid {role}", inner_errors=[error]) from error
        return opened(path.bare, access.to("write"))

    def _open_producer(self, path: str, check: Check) -> Table:
        table = self._tables.open_sorted(path, check)
        if table.schema != _SCHEMA:
            raise YtError(
                "Table schema is not recognized as a valid producer schema",
                attributes={"expected_schema": PRODUCER_SCHEMA, "actual_schema": table.schema.to_yson()},
            )
        return table

    def _key(self, queue_path: RichPath, session_id: str) -> Row:
        return self._cluster_name.encode(), queue_path.bare.encode(), session_id.encode()

    def _find_session(
        self, table: Table, queue_path: RichPath, session_id: str, timestamp: int | None = None
    ) -> Session | None:
        row = self._tables.find_row(table, self._key(queue_path, session_id), timestamp)
        if row is None:
            return None
        sequence_number, epoch, user_meta = row[3:6]
        assert isinstance(sequence_number, int) and isinstance(epoch, int), "the columns are required"
        return Session(epoch, sequence_number, yson.loads(user_meta) if isinstance(user_meta, bytes) else None)


def _session_row(table: Table, key: Row, epoch: int, sequence_number: int, user_meta: yson.Yson) -> Insertion:
    """The write of a session's row; without `user_meta` the one there is stays."""
    row: dict[bytes, Any] = {
        column.name.encode(): value for column, value in zip(table.schema.key_columns, key, strict=True)
    }
    row |= {b"sequence_number": sequence_number, b"epoch": epoch}
    if user_meta is not None:
        row[b"user_meta"] = user_meta
    return Insertion(table, [row], update=True)


def sequence_numbers(rows: Sequence[Mapping[bytes, Any]], first: int | None) -> list[int]:
    """Numbers of the rows of a batch.

    Raises:
        YtError: 3103 if they are given twice or not at all, are negative, or do not grow.
    """
    numbers: list[int] = []
    for position, row in enumerate(rows):
        given = row.get(SEQUENCE_NUMBER)
        if given is not None and first is not None:
            raise _invalid("Only one of explicit $sequence_number or initial sequence number can be set")
        if given is None and first is None:
            raise _invalid("There is no $sequence_number in the row and initial sequence number was not received")
        number = given if first is None else first + position
        if isinstance(number, bool) or not isinstance(number, int):
            raise YtError(
                "Error parsing sequence number from row",
                inner_errors=[YtError(f"Expected an integer, got {yson.shown(number)}")],
            )
        if number < 0:
            raise _invalid(f"Sequence number {number} cannot be negative")
        if numbers and number <= numbers[-1]:
            raise _invalid(f"Sequence numbers are not strongly monotonic: {number} <= {numbers[-1]}")
        numbers.append(int(number))
    return numbers


def _check_epoch(given: int, stored: int) -> None:
    if given < stored:
        raise YtError(
            f"Received session epoch {given} is less than the actual {stored} epoch, probably it is a zombie",
            ErrorCode.ZOMBIE_PRODUCER_EPOCH,
        )
    if given > stored:
        raise YtError(
            f"Received epoch {given} is greater than the actual {stored} epoch", ErrorCode.INVALID_PRODUCER_EPOCH
        )


def _invalid(message: str) -> YtError:
    return YtError(message, ErrorCode.INVALID_ROW_SEQUENCE_NUMBERS)
