"""How each command travels over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Command:
    """How a command travels."""

    method: Literal["GET", "PUT", "POST"]
    """PUT carries rows as its body, POST the parameters."""

    heavy: bool = False
    """Goes to a proxy that the cluster named."""

    tabular: bool = False
    """Answers a stream, of rows for example, whose errors may come behind them."""

    mutation_id: bool = False
    """The cluster knows a repeat by its mutation id."""

    repeatable: bool = True
    """A repeat does no harm."""

    formats: bool = True
    """What goes in and out is in a format; else it is bytes, as those of a file."""


COMMANDS: Final[Mapping[str, Command]] = {
    "get": Command("GET"),
    "generate_timestamp": Command("GET"),
    "execute_batch": Command("POST", mutation_id=True),
    "trim_rows": Command("POST", heavy=True, repeatable=False),
    "insert_rows": Command("PUT", heavy=True, repeatable=False),
    "delete_rows": Command("PUT", heavy=True, repeatable=False),
    "advance_queue_consumer": Command("POST", repeatable=False),
    "create_queue_producer_session": Command("POST", repeatable=False),
    "push_queue_producer": Command("PUT", heavy=True, repeatable=False),
    "select_rows": Command("GET", heavy=True, tabular=True),
    "lookup_rows": Command("PUT", heavy=True, tabular=True),
    "pull_queue": Command("GET", heavy=True, tabular=True),
    "write_table": Command("PUT", heavy=True, repeatable=False),
    "read_table": Command("GET", heavy=True, tabular=True),
    "write_file": Command("PUT", heavy=True, repeatable=False, formats=False),
    "read_file": Command("GET", heavy=True, tabular=True, formats=False),
}
"""The commands in use; batches hold reading ones only."""


def with_encoded(parameters: bytes, encoded: Mapping[str, bytes]) -> bytes:
    """A map in YSON with further members, whose values are in YSON already."""
    members = b"".join(b"%s=%s;" % (name.encode(), value) for name, value in encoded.items())
    return b"{" + members + parameters[1:]
