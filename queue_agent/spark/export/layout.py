"""Names in the directory of an export: every one is a function of what it holds, so that a repeat replaces itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal
from urllib.parse import quote

IDENTITY: Final = "_export.json"
PROGRESS: Final = "_progress.json"
VERIFIED: Final = "_verified.json"
COMPACTED: Final = "_compacted.json"
PLANS: Final = "_plan"
MANIFESTS: Final = "_manifest"
COMPLETIONS: Final = "_complete"

Partitioning = Literal["hour", "day", "none"]
"""Which directories there are: `dt=2026-01-31/hour=07`, `dt=2026-01-31`, or none."""

WHOLE: Final = ""
"""Label of the only directory where time makes none."""

_FILE: Final = re.compile(r"(\d{5,})-(\d{20})-(\d{20})(?:\.r(\d{12}))?\.parquet")
_NUMBERED: Final = re.compile(r"(\d{12})\.json")
_TEMPORARY: Final = re.compile(r"\..+\.tmp")


@dataclass(frozen=True, slots=True, order=True)
class FileName:
    """What the name of a data file says."""

    partition_index: int
    begin: int
    end: int
    """One past the last row."""

    revision: int | None = None
    """Number of the manifest by which it took the place of others; None for a file that was the first with its rows."""

    def __str__(self) -> str:
        revision = "" if self.revision is None else f".r{self.revision:012}"
        return f"{self.partition_index:05}-{self.begin:020}-{self.end:020}{revision}.parquet"


def parse_file_name(name: str) -> FileName | None:
    """The inverse of `str`; None for the name of anything else."""
    match = _FILE.fullmatch(name)
    if match is None:
        return None
    return FileName(int(match[1]), int(match[2]), int(match[3]), int(match[4]) if match[4] else None)


def numbered(number: int) -> str:
    """Name of a plan or of a manifest."""
    return f"{number:012}.json"


def parse_numbered(name: str) -> int | None:
    """The inverse of `numbered`; None for anything else."""
    match = _NUMBERED.fullmatch(name)
    return None if match is None else int(match[1])


def is_temporary(name: str) -> bool:
    """Whether a file is one that somebody is writing, or has not finished."""
    return _TEMPORARY.fullmatch(name) is not None


def is_document(path: str) -> bool:
    """Whether a file, by its path below the directory of the export, is one of its documents."""
    directory = path.partition("/")[0]
    return path in (IDENTITY, PROGRESS, VERIFIED, COMPACTED) or (
        directory in (PLANS, MANIFESTS, COMPLETIONS) and path.endswith(".json")
    )


def export_directory(cluster: str, queue: str, schema_version: int, generation: int) -> str:
    """Directory of an export below its root: `pythia/home/app/events/v1`, from the second generation on `v1-g2`."""
    names = [quote(name, safe="-_.~$ ") for name in queue.strip("/").split("/")]
    # These two mean something else to file systems.
    path = "/".join(name.replace(".", "%2E") if name in (".", "..") else name for name in names)
    return f"{quote(cluster, safe='-_.')}/{path}/{version_name(schema_version, generation)}"


def version_name(schema_version: int, generation: int) -> str:
    """Last part of the directory."""
    return f"v{schema_version}" if generation == 1 else f"v{schema_version}-g{generation}"


def label_of(moment: datetime, partitioning: Partitioning) -> str:
    """Directory that rows of this moment go to."""
    if partitioning == "none":
        return WHOLE
    moment = moment.astimezone(UTC)
    return f"dt={moment:%Y-%m-%d}" + (f"/hour={moment:%H}" if partitioning == "hour" else "")


def period_of(label: str) -> tuple[datetime, datetime]:
    """First instant of a directory of time, and of the one after it; ValueError if it is none."""
    day, slash, hour = label.partition("/hour=")
    begin = datetime.fromisoformat(day.removeprefix("dt=")).replace(tzinfo=UTC)
    if slash:
        begin += timedelta(hours=int(hour))
        return begin, begin + timedelta(hours=1)
    return begin, begin + timedelta(days=1)
