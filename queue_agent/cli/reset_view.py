"""What `queue-agent consumer reset` shows before and after."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from queue_agent.cli import words
from queue_agent.cli.listing import Listing
from queue_agent.controllers.acts.reset import Plan
from queue_agent.core.consumers.offset_reset import Move


def view_plan(plan: Plan) -> RenderableType:
    """The preview."""
    head = Text.assemble(
        ("consumer ", "bold"), str(plan.consumer), ("  in queue ", "bold"), str(plan.queue), "  vital" * plan.vital
    )
    numbers = ("partition", "first row", "end", "now at", "moves to")
    table = Listing(*numbers, "which means", numbers=numbers)
    for move in plan.moves:
        table.add(
            str(move.partition_index),
            words.count(move.bounds.lower_row_index),
            words.count(move.bounds.upper_row_index),
            words.count(move.current),
            words.count(move.target),
            _meaning(move),
        )
    notes = [Text(note, "yellow") for note in plan.notes]
    return Group(head, Text(), table, *([Text(), *notes] if notes else []))


def view_outcome(plan: Plan, failures: Mapping[int, str]) -> RenderableType:
    """What became of it."""
    moved = len(plan.changes) - len(failures)
    lines = [Text(f"partition {index} {failure}", "red") for index, failure in sorted(failures.items())]
    done = Text(f"{moved} of {len(plan.changes)} partitions moved", "green" if not failures else "yellow")
    return Group(*lines, done)


def _meaning(move: Move) -> Text:
    if move.current == move.target:
        return Text("stays", "dim")
    if move.skipped_count:
        return Text(f"{words.rows(move.skipped_count)} skipped", "yellow")
    if move.read_again_count:
        return Text(f"{words.rows(move.read_again_count)} read again")
    return Text("only rows that are trimmed are passed over", "dim")
