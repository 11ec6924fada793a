"""Samples as lines of Prometheus's text formats, which both have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from queue_agent.adapters.metrics.metric_families import Family

MAX_PATH_LABEL_BYTES: Final = 200

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def label_text(labels: Mapping[str, str]) -> str:
    """Labels as between the braces; one that is empty is no label."""
    return ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items() if value)


def cut(path: str) -> str:
    """A path as the value of a label: no more than 200 bytes."""
    return path.encode(errors="replace")[:MAX_PATH_LABEL_BYTES].decode(errors="ignore")


class Lines:
    """Samples of one object, or of one part of it, by the name of their family."""

    __slots__ = ("_by_family", "count")

    def __init__(self) -> None:
        self._by_family: dict[str, str] = {}
        self.count = 0
        """Of all samples."""

    def add(self, family: str, labels: str, value: float, sample: str | None = None) -> None:
        """Add a sample.

        Args:
            family: name of its family.
            labels: as `label_text` gives them.
            value: an integer stays one.
            sample: its name, if it is not the family's.
        """
        line = f"{sample or family}{{{labels}}} {value!r}\n" if labels else f"{sample or family} {value!r}\n"
        known = self._by_family.get(family)
        self._by_family[family] = line if known is None else known + line
        self.count += 1

    def by_family(self) -> Iterable[tuple[str, str]]:
        """All lines of each family that has any."""
        return self._by_family.items()


def classic_head(family: Family) -> str:
    """The lines before the samples in the classic text format."""
    return f"# HELP {family.name} {_help(family)}\n# TYPE {family.name} {family.kind}\n"


def open_head(family: Family) -> str:
    """The lines before the samples in OpenMetrics."""
    return f"# HELP {family.open_name} {_help(family)}\n# TYPE {family.open_name} {family.kind}\n"


def render_families(families: Collection[Family], parts: Iterable[Lines], *, as_open_metrics: bool) -> list[bytes]:
    """Families with their heads, a piece for each that has samples."""
    head = open_head if as_open_metrics else classic_head
    found: dict[str, list[str]] = {family.name: [] for family in families}
    for lines in parts:
        for name, text in lines.by_family():
            if name in found:
                found[name].append(text)
    # What is no text in a tag must not take the whole page with it.
    return [
        (head(family) + "".join(found[family.name])).encode(errors="replace")
        for family in families
        if found[family.name]
    ]


def _help(family: Family) -> str:
    return family.help.replace("\\", r"\\").replace("\n", r"\n")
