"""Acts on queues, registrations and agents: what each would do, and doing it with the caller's rights."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from queue_agent.core.access.acts import ActKind, ActRequest
from queue_agent.core.access.previews import Prepared
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import AccessDenied, ActRefused, ObjectNotFound
from queue_agent.ports.acts import ActingCluster, Caller
from yt_wire import yson
from yt_wire.error import ErrorCode
from yt_wire.ypath import escape_literal

_CONFIG: Final = "auto_trim_config"


@dataclass(frozen=True, slots=True)
class Deed:
    """An act that is ready to be done."""

    prepared: Prepared
    carry_out: Callable[[], Awaitable[Mapping[str, str]]]
    """Does it. Returns what went wrong, by partition; ClusterError if nothing was done or nobody knows."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Who acts where."""

    caller: Caller
    clusters: Mapping[str, ActingCluster]
    """Those of the request, and that of the state tables, with the caller's rights."""

    state_cluster: str
    root: str
    """Directory of the state tables."""

    now: datetime

    async def require(self, cluster: str, permission: str, path: str, **details: Any) -> None:
        """AccessDenied if the caller lacks a permission.

        The cluster would refuse the act as well; asked first, a preview can tell.
        """
        user = self.caller.user_at(cluster)
        if not await self.clusters[cluster].may(user, permission, path, **details):
            raise AccessDenied(
                f'User {user} of cluster {cluster} lacks the permission "{permission}" on {path}: ask its owner',
                ErrorCode.AUTHORIZATION,
            )


async def prepare_mounting(request: ActRequest, setting: Setting) -> Deed:
    """Mount or unmount all partitions."""
    queue = _queue_of(request)
    cluster = setting.clusters[queue.cluster]
    found = await _find_queue(cluster, queue, "tablet_state", "tablet_count")
    await setting.require(queue.cluster, "mount", queue.path)
    is_mounted = request.kind is ActKind.MOUNT
    wanted = "mounted" if is_mounted else "unmounted"
    state = str(found.get("tablet_state"))
    if state == wanted:
        raise ActRefused(f"Queue {queue} is {wanted} already: there is nothing to do")
    plan = {"partitions_in_all": found.get("tablet_count"), "state": state, "becomes": wanted}

    async def carry_out() -> Mapping[str, str]:
        command = "mount_table" if is_mounted else "unmount_table"
        await cluster.execute(command, {"path": f"#{found['id']}"})
        return {}

    return Deed(Prepared(plan, {"queue": found["id"], "state": state}), carry_out)


async def prepare_pause(request: ActRequest, setting: Setting) -> Deed:
    """Pause automatic trimming of a queue, or resume it; the policy stays."""
    queue = _queue_of(request)
    cluster = setting.clusters[queue.cluster]
    found = await _find_queue(cluster, queue, _CONFIG)
    await setting.require(queue.cluster, "write", queue.path)
    config = found.get(_CONFIG)
    if not isinstance(config, Mapping):
        raise ActRefused(f"Queue {queue} has no @{_CONFIG}: it is not trimmed automatically")
    enable = request.kind is ActKind.RESUME_TRIMMING
    if bool(config.get("enable", False)) is enable:
        raise ActRefused(f"Trimming of {queue} is {'enabled' if enable else 'paused'} already: there is nothing to do")
    policy = {str(key): yson.plain(value) for key, value in config.items()}
    plan = {"enable": policy.get("enable", False), "becomes": enable}

    async def carry_out() -> Mapping[str, str]:
        await cluster.execute("set", {"path": f"#{found['id']}/@{_CONFIG}/enable"}, enable)
        return {}

    return Deed(Prepared({**plan, "policy": policy}, {"queue": found["id"], "policy": policy}), carry_out)


