"""What `queue-agent doctor` shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from queue_agent.cli.findings import Finding, Grade
from queue_agent.cli.plain import plain

_MARKS: Final = {
    Grade.OK: ("ok    ", "green"),
    Grade.SKIPPED: ("skip  ", "dim"),
    Grade.WARNING: ("warn  ", "yellow"),
    Grade.FAILURE: ("FAIL  ", "bold red"),
}


def view_findings(findings: Sequence[Finding]) -> RenderableType:
    """By subject, with what to do below each thing that is wrong, and a last line that counts."""
    lines: list[Text] = []
    subject = ""
    for finding in findings:
        if finding.subject != subject:
            subject = finding.subject
            lines += [*([Text()] if lines else []), Text(plain(subject), "bold")]
        mark, style = _MARKS[finding.grade]
        lines.append(Text.assemble("  ", (mark, style), plain(f"{finding.check}: {finding.detail}")))
        if finding.advice is not None:
            lines.append(Text(f"        {plain(finding.advice)}"))
        lines += [Text(f"        {plain(command)}", "cyan") for command in finding.commands]
    count = {grade: sum(one.grade is grade for one in findings) for grade in Grade}
    failed, warned = count[Grade.FAILURE], count[Grade.WARNING]
    summary = Text(f"{failed} failed, {warned} warnings, {count[Grade.OK]} fine", "red" if failed else "green")
    return Group(*lines, Text(), summary)
