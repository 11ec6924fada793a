"""Tables that fit into a terminal: what matters least is left out before anything is folded."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text


class Listing:
    """Rows under headings, without lines between them.

    Args:
        columns: headings, in order.
        numbers: those of them below which there are numbers, to the right.
        whole: those of them that are not folded either.
        expendable: those of them that are left out where there is no room, the first first.
    """

    def __init__(
        self,
        *columns: str,
        numbers: Sequence[str] = (),
        whole: Sequence[str] = (),
        expendable: Sequence[str] = (),
    ) -> None:
        self._columns = columns
        self._numbers = numbers
        self._whole = whole
        self._expendable = expendable
        self._rows: list[Sequence[Text]] = []

    def add(self, *cells: str | Text) -> None:
        """A row, a cell for each column; strings are shown as they are, brackets and all."""
        self._rows.append([Text(cell) if isinstance(cell, str) else cell for cell in cells])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for count in range(len(self._expendable) + 1):
            table = self._table(self._expendable[:count])
            if Measurement.get(console, options.update(width=1 << 16), table).maximum <= options.max_width:
                break
        yield table

    def _table(self, left_out: Sequence[str]) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        shown = [index for index, column in enumerate(self._columns) if column not in left_out]
        for column in (self._columns[index] for index in shown):
            is_number = column in self._numbers
            whole = is_number or column in self._whole
            table.add_column(column, justify="right" if is_number else "left", no_wrap=whole, overflow="fold")
        for row in self._rows:
            table.add_row(*(row[index] for index in shown))
        return table
