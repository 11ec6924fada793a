"""Agents of a stage, as a cluster knows them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from random import Random

import pytest

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.group.agent_group import CypressGroup, set_ban
from queue_agent.adapters.metrics.metrics import Metrics
from queue_agent.adapters.process.system_clock import SystemClock
from queue_agent.config.clusters import ClusterConfig
from queue_agent.controllers.group.leadership import Leadership
from queue_agent.controllers.group.membership import Membership
from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.status.board import Board
from queue_agent.errors import ClusterError, ClusterUnavailable, ObjectNotFound
from yt_local.runner import LocalClusters

ROOT = "//sys/queue_agents"
LEASE = 5.0

Group = Callable[..., CypressGroup]


@pytest.fixture
async def cluster(clusters: LocalClusters) -> AsyncIterator[YtCluster]:
    async with AsyncExitStack() as stack:
        config = ClusterConfig(proxy=clusters.addresses["pythia"], discover_proxies=False)
        yield await stack.enter_async_context(YtCluster("pythia", config))


@pytest.fixture
def group(cluster: YtCluster) -> Group:
    return lambda address, stage="production": CypressGroup(cluster, ROOT, stage, address)


async def test_members_are_those_that_have_joined_and_not_left(group: Group) -> None:
    first, second = group("a:1"), group("b:1")
    membership = await first.join(LEASE)
    await second.join(LEASE)
    assert set((await first.look()).members) == {"a:1", "b:1"}
    await first.leave(membership)
    view = await second.look()
    assert set(view.members) == {"b:1"}
    assert set(view.instances) == {"a:1", "b:1"}


async def test_a_membership_that_is_not_pinged_ends(group: Group, clusters: LocalClusters) -> None:
    first, second = group("a:1"), group("b:1")
    pinged, silent = await first.join(LEASE), await second.join(LEASE)
    for _ in range(3):
        clusters.cluster("pythia").state.clock.advance(LEASE - 1)
        await first.ping(pinged)
    assert set((await first.look()).members) == {"a:1"}
    with pytest.raises(ClusterError) as error:
        await second.ping(silent)
    assert error.value.code == 11000


async def test_two_agents_can_not_have_one_address(group: Group, clusters: LocalClusters) -> None:
    await group("a:1").join(LEASE)
    with pytest.raises(ClusterError, match="a:1 is a member already"):
        await group("a:1").join(LEASE)
    clusters.cluster("pythia").state.clock.advance(LEASE)
    await group("a:1").join(LEASE)


async def test_nodes_that_have_been_removed_are_made_again(group: Group, cluster: YtCluster) -> None:
    first = group("a:1")
    await first.leave(await first.join(LEASE))
    for name in ("members", "instances", "leader_lock"):
        await cluster.execute("remove", {"path": f"{ROOT}/{name}", "recursive": True})
    with pytest.raises(ObjectNotFound):
        await first.join(LEASE)
    await first.join(LEASE)
    assert (await first.look()).eligible == ["a:1"]


async def test_who_is_registered_alone_beside_another_member_is_not_alone(group: Group, cluster: YtCluster) -> None:
    ours, theirs = group("a:1"), group("b:1")
    await ours.join(LEASE)
    assert (await ours.look()).has_only("a:1")
    membership = await theirs.join(LEASE)
    await cluster.execute("remove", {"path": f"{ROOT}/instances/b:1", "recursive": True})
    assert not (await ours.look()).has_only("a:1")
    await theirs.register()
    await theirs.leave(membership)
    assert not (await ours.look()).has_only("a:1")


async def test_agents_of_one_stage_agree_on_the_lease(group: Group) -> None:
    await group("a:1").join(LEASE)
    with pytest.raises(ClusterError, match=r"must have the same membership\.lease: it is 6000 ms here and 5000 ms"):
        await group("b:1").join(LEASE + 1)
    await group("c:1", "another").join(LEASE + 1)


async def test_stages_have_members_of_their_own_and_one_synchronizer(group: Group) -> None:
    ours, theirs = group("a:1"), group("b:1", "st/age")
    own, other = await ours.join(LEASE), await theirs.join(LEASE)
    assert set((await theirs.look()).members) == {"b:1"}
    assert (await theirs.look()).synchronizer is None
    assert await theirs.claim_synchronizer(other)
    assert (await ours.look()).synchronizer == other
    assert not await ours.claim_synchronizer(own)
    await theirs.resign_synchronizer(other)
    assert await ours.claim_synchronizer(own)


class LosesAnswers(CypressGroup):
    """The cluster does what it is asked to, and whoever asked does not hear of it."""

    async def claim_synchronizer(self, membership: str) -> bool:
        await super().claim_synchronizer(membership)
        raise ClusterUnavailable("no answer")


class LosesRequests(CypressGroup):
    """What is asked for does not reach the cluster."""

    async def resign_synchronizer(self, membership: str) -> None:
        raise ClusterUnavailable("no connection")


def membership_of(group: CypressGroup) -> tuple[Membership, Leadership]:
    clock = SystemClock()
    origins = Origins(Process("a", 1, 1), "Control:0", Random(1))
    board = Board("a", clock)
    leadership = Leadership("a:1", timedelta(seconds=LEASE))
    events = asyncio.Event(), asyncio.Event()
    return Membership(group, leadership, board, *events, clock, origins, Metrics(board)), leadership


async def test_an_election_whose_answer_is_lost_has_an_effect(cluster: YtCluster) -> None:
    group = LosesAnswers(cluster, ROOT, "production", "a:1")
    membership, leadership = membership_of(group)
    await membership.do_pass(0)
    with pytest.raises(ClusterUnavailable):
        await membership.stand_for_election(await group.look(), lambda: True)
    assert not leadership.keeps_tables
    await membership.stand_for_election(await group.look(), lambda: True)
    assert leadership.keeps_tables


async def test_the_lock_is_given_back_however_often_that_fails(cluster: YtCluster) -> None:
    group = LosesRequests(cluster, ROOT, "production", "a:1")
    membership, leadership = membership_of(group)
    await membership.do_pass(0)
    await membership.stand_for_election(await group.look(), lambda: True)
    assert leadership.keeps_tables
    for _ in range(2):
        with pytest.raises(ClusterUnavailable):
            await membership.stand_for_election(await group.look(), lambda: False)
        assert not leadership.keeps_tables


@pytest.mark.parametrize("value", [True, "true"])
async def test_bans_are_seen_until_they_are_lifted(group: Group, cluster: YtCluster, value: object) -> None:
    await group("a:1").join(LEASE)
    view = await group("b:1").look()
    assert view.eligible == ["a:1"]
    await cluster.execute("set", {"path": f"{ROOT}/instances/a:1/@banned"}, value)
    view = await group("b:1").look()
    assert (list(view.members), list(view.banned), view.eligible) == (["a:1"], ["a:1"], [])
    await set_ban(cluster, ROOT, "a:1", banned=False)
    await set_ban(cluster, ROOT, "a:1", banned=False)
    assert (await group("b:1").look()).eligible == ["a:1"]
    await set_ban(cluster, ROOT, "a:1", banned=True)
    assert (await group("b:1").look()).eligible == []
    with pytest.raises(ObjectNotFound):
        await set_ban(cluster, ROOT, "nobody:1", banned=True)
