"""Commands on the tablets of dynamic tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pydantic import Field

from yt_local.cluster import Cluster
from yt_local.commands.command import (
    Body,
    Command,
    Int64,
    Parameters,
    PathParameter,
    Transactional,
    volatile,
)
from yt_local.security.permissions import UNCHECKED, Access
from yt_local.session import Session
from yt_local.tables.dynamic.sorted_resharding import Sharding
from yt_local.tables.dynamic.tablets import TabletRange
from yt_wire.error import YtError


class _Range(Parameters):
    path: PathParameter
    first_tablet_index: Int64 | None = None
    last_tablet_index: Int64 | None = None

    @property
    def chosen(self) -> TabletRange:
        return TabletRange(self.first_tablet_index, self.last_tablet_index)


class _Mount(_Range):
    freeze: bool = False
    cell_id: str | None = None


class _Unmount(_Range):
    force: bool = False


class _Reshard(_Range):
    tablet_count: Int64 | None = None
    pivot_keys: list[Any] | None = None
    uniform: bool = False
    trimmed_row_counts: list[Int64] | None = None
    cumulative_data_weights: list[Int64] | None = None


class _Alter(Transactional):
    path: PathParameter
    schema_: Any | None = Field(default=None, alias="schema")
    dynamic: bool | None = None
    upstream_replica_id: str | None = None


class _TabletInfos(Parameters):
    path: PathParameter
    tablet_indexes: list[Int64]
    request_errors: bool = False


class _Path(Parameters):
    path: PathParameter


async def _mount(cluster: Cluster, session: Session, parameters: _Mount, _: Body) -> Any:
    cluster.tablets.mount(
        session.access, parameters.path, parameters.chosen, freeze=parameters.freeze, cell_id=parameters.cell_id
    )
    return {}


async def _unmount(cluster: Cluster, session: Session, parameters: _Unmount, _: Body) -> Any:
    cluster.tablets.unmount(session.access, parameters.path, parameters.chosen, force=parameters.force)
    return {}


def _simple(name: str, verb: Callable[[Cluster], Callable[[Access, str, TabletRange], None]]) -> Command:
    async def run(cluster: Cluster, session: Session, parameters: _Range, _: Body) -> Any:
        verb(cluster)(session.access, parameters.path, parameters.chosen)
        return {}

    return volatile(name, _Range, run, transactions="ignored")


async def _reshard(cluster: Cluster, session: Session, parameters: _Reshard, _: Body) -> Any:
    if (parameters.tablet_count is None) == (parameters.pivot_keys is None):
        raise YtError('Exactly one of "tablet_count" and "pivot_keys" must be given')
    cluster.tablets.reshard(
        session.access,
        parameters.path,
        Sharding(parameters.pivot_keys, parameters.tablet_count, parameters.uniform),
        parameters.chosen,
        trimmed_row_counts=parameters.trimmed_row_counts,
        cumulative_data_weights=parameters.cumulative_data_weights,
    )
    return {}


async def _alter(cluster: Cluster, session: Session, parameters: _Alter, _: Body) -> Any:
    tablets = cluster.view(session.transaction_id).tablets
    tablets.alter(
        session.access, parameters.path, parameters.schema_, parameters.dynamic, parameters.upstream_replica_id
    )
    return {}


async def _get_tablet_infos(cluster: Cluster, session: Session, parameters: _TabletInfos, _: Body) -> Any:
    infos = cluster.tables.tablet_infos(
        parameters.path, parameters.tablet_indexes, request_errors=parameters.request_errors
    )
    errors: dict[str, Any] = {"tablet_errors": []} if parameters.request_errors else {}
    return {"tablets": [{**info, **errors} for info in infos]}


async def _get_tablet_errors(cluster: Cluster, session: Session, parameters: _Path, _: Body) -> Any:
    table = cluster.tables.open(parameters.path, UNCHECKED)
    errors = {
        replica.id: [error.to_map() for error in cluster.replication.errors(replica)]
        for replica in cluster.replication.replicas(table.node.id)
    }
    return {"tablet_errors": {}, "replication_errors": {key: found for key, found in errors.items() if found}}


COMMANDS: Final[tuple[Command, ...]] = (
    volatile("mount_table", _Mount, _mount, transactions="ignored"),
    volatile("unmount_table", _Unmount, _unmount, transactions="ignored"),
    _simple("freeze_table", lambda cluster: cluster.tablets.freeze),
    _simple("unfreeze_table", lambda cluster: cluster.tablets.unfreeze),
    _simple("remount_table", lambda cluster: cluster.tablets.remount),
    volatile("reshard_table", _Reshard, _reshard, transactions="ignored"),
    volatile("alter_table", _Alter, _alter, transactions="taken"),
    volatile("get_tablet_infos", _TabletInfos, _get_tablet_infos, changes=False, transactions="ignored"),
    volatile("get_tablet_errors", _Path, _get_tablet_errors, transactions="ignored"),
)
