"""What verifying an export found, whatever it is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Findings:
    """What was found."""

    export: str
    rows: int = 0
    ranges: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By partition: the first row, and one past the last."""

    faults: list[str] = field(default_factory=list)
    """What must not be."""

    notes: list[str] = field(default_factory=list)
    """What people should know of: gaps that were recorded, files that belong to nothing."""

    checked: str = ""
    """What was checked, if known."""

    @property
    def is_whole(self) -> bool:
        return not self.faults

    @property
    def sizes(self) -> dict[str, int]:
        """How much there is, by what it is; in the order in which people are told."""
        return {"rows": self.rows}

    def to_json(self) -> dict[str, Any]:
        return {
            "export": self.export,
            "whole": self.is_whole,
            **self.sizes,
            "ranges": {str(index): list(bounds) for index, bounds in sorted(self.ranges.items())},
            "checked": self.checked,
            "faults": self.faults,
            "notes": self.notes,
        }

    def to_text(self) -> str:
        """For people."""
        sizes = ", ".join(f"{size:,} {name.replace('_', ' ')}" for name, size in self.sizes.items())
        lines = [f"{self.export}: {sizes}"]
        lines += [f"  partition {index}: rows {begin} to {end - 1}" for index, (begin, end) in self.ranges.items()]
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"FAULT: {fault}" for fault in self.faults]
        lines.append(f"whole: {self.checked}" if self.is_whole else f"not whole, faults: {len(self.faults)}")
        return "\n".join(lines)
