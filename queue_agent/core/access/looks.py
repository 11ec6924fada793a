"""Looks at rows: what is asked for, and what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from queue_agent.core.values.refs import CrossClusterRef

MAX_ROWS: Final = 100


@dataclass(frozen=True, slots=True)
class FromOffset:
    """From a row index on."""

    row_index: int


@dataclass(frozen=True, slots=True)
class FromTime:
    """From the first row on that was written then or later."""

    instant: datetime


@dataclass(frozen=True, slots=True)
class FromTail:
    """The last rows."""

    count: int


Start = FromOffset | FromTime | FromTail


@dataclass(frozen=True, slots=True)
class Look:
    """What is wanted."""

    queue: CrossClusterRef
    partition_index: int
    start: Start
    limit: int


@dataclass(frozen=True, slots=True)
class Sight:
    """What was found."""

    rows: Sequence[Mapping[Any, Any]]
    """Keys and strings are bytes; system columns are among them."""

    columns: Sequence[str]
    """Of the schema, without system columns."""

    lower_row_index: int
    """The first row there is."""

    upper_row_index: int
    """The end."""

    next: int | None
    """Row to go on from; None: this was the end."""
