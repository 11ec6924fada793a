"""The replicated table tracker's decision: which replicas are to be synchronous."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from yt_local.store.replicated_types import Mode
from yt_wire import yson
from yt_wire.error import YtError

DEFAULT_OPTIONS: Final[Mapping[str, Any]] = {
    "enable_replicated_table_tracker": False,
    "sync_replica_lag_threshold": 10 * 60 * 1000,
    "tablet_cell_bundle_name_ttl": 5 * 60 * 1000,
    "tablet_cell_bundle_name_failure_interval": 60 * 1000,
    "enable_preload_state_check": False,
    "incomplete_preload_grace_period": 5 * 60 * 1000,
}
"""`@replicated_table_options` of a table whose options nobody has set; times in milliseconds."""


@dataclass(frozen=True, slots=True)
class TrackerOptions:
    """What the tracker goes by, of `@replicated_table_options`."""

    enabled: bool
    min_sync_replica_count: int
    max_sync_replica_count: int
    lag_threshold: int
    """Milliseconds an asynchronous replica may be behind and become synchronous."""

    preferred_clusters: frozenset[str]

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """YtError if they make no sense."""
        enabled = yson.as_boolean(options.get("enable_replicated_table_tracker", False))
        if not isinstance(enabled, bool):
            raise YtError(f"Invalid value {yson.shown(enabled)} of option /enable_replicated_table_tracker")
        given = _count(options, "max_sync_replica_count")
        if given is None:
            given = _count(options, "sync_replica_count")
        least = _count(options, "min_sync_replica_count")
        most = max(1, least or 0) if given is None else given
        if least is not None and least > most:
            raise YtError('"min_sync_replica_count" must be less or equal to "max_sync_replica_count"')
        lag = _count(options, "sync_replica_lag_threshold")
        preferred = options.get("preferred_sync_replica_clusters")
        if preferred is not None and not isinstance(preferred, list):
            raise YtError(f"Invalid value {yson.shown(preferred)} of option /preferred_sync_replica_clusters")
        return cls(
            enabled,
            most if least is None else least,
            most,
            int(DEFAULT_OPTIONS["sync_replica_lag_threshold"]) if lag is None else lag,
            frozenset(str(name) for name in preferred or ()),
        )


def checked_options(value: Any) -> dict[str, Any]:
    """Options as they are kept and shown: with defaults for those that are not given; YtError if they make no sense."""
    if not isinstance(value, dict):
        raise YtError(f"Replicated table options must be a map, got {yson.shown(value)}")
    TrackerOptions.of(value)
    enabled = yson.as_boolean(value.get("enable_replicated_table_tracker", False))
    return {**DEFAULT_OPTIONS, **value, "enable_replicated_table_tracker": enabled}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A replica as the tracker sees it."""

    id: str
    cluster_name: str
    mode: Mode
    tracked: bool
    """Whether its mode may be changed."""

    available: bool
    lag: int
    """Milliseconds."""


def choose_modes(options: TrackerOptions, candidates: Sequence[Candidate]) -> Mapping[str, Mode]:
    """The new modes, by id, of the replicas whose modes are to change.

    As many of the replicas that are available as may be become synchronous: those on preferred clusters first, then
    those that are synchronous already. A synchronous replica that is not available stays so, and keeps writes from
    succeeding, if without it there would be fewer than there must be.
    """
    tracked = [one for one in candidates if one.tracked]
    good = [one for one in tracked if one.available and (one.mode == "sync" or one.lag <= options.lag_threshold)]
    ranked = sorted(good, key=lambda one: (one.cluster_name not in options.preferred_clusters, one.mode != "sync"))
    chosen = ranked[: options.max_sync_replica_count]
    missing = max(0, options.min_sync_replica_count - len(chosen))
    kept = [one for one in tracked if one.mode == "sync" and not one.available][:missing]
    wanted = {one.id for one in (*chosen, *kept)}
    modes: dict[str, Mode] = {one.id: "sync" if one.id in wanted else "async" for one in tracked}
    return {one.id: modes[one.id] for one in tracked if modes[one.id] != one.mode}


def _count(options: Mapping[str, Any], name: str) -> int | None:
    value = options.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise YtError(f"Invalid value {yson.shown(value)} of option /{name}")
    return int(value)
