"""Rows of the console's overview, and which of them are new to somebody."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.advice import ADVICE_KEYS
from queue_agent.core.verdicts.values import Verdict

DIGITS: Final = 3
"""Of rates and forecasts: more would make rows new that show nothing new."""

MAX_GONE: Final = 10_000
"""Rows that are gone, and are remembered for those who have them."""

Key = tuple[str, ...]
"""Cluster and path of a queue; of a consumer, with cluster and path of its queue, and its name."""

_PROBLEMS: Final = frozenset({"red", "amber"})
_PROBLEM_KEYS: Final = ("vital", "verdict", "color", "verdict_since", "reason", *ADVICE_KEYS)
_MILLISECONDS: Final = 1000


def queue_row(ref: CrossClusterRef, overview: Mapping[str, Any], error: str | None) -> dict[str, Any]:
    """A queue as a row; see `core.status.overview` for its figures."""
    is_broken = error is not None or overview.get("failed_partition_count", 0) > 0
    verdict = Verdict.UNREADABLE.value if is_broken else "alerts" if overview.get("alerts") else Verdict.OK.value
    return {
        "cluster": ref.cluster,
        "path": ref.path,
        "verdict": verdict,
        "partitions": overview.get("partition_count"),
        "write_rows_rate": _rounded(overview.get("write_row_count_rate")),
        "write_bytes_rate": _rounded(overview.get("write_data_weight_rate")),
        "rows": overview.get("row_count"),
        "bytes": overview.get("data_weight"),
        "consumers": overview.get("consumer_count"),
        "vital": overview.get("vital_consumer_count"),
        "error": error,
    }


def consumer_row(ref: CrossClusterRef, entry: Mapping[str, Any], error: str | None) -> dict[str, Any]:
    """A consumer in one of its queues as a row."""
    queue = CrossClusterRef.parse(entry["queue"])
    lag = entry.get("processing_lag")
    return {
        "cluster": ref.cluster,
        "path": ref.path,
        **({"name": ref.name} if ref.name else {}),
        "queue_cluster": queue.cluster,
        "queue_path": queue.path,
        "vital": entry["vital"],
        "verdict": entry["verdict"] if error is None else Verdict.UNREADABLE.value,
        "sentence": entry.get("reason") if error is None else error,
        "lag_rows": entry.get("unread_row_count"),
        "lag_bytes": entry.get("unread_data_weight"),
        "lag_time": None if lag is None else lag // _MILLISECONDS,  # whole seconds change less often
        "read_rows_rate": _rounded(entry.get("read_row_count_rate")),
        "time_to_catch_up": _seconds(entry.get("time_to_catch_up")),
        "time_to_loss": _seconds(entry.get("time_to_loss")),
        "rows_trimmed_uncommitted": entry.get("trimmed_uncommitted_row_count"),
    }


def find_problem(ref: CrossClusterRef, entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """What `/api/v1/alerts` says of a consumer in one of its queues; None if nobody has to look at it."""
    if entry.get("color") not in _PROBLEMS:
        return None
    about = {"kind": "consumer", "consumer": str(ref), "queue": entry["queue"]}
    return about | {key: entry.get(key) for key in _PROBLEM_KEYS}  # agents of an earlier version have fewer


def worst_first(problems: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """In the order of `/api/v1/verdicts`: the worst first, vital consumers before others."""
    return sorted(
        problems, key=lambda one: (Verdict(one["verdict"]).severity, not one["vital"], one["consumer"], one["queue"])
    )


@dataclass(frozen=True, slots=True)
class Changes:
    """What is new to somebody."""

    rows: Mapping[Key, Mapping[str, Any]]
    gone: Sequence[Key]


@dataclass(slots=True)
class VersionedRows:
    """Rows, each with the version by which it became what it is.

    Versions ascend. Whoever has a version that is not known here has to get all rows.
    """

    first: int
    """The version of nothing at all: nobody has an older one of these rows."""

    _rows: dict[Key, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)
    _gone: deque[tuple[int, Key]] = field(default_factory=lambda: deque(maxlen=MAX_GONE))

    def put(self, version: int, key: Key, row: Mapping[str, Any]) -> bool:
        """Note a row; whether it is another than before."""
        known = self._rows.get(key)
        if known is not None and known[1] == row:
            return False
        self._rows[key] = version, row
        return True

    def keep(self, version: int, keys: Collection[Key]) -> bool:
        """Drop all other rows; whether there were any."""
        gone = [key for key in self._rows if key not in keys]
        for key in gone:
            self.remove(version, key)
        return bool(gone)

    def remove(self, version: int, key: Key) -> bool:
        """Drop a row; whether there was one."""
        if self._rows.pop(key, None) is None:
            return False
        if len(self._gone) == MAX_GONE:
            self.first = self._gone[0][0]
        self._gone.append((version, key))
        return True

    def all(self) -> Mapping[Key, Mapping[str, Any]]:
        """Every row by its key."""
        return {key: row for key, (_, row) in self._rows.items()}

    def since(self, version: int) -> Changes | None:
        """What is newer; None if nobody can tell any more."""
        if version < self.first:
            return None
        rows = {key: row for key, (changed, row) in self._rows.items() if changed > version}
        gone = [key for left, key in self._gone if left > version and key not in self._rows]
        return Changes(rows, gone)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def _seconds(forecast: Mapping[str, Any] | None) -> float | None:
    return None if forecast is None else _rounded(forecast["value"])