async def prepare_registration(request: ActRequest, setting: Setting) -> Deed:
    """Register a consumer with a queue, change whether it is vital, or unregister it."""
    queue, consumer = _queue_of(request), _consumer_of(request)
    cluster = setting.clusters[consumer.cluster]
    name = {"queue_consumer_name": consumer.name} if consumer.name else {}
    paths = {
        "queue_path": yson.with_attributes(queue.path, {"cluster": queue.cluster}),
        "consumer_path": yson.with_attributes(consumer.path, {"cluster": consumer.cluster, **name}),
    }
    found = await cluster.execute("list_queue_consumer_registrations", paths)
    before = bool(found[0]["vital"]) if found else None
    ids = {
        "queue": str(await setting.clusters[queue.cluster].get(f"{queue.path}/@id")),
        "consumer": str(await cluster.get(f"{consumer.path}/@id")),
    }
    facts: dict[str, Any] = {"registration": _word(before), **ids}
    if request.kind is ActKind.UNREGISTER:
        if before is None:
            raise ActRefused(f"Consumer {consumer} is not registered with {queue}: there is nothing to do")
        command, more, becomes = "unregister_queue_consumer", {}, _word(None)
    else:
        vital = bool(request.vital)
        if before is vital:
            raise ActRefused(f"Consumer {consumer} is {_word(vital)} already: there is nothing to do")
        await setting.require(queue.cluster, "register_queue_consumer", queue.path, vital=vital)
        command, becomes = "register_queue_consumer", _word(vital)
        more = {"vital": vital, **_kept_partitions(found)}

    async def carry_out() -> Mapping[str, str]:
        await cluster.execute(command, {**paths, **more})
        return {}

    return Deed(Prepared({"registration": _word(before), "becomes": becomes}, facts), carry_out)


async def prepare_ban(request: ActRequest, setting: Setting) -> Deed:
    """Have an agent lead nothing, or let it lead again."""
    cluster = setting.clusters[setting.state_cluster]
    node = f"{setting.root}/instances/{escape_literal(request.agent)}"
    try:
        attributes = await cluster.get_attributes(node, ["id", "banned"])
    except ObjectNotFound as error:
        raise ActRefused(
            f"Agent {request.agent} has never been registered: its address is that of /ui/agents"
        ) from error
    await setting.require(setting.state_cluster, "write", node)
    is_banned = bool(yson.as_boolean(attributes.get("banned", False)))
    ban = request.kind is ActKind.BAN
    if is_banned is ban:
        raise ActRefused(f"Agent {request.agent} is {'' if ban else 'not '}banned already: there is nothing to do")

    async def carry_out() -> Mapping[str, str]:
        if ban:
            await cluster.execute("set", {"path": f"{node}/@banned"}, True)
        else:
            await cluster.execute("remove", {"path": f"{node}/@banned"})
        return {}

    plan = {"banned": is_banned, "becomes": ban}
    return Deed(Prepared(plan, {"agent": str(attributes.get("id")), "banned": is_banned}), carry_out)


def _kept_partitions(found: Any) -> dict[str, Any]:
    partitions: Any = found[0].get("partitions") if found else None
    return {} if yson.is_null(partitions) else {"partitions": list(partitions)}


def _word(vital: bool | None) -> str:
    if vital is None:
        return "not registered"
    return "registered as vital" if vital else "registered"


async def _find_queue(cluster: ActingCluster, queue: CrossClusterRef, *names: str) -> dict[str, Any]:
    """Attributes of a queue, its id among them; ActRefused for what is none."""
    found = await cluster.get_attributes(queue.path, ["id", "type", "dynamic", "sorted", *names])
    if not yson.as_boolean(found.get("dynamic", False)) or yson.as_boolean(found.get("sorted", False)):
        raise ActRefused(f"{queue} is not a queue but a {found.get('type', 'node')}: name an ordered dynamic table")
    return {**found, "id": str(found["id"])}


def _queue_of(request: ActRequest) -> CrossClusterRef:
    assert request.queue is not None, "requests of this kind name a queue"
    return request.queue


def _consumer_of(request: ActRequest) -> CrossClusterRef:
    assert request.consumer is not None, "requests of this kind name a consumer"
    return request.consumer
