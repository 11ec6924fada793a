"""Proves that an export to static tables is whole: what tables say of their rows is compared with the progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from yt.wrapper import YtClient

from queue_agent.spark.export.documents import Range
from queue_agent.spark.export.errors import TargetDamaged
from queue_agent.spark.export.findings import Findings
from queue_agent.spark.export.row_options import TRANSFORMATION
from queue_agent.spark.export.table_progress import PROGRESS, PROVENANCE, TableProgress, find_progress


@dataclass(frozen=True, slots=True)
class ExportedTable:
    """A table of an export, as its attributes have it."""

    name: str
    queue_id: str
    ranges: Sequence[Range]
    gaps: Sequence[Range]
    """Rows that had been trimmed before they were exported."""

    row_count: int
    expires: bool = False


@dataclass(slots=True)
class TablesVerdict(Findings):
    """Of an export to static tables."""

    tables: int = 0

    @property
    def sizes(self) -> dict[str, int]:
        return {"rows": self.rows, "tables": self.tables}


def verify_tables(
    directory: str, progress: TableProgress, tables: Sequence[ExportedTable], consumed: Mapping[int, int]
) -> TablesVerdict:
    """Look whether the rows of all tables follow one another up to the progress.

    Args:
        directory: for the verdict.
        progress: of the directory; read before the tables, for an exporter may be at work.
        tables: all that there are.
        consumed: next rows of the consumer by partition; none if that is not asked for. Read first of all.
    """
    verdict = TablesVerdict(directory, sum(table.row_count for table in tables), tables=len(tables))
    verdict.faults += _check_tables(progress, tables)
    tiles: dict[int, list[tuple[Range, str]]] = {}
    for table in tables:
        for rows in (*table.ranges, *table.gaps):
            tiles.setdefault(rows.partition_index, []).append((rows, table.name))
        verdict.notes += [
            f"{_words(gap)} had been trimmed before they were exported ({table.name})" for gap in table.gaps
        ]
    for gap in progress.gaps:
        tiles.setdefault(gap.partition_index, []).append((gap, PROGRESS))
        verdict.notes.append(f"{_words(gap)} had been trimmed before they were exported")
    for index, own in sorted(tiles.items()):
        own.sort()
        begin = end = own[0][0].begin
        for rows, name in own:
            if rows.begin > end:
                verdict.faults.append(f"{_words(Range(index, end, rows.begin))} are in no table")
            elif rows.begin < end:
                overlap = Range(index, rows.begin, min(end, rows.end))
                verdict.faults.append(f"{_words(overlap)} are in more than one table, the last being {name}")
            end = max(end, rows.end)
        verdict.ranges[index] = begin, end
    # Tables that live for a while only may be gone, and with them the rows of a partition in which nothing comes.
    gone = verdict.notes if any(table.expires for table in tables) else verdict.faults
    for index, row in sorted(progress.next_row_indexes.items()):
        end = verdict.ranges.get(index, (0, 0))[1]
        if end < row:
            gone.append(f"{_words(Range(index, end, row))} were exported, and are in no table")
    verdict.faults += [
        f"the consumer is at row {row} of partition {index}, but only rows below "
        f"{progress.next_row_indexes.get(index, 0)} are exported"
        for index, row in sorted(consumed.items())
        if row > progress.next_row_indexes.get(index, 0)
    ]
    verdict.checked = (
        "tables follow one another without a gap and have as many rows as were exported; the queue has the tablets that"
        " were exported. Not checked: the content of tables"
    )
    return verdict


def _check_tables(progress: TableProgress, tables: Sequence[ExportedTable]) -> list[str]:
    """Whether tables are of the queue, and have as many rows as they say."""
    faults = []
    for table in tables:
        if table.queue_id != progress.queue_id:
            faults.append(f"{table.name} has rows of another queue, {table.queue_id}")
        wanted = sum(rows.row_count for rows in table.ranges)
        if table.row_count > wanted or (table.row_count < wanted and not progress.rows.get(TRANSFORMATION)):
            faults.append(f"{table.name} has {table.row_count} rows where {wanted} were exported")
    return faults


def read_export_of(client: YtClient, directory: str) -> tuple[TableProgress, list[ExportedTable]]:
    """What there is in the directory of an export.

    Raises:
        TargetDamaged: it is none, or a table says what cannot be read.
    """
    progress = find_progress(client, directory)
    if progress is None:
        raise TargetDamaged(f"there is no export in {directory}")
    nodes = client.list(directory, attributes=("row_count", "expiration_time", PROVENANCE))
    return progress, [_table(str(node), node.attributes) for node in nodes if PROVENANCE in node.attributes]


def _table(name: str, attributes: Mapping[str, Any]) -> ExportedTable:
    provenance = attributes[PROVENANCE]
    try:
        return ExportedTable(
            name,
            str(provenance["queue_id"]),
            [Range.from_json(rows) for rows in provenance["ranges"]],
            [Range.from_json(rows) for rows in provenance["gaps"]],
            int(attributes["row_count"]),
            "expiration_time" in attributes,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise TargetDamaged(f"@{PROVENANCE} of {name} cannot be read: {error!r}") from error


def _words(rows: Range) -> str:
    return f"rows {rows.begin} to {rows.end - 1} of partition {rows.partition_index}"
